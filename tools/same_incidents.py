"""Do two files of events tell of the same incidents? For replays of one recording on two kinds of machine.

Decoders agree to the bit everywhere, but resizing and convolutions round differently on ARM and x86, so likelihoods
differ in the second decimal. What must not differ: which incidents there are, when they begin and end, what they are
about.

usage: python tools/same_incidents.py ONE OTHER [--tolerance SECONDS]        exit status: 0 the same, 1 not
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple


class Incident(NamedTuple):
    """What is compared."""

    source: str
    start_s: float
    end_s: float
    what: str
    ended_by: str


def read(path: Path) -> list[Incident]:
    """Return the ended incidents of a file, in the order in which they began."""
    events = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    ends = (event for event in events if ".incident.end." in event["type"])
    found = (
        Incident(
            event["source"],
            event["data"]["media"]["start_pts_ms"] / 1000,
            event["data"]["media"]["end_pts_ms"] / 1000,
            event["data"]["scene"].get("class", "movement"),
            event["data"]["ended_by"],
        )
        for event in ends
    )
    return sorted(found)


def same(one: Incident, other: Incident, tolerance_s: float) -> bool:
    """Whether two rows are one incident."""
    near = abs(one.start_s - other.start_s) <= tolerance_s and abs(one.end_s - other.end_s) <= tolerance_s
    return near and (one.source, one.what, one.ended_by) == (other.source, other.what, other.ended_by)


def main() -> None:
    """Compare and print a row an incident."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("one", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.5, help="seconds by which starts and ends may differ")
    options = parser.parse_args()
    left, right = read(options.one), read(options.other)
    pairs = list(zip(left, right, strict=False))
    for one, other in pairs:
        print("same " if same(one, other, options.tolerance) else "OTHER", *one)
        if not same(one, other, options.tolerance):
            print("     ", *other)
    print(f"{len(left)} and {len(right)} incidents")
    sys.exit(len(left) != len(right) or not all(same(one, other, options.tolerance) for one, other in pairs))


if __name__ == "__main__":
    main()
