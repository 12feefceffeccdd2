"""The thermal governor on simulated boards, beside the kernel's step_wise and a firmware's throttling.

Forty minutes of inference without a pause, then twenty of rest, on twelve boards in air of 25 to 50 C, each with five
seeds of sensor noise. Four of the boards are those on which the law's bands were chosen; eight are not. Then what goes
wrong in the field: a sensor that is lost, stuck or mad, a fan that fails, and a clock that is set while it runs.

A step is wrong if it goes up while the chip is warm or a sensor is in doubt, or down while the chip is cool and no
sensor is in doubt. With a clock that is set, every second whose level is another than without counts as wrong too.

usage: python -m tests.bench.governor [--seeds N] [--minutes N]
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.device import governor, heat
from tests.bench.report import last_line, table

if TYPE_CHECKING:
    from collections.abc import Callable

CHOSEN_ON = ("fanless_cam@25", "fanless_cam@40", "rpi5@25", "rk3588@35")
HELD_OUT = (
    "fanless_cam@35", "fanless_cam@45", "rpi5@35", "rpi5@40", "rk3588@45", "rk3588@50", "phone@35", "phone@45",
)  # fmt: skip
NOISE_C = 0.2
BANDS = governor.Bands.below(governor.TRIP_C)
PEERS = ("step_wise78", "step_wise78, calm")


class Course(NamedTuple):
    """One simulated hour."""

    rate: float  # mean speed under load
    worst: float  # slowest half minute, as a factor of latency
    peak_c: float
    over_s: int  # seconds at the trip and above
    changes: int
    recovery_s: float  # of rest until full speed
    wrong: int
    levels: tuple[int, ...]


class Trouble(NamedTuple):
    """What goes wrong: how a sensor reads, how a clock reads, what the fan does."""

    name: str
    sensed: Callable[[int, float], float | None] = lambda _, temp: temp
    clock: Callable[[int], float] = float
    fan: Callable[[int], float] = lambda _: 1.0
    doubtful: Callable[[int], bool] = lambda _: False
    same: bool = False  # levels must be those without the trouble


FROM, TO = 900, 1200


def said(wrong: float | None) -> Callable[[int, float], float | None]:
    """A sensor that says something else for five minutes."""
    return lambda at, temp: wrong if FROM <= at < TO else temp


def within(at: int) -> bool:
    return FROM <= at < TO


TROUBLES = (
    Trouble("sensor lost", said(None), doubtful=within),
    Trouble("sensor says nan", said(math.nan), doubtful=within),
    Trouble("sensor says 255", said(255.0), doubtful=within),
    Trouble("sensor stuck", said(60.0), doubtful=within),
    Trouble("fan fails", fan=lambda at: 2.0 if at >= FROM else 1.0),
    Trouble("clock +10 min", clock=lambda at: at + (600.0 if at >= FROM else 0.0), same=True),
    Trouble("clock -10 min", clock=lambda at: at - (600.0 if at >= FROM else 0.0), same=True),
    Trouble("clock -1 h", clock=lambda at: at - (3600.0 if at >= FROM else 0.0), same=True),
)  # fmt: skip
CALM = Trouble("")


class Ours:
    """The law."""

    noiseless = False

    def __init__(self) -> None:
        self.state = governor.HeatState()
        self.paused = False

    def decide(self, at_s: float, temp: float | None, busy_s: float) -> int:
        self.state, found = governor.step(self.state, governor.SensorReading(at_s, (temp,), busy_s), BANDS)
        self.paused = found.paused
        return found.level


class StepWise:
    """The kernel's gov_step_wise: one state more while hot and rising, one less while below and falling.

    Args:
        trip_c: Where it is hot.
        hysteresis_c: How far it must fall before it is no longer hot.
        noiseless: Read by a sensor without noise, which makes it calmer and slower.
    """

    paused = False

    def __init__(self, trip_c: float, hysteresis_c: float = 0.0, *, noiseless: bool = False) -> None:
        self.trip_c, self.hysteresis_c, self.noiseless = trip_c, hysteresis_c, noiseless
        self.level, self.last, self.hot = 0, -math.inf, False

    def decide(self, _at_s: float, temp: float | None, _busy_s: float) -> int:
        assert temp is not None
        self.hot = temp >= self.trip_c - (self.hysteresis_c if self.hot else 0.0)
        if self.hot and temp > self.last:
            self.level = min(self.level + 1, len(governor.SPEEDS) - 1)
        elif not self.hot and temp < self.last:
            self.level = max(self.level - 1, 0)
        self.last = temp
        return self.level


class Firmware:
    """At the trip the lowest frequency, until it has cooled by fifteen degrees."""

    paused = noiseless = False

    def __init__(self) -> None:
        self.level = 0

    def decide(self, _at_s: float, temp: float | None, _busy_s: float) -> int:
        assert temp is not None
        if temp >= governor.TRIP_C:
            self.level = len(governor.SPEEDS) - 1
        elif temp <= governor.TRIP_C - 15:
            self.level = 0
        return self.level


def simulated(where: str, law, seed: int, minutes: int, trouble: Trouble = CALM) -> Course:
    """Run a board under a law: load, then twenty minutes of rest."""
    place = heat.place(where)
    body, noise = place.body, random.Random(seed)
    warmth = heat.settle(body, place.ambient_c, body.idle_w)
    levels, speeds, temps, wrong = [0], [], [], 0
    load_s = minutes * 60
    for at in range(load_s + 1200):
        busy = at < load_s
        frequency = governor.SPEEDS[levels[-1]]
        watts = heat.power_w(body, float(busy and not law.paused), frequency)
        around = body._replace(r2a=body.r2a * trouble.fan(at))
        warmth = heat.warm(around, warmth, place.ambient_c, watts, 1.0)
        heard = 0.0 if law.noiseless else noise.gauss(0, NOISE_C)
        sensed = trouble.sensed(at, round(warmth.chip_c + heard, 1))
        level = law.decide(trouble.clock(at), sensed, float(busy and not law.paused))
        doubtful = trouble.doubtful(at)
        wrong += level < levels[-1] and (doubtful or warmth.chip_c >= BANDS.warm)
        wrong += level > levels[-1] and not doubtful and warmth.chip_c < BANDS.up - 3 * NOISE_C
        levels.append(level)
        temps.append(warmth.chip_c)
        if busy:
            speeds.append(0.0 if law.paused else heat.speed(frequency))
    rested = next((at for at in range(load_s, len(levels)) if not any(levels[at:])), len(levels)) - load_s
    halves = [statistics.mean(speeds[at : at + 30]) for at in range(0, load_s - 29, 5)]
    changes = sum(levels[at] != levels[at + 1] for at in range(load_s))
    over = sum(temp >= governor.TRIP_C for temp in temps)
    worst = 1 / max(min(halves), 1e-9)
    return Course(statistics.mean(speeds), worst, max(temps), over, changes, rested, wrong, tuple(levels))


def compared(where: str, seeds: int, minutes: int) -> dict[str, list[Course]]:
    """A board under every law."""
    laws = {
        "ours": Ours,
        "step_wise78": lambda: StepWise(78),
        "step_wise78, calm": lambda: StepWise(78, 2.0, noiseless=True),
        "step_wise85": lambda: StepWise(85),
        "firmware": Firmware,
    }
    return {name: [simulated(where, make(), seed, minutes) for seed in range(seeds)] for name, make in laws.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=int, default=40, help="of inference without a pause")
    args = parser.parse_args()
    found = {where: compared(where, args.seeds, args.minutes) for where in (*CHOSEN_ON, *HELD_OUT)}
    rows = []
    for where, laws in found.items():
        for law, courses in laws.items():
            mean = lambda name, courses=courses: statistics.mean(getattr(one, name) for one in courses)  # noqa: E731  # one line of a table
            named = (where, "chosen on" if where in CHOSEN_ON else "held out") if law == "ours" else ("", "")
            peak = max(one.peak_c for one in courses)
            rows.append(
                (
                    *named, law, f"{mean('rate'):.3f}", f"x{mean('worst'):.2f}", f"{peak:.1f}",
                    f"{mean('over_s'):.0f}", f"{mean('changes'):.1f}", f"{mean('recovery_s'):.0f}",
                )
            )  # fmt: skip
    print("step_wise, calm: with 2 C of hysteresis and a sensor without noise; bars take the better of both")
    head = ("board", "", "law", "rate", "slowest 30 s", "peak C", "s >= 85 C", "changes", "recovery s")
    table(f"{args.minutes} min of inference, then 20 of rest; {args.seeds} seeds", head, rows)
    wrong = troubled(args.seeds, args.minutes)
    ours = [one for laws in found.values() for one in laws["ours"]]
    mean_rate = lambda courses: statistics.mean(one.rate for one in courses)  # noqa: E731  # used in the next line alone
    pairs = [mean_rate(laws["ours"]) / max(map(mean_rate, (laws[name] for name in PEERS))) for laws in found.values()]
    changes = {law: sum(one.changes for laws in found.values() for one in laws[law]) for law in ("ours", *PEERS)}
    last_line(
        {
            "rate_vs_step_wise78": round(min(pairs), 4),
            "rate_vs_step_wise78_mean": round(statistics.mean(pairs), 4),
            "changes_vs_step_wise78": round(changes["ours"] / max(min(changes[name] for name in PEERS), 1), 4),
            "peak_c": round(max(one.peak_c for one in ours), 2),
            "seconds_ge_85": max(one.over_s for one in ours),
            "recovery_s": max(one.recovery_s for one in ours),
            "wrong_steps": wrong + sum(one.wrong for one in ours),
        },
        f"python -m tests.bench.governor --seeds {args.seeds} --minutes {args.minutes}",
    )


def troubled(seeds: int, minutes: int) -> int:
    """Every trouble on every board; count of wrong steps."""
    rows, wrong = [], 0
    for trouble in TROUBLES:
        courses, others = [], 0
        for where in (*CHOSEN_ON, *HELD_OUT):
            for seed in range(seeds):
                course = simulated(where, Ours(), seed, minutes, trouble)
                if trouble.same:
                    plain = simulated(where, Ours(), seed, minutes)
                    others += sum(one != other for one, other in zip(course.levels, plain.levels, strict=True))
                courses.append(course)
        bad = sum(one.wrong for one in courses) + others
        wrong += bad
        rows.append(
            (trouble.name, f"{max(one.peak_c for one in courses):.1f}", max(one.over_s for one in courses), bad)
        )
    table("Troubles from minute 15 on, on all boards", ("trouble", "peak C", "s >= 85 C", "wrong steps"), rows)
    return wrong


if __name__ == "__main__":
    main()
