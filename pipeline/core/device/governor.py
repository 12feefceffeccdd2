"""The thermal governor: from temperatures and work to a level of speed. Pure: no files, no clock.

The board's own protection comes late and hits hard: at its trip it drops to the lowest frequency until it has cooled.
The law steps down before that, one level at a time, and up again after cooling, so that answers stay steady.
Its bands, times and levels were chosen on simulated boards and checked on others (`tests.bench.governor`).
"""

from __future__ import annotations

import math
from statistics import median
from typing import Literal, NamedTuple

from pipeline.core.device import limits
from pipeline.core.device.heat import speed

SPEEDS = tuple(level.speed for level in limits.LEVELS)
"""The speed of each level, as a share of the highest."""
FLOOR = 3
"""The level that a board keeps on average, unless it is critical."""
TRIP_C = 85.0
"""Where boards begin to protect themselves, if they do not say: RK3588's device tree, Raspberry Pi's firmware."""

Rule = Literal["", "critical", "blind", "hot", "forecast", "sustained", "recover"]

_PLAUSIBLE_C = (-20.0, 125.0)
_FILTER_S = 5.0
_SLOPE_S = 30.0
_AHEAD_S = 60.0
_STUCK_S, _FINE_K, _COARSE_MOST = 120.0, 0.2, 5.0
"""A sensor that says the same for so long under load is stuck; one whose steps are coarser than so may do so as many
times longer, up to so many times: 1 K stands still for minutes on a board in balance."""
_COOLER_K = 10.0  # so much below the hottest a sensor decides nothing, whether it moves or not
_DOUBT_S = 3.0  # a sensor that says nothing for less is asked again
_GAP_S = 5.0  # pauses of inference that do not end a run
_RUN_S = 180.0  # sustained inference, after which a warm board is taken a level down
_TICK_S = 1.0
_TICK_MOST_S = 5.0  # longer since the last reading: the clock was set, or the board slept
_CRITICAL_EVERY_S, _HOT_EVERY_S, _FORECAST_EVERY_S, _SUSTAINED_EVERY_S = 3.0, 15.0, 30.0, 180.0
_DWELL_S, _DWELL_MOST_S, _RELAPSE_S, _CALM_S = 60.0, 900.0, 120.0, 600.0
_COOL_S = 20.0  # below the lower band for so long, by a sensor that moved meanwhile, is cool
_STEADY_S, _STEADY_SLOPE = 420.0, 0.01  # so long without a change, and moving by less (K/s): there is room for a level
_EMERGENCY_SAMPLES = 3
_FALLING = -0.02  # K/s: a hot board that cools faster needs no further step
_SERVICE_S = 600.0
_BUSY = 0.5  # share of time: less is no load under which a sensor must move


class Bands(NamedTuple):
    """Temperatures that decide, in degrees Celsius."""

    up: float  # below it, a level up
    warm: float  # above it, sustained work costs a level
    hot: float
    critical: float
    emergency: float  # the language model pauses

    @classmethod
    def below(cls, trip_c: float) -> Bands:
        """Bands of a board that begins to protect itself at `trip_c`."""
        return cls(trip_c - 13, trip_c - 7, trip_c - 3, trip_c - 1, trip_c + 5)


class SensorReading(NamedTuple):
    """What was measured.

    Attributes:
        at_s: Of any clock; steps of it do no harm.
        temps_c: Of every chosen sensor; None: it could not be read.
        busy_s: Seconds of inference since the last reading.
        names: Of the sensors, for people.
    """

    at_s: float
    temps_c: tuple[float | None, ...]
    busy_s: float
    names: tuple[str, ...] = ()


class Sensor(NamedTuple):
    """What is known of one sensor.

    Attributes:
        said: Its last reading; nan: it could not be read.
        held_s: For how long it has said that, under load.
        grain_k: The smallest step that it was seen to make.
        doubt_s: For how long it has said nothing that can be believed.
    """

    said: float = math.nan
    held_s: float = 0.0
    grain_k: float = math.inf
    doubt_s: float = 0.0

    @property
    def sane(self) -> bool:
        """Whether its temperature is possible."""
        return is_plausible(self.said)

    @property
    def nonsense(self) -> bool:
        """Whether it reports a temperature that no chip can have."""
        return not (self.sane or math.isnan(self.said))


