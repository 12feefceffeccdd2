"""Reads every time in a sentence, once, when a note is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.note.spoken_times import clocks, durations, spans, unread, weekdays
from pipeline.core.note.spoken_times.scratch import Scratch
from pipeline.core.note.when import DAY, clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.note.when import When

_LONG_MIN = DAY // 2  # of hours by the clock: longer ones are asked about


class Read(NamedTuple):
    """What was found in a text.

    Attributes:
        when: All of it.
        rest: The text with what was read blanked out, of the same length.
        unread: What looks like a time and is none that can be checked: seasons, dates, weather.
        recurring: Whether it says that something happens again and again: by the clock, by day, or always.
        guessed: Why hours that were read may not be those that were meant, in words for the author.
        one_ended: Only one end of a span was said, and the other is what is usual.
    """

    when: When
    rest: str
    unread: tuple[str, ...]
    recurring: bool = False
    guessed: tuple[str, ...] = ()
    one_ended: bool = False


def read(text: str) -> Read:
    """Read every time in a sentence of English or Chinese."""
    scratch = Scratch(text)
    unread.read_unread(scratch)
    spans.read_round_the_clock(scratch)
    scratch.put(clocks.HOURS_WRITTEN, clocks.hours_written)
    durations.read_durations(scratch)
    durations.read_counts(scratch)
    durations.read_every(scratch)
    weekdays.read_weekdays(scratch)
    clocks.read_clocks(scratch)
    unread.read_impossible(scratch, unread.NO_CLOCK)
    spans.read_spans(scratch)
    spans.read_parts(scratch)
    unread.read_impossible(scratch, unread.NO_LIMIT)
    if len(scratch.spans) > 1 and weekdays.EACH_ITS_HOURS.search(text.lower()):
        scratch.unread.append("days with hours of their own: write a note for each")
    when = scratch.when()
    guessed = (*(() if scratch.parts else scratch.guessed), *_long(when, scratch))  # a part of the day tells the half
    recurring = when.timed or scratch.always
    return Read(when, scratch.rest, tuple(scratch.unread), recurring, guessed, scratch.open_ended)


def _long(when: When, scratch: Scratch) -> Iterator[str]:
    """Say of hours by the clock that they are very long, or go over midnight: perhaps half of them were meant."""
    for start, end in when.hours if scratch.spans else ():
        span = f"{clock(start)}-{clock(end)}"
        if when.outside:
            yield f"it holds outside of hours: `{span}`"
        elif start > end:
            yield f"it goes over midnight: `{span}`"
        elif end - start > _LONG_MIN:
            yield f"it is more than twelve hours: `{span}`"
