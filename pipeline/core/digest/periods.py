"""Parse the begin and end of a period: a time, a clock such as 22:00, or a span such as 8h."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pipeline.core.errors import ConfigError
from pipeline.core.times import YEARS

if TYPE_CHECKING:
    from datetime import tzinfo

_SPAN = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) ?(min|h|d|w)")
_UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DAY = timedelta(days=1)


def parse_time(option: str, text: str, end: datetime, zone: tzinfo) -> datetime:
    """Parse the begin or the end of a period.

    Args:
        option: The option's name, for the error.
        text: An ISO time (local if it has no offset), `22:00` (the last such time before `end`), or a
            span before `end`: `90min`, `8h`, `2d`, `1w`.
        end: The moment from which `22:00` and spans count back; aware.
        zone: The site's time zone.

    Returns:
        The moment in UTC.

    Raises:
        ConfigError: The text is none of these.
    """
    wanted = text.strip()
    try:
        found = _parse(wanted, end, zone)
    except (ValueError, OverflowError):
        found = None
    if found is None or found.year not in YEARS:
        raise ConfigError(f"{option} {text}: write it as 2026-11-29T22:00, 22:00, or a span such as 90min, 8h, 2d")
    return found


def _parse(text: str, end: datetime, zone: tzinfo) -> datetime:
    if span := _SPAN.fullmatch(text):
        return end - float(span[1]) * _UNITS[span[2]]
    if clock := _CLOCK.fullmatch(text):
        return _last_time(int(clock[1]), int(clock[2]), end, zone)
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)).astimezone(UTC)


def _last_time(hour: int, minute: int, end: datetime, zone: tzinfo) -> datetime:
    """Return the last moment before `end` at which the site's clock showed a time."""
    here = end.astimezone(zone).replace(hour=hour, minute=minute, second=0, microsecond=0)
    while here.astimezone(UTC) >= end:
        here -= _DAY
    return here.astimezone(UTC)


def name_time(at: datetime, *, dated: bool) -> tuple[str, str]:
    """Return day and clock for a sentence: a weekday (the date if `dated`), and HH:MM."""
    return (f"{at:%Y-%m-%d}" if dated else _WEEKDAYS[at.weekday()]), f"{at:%H:%M}"


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")  # of every locale


def utc_offset(utc: datetime, local_time: str, weekday: str) -> timedelta | None:
    """Return local time minus UTC, from one moment in both, rounded to a quarter of an hour; None if unknown.

    Args:
        utc: The moment in UTC.
        local_time: Its local time as HH:MM, from the facts; empty if no clock was set.
        weekday: Its local weekday in English, from the facts; empty if no clock was set.
    """
    clock = _CLOCK.fullmatch(local_time)
    if clock is None or weekday not in _WEEKDAYS:
        return None
    week = 7 * 1440
    here = _WEEKDAYS.index(weekday) * 1440 + int(clock[1]) * 60 + int(clock[2])
    there = utc.weekday() * 1440 + utc.hour * 60 + utc.minute
    ahead = (here - there + 12 * 60 + 7) % week - 12 * 60 - 7  # zones are from 12 hours behind to 14 ahead
    return timedelta(minutes=round(ahead / 15) * 15) if ahead <= 14 * 60 + 7 else None