class HeatState(NamedTuple):
    """All that the law remembers; times are its own, in seconds since it began."""

    level: int = 0
    paused: bool = False
    now_s: float = 0.0
    last_s: float = 0.0  # of the reading before
    at_s: float | None = None  # of the last reading, by the clock that was read
    raw_c: tuple[float, ...] = ()  # the last three
    temp_c: float = math.nan  # filtered
    past: tuple[tuple[float, float], ...] = ()  # times and filtered temperatures of the last half minute
    run_s: float = 0.0
    rested_s: float = 0.0
    sensors: tuple[Sensor, ...] = ()
    unmoved_s: float = 0.0  # for how long the hottest of them has said the same, under load
    doubted: bool = False  # one of them says nothing that can be believed just now
    cool_s: float = 0.0  # how long it has been below the lower band
    over: int = 0  # samples in a row at the emergency
    down_s: float = -math.inf
    up_s: float = -math.inf
    dwell_s: float = _DWELL_S
    blind: str = ""
    off: tuple[tuple[str, float], ...] = ()  # left out, see `HeatStep`
    served: tuple[float, float] = (0.0, 0.0)  # seconds looked at, at most ten minutes, and the mean speed in them
    short: bool = False  # the mean is below what is promised


class HeatStep(NamedTuple):
    """What follows from a reading.

    Attributes:
        level: From now on.
        was: Before.
        paused: The language model is to stand still.
        rule: Which rule changed the level; empty: none.
        reason: In words, for the event; empty: nothing has changed.
        temp_c: The filtered temperature; nan if no sensor works.
        blind: The sensor that does not work, and why; empty if all work.
        off: Sensors with impossible values while others work: names and values. They are ignored.
        short: Less was served than is promised, for ten minutes.
    """

    level: int
    was: int
    paused: bool
    rule: Rule
    reason: str
    temp_c: float
    blind: str
    short: bool
    off: tuple[tuple[str, float], ...] = ()


def is_plausible(temp_c: float) -> bool:
    """Whether a chip can be so warm; one that is switched off says -256 C or 255 C, and nan is no temperature."""
    return _PLAUSIBLE_C[0] <= temp_c <= _PLAUSIBLE_C[1]


def step(state: HeatState, reading: SensorReading, bands: Bands) -> tuple[HeatState, HeatStep]:
    """Take one reading, about once a second."""
    state = _filter_sensors(_advance_time(state, reading), reading)
    state = _check_emergency(_check_cooled(state, bands), bands)
    level, rule, reason = _decide(state, bands)
    was = state.level
    state = _change_level(state, level, rule)
    state = _update_speed(state)
    return state, HeatStep(level, was, state.paused, rule, reason, state.temp_c, state.blind, state.short, state.off)


def slope(state: HeatState) -> float:
    """Kelvin a second, over the last half minute; 0 until that is known."""
    if len(state.past) < 2:  # noqa: PLR2004 - of one point there is no slope
        return 0.0
    (first_s, first_c), (last_s, last_c) = state.past[0], state.past[-1]
    return (last_c - first_c) / (last_s - first_s)


def forecast(state: HeatState) -> float:
    """The temperature in a minute, if it goes on rising as it does."""
    return state.temp_c + _AHEAD_S * max(0.0, slope(state))


def _advance_time(state: HeatState, reading: SensorReading) -> HeatState:
    """Let time pass by the law's own clock, which knows no steps."""
    passed = _TICK_S if state.at_s is None else reading.at_s - state.at_s
    if not 0 < passed <= _TICK_MOST_S:
        passed = _TICK_S
    busy = reading.busy_s > 0
    rested = 0.0 if busy else state.rested_s + passed
    run = state.run_s + passed if rested <= _GAP_S and (busy or state.run_s) else 0.0
    return state._replace(now_s=state.now_s + passed, last_s=state.now_s, at_s=reading.at_s, run_s=run, rested_s=rested)


