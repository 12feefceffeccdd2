"""Prompts of language models. Text in the scene is never part of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.digest.group_words import frequency_phrase, place_phrase, time_phrase
from pipeline.core.incident.rules import listed
from pipeline.core.text.english import duration_in_words, one_line, pluralise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.llm.engine import Part
    from pipeline.core.digest.groups import Group
    from pipeline.core.facts import Facts

_TASK = "What happens, in one sentence that says only what is listed.\n\n"
_EXAMPLES = (
    (
        "2 cars, trailer; car park; Monday 09:12, day; slow, in; 40 seconds",
        "Two cars, perhaps with a trailer, drive slowly into the car park on Monday at 09:12.",
    ),
    (
        "person; side door; Sunday 23:05, night; still; 75 seconds; visit 3; loiter",
        "A person stands at the side door for 75 seconds, the third visit within an hour, loitering.",
    ),
    ("dog; lawn; Friday 16:40, day; run, along; 6 seconds", "A dog runs along the lawn on Friday at 16:40."),
)
_QUESTION = (
    "\nDoes the note speak about the incident? Same place and same kind: yes. Another place or another kind: no.\n\n"
)
_PAIRS = (
    ("person (bucket), place: facade", "Window cleaners work on the facade on Mondays.", "yes"),
    ("person, place: street", "Window cleaners work on the facade on Mondays.", "no"),
    ("truck, place: archive", "Nobody may enter the records room.", "no"),
    ("person, place: archive", "Nobody may enter the records room.", "yes"),
)
_ASKS, _NEXT = " =>", "\n"
ANSWERS = (" yes", " no")
"""How an answer about a note begins; either is one token of every model known here."""


class Prompts(NamedTuple):
    """What a model is asked, as token numbers: examples, which any model goes on with, whatever it was taught.

    Both questions begin alike, so that a model turns from one to the other without reading anything again.

    Attributes:
        fixed: What is the same for every question about every incident: read once, and kept.
        encode: Text as token numbers.
    """

    fixed: Part
    encode: Callable[[str], list[int]]

    @classmethod
    def of(cls, encode: Callable[[str], list[int]]) -> Prompts:
        """Make the prompts for a model, given the `encode` of its tokenizer."""
        lines = [f"{listed}{_ASKS} {answer}{_NEXT}" for listed, answer in _EXAMPLES]
        pairs = [f"{_incident_part(seen)}{_note_part(note)} {answer}{_NEXT}" for seen, note, answer in _PAIRS]
        return cls(tuple(encode("".join((_TASK, *lines, _QUESTION, *pairs, _NEXT)))), encode)

    def summary(self, facts: Facts) -> tuple[Part, Part]:
        """Ask for the sentence of an incident: what is kept, and what is its own."""
        return self.fixed, tuple(self.encode(format_facts(facts) + _ASKS))

    def note(self, seen: str, note: str) -> tuple[Part, Part, Part]:
        """Return the prompt whether a note is about a sight (see `format_sight`); answers begin with one of `ANSWERS`.

        The incident comes before the note, so that it is read once for all notes.
        """
        return self.fixed, tuple(self.encode(_incident_part(seen))), tuple(self.encode(_note_part(note)))


def format_facts(facts: Facts) -> str:
    """Return the facts of an incident on one line, without empty ones."""
    thing, way = facts.object, facts.track
    many = f"{thing.count} {pluralise(thing.class_)}" if thing.count > 1 else thing.class_
    found = (
        ", ".join(("movement" if thing.class_ == "none" else many, *map(one_line, facts.tags))),
        one_line(facts.zone),
        f"{facts.weekday} {facts.local_time}, {facts.light}" if facts.local_time else facts.light,
        way.speed if way.direction == "none" else f"{way.speed}, {way.direction}",
        duration_in_words(way.dwell_s),
        f"visit {way.visits_last_hour}" if way.visits_last_hour > 1 else "",
        ", ".join(one_line(rule.replace("_", " ")) for rule in listed(facts.rules_hit)),
    )
    return "; ".join(part for part in found if part)


def format_sight(class_: str, tags: Sequence[str], zone: str) -> str:
    """Return class, tags and zone as text: the sight that notes are weighed against."""
    named = "" if class_ in ("none", "?") else class_
    with_ = ", ".join(map(one_line, tags))
    seen = f"{named} ({with_})" if named and with_ else named or with_ or "movement"
    return f"{seen}, place: {one_line(zone)}"


def _incident_part(seen: str) -> str:
    return f"Incident: {seen}\n"


def _note_part(note: str) -> str:
    return f"Note: {one_line(note)}{_ASKS}"


_DIGEST_TASK = "What was counted, in one sentence that says all that is listed.\n\n"
_DIGEST_EXAMPLES = (
    (
        "alarm; 3 times people, up to 2; side door; on Sunday between 22:10 and 23:05; 75 seconds; note n2",
        (
            "Alarm: people were seen three times by the side door on Sunday between 22:10 and 23:05, "
            "up to two at once, the longest for 75 seconds, decided by note n2."
        ),
    ),
    (
        "log; once a car; car park (camera yard); on Monday at 09:12; 40 seconds",
        "Log: a car was noticed in the car park (camera yard) at 09:12 on Monday for 40 seconds.",
    ),
)


class DigestPrompt(NamedTuple):
    """The prompt of a sentence about a group of incidents, as token numbers.

    Attributes:
        fixed: The part that is the same for every group; read once, and cached.
        encode: Turns text into token numbers.
    """

    fixed: Part
    encode: Callable[[str], list[int]]

    @classmethod
    def of(cls, encode: Callable[[str], list[int]]) -> DigestPrompt:
        """Make the prompts for a model, given the `encode` of its tokenizer."""
        lines = (f"{listed}{_ASKS} {answer}{_NEXT}" for listed, answer in _DIGEST_EXAMPLES)
        return cls(tuple(encode(_DIGEST_TASK + "".join(lines))), encode)

    def parts(self, group: Group) -> tuple[Part, Part]:
        """Return the prompt for a group: the fixed part and its own part."""
        return self.fixed, tuple(self.encode(format_group(group) + _ASKS))


def format_group(group: Group) -> str:
    """Return the facts of a group on one line."""
    one, most = group.first_incident, group.max_count
    thing = "movement" if one.thing == "none" else pluralise(one.thing) if most > 1 else one.thing
    found = (
        one_line(one.action),
        f"{frequency_phrase(group.size)} {thing}" + (f", up to {most}" if most > 1 else ""),
        place_phrase(group),
        time_phrase(group),
        duration_in_words(group.longest_s) if group.longest_s > 1 else "",
        ", ".join(f"note {one_line(note)}" for note in group.notes),
    )
    return "; ".join(part for part in found if part)
