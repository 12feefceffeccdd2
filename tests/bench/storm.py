"""Two hundred incidents in ten seconds, beside a summary that is being written: a real daemon with the boot model.

The daemon's camera never comes; persons are shown to its trigger by hand, one zone after the other, every tenth of them
restricted, which is an alarm. What became of every incident is read from the events: served by the language model, or
skipped, with the reason. An alarm misses its deadline if its first verdict takes longer than the latency budget, or its
sentence is given up as too late. RSS is of the stages that hold incidents, before, and when all is over.

How soon an urgent incident gets in is counted in forwards, from its arrival in the midst of one to the end of its own
first, the running one included, for arrivals all along a sentence (as in llm_soak).

usage: python -m tests.bench.storm [--incidents N] [--seconds S] [--arrivals N]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from pipeline.core.messages import Priority
from tests.bench import asking
from tests.bench.driving import Driven, cell, grid
from tests.bench.report import last_line, table
from tests.llms import boot_state

SERVED = ("ok", "invalid", "filtered")  # the model was asked and answered, whatever became of its sentence
GIVEN_UP = ("skipped", "timeout", "failed")
HOLDING = ("trigger", "describe", "emit", "govern")
SETTLE_S = 5.0


def stormed(incidents: int, seconds: float) -> tuple[dict[str, object], Driven]:
    """Run the storm; what was seen."""
    driven = Driven(zones=grid(10)).start()
    before = driven.memory_mb()
    driven.ask(0, Priority.ROUTINE, "running")
    began = time.monotonic()
    shown = 0
    while shown < incidents:
        due = min(incidents, 1 + int((time.monotonic() - began) / seconds * incidents))
        for number in range(shown, due):
            driven.show(number, [cell(number)])
        shown = due
        driven.hear(0.02)
    took_s = time.monotonic() - began
    quiet = time.monotonic()
    while time.monotonic() - quiet < 60:
        driven.show(incidents + round((time.monotonic() - quiet) * 10), [])
        driven.hear(0.1)
        ends = sum(event["type"] == "fieldwatch.incident.end.v1" for event in driven.events())
        if ends >= incidents and "system.storm" in driven.events_text():
            break
    time.sleep(SETTLE_S)
    after = driven.memory_mb()
    status, stop_s = driven.stop()
    found = {"took_s": took_s, "before": before, "after": after, "status": status, "stop_s": stop_s}
    return found, driven


def judged(events: list[dict]) -> dict[str, dict]:
    """By incident: when it began, its priority, when its first verdict came, and every status it was told with."""
    found: dict[str, dict] = {}
    for event in events:
        if not event["type"].startswith("fieldwatch.incident."):
            continue
        one = found.setdefault(event["subject"], {"statuses": [], "priority": "", "began": None, "verdict": None})
        at, data = int(event["monotime"]) / 1e9, event["data"]
        one["priority"] = data.get("priority", one["priority"])
        if data["operation"] == "start":
            one["began"] = at
        analysis = data.get("analysis")
        if analysis is not None and data["operation"] != "start":
            one["statuses"].append(analysis["status"])
            one["reason"] = analysis.get("reason", "")
            if one["verdict"] is None and analysis.get("fields"):
                one["verdict"] = at
    return found


def fate(one: dict) -> str:
    """Served if the model ever answered; else what was told last."""
    return next((status for status in one["statuses"] if status in SERVED), (one["statuses"] or ["nothing"])[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--incidents", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--arrivals", type=int, default=12, help="of an alarm along a sentence")
    args = parser.parse_args()
    found, driven = stormed(args.incidents, args.seconds)
    events = driven.events()
    incidents = judged(events)
    fates = {name: fate(one) for name, one in incidents.items()}
    budget_s = 0.8
    late = [
        name
        for name, one in incidents.items()
        if one["priority"] == "alarm"
        and (one["verdict"] is None or one["verdict"] - one["began"] > budget_s or "timeout" in one["statuses"])
    ]
    rows = []
    for priority in ("alarm", "warning", "routine"):
        of_it = [name for name, one in incidents.items() if one["priority"] == priority]
        counts = Counter(fates[name] for name in of_it)
        waits = sorted(
            incidents[name]["verdict"] - incidents[name]["began"] for name in of_it if incidents[name]["verdict"]
        )
        p95 = f"{waits[int(len(waits) * 0.95)] * 1e3:.0f}" if waits else "-"
        rows.append((priority, len(of_it), p95, ", ".join(f"{name} {count}" for name, count in counts.items()) or "-"))
    table(
        f"{len(incidents)} incidents in {found['took_s']:.1f} s",
        ("", "incidents", "first verdict, p95 ms", "became"),
        rows,
    )
    reasons = Counter(
        one.get("reason", "").split(":")[0] for name, one in incidents.items() if fates[name] == "skipped"
    )
    table("Skipped because", ("reason", "incidents"), [(reason, count) for reason, count in reasons.most_common(5)])
    storms = [event["data"]["details"] for event in events if event["type"] == "fieldwatch.system.storm.v1"]
    table("Summed up", ("event",), [(storm,) for storm in storms])
    grown = {name: found["after"][name] - found["before"][name] for name in HOLDING}
    table("Memory of their own, MB", ("stage", "before", "after"), [
        (name, f"{found['before'][name]:.1f}", f"{found['after'][name]:.1f}") for name in HOLDING
    ])  # fmt: skip
    forwards = max(asking.in_child("tests.bench.llm_soak", "preempt", boot_state(), args.arrivals)["forwards"])
    known = Counter(
        "served" if name in SERVED else "skipped" if name in GIVEN_UP else "unknown" for name in fates.values()
    )
    driven.remove()
    last_line(
        {
            "incidents": len(incidents),
            "served": known["served"],
            "skipped": known["skipped"],
            "unaccounted": args.incidents - known["served"] - known["skipped"],
            "alarm_deadline_misses": len(late),
            "first_token_after_decode_steps": forwards,
            "storms_told": len(storms),
            "rss_growth_mb": round(sum(grown.values()), 1),
            "exit_status": found["status"],
            "stop_s": round(found["stop_s"], 2),
        },
        f"python -m tests.bench.storm --incidents {args.incidents} --seconds {args.seconds:g}",
    )


if __name__ == "__main__":
    main()
