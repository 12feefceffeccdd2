"""How often: a rate in media time, and the pauses between attempts."""

from __future__ import annotations


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
