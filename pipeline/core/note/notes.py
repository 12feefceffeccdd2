"""Standing notes: readings that code can check (who, where, when, how long, allowed or not), and their effect.

"Trucks may wait in the loading bay for up to 10 minutes, 07:00-17:00 on weekdays" is three facts and a time. The author
of a note sees and confirms the reading, and sees what could not be read. What a note does to an incident is computed
from the confirmed readings (`apply_note`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.core.errors import NoteError
from pipeline.core.note import when as times
from pipeline.core.note.cues import Effect
from pipeline.core.note.when import Span, When
from pipeline.core.note.words import has_chinese

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.facts import Facts

Polarity: TypeAlias = Literal["allow", "forbid", "except", "dual", "none"]
_EVERYBODY = ("person",)
UNREADABLE = "?"
"""The subject of a reading that could not be read; such a reading is shown to the author and never applies."""
NoteOutcome: TypeAlias = Literal["allowed", "forbidden", "over", "outside", "unclear", "silent"]

MAX_CHARACTERS = 500
MAX_WORDS = 80


class Reading(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One statement of a note; most notes have one, notes with an exception have two.

    Attributes:
        effect: Whether it allows, forbids, or asks for a report.
        who: Classes, groups and roles of config/words.toml that it is about; empty: anyone.
        with_: Other things that it names: what people drive, lead or carry.
        where: The places, as written; empty: everywhere.
        when: The times.
        exception: Whether it is an exception to the reading before.
        assumed: What was not understood or not said, and was assumed to be allowed; the author may confirm it.
        unclear: Why it must not be relied on, even if confirmed. A reading with `assumed` or `unclear` silences
            nothing.
    """

    effect: Effect
    who: tuple[str, ...] = ()
    with_: tuple[str, ...] = msgspec.field(name="with", default=())
    where: tuple[str, ...] = ()
    when: When = When()
    exception: bool = False
    assumed: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether a permission may silence an alarm."""
        return not (self.assumed or self.unclear)


class Note(msgspec.Struct, frozen=True):
    """A note and its readings.

    Attributes:
        text: The text that its author wrote.
        readings: Its statements.
        unread: What could not be read, in words for its author.
    """

    text: str
    readings: tuple[Reading, ...]
    unread: tuple[str, ...] = ()

    @property
    def polarity(self) -> Polarity:
        """The note's polarity, from the readings that are sure; see `sure_polarity`."""
        return sure_polarity(self.readings)


class Contradiction(NamedTuple):
    """Two notes that contradict each other."""

    one: int  # index, from 0
    other: int
    text: str


def sure_polarity(readings: Sequence[Reading]) -> Polarity:
    """Return the polarity of a note without its unsure permissions; `none` if no reading is sure."""
    sure = [reading for reading in readings if reading.sure]
    return read_polarity(sure) if sure else "none"


def read_polarity(readings: Sequence[Reading]) -> Polarity:
    """Return the polarity of all readings: `allow`, `forbid`, `except` (with an exception) or `dual` (opposites)."""
    good = [reading for reading in readings if reading.effect == "allowed"]
    if good and len(good) < len(readings):
        return "except" if any(reading.exception for reading in readings) else "dual"
    return "allow" if good else "forbid"


def check_text(text: str) -> str:
    """Check the length of a note, and return it as one line.

    Raises:
        NoteError: It is empty or too long.
    """
    line = " ".join(text.split())
    if not re.search(r"\w", line):
        raise NoteError("the note is empty: write one sentence, such as `Nobody may be on the roof at any time.`")
    words = len(re.findall(r"[\u3400-\u9fff]|[^\W_]+", line))
    if len(line) > MAX_CHARACTERS or words > 4 * MAX_WORDS or (not has_chinese(line) and words > MAX_WORDS):
        raise NoteError(
            f"the note has {words} words: at most {MAX_WORDS} words or {MAX_CHARACTERS} characters can be confirmed "
            "at a glance; write one note for each thing"
        )
    return line


def confirm_note(note: Note, wanted: Polarity) -> Note:
    """Return a note with the polarity that its author confirmed; readings are changed if they differ.

    All assumptions are confirmed; `unclear` stays. With the polarity `none` the note is returned unchanged.
    """
    if wanted == "none":
        return note
    found = read_polarity(note.readings)
    same = found == wanted or (found in ("except", "dual") and wanted in ("except", "dual"))
    readings = note.readings if same else _change_polarity(note.readings, wanted)
    meant = tuple(msgspec.structs.replace(reading, assumed=()) for reading in readings)
    return msgspec.structs.replace(note, readings=meant)


