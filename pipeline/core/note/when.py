"""When a note holds: weekdays, hours, daylight, how long and how many, as values.

Times are read once, when a note is written (`spoken_times/`), and from then on are arithmetic: no model judges whether
16:40 is before five in the afternoon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.facts import Facts

State: TypeAlias = Literal["open", "closed", "over", "unknown"]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**7)]
Minute: TypeAlias = Annotated[int, Meta(ge=0, le=24 * 60)]
Span: TypeAlias = tuple[
    Minute, Minute
]  # minutes of the day, both ends included; over midnight where the second is smaller

DAY = 24 * 60
_SURELY_DAY = (8 * 60, 17 * 60)  # lamps that are lit then do not mean that it is dark
DAWN, NOON = 5 * 60, 12 * 60
"""Where `until 8:15` begins, and `after 20:00` ends, unless said otherwise."""
ROUND_MIN = 5
"""So many minutes before and after the full hour still are the full hour."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class When(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a sentence holds. Nothing said: always.

    Attributes:
        weekdays: 0 is Monday.
        hours: Any of these spans.
        outside: It holds outside these days and hours instead.
        every_min: Around every full hour (60) or half hour (30) only.
        dark: After dark (true), by daylight (false).
        most_s: How long a stay may be, seconds; 0: no matter.
        most: How many there may be at once; 0: no matter.
        least: From how many on it speaks of them; 0: no matter.
    """

    weekdays: tuple[Annotated[int, Meta(ge=0, le=6)], ...] = ()
    hours: tuple[Span, ...] = ()
    outside: bool = False
    every_min: Literal[0, 30, 60] = 0
    dark: bool | None = None
    most_s: Count = 0
    most: Count = 0
    least: Count = 0

    @property
    def timed(self) -> bool:
        """Whether the clock matters."""
        return bool(self.weekdays or self.hours or self.every_min or self.dark is not None)


def state(when: When, facts: Facts, *, lenient: bool = False) -> State:
    """Whether a time holds for an incident.

    Args:
        when: The time.
        facts: Of the incident.
        lenient: A night of Friday to Saturday counts for both days; else for Friday alone.

    Returns:
        `open`: all of it holds; `closed`: day or hour do not; `over`: they do, but the stay or the number is too large;
        `unknown`: the clock matters and none was set.
    """
    if when.timed and not (facts.local_time and facts.weekday.casefold() in WEEKDAYS):
        return "unknown"
    if when.timed and not _now(when, facts, lenient=lenient):
        return "closed"
    if when.least and facts.object.count < when.least:
        return "closed"
    long = bool(when.most_s) and facts.track.dwell_s > when.most_s
    return "over" if long or (when.most and facts.object.count > when.most) else "open"


def changes(when: When, facts: Facts) -> Iterator[int]:
    """Yield after how many seconds from now `state` may be another: a limit is passed, or an edge of the hours."""
    if when.most_s and facts.track.dwell_s <= when.most_s:
        yield when.most_s + 1 - facts.track.dwell_s
    if not (when.timed and facts.local_time):
        return
    now = minutes(facts.local_time)
    edges = {edge % DAY for start, end in when.hours for edge in (start, end + 1)} | ({0} if when.weekdays else set())
    if when.every_min:
        edges |= {(full + off) % DAY for full in range(0, DAY, when.every_min) for off in (-ROUND_MIN, ROUND_MIN + 1)}
    if when.dark is not None:
        edges |= set(_SURELY_DAY)
    for edge in edges:
        yield 60 * ((edge - now) % DAY or DAY)


def share(when: When) -> float:
    """How much of a week a time takes, 0..1."""
    spans = when.hours or ((0, DAY),)
    part = min(1.0, sum((end - start) % DAY or DAY for start, end in spans) / DAY) * len(when.weekdays or WEEKDAYS) / 7
    if when.every_min:
        part *= 2 * ROUND_MIN / when.every_min
    part *= 0.5 if when.dark is not None else 1.0
    return 1 - part if when.outside else part


def _now(when: When, facts: Facts, *, lenient: bool) -> bool:
    now = minutes(facts.local_time)
    day = WEEKDAYS.index(facts.weekday.casefold())
    held = any(_within(span, now, day, when.weekdays, lenient=lenient) for span in when.hours or ((0, DAY),))
    if when.every_min:
        held = held and min(now % when.every_min, -now % when.every_min) <= ROUND_MIN
    if when.dark is not None:
        held = held and _dark(facts, now) == when.dark
    return held != when.outside


def _within(span: Span, now: int, day: int, weekdays: tuple[int, ...], *, lenient: bool) -> bool:
    start, end = span
    days = weekdays or tuple(range(7))
    if start <= end:
        return start <= now <= end and day in days
    if now >= start:
        return day in days
    return now <= end and ((day - 1) % 7 in days or (lenient and day in days))


def _dark(facts: Facts, now: int) -> bool:
    """By the picture, and by the hours that are dark most of the year."""
    by_day = _SURELY_DAY[0] <= now < _SURELY_DAY[1]
    return facts.light == "night" or (facts.light == "lit" and not by_day)


def minutes(clock: str) -> int:
    """HH:MM as minutes of the day."""
    hours, _, rest = clock.partition(":")
    return int(hours) * 60 + int(rest or 0)


def clock(minute: int) -> str:
    """Minutes of the day as HH:MM."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def from_midnight(when: When) -> When:
    """The same time, where it is said only until when: from midnight on, rather than from when people get up."""
    ends_only = (DAWN, NOON)  # where `until` begins; `after` ends just before dawn
    begun = ((0 if start in ends_only and end != DAWN - 1 else start, end) for start, end in when.hours)
    return msgspec.structs.replace(when, hours=tuple(begun))