def _filter_sensors(state: HeatState, reading: SensorReading) -> HeatState:
    """Filter the hottest sensor that can be believed, and say which cannot."""
    passed = state.now_s - state.last_s
    working = reading.busy_s >= _BUSY * passed
    before = state.sensors if len(state.sensors) == len(reading.temps_c) else (Sensor(),) * len(reading.temps_c)
    sensors = tuple(_update_sensor(*one, passed, working=working) for one in zip(before, reading.temps_c, strict=True))
    hottest = max((one.said for one in sensors if one.sane), default=math.nan)
    some = not math.isnan(hottest)  # then sensors with impossible values are ignored
    left_out = [some and one.nonsense for one in sensors]
    faults = ["" if out else _find_fault(one, hottest) for one, out in zip(sensors, left_out, strict=True)]
    names = reading.names or tuple(f"sensor {number}" for number in range(len(faults)))
    faulty = (f"{name} {fault}" for name, fault in zip(names, faults, strict=True) if fault)
    blind = next(faulty, "" if faults else "no sensor")
    believed = [one for one, fault in zip(sensors, faults, strict=True) if one.sane and not fault]
    doubted = any(one.doubt_s and not out for one, out in zip(sensors, left_out, strict=True))
    rows = zip(names, sensors, left_out, strict=True)
    off = tuple((name, one.said) for name, one, out in rows if out and one.doubt_s >= _DOUBT_S)
    state = state._replace(sensors=sensors, blind=blind, doubted=doubted, off=off)
    if not believed:  # for a moment what was known still holds
        return state._replace(raw_c=(), past=(), temp_c=math.nan) if blind else state
    leading = max(believed, key=lambda one: one.said)
    raw = (*state.raw_c[-2:], leading.said)
    steady = median(raw)
    share = 1 - math.exp(-passed / _FILTER_S)
    temp = steady if math.isnan(state.temp_c) else state.temp_c + (steady - state.temp_c) * share
    past = (*(one for one in state.past if one[0] > state.now_s - _SLOPE_S), (state.now_s, temp))
    return state._replace(raw_c=raw, temp_c=temp, past=past, unmoved_s=leading.held_s)


def _update_sensor(sensor: Sensor, said: float | None, passed_s: float, *, working: bool) -> Sensor:
    """What is known of a sensor after one more reading."""
    now = Sensor(math.nan if said is None else said, sensor.held_s + passed_s * working, sensor.grain_k)
    if not now.sane:
        return now._replace(doubt_s=sensor.doubt_s + passed_s)
    if now.said == sensor.said:
        return now
    step = abs(now.said - sensor.said) if sensor.sane else math.inf
    return now._replace(held_s=0.0, grain_k=min(sensor.grain_k, step))


def _find_fault(sensor: Sensor, hottest_c: float) -> str:
    """What is wrong with a sensor; sensors that fail for a moment are common, and no fault."""
    if not sensor.sane:
        fault = "cannot be read" if math.isnan(sensor.said) else f"says {sensor.said:g} C"
        return fault if sensor.doubt_s >= _DOUBT_S else ""
    coarse = min(_COARSE_MOST, max(1.0, sensor.grain_k / _FINE_K))
    if sensor.said < hottest_c - _COOLER_K or sensor.held_s < _STUCK_S * coarse:
        return ""
    return f"has said {sensor.said:g} C for {sensor.held_s:.0f} s of work"


def _check_emergency(state: HeatState, bands: Bands) -> HeatState:
    raw = state.raw_c[-1] if state.raw_c else -math.inf
    over = state.over + 1 if raw >= bands.emergency else 0
    paused = over >= _EMERGENCY_SAMPLES or (state.paused and not state.temp_c <= bands.warm)
    return state._replace(over=over, paused=paused)


