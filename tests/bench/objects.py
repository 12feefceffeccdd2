"""Compare the things that events tell of with a count by hand: how many at once, how many different ones, how long.

`tests/eval/objects.json` was counted from stills by two people; where they differ, or where a thing that comes back may
be counted again, a count between theirs is right. Crowds (more than 15 at once) were estimated, and are shown only.

usage: python -m tests.bench.objects FOLDER [--events EVENTS.JSONL]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.bench.report import last_line, table

TRUTH = Path(__file__).parents[1] / "eval" / "objects.json"
NEAR_S = 1.5
"""How far both ends of a stay may be off."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=Path, help="of a replay that was made before; default: one is made")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        events = options.events or _replayed(options.folder / "clips", Path(name))
        found = counted(events)
    truth = json.loads(TRUTH.read_text())["clips"]
    rows = [row for clip in sorted(truth) for row in compared(clip, truth[clip], found.get(clip, {}))]
    table("Things by clip and group", ("clip", "group", "at once", "is", "different", "is", "stays"), map(_shown, rows))
    exact = [row for row in rows if not row["crowd"]]
    stays = sum(row["stays"] for row in exact)
    last_line(
        {
            "rows": len(exact),
            "at_once_exact": round(sum(row["at_once_right"] for row in exact) / len(exact), 3),
            "total_exact": round(sum(row["total_right"] for row in exact) / len(exact), 3),
            "stays": stays,
            "stays_right": round(sum(row["stays_right"] for row in exact) / stays, 3) if stays else None,
        },
        f"python -m tests.bench.objects {options.folder}",
    )


def _replayed(clips: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "pipeline", "replay", str(clips), "--out", str(out), "--jobs", "2", "--quiet"]
    subprocess.run(command, check=False)
    return out / "events.jsonl"


def counted(events: Path) -> dict[str, dict[str, dict]]:
    """By clip and group: the most at once, how many different ones, and the stays, from the ends of incidents."""
    found: dict = defaultdict(lambda: defaultdict(lambda: {"at_once": 0, "members": {}, "unnamed": 0}))
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if event["type"] != "fieldwatch.incident.end.v1":
            continue
        clip = event["source"].rpartition("/")[2]
        for fact in event["data"]["facts"]["objects"]:
            row = found[clip][fact["group"]]
            row["at_once"] = max(row["at_once"], fact["count"])
            own = [one for one in event["data"].get("members", ()) if one.get("group") == fact["group"]]
            row["unnamed"] += max(0, fact["total"] - len(own))
            for one in own:
                first, last = one["first_pts_ms"] / 1e3, one["last_pts_ms"] / 1e3
                before = row["members"].get(one["id"], (first, last))
                row["members"][one["id"]] = (min(first, before[0]), max(last, before[1]))
    return found


def compared(clip: str, truth: dict, found: dict) -> list[dict]:
    """A row for each group that was there or was told of; one for a clip in which there was nothing."""
    rows = []
    for group in sorted({*truth["groups"], *found}) or [""]:
        right = truth["groups"].get(group, {"at_once": [0, 0], "total": [0, 0]})
        own = found.get(group, {"at_once": 0, "members": {}, "unnamed": 0})
        total = len(own["members"]) + own["unnamed"]
        stays = [(first, last) for kind, first, last, _ in truth["stays"] if kind == group]
        rows.append({
            "clip": clip, "group": group, "crowd": truth["crowd"],
            "at_once": own["at_once"], "at_once_is": right["at_once"],
            "at_once_right": right["at_once"][0] <= own["at_once"] <= right["at_once"][1],
            "total": total, "total_is": right["total"],
            "total_right": right["total"][0] <= total <= right["total"][1],
            "stays": len(stays), "stays_right": _matched(stays, list(own["members"].values())),
        })  # fmt: skip
    return rows


def _matched(stays: list[tuple[float, float]], found: list[tuple[float, float]]) -> int:
    """How many stays were found with both ends near, each with another thing."""
    left, right = list(found), 0
    for first, last in stays:
        near = [one for one in left if abs(one[0] - first) <= NEAR_S and abs(one[1] - last) <= NEAR_S]
        if near:
            left.remove(min(near, key=lambda one: abs(one[0] - first) + abs(one[1] - last)))
            right += 1
    return right


def _shown(row: dict) -> tuple[str, ...]:
    def span(least: int, most: int) -> str:
        return str(least) if least == most else f"{least}-{most}"

    return (
        row["clip"],
        row["group"] + (" (crowd)" if row["crowd"] else ""),
        f"{row['at_once']}{'' if row['at_once_right'] else ' !'}",
        span(*row["at_once_is"]),
        f"{row['total']}{'' if row['total_right'] else ' !'}",
        span(*row["total_is"]),
        f"{row['stays_right']}/{row['stays']}" if row["stays"] else "",
    )


if __name__ == "__main__":
    main()
