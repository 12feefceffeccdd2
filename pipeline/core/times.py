"""When and how often: moments as people say them, a rate in media time, the pauses between attempts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo

    from pipeline.core.vocabulary import Nanoseconds

YEARS = range(1970, 2262)  # of which nanoseconds since 1970 fit 63 bits
_EARLIEST_YEAR = 2020  # this software is younger


def local(utc_ns: Nanoseconds, zone: tzinfo) -> datetime:
    """Return a moment as people at the site say it."""
    return datetime.fromtimestamp(utc_ns / 1e9, UTC).astimezone(zone)


def clock_is_set(moment: datetime) -> bool:
    """Whether a moment can be true: boards without a clock and recordings of unknown date begin in 1970."""
    return moment.year >= _EARLIEST_YEAR


def utc(utc_ns: Nanoseconds) -> datetime:
    """Return a moment as the world says it."""
    return datetime.fromtimestamp(utc_ns // 1_000_000_000, UTC)


def iso(moment: datetime) -> str:
    """Return a moment as programs read it: in UTC, to the second."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def within(hours: str, moment: datetime) -> bool:
    """Whether a moment lies in a span such as 07:00-18:00, or 22:00-06:00 over midnight; ends included."""
    start, _, end = hours.partition("-")
    now = f"{moment:%H:%M}"
    return start <= now <= end if start <= end else now >= start or now <= end


class Pace:
    """Lets through so many a second of media time, at even distances, whatever the rate of what comes."""

    def __init__(self, per_s: float) -> None:
        self._period_ns = round(1e9 / per_s)
        self._due_ns: int | None = None

    def due(self, at_ns: int) -> bool:
        """Whether this one is to be taken. Times do not go backwards."""
        if self._due_ns is None or at_ns >= self._due_ns:
            due_ns = (at_ns if self._due_ns is None else self._due_ns) + self._period_ns
            self._due_ns = due_ns if due_ns > at_ns else at_ns + self._period_ns
            return True
        return False


class Backoff:
    """Pauses that double from the first to the most, and begin anew after a success."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_s, self._most_s = first_s, most_s
        self._next_s = first_s

    def next_s(self) -> float:
        """How long to wait now."""
        pause, self._next_s = self._next_s, min(self._next_s * 2, self._most_s)
        return pause

    def reset(self) -> None:
        """It worked."""
        self._next_s = self._first_s