def _check_cooled(state: HeatState, bands: Bands) -> HeatState:
    cool = state.temp_c <= bands.up and forecast(state) < bands.hot
    return state._replace(cool_s=state.cool_s + state.now_s - state.last_s if cool else 0.0)


def _decide(state: HeatState, bands: Bands) -> tuple[int, Rule, str]:
    """The first rule that fits, in the order of danger; a level, which rule, and why."""
    since, temp, level, last = state.now_s - state.down_s, state.temp_c, state.level, len(SPEEDS) - 1
    raw = median(state.raw_c) if state.raw_c else -math.inf
    lower, kept = min(level + 1, last), max(level, min(level + 1, FLOOR))
    # fmt: off
    rules: tuple[tuple[Rule, bool, int, str], ...] = (
        ("critical",  raw >= bands.critical and since >= _CRITICAL_EVERY_S, min(level + 2, last),
         f"{raw:.1f} C: at {bands.critical:g} C the board is about to protect itself"),
        ("blind",     bool(state.blind) and since >= _HOT_EVERY_S, kept,
         f"{state.blind}: taken for hot"),
        ("hot",       temp >= bands.hot and slope(state) > _FALLING and since >= _HOT_EVERY_S, lower,
         f"{temp:.1f} C: hot from {bands.hot:g} C on"),
        ("forecast",  temp >= bands.up and forecast(state) >= bands.critical and since >= _FORECAST_EVERY_S, kept,
         f"{temp:.1f} C, and {forecast(state):.0f} C within a minute at this rate"),
        ("sustained", state.run_s >= _RUN_S and temp >= bands.warm and since >= _SUSTAINED_EVERY_S, kept,
         f"{temp:.1f} C after {state.run_s:.0f} s of inference without a pause"),
        ("recover",   _has_recovered(state, bands), level - 1,
         f"{temp:.1f} C: " + (f"cooled to {bands.up:g} C" if temp <= bands.up else f"settled below {bands.warm:g} C")),
    )
    # fmt: on
    for rule, fits, to, why in rules:
        if fits and to != level:
            return to, rule, why
    return level, "", ""


def _has_recovered(state: HeatState, bands: Bands) -> bool:
    """Cooled; or neither warm nor moving for minutes, since a board may settle just where no rule speaks."""
    if not state.level or state.blind or state.doubted or state.unmoved_s >= _COOL_S:
        return False
    since = state.now_s - max(state.down_s, state.up_s)
    dwell = state.dwell_s if state.run_s else _DWELL_S  # what relapses under load need not, at rest
    steady = state.temp_c < bands.warm - 1 and abs(slope(state)) < _STEADY_SLOPE and since >= max(_STEADY_S, dwell)
    return (state.cool_s >= _COOL_S and since >= dwell) or steady


def _change_level(state: HeatState, level: int, rule: Rule) -> HeatState:
    """Remember a change; one level up that had to be taken back makes the next wait longer."""
    if rule == "recover":
        return state._replace(level=level, up_s=state.now_s)
    if rule:
        relapse = state.down_s < state.up_s and state.now_s - state.up_s <= _RELAPSE_S
        dwell = min(2 * state.dwell_s, _DWELL_MOST_S) if relapse else state.dwell_s
        return state._replace(level=level, down_s=state.now_s, dwell_s=dwell)
    calm = state.now_s - max(state.down_s, state.up_s) >= _CALM_S
    return state._replace(dwell_s=_DWELL_S if calm else state.dwell_s)


def _update_speed(state: HeatState) -> HeatState:
    """Keep the mean speed of the last ten minutes (a first-order mean, once there are so many)."""
    seconds, mean = state.served
    seconds = min(seconds + _TICK_S, _SERVICE_S)
    mean += ((0.0 if state.paused else speed(SPEEDS[state.level])) - mean) * _TICK_S / seconds
    return state._replace(served=(seconds, mean), short=seconds >= _SERVICE_S and mean < speed(SPEEDS[FLOOR]) - 1e-9)
