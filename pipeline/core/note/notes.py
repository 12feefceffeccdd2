"""A standing note in plain language, read once into what code can check: who, where, when, how long, in order or not.

"Trucks may wait in the loading bay for up to 10 minutes, 07:00-17:00 on weekdays" is three facts and a time. What was
read is shown to whoever wrote the note, who confirms it; what could not be read is said beside it. What a note does to
an incident follows from the confirmed reading by arithmetic (`effect`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.core.errors import NoteError
from pipeline.core.note import when as times
from pipeline.core.note.cues import Effect
from pipeline.core.note.when import Span, When
from pipeline.core.note.words import chinese

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.facts import Facts

Polarity: TypeAlias = Literal["allow", "forbid", "except", "dual", "none"]
_EVERYBODY = ("person",)
UNREADABLE = "?"
"""Whom a half is about that could not be read: it is kept, so that its author sees it, and never speaks."""
Outcome: TypeAlias = Literal["allowed", "forbidden", "over", "outside", "unclear", "silent"]

MOST_CHARACTERS = 500
MOST_WORDS = 80


class Reading(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One half of a note.

    Attributes:
        effect: What it says of what it names: in order, not in order, or to be told of.
        who: Classes, groups and roles of config/words.toml that it is about; empty: anyone.
        with_: What else it names: what they drive or lead or carry.
        where: The places, as written; empty: everywhere.
        when: The times.
        exception: It is the exception to the half before.
        assumed: What was not understood or not said, and was taken for in order all the same; its author may confirm.
        unclear: Why it must not be relied on, whoever confirms it. While there is any of either, the half silences
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
        """Whether it may silence an alarm, if it permits something."""
        return not (self.assumed or self.unclear)


class Note(msgspec.Struct, frozen=True):
    """A note and what was read of it.

    Attributes:
        text: As its author wrote it.
        readings: One a half.
        unread: What could not be read, in words for its author.
    """

    text: str
    readings: tuple[Reading, ...]
    unread: tuple[str, ...] = ()

    @property
    def polarity(self) -> Polarity:
        """What the note amounts to: allow, forbid, forbidden with an exception, opposite halves, or nothing clear."""
        return polarity(self.readings)


class Contradiction(NamedTuple):
    """Two notes that say the opposite of the same."""

    one: int  # counted from 0
    other: int
    text: str


def polarity(readings: Sequence[Reading]) -> Polarity:
    """Sum up the halves of a note; what permits nothing for sure does not count."""
    sure = [reading for reading in readings if reading.sure]
    return polarity_of(sure) if sure else "none"


def polarity_of(readings: Sequence[Reading]) -> Polarity:
    """Sum up the halves of a note as they were read, sure or not."""
    good = [reading for reading in readings if reading.effect == "allowed"]
    if good and len(good) < len(readings):
        return "except" if any(reading.exception for reading in readings) else "dual"
    return "allow" if good else "forbid"


def check(text: str) -> str:
    """Return a note as one line of text.

    Raises:
        NoteError: It is empty, or so long that nobody could confirm what was read of it.
    """
    line = " ".join(text.split())
    if not re.search(r"\w", line):
        raise NoteError("the note is empty: write one sentence, such as `Nobody may be on the roof at any time.`")
    words = len(re.findall(r"[\u3400-\u9fff]|[^\W_]+", line))
    if len(line) > MOST_CHARACTERS or words > 4 * MOST_WORDS or (not chinese(line) and words > MOST_WORDS):
        raise NoteError(
            f"the note has {words} words: at most {MOST_WORDS} words or {MOST_CHARACTERS} characters can be confirmed "
            "at a glance; write one note for each thing"
        )
    return line


def confirmed(note: Note, wanted: Polarity) -> Note:
    """Return a note with the polarity that its author confirmed, where it was read differently.

    What was assumed is so from then on; what is unclear stays so. `none` confirms nothing: the note stays as it was.
    """
    if wanted == "none":
        return note
    found = polarity_of(note.readings)
    same = found == wanted or (found in ("except", "dual") and wanted in ("except", "dual"))
    readings = note.readings if same else _turned(note.readings, wanted)
    meant = tuple(msgspec.structs.replace(reading, assumed=()) for reading in readings)
    return msgspec.structs.replace(note, readings=meant)


def _turned(readings: Sequence[Reading], wanted: Polarity) -> list[Reading]:
    """Read halves as saying what they were not found to say."""
    good = [reading for reading in readings if reading.effect == "allowed"]
    bad = [reading for reading in readings if reading.effect != "allowed"]
    if wanted == "allow":
        return good or [msgspec.structs.replace(reading, effect="allowed") for reading in bad]
    if wanted == "forbid":
        return bad or [msgspec.structs.replace(reading, effect="forbidden", unclear=()) for reading in good]
    timed = max(readings, key=lambda reading: reading.when.timed)
    if not timed.when.timed:  # what it excepts was not read, so it excepts nothing
        timed = msgspec.structs.replace(timed, who=(UNREADABLE,))
    return [
        Reading("forbidden", where=timed.where, who=timed.who if bad else ()),
        msgspec.structs.replace(timed, effect="allowed", exception=wanted == "except"),
    ]


def effect(readings: Iterable[Reading], facts: Facts) -> Outcome:
    """What a note that speaks of an incident says of it; times, stays and numbers are compared here.

    Args:
        readings: Of the note; those about somebody else left out.
        facts: Of the incident.

    Returns:
        `allowed`; `forbidden`, also where it is to be told of; `over`: allowed, but not so long or so many; `outside`:
        allowed, but not now; `unclear`: it may allow this, but not for sure; `silent`: it says nothing of this.
    """
    halves = [(reading, _half(reading, facts)) for reading in readings]
    found = {outcome for _, outcome in halves}
    if "allowed" in found and _taken_back(halves):
        found.discard("allowed")
    order: tuple[Outcome, ...] = ("allowed", "forbidden", "over", "outside", "unclear")
    return next((outcome for outcome in order if outcome in found), "silent")


def _taken_back(halves: Iterable[tuple[Reading, Outcome]]) -> bool:
    """Whether what one half allows another does not, now.

    A half that is the exception stands; one about somebody in particular stands before one about everybody, but for a
    limit that was passed.
    """
    good = [one for one, outcome in halves if outcome == "allowed"]
    bad = [(one, outcome) for one, outcome in halves if outcome in ("forbidden", "over")]

    def stands(one: Reading, other: Reading, outcome: Outcome) -> bool:
        particular = bool(one.who) and one.who != _EVERYBODY and (not other.who or other.who == _EVERYBODY)
        return one.exception or (particular and outcome == "forbidden" and not other.exception)

    return any(not any(stands(one, other, outcome) for one in good) for other, outcome in bad)


def _half(reading: Reading, facts: Facts) -> Outcome:
    state = times.state(reading.when, facts, lenient=reading.effect != "allowed")
    if reading.effect == "allowed":
        by_state: dict[times.State, Outcome] = {"open": "allowed", "closed": "outside", "over": "over"}
        if not reading.sure:
            by_state["open"] = "unclear"
        return by_state.get(state, "silent")
    limited = reading.when.most_s or reading.when.most
    if state == "unknown":
        return "forbidden"
    if not limited:
        return "forbidden" if state == "open" else "silent"
    return "over" if state == "over" else "silent"


def contradictions(notes: Sequence[Note]) -> list[Contradiction]:
    """Find pairs of notes about the same people and places whose times meet and that say the opposite."""
    found = []
    for first, one in enumerate(notes):
        for second in range(first + 1, len(notes)):
            other = notes[second]
            if any(_opposed(a, b) for a in one.readings for b in other.readings):
                found.append(Contradiction(first, second, f"`{one.text}` and `{other.text}` say the opposite"))
    return found


def _opposed(one: Reading, other: Reading) -> bool:
    if (one.effect == "allowed") == (other.effect == "allowed"):
        return False
    if one.exception or other.exception or sorted(one.who) != sorted(other.who):
        return False
    places = {place.casefold() for place in one.where}, {place.casefold() for place in other.where}
    return places[0] == places[1] and one.when.most_s == other.when.most_s and _meet(one.when, other.when)


def _meet(one: When, other: When) -> bool:
    """Whether two times have a moment in common."""
    days = set(one.weekdays or range(7)) & set(other.weekdays or range(7))
    if not days or (one.dark is not None and other.dark is not None and one.dark != other.dark):
        return False
    if one.outside or other.outside:
        return one == other
    moments = range(0, times.DAY, 15)
    return any(_in(one, moment) and _in(other, moment) for moment in moments)


_LIGHT: dict[bool | None, tuple[Span, ...]] = {True: ((17 * 60, 8 * 60),), False: ((6 * 60, 21 * 60 - 1),)}
"""When it may be dark, and when nobody calls it night."""


def _in(when: When, moment: int) -> bool:
    spans = when.hours or _LIGHT.get(when.dark, ((0, times.DAY),))
    return any(a <= moment <= b if a <= b else moment >= a or moment <= b for a, b in spans)
