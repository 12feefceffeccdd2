"""Real processes on a board that is played: governed, and left to its firmware, side by side, a core for each.

Twice the same daemon with the boot model, under `tools.thermal_twin` (a RK3588 with a heat sink in air of 35 C, warm
from work): once with the governor, once without. Both are asked the same questions at the same times, at a share of
what the model answers at full speed; every question is an alarm, whose sentence is worth something for ten seconds.
The firmware's way is the lowest frequency from 85 C on until 70 C are reached, and it is there in both. The clock is
not shortened: ten minutes are ten minutes.

usage: python -m tests.bench.heat_e2e [--minutes M] [--board BOARD@AMBIENT] [--share S] [--report FILE.svg]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from pipeline.core.device import heat
from pipeline.core.messages import Priority
from pipeline.view import heatplot
from tests.bench.driving import Answer, Driven
from tests.bench.report import last_line, table
from tools.thermal_twin import Twin

WITHIN_S = 10.0
WARM_UP = 4  # questions
CALIBRATION = 12
_TABLES = """
[describe]
threads = 1
alarm_within_s = {within}

[encode]
tags = 0

[governor]
mode = "{mode}"
sysfs = "{root}"

[placement]
pin = false
"""


class Side(NamedTuple):
    """A daemon on its board."""

    name: str
    driven: Driven
    twin: Twin
    thread: threading.Thread


def started(name: str, mode: str, core: int, board: str, warm: float = 1.0) -> Side:
    """Start a board and the daemon on it."""
    root = Path(tempfile.mkdtemp(prefix=f"board-{name}-"))
    tables = _TABLES.format(within=WITHIN_S, mode=mode, root=root)
    driven = Driven(tables, ("taskset", "-c", str(core)))
    place = heat.place(board)
    twin = Twin(place, root, driven.command, cores=1.0, warm=warm, run_dir=driven.run_dir)
    driven.process = twin.process
    thread = threading.Thread(target=twin.run, daemon=True)
    thread.start()
    return Side(name, driven.join(), twin, thread)


def ended(side: Side) -> None:
    side.driven.stop()
    side.thread.join(20)
    side.driven.remove()


def alone_s(cores: list[int]) -> float:
    """What a question takes at full speed, one after the other, on two boards in the cold: they disturb each other."""
    sides = [started(f"cold{core}", "off", core, "rk3588@-40", 0.0) for core in (cores[0], cores[-1])]
    spans: list[float] = []
    for number in range(WARM_UP + CALIBRATION):
        names = [side.driven.ask(number, Priority.ALARM, "alone") for side in sides]
        answers = [side.driven.await_answer(name) for side, name in zip(sides, names, strict=True)]
        spans.append(statistics.mean((one.told_s or 0.0) - one.asked_s for one in answers))
    for side in sides:
        ended(side)
    return statistics.mean(spans[WARM_UP:])


def asked(sides: list[Side], every_s: float, minutes: float) -> float:
    """Ask all the same questions at the same times; return when that began."""
    dice, began = random.Random(1), time.monotonic()
    due, number = began, 0
    while time.monotonic() - began < minutes * 60:
        if time.monotonic() >= due:
            for side in sides:
                side.driven.ask(number, Priority.ALARM)
            number += 1
            due += every_s * dice.uniform(0.7, 1.3)
        for side in sides:
            side.driven.hear(0.01)
    until = time.monotonic() + WITHIN_S + 5
    while time.monotonic() < until:
        for side in sides:
            side.driven.hear(0.05)
    return began


def in_time(one: Answer) -> bool:
    """Whether a sentence came that is worth something."""
    return one.status in {"ok", "invalid", "filtered"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--board", default="rk3588@35")
    parser.add_argument(
        "--share",
        type=float,
        default=0.88,
        help="of what the model answers at full speed: about what a governed board keeps up with",
    )
    parser.add_argument("--report", type=Path, help="draw both runs: FILE-governed.svg and FILE-firmware.svg")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    alone = alone_s(cores)
    every_s = alone / args.share
    sides = [
        started("governed", "act", cores[0], args.board),
        started("firmware", "off", cores[-1], args.board),
    ]
    began = asked(sides, every_s, args.minutes)
    middle = began + args.minutes * 30
    rows, second, p95 = [], {}, {}
    for side in sides:
        answers = [one for name, one in side.driven.answers.items() if name.startswith("q-")]
        halves = [[one for one in answers if (one.asked_s >= middle) == late] for late in (False, True)]
        second[side.name] = sum(map(in_time, halves[1]))
        spans = sorted((one.told_s or time.monotonic()) - one.asked_s for one in halves[1])
        p95[side.name] = spans[int(len(spans) * 0.95)] if spans else 0.0
        temps = [float(str(row["temp_c"])) for row in side.twin.rows]
        slow = sum(bool(row["firmware"]) for row in side.twin.rows) / max(len(side.twin.rows), 1)
        rows.append(
            (
                side.name, len(answers), sum(map(in_time, halves[0])), f"{second[side.name]} of {len(halves[1])}",
                f"{statistics.median(spans) if spans else 0:.2f}", f"{p95[side.name]:.2f}", f"{max(temps):.1f}",
                f"{slow:.0%}", max(int(str(row["level"])) for row in side.twin.rows),
            )
        )  # fmt: skip
        if args.report:
            path = args.report.with_name(f"{args.report.stem}-{side.name}.svg")
            path.write_text(heatplot.draw_svg(f"{args.board}, {side.name}", side.twin.rows), encoding="utf-8")
    limited = {side.twin.limited_by.split(" of ")[0] for side in sides}
    for side in sides:
        ended(side)
    head = ("", "asked", "1st half", "2nd half", "median s", "p95 s", "peak C", "by firmware", "deepest level")
    title = f"{args.board}, {args.minutes:g} min, a question every {every_s:.2f} s ({args.share:.0%} of full speed)"
    table(f"{title}, limited by {', '.join(limited)}", head, rows)
    last_line(
        {
            "answered_2nd_half_vs_ungoverned": round(second["governed"] / max(second["firmware"], 1), 3),
            "p95_vs_ungoverned": round(p95["governed"] / max(p95["firmware"], 1e-9), 3),
            "answered_2nd_half": second["governed"],
            "alone_s": round(alone, 3),
        },
        f"python -m tests.bench.heat_e2e --minutes {args.minutes:g} --board {args.board} --share {args.share:g}",
    )


if __name__ == "__main__":
    main()