def _change_polarity(readings: Sequence[Reading], wanted: Polarity) -> list[Reading]:
    """Change readings so that they have the wanted polarity."""
    good = [reading for reading in readings if reading.effect == "allowed"]
    bad = [reading for reading in readings if reading.effect != "allowed"]
    if wanted == "allow":
        return good or [msgspec.structs.replace(reading, effect="allowed") for reading in bad]
    if wanted == "forbid":
        return bad or [msgspec.structs.replace(reading, effect="forbidden", unclear=()) for reading in good]
    timed = max(readings, key=lambda reading: reading.when.timed)
    if not timed.when.timed:  # the exception was not read, so it excepts nothing
        timed = msgspec.structs.replace(timed, who=(UNREADABLE,))
    return [
        Reading("forbidden", where=timed.where, who=timed.who if bad else ()),
        msgspec.structs.replace(timed, effect="allowed", exception=wanted == "except"),
    ]


def apply_note(readings: Iterable[Reading], facts: Facts) -> NoteOutcome:
    """Apply a note to an incident: compare times, durations and numbers.

    Args:
        readings: The readings of the note that are about the incident's object.
        facts: The facts of the incident.

    Returns:
        `allowed`; `forbidden`, also if a report is asked for; `over`: allowed, but not so long or so many; `outside`:
        allowed, but not at this time; `unclear`: perhaps allowed; `silent`: the note says nothing about it.
    """
    outcomes = [(reading, _apply_reading(reading, facts)) for reading in readings]
    found = {outcome for _, outcome in outcomes}
    if "allowed" in found and _is_defeated(outcomes):
        found.discard("allowed")
    order: tuple[NoteOutcome, ...] = ("allowed", "forbidden", "over", "outside", "unclear")
    return next((outcome for outcome in order if outcome in found), "silent")


def _is_defeated(outcomes: Iterable[tuple[Reading, NoteOutcome]]) -> bool:
    """Tell whether a reading that forbids defeats the readings that allow.

    Exceptions are never defeated; a permission for particular people is not defeated by a prohibition for everybody,
    unless a limit was exceeded.
    """
    good = [one for one, outcome in outcomes if outcome == "allowed"]
    bad = [(one, outcome) for one, outcome in outcomes if outcome in ("forbidden", "over")]

    def stands(one: Reading, other: Reading, outcome: NoteOutcome) -> bool:
        particular = bool(one.who) and one.who != _EVERYBODY and (not other.who or other.who == _EVERYBODY)
        return one.exception or (particular and outcome == "forbidden" and not other.exception)

    return any(not any(stands(one, other, outcome) for one in good) for other, outcome in bad)


def _apply_reading(reading: Reading, facts: Facts) -> NoteOutcome:
    state = times.time_state(reading.when, facts, lenient=reading.effect != "allowed")
    if reading.effect == "allowed":
        by_state: dict[times.State, NoteOutcome] = {"open": "allowed", "closed": "outside", "over": "over"}
        if not reading.sure:
            by_state["open"] = "unclear"
        return by_state.get(state, "silent")
    limited = reading.when.most_s or reading.when.most
    if state == "unknown":
        return "forbidden"
    if not limited:
        return "forbidden" if state == "open" else "silent"
    return "over" if state == "over" else "silent"


def find_contradictions(notes: Sequence[Note]) -> list[Contradiction]:
    """Find pairs of notes about the same people and places with overlapping times that say the opposite."""
    found = []
    for first, one in enumerate(notes):
        for second in range(first + 1, len(notes)):
            other = notes[second]
            if any(_contradict(a, b) for a in one.readings for b in other.readings):
                found.append(Contradiction(first, second, f"`{one.text}` and `{other.text}` say the opposite"))
    return found


def _contradict(one: Reading, other: Reading) -> bool:
    if (one.effect == "allowed") == (other.effect == "allowed"):
        return False
    if one.exception or other.exception or sorted(one.who) != sorted(other.who):
        return False
    places = {place.casefold() for place in one.where}, {place.casefold() for place in other.where}
    return places[0] == places[1] and one.when.most_s == other.when.most_s and _times_overlap(one.when, other.when)


def _times_overlap(one: When, other: When) -> bool:
    """Tell whether two times have a moment in common."""
    days = set(one.weekdays or range(7)) & set(other.weekdays or range(7))
    if not days or (one.dark is not None and other.dark is not None and one.dark != other.dark):
        return False
    if one.outside or other.outside:
        return one == other
    moments = range(0, times.DAY, 15)
    return any(_is_in(one, moment) and _is_in(other, moment) for moment in moments)


_LIGHT: dict[bool | None, tuple[Span, ...]] = {True: ((17 * 60, 8 * 60),), False: ((6 * 60, 21 * 60 - 1),)}
"""Minutes of the day at which it may be dark (True), and at which it may be light (False)."""


def _is_in(when: When, moment: int) -> bool:
    spans = when.hours or _LIGHT.get(when.dark, ((0, times.DAY),))
    return any(a <= moment <= b if a <= b else moment >= a or moment <= b for a, b in spans)
