"""A sentence while its times are read: what was read is blanked out, so that nothing is read twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.note.when import DAWN, DAY, NOON, WEEKDAYS, When

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    from pipeline.core.note.when import Span


class Scratch:
    """A text in which what was read is blanked out, and what was read so far."""

    def __init__(self, text: str) -> None:
        self.rest = text.lower() if len(text.lower()) == len(text) else text
        self.unread: list[str] = []
        self.days: set[int] = set()
        self.spans: list[Span] = []
        self.parts: list[Span] = []
        self.open_ended = False  # only one end of a span was said
        self.values: dict[str, int] = {}
        self.dark: bool | None = None
        self.outside = False
        self.always = False  # said outright; without a word it is meant as well
        self.guessed: list[str] = []  # hours that may be another half of the day

    def take(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield what fits a pattern, and blank it out."""
        for found in list(pattern.finditer(self.rest)):
            yield found
            self.rest = self.rest[: found.start()] + " " * len(found[0]) + self.rest[found.end() :]

    def put(self, pattern: re.Pattern[str], make: Callable[[re.Match[str]], str]) -> None:
        """Write something else in place of what fits a pattern; never longer than a later blank can hide."""
        self.rest = pattern.sub(make, self.rest)

    def when(self) -> When:
        """All that was read, with contradictions settled: an exact span before a part of the day."""
        spans = _halved(self.spans, self.parts) if not self.open_ended else self.spans
        if self.parts and (not spans or self.open_ended):
            spans = _crossed(self.parts, spans) if spans else self.parts
        days = () if len(self.days) == len(WEEKDAYS) else tuple(sorted(self.days))
        return When(
            weekdays=days,
            hours=tuple(dict.fromkeys(spans)),
            outside=self.outside and bool(spans or days),
            dark=None if spans else self.dark,
            **self.values,  # type: ignore[arg-type]  # each is a number of its kind
        )


def _halved(spans: list[Span], parts: list[Span]) -> list[Span]:
    """`in the evening between 7 and 9`: hours of the half of the day that was named."""
    if len(spans) != 1 or len(parts) != 1:
        return spans
    start, end = spans[0]
    half = DAY // 2
    begins, late = parts[0][0] <= start, (start + half, end + half)
    evening = parts[0][0] >= NOON
    return (
        [late]
        if evening and not begins and start < half and end < half and min(parts[0][0], 18 * 60) <= late[0]
        else spans
    )


def _crossed(parts: list[Span], spans: list[Span]) -> list[Span]:
    """`in the evening until 21:30`: the part of the day gives the end that was not said."""
    (begin, end), (start, stop) = parts[0], spans[0]
    return [(begin, stop) if start == DAWN else (start, end)]
