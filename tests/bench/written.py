"""Reads every event that a daemon has written, wherever it was put, and counts what must not be among them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    Events = list[dict[str, object]]


def files(folder: Path, *moved: Path) -> list[Path]:
    """Files of events, oldest first: those put away, those that somebody moved away, and the current one."""
    away = sorted(folder.glob("events-[0-9]*-*.jsonl"), key=lambda path: int(path.stem.split("-")[1]))
    there = [path for path in (*moved, *away, folder / "events.jsonl") if path.exists() and path.stat().st_size]
    return sorted(there, key=lambda path: json.loads(path.open("rb").readline())["recordedtime"])


def counts(paths: Iterable[Path], log: str) -> tuple[dict[str, int], Counter[str]]:
    """Count incidents and what is wrong with them, and what the events say was given up.

    Args:
        paths: Files of events, oldest first.
        log: What the daemon logged: every incident that it names must be in the files, with its end.
    """
    events = [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]
    incidents: defaultdict[str, list[str]] = defaultdict(list)
    sequences: defaultdict[str, list[int]] = defaultdict(list)
    for event in events:
        sequences[event["source"]].append(int(event["sequence"]))
        if ".incident." in event["type"]:
            incidents[event["subject"]].append(event["data"]["operation"])
    told = {word for word in log.replace('"', " ").split() if word.startswith("inc-")}
    ended = {name for name, done in incidents.items() if "end" in done}
    lost = sum(event["data"].get("details", {}).get("lost", 0) for event in events if ".sink." in event["type"])
    ids = Counter(event["id"] for event in events)
    found = {
        "incidents": len(incidents),
        "ended": sum(done.count("end") == 1 for done in incidents.values()),
        "ended_twice": sum(done.count("end") > 1 for done in incidents.values()),
        "doubled_ids": sum(count > 1 for count in ids.values()),
        "order_errors": sum(_disordered(done) for done in incidents.values())
        + sum(later <= earlier for row in sequences.values() for earlier, later in pairwise(row)),
        "holes_untold": max(0, sum(max(row) - len(set(row)) for row in sequences.values()) - lost),
        "ends_lost": len((told | incidents.keys()) - ended),
    }
    return found, _given_up(events)


def _given_up(events: Events) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in events:
        for what, value in event["data"].get("details", {}).items():
            if what.endswith("_given_up"):
                found[what.removesuffix("_given_up")] += value
    return found


def _disordered(done: list[str]) -> bool:
    """Whether an incident's events are not a start, updates, and at most one end."""
    return done[0] != "start" or done.count("start") != 1 or ("end" in done and done.index("end") != len(done) - 1)
