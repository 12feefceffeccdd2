"""The state of reading times: the rest of the text, and what was read so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.note.when import DAWN, DAY, NOON, WEEKDAYS, When

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    from pipeline.core.note.when import Span


class ReadingState:
    """A text whose times are blanked out as they are read, so that nothing is read twice, and these times."""

    def __init__(self, text: str) -> None:
        self.rest = text.lower() if len(text.lower()) == len(text) else text
        self.unread: list[str] = []
        self.days: set[int] = set()
        self.spans: list[Span] = []
        self.parts: list[Span] = []
        self.one_ended = False  # only one end of a span was said
        self.values: dict[str, int] = {}
        self.dark: bool | None = None
        self.outside = False
        self.always = False  # said outright
        self.guesses: list[str] = []  # hours that may be in the morning or in the evening

    def take(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern, and blank them out."""
        for found in list(pattern.finditer(self.rest)):
            yield found
            self.rest = self.rest[: found.start()] + " " * len(found[0]) + self.rest[found.end() :]

    def replace(self, pattern: re.Pattern[str], make: Callable[[re.Match[str]], str]) -> None:
        """Replace the matches of a pattern in the rest of the text."""
        self.rest = pattern.sub(make, self.rest)

    def make_when(self) -> When:
        """Combine what was read; an exact span has priority over a part of the day."""
        spans = _choose_half_day(self.spans, self.parts) if not self.one_ended else self.spans
        if self.parts and (not spans or self.one_ended):
            spans = _complete_span(self.parts, spans) if spans else self.parts
        days = () if len(self.days) == len(WEEKDAYS) else tuple(sorted(self.days))
        return When(
            weekdays=days,
            hours=tuple(dict.fromkeys(spans)),
            outside=self.outside and bool(spans or days),
            dark=None if spans else self.dark,
            **self.values,  # type: ignore[arg-type]  # each is a number of its kind
        )


def _choose_half_day(spans: list[Span], parts: list[Span]) -> list[Span]:
    """Move a span into the named half of the day: `in the evening between 7 and 9`."""
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


def _complete_span(parts: list[Span], spans: list[Span]) -> list[Span]:
    """Complete a one-ended span with a part of the day: `in the evening until 21:30`."""
    (begin, end), (start, stop) = parts[0], spans[0]
    return [(begin, stop) if start == DAWN else (start, end)]
