"""Alarms without end: does the least urgent class still get its turn? A real daemon with the boot model.

There are always so many alarms waiting that the model never runs out of them; now and then a routine question comes.
After `ageing_s` it is as urgent as a warning that has just come, after twice that as an alarm, and then it is the
oldest of them: so it waits for no longer than that, and for the alarm that is being served. The ladder is switched off.

usage: python -m tests.bench.ageing [--seconds S] [--ageing-s S] [--waiting N]
"""

from __future__ import annotations

import argparse
import statistics
import time

from pipeline.core.messages import Priority
from tests.bench.driving import Driven
from tests.bench.report import last_line, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--ageing-s", type=float, default=5.0)
    parser.add_argument("--waiting", type=int, default=8, help="alarms that always wait")
    args = parser.parse_args()
    driven = Driven(
        f'[describe]\nageing_s = {args.ageing_s}\nalarm_within_s = 300.0\n\n[governor]\nmode = "off"\n'
    ).start()
    routine: list[str] = []
    number, began, next_s = 0, time.monotonic(), 0.0
    while (passed := time.monotonic() - began) < args.seconds:
        alarms = [name for name in driven.outstanding() if name.startswith("alarm")]
        for _ in range(args.waiting - len(alarms)):
            number += 1
            driven.ask(number, Priority.ALARM, "alarm")
        if passed >= next_s and passed < args.seconds - 3 * args.ageing_s:
            next_s = passed + 2.5 * args.ageing_s
            routine.append(driven.ask(5000 + len(routine), Priority.ROUTINE, "routine"))
        driven.hear(0.02)
    now = time.monotonic()
    alarms = [
        one
        for name, one in driven.answers.items()
        if name.startswith("alarm") and one.told_s and one.status != "pending"
    ]
    spans = [one.told_s - one.asked_s for one in alarms]
    served = [
        (driven.answers[name].status, (driven.answers[name].told_s or now) - driven.answers[name].asked_s)
        for name in routine
    ]
    waits = [wait for status, wait in served if status != "pending"]
    driven.stop()
    driven.remove()
    rows = [
        (name, asked, len(times), *(f"{of(times):.2f}" if times else "-" for of in (statistics.median, max)))
        for name, asked, times in (("alarms", number, spans), ("routine", len(routine), waits))
    ]
    title = f"{args.waiting} alarms always wait, {args.seconds:g} s"
    table(title, ("", "asked", "answered", "median s", "longest s"), rows)
    bound = 2 * args.ageing_s
    alarm_s = args.seconds / max(len(alarms), 1)
    last_line(
        {
            "lowest_class_max_wait_s": round(max((wait for _, wait in served), default=0.0), 2),
            "bound_s": round(bound + 2 * alarm_s, 2),
            "lowest_class_unserved": len(routine) - len(waits),
            "alarms_answered": len(alarms),
            "routine_answered": len(waits),
        },
        f"python -m tests.bench.ageing --seconds {args.seconds:g} --ageing-s {args.ageing_s:g}",
    )


if __name__ == "__main__":
    main()
