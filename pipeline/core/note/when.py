"""The times of a note as values: weekdays, hours, daylight, longest stay and number of things.

Times are read once, when a note is written (`time_words/`), and are compared by arithmetic afterwards: no model judges
whether 16:40 is before five in the afternoon.
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
_SURELY_DAY = (8 * 60, 17 * 60)  # lit lamps do not mean darkness at these hours
DAWN, NOON = 5 * 60, 12 * 60
"""Default begin of `until 8:15`, and default end of `after 20:00`."""
ROUND_MIN = 5
"""Minutes before and after the full hour that count as the full hour."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class When(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a reading holds; without any field: always.

    Attributes:
        weekdays: 0 is Monday; empty: every day.
        hours: Spans of which one must hold; empty: all day.
        outside: Whether it holds outside these days and hours instead.
        every_min: Only around every full hour (60) or half hour (30); 0: any minute.
        dark: After dark (true), by daylight (false), any time (None).
        most_s: Longest allowed stay in seconds; 0: no limit.
        most: Largest allowed number of things at once; 0: no limit.
        least: Smallest number of things for which it holds; 0: any number.
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
        """Whether it depends on the time of day or the weekday."""
        return bool(self.weekdays or self.hours or self.every_min or self.dark is not None)


def time_state(when: When, facts: Facts, *, lenient: bool = False) -> State:
    """Tell whether a time holds for an incident.

    Args:
        when: The time.
        facts: The facts of the incident.
        lenient: Whether a night of Friday to Saturday counts for both days; else for Friday alone.

    Returns:
        `open`: it holds; `closed`: the day, the hour or the number does not fit; `over`: the stay is too long or the
        number too large; `unknown`: the time matters and no clock was set.
    """
    if when.timed and not (facts.local_time and facts.weekday.casefold() in WEEKDAYS):
        return "unknown"
    if when.timed and not _holds_now(when, facts, lenient=lenient):
        return "closed"
    if when.least and facts.object.count < when.least:
        return "closed"
    long = bool(when.most_s) and facts.track.dwell_s > when.most_s
    return "over" if long or (when.most and facts.object.count > when.most) else "open"


def next_changes(when: When, facts: Facts) -> Iterator[int]:
    """Yield the seconds from now after which `time_state` may change: at a limit, or at an edge of the hours."""
    if when.most_s and facts.track.dwell_s <= when.most_s:
        yield when.most_s + 1 - facts.track.dwell_s
    if not (when.timed and facts.local_time):
        return
    now = parse_clock(facts.local_time)
    edges = {edge % DAY for start, end in when.hours for edge in (start, end + 1)} | ({0} if when.weekdays else set())
    if when.every_min:
        edges |= {(full + off) % DAY for full in range(0, DAY, when.every_min) for off in (-ROUND_MIN, ROUND_MIN + 1)}
    if when.dark is not None:
        edges |= set(_SURELY_DAY)
    for edge in edges:
        yield 60 * ((edge - now) % DAY or DAY)


def week_share(when: When) -> float:
    """Return the share of a week in which a time holds, 0..1."""
    spans = when.hours or ((0, DAY),)
    part = min(1.0, sum((end - start) % DAY or DAY for start, end in spans) / DAY) * len(when.weekdays or WEEKDAYS) / 7
    if when.every_min:
        part *= 2 * ROUND_MIN / when.every_min
    part *= 0.5 if when.dark is not None else 1.0
    return 1 - part if when.outside else part


def _holds_now(when: When, facts: Facts, *, lenient: bool) -> bool:
    now = parse_clock(facts.local_time)
    day = WEEKDAYS.index(facts.weekday.casefold())
    held = any(_is_within(span, now, day, when.weekdays, lenient=lenient) for span in when.hours or ((0, DAY),))
    if when.every_min:
        held = held and min(now % when.every_min, -now % when.every_min) <= ROUND_MIN
    if when.dark is not None:
        held = held and _is_dark(facts, now) == when.dark
    return held != when.outside


def _is_within(span: Span, now: int, day: int, weekdays: tuple[int, ...], *, lenient: bool) -> bool:
    start, end = span
    days = weekdays or tuple(range(7))
    if start <= end:
        return start <= now <= end and day in days
    if now >= start:
        return day in days
    return now <= end and ((day - 1) % 7 in days or (lenient and day in days))


def _is_dark(facts: Facts, now: int) -> bool:
    """Tell whether it is dark, by the picture and the hours that are dark most of the year."""
    by_day = _SURELY_DAY[0] <= now < _SURELY_DAY[1]
    return facts.light == "night" or (facts.light == "lit" and not by_day)


def parse_clock(clock: str) -> int:
    """Return HH:MM as minutes of the day."""
    hours, _, rest = clock.partition(":")
    return int(hours) * 60 + int(rest or 0)


def format_clock(minute: int) -> str:
    """Return minutes of the day as HH:MM."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def start_at_midnight(when: When) -> When:
    """Return a time whose spans with a default begin (`until ...`) begin at midnight instead of at dawn."""
    ends_only = (DAWN, NOON)  # where `until` begins; `after` ends just before dawn
    begun = ((0 if start in ends_only and end != DAWN - 1 else start, end) for start, end in when.hours)
    return msgspec.structs.replace(when, hours=tuple(begun))
