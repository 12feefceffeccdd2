"""Spans of time as people name them: since ten last night, the last eight hours, between two dates."""

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
_A_DAY = timedelta(days=1)


def moment(option: str, text: str, end: datetime, zone: tzinfo) -> datetime:
    """Read when a period begins or ends.

    Args:
        option: How the command calls it, for the error.
        text: An ISO time (without an offset it is the site's), `22:00` (the last time it was that before `end`), or a
            span before `end`: `90min`, `8h`, `2d`, `1w`.
        end: What `22:00` and spans count back from; aware.
        zone: Of the site.

    Returns:
        The moment in UTC.

    Raises:
        ConfigError: It is none of these.
    """
    wanted = text.strip()
    try:
        found = _read(wanted, end, zone)
    except (ValueError, OverflowError):
        found = None
    if found is None or found.year not in YEARS:
        raise ConfigError(f"{option} {text}: write it as 2026-11-29T22:00, 22:00, or a span such as 90min, 8h, 2d")
    return found


def _read(text: str, end: datetime, zone: tzinfo) -> datetime:
    if span := _SPAN.fullmatch(text):
        return end - float(span[1]) * _UNITS[span[2]]
    if clock := _CLOCK.fullmatch(text):
        return _last(int(clock[1]), int(clock[2]), end, zone)
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)).astimezone(UTC)


def _last(hour: int, minute: int, end: datetime, zone: tzinfo) -> datetime:
    """When a clock at the site last showed a time, strictly before `end`."""
    here = end.astimezone(zone).replace(hour=hour, minute=minute, second=0, microsecond=0)
    while here.astimezone(UTC) >= end:
        here -= _A_DAY
    return here.astimezone(UTC)


def named(at: datetime, *, dated: bool) -> tuple[str, str]:
    """Day and clock as a sentence names them: a weekday, or the date where weekdays would be ambiguous; HH:MM."""
    return (f"{at:%Y-%m-%d}" if dated else _WEEKDAYS[at.weekday()]), f"{at:%H:%M}"


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")  # of every locale


def offset(utc: datetime, local_time: str, weekday: str) -> timedelta | None:
    """How far a site's clock is ahead of UTC, from one moment told in both; to a quarter of an hour.

    Args:
        utc: The moment.
        local_time: HH:MM at the site, as facts have it; empty where no clock was set.
        weekday: Its English name; the same.
    """
    clock = _CLOCK.fullmatch(local_time)
    if clock is None or weekday not in _WEEKDAYS:
        return None
    week = 7 * 1440
    here = _WEEKDAYS.index(weekday) * 1440 + int(clock[1]) * 60 + int(clock[2])
    there = utc.weekday() * 1440 + utc.hour * 60 + utc.minute
    ahead = (here - there + 12 * 60 + 7) % week - 12 * 60 - 7  # zones are from 12 hours behind to 14 ahead
    return timedelta(minutes=round(ahead / 15) * 15) if ahead <= 14 * 60 + 7 else None
