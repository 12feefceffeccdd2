"""Read all times of a clause, once, when a note is added."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.note.time_words import clocks, durations, spans, unread, weekdays
from pipeline.core.note.time_words.state import ReadingState
from pipeline.core.note.when import DAY, format_clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.note.when import When

_LONG_MIN = DAY // 2  # longer spans of hours are confirmed by the author


class TimeReading(NamedTuple):
    """The times of a text.

    Attributes:
        when: All times.
        rest: The text with the times blanked out, of the same length.
        unread: Phrases that look like times and cannot be checked: seasons, dates, weather.
        recurring: Whether it says that something happens again and again: by the clock, by day, or always.
        guesses: Why hours may be read wrongly, in words for the author.
        one_ended: Whether only one end of a span was said, and the other is a default.
    """

    when: When
    rest: str
    unread: tuple[str, ...]
    recurring: bool = False
    guesses: tuple[str, ...] = ()
    one_ended: bool = False


def read_times(text: str) -> TimeReading:
    """Read all times in a text of English or Chinese."""
    state = ReadingState(text)
    unread.read_unread(state)
    spans.read_round_the_clock(state)
    state.replace(clocks.HOURS_WITH_UNIT, clocks.hours_to_clock)
    durations.read_durations(state)
    durations.read_counts(state)
    durations.read_every(state)
    weekdays.read_weekdays(state)
    clocks.read_clocks(state)
    unread.read_impossible(state, unread.NO_CLOCK)
    spans.read_spans(state)
    spans.read_parts(state)
    unread.read_impossible(state, unread.NO_LIMIT)
    if len(state.spans) > 1 and weekdays.EACH_ITS_HOURS.search(text.lower()):
        state.unread.append("days with hours of their own: write a note for each")
    when = state.make_when()
    guesses = (
        *(() if state.parts else state.guesses),
        *_doubt_long_hours(when, state),
    )  # a part of the day settles morning or evening
    recurring = when.timed or state.always
    return TimeReading(when, state.rest, tuple(state.unread), recurring, guesses, state.one_ended)


def _doubt_long_hours(when: When, state: ReadingState) -> Iterator[str]:
    """Yield doubts about spans of hours that are very long or go over midnight."""
    for start, end in when.hours if state.spans else ():
        span = f"{format_clock(start)}-{format_clock(end)}"
        if when.outside:
            yield f"it holds outside of hours: `{span}`"
        elif start > end:
            yield f"it goes over midnight: `{span}`"
        elif end - start > _LONG_MIN:
            yield f"it is more than twelve hours: `{span}`"
