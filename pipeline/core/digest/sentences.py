"""Build the grammar of the sentences about a group of incidents, from which a language model chooses one.

As for one incident (`core/text/sentences.py`), every word that states a fact is taken from the facts. Here no fact may
be left out either, as readers of a digest were away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.digest.group_words import frequency_phrase, heading_phrase, note_phrase, place_phrase, time_phrase
from pipeline.core.text import engine
from pipeline.core.text.engine import any_of, at_place
from pipeline.core.text.english import choose_article, duration_in_words, number_word, one_line, pluralise

if TYPE_CHECKING:
    from pipeline.core.digest.groups import Group

_SEEN = ("seen", "noticed")
_AT = ("at", "by", "near", "in")


def build_grammar(group: Group) -> str:
    """Build a grammar, in llguidance's variant of Lark, of all true sentences; each sentence begins with a space."""
    return engine.build_grammar(group, _PARTS)


def _heading_part(group: Group) -> str:
    return any_of([" " + heading_phrase(group)])


def _subject_part(group: Group) -> str:
    return any_of(_subject_phrases(group))


def _subject_phrases(group: Group) -> list[str]:
    label, most, size = group.first_incident.thing, group.max_count, group.size
    often = "" if size == 1 else f" {frequency_phrase(size)}"
    if label == "none":
        return [f"movement was {seen}{often}" for seen in _SEEN]
    if most <= 1:
        return [f"{choose_article(label)} {label} was {seen}{often}" for seen in _SEEN]
    several = pluralise(label) if size > 1 else f"{number_word(most)} {pluralise(label)}"
    return [f"{several} were {seen}{often}" for seen in _SEEN]


def _place_part(group: Group) -> str:
    return f"{any_of(f' {at}' for at in _AT)} {at_place(one_line(group.first_incident.zone), place_phrase(group))}"


def _time_part(group: Group) -> str:
    return any_of(_time_phrases(group))


def _time_phrases(group: Group) -> list[str]:
    (day, clock), (last_day, last_clock) = group.first_time, group.last_time
    found = [f" {time_phrase(group)}"]
    if group.first_time == group.last_time:
        return [*found, f" at {clock} on {day}"]
    if day == last_day:
        return [
            *found,
            f" between {clock} and {last_clock} on {day}",
            f", first at {clock} and last at {last_clock} on {day}",
        ]
    return [*found, f", first at {clock} on {day} and last at {last_clock} on {last_day}"]


def _count_part(group: Group) -> str:
    if group.size <= 1 or group.max_count <= 1:
        return ""
    most = number_word(group.max_count)
    return any_of((f", up to {most} at once", f", as many as {most} at a time"))


def _duration_part(group: Group) -> str:
    if group.longest_s <= 1:
        return ""
    said = duration_in_words(group.longest_s)
    return any_of([f" for {said}"] if group.size == 1 else [f", the longest for {said}", f", for up to {said}"])


def _note_part(group: Group) -> str:
    said = note_phrase(group)
    if not said or len(group.notes) > 1 or set(group.notes.values()) != {group.size}:
        return any_of([said]) if said else ""
    (note,) = group.notes
    return any_of([said, f", decided by note {one_line(note)}"])


_PARTS: tuple[engine.Part[Group], ...] = (
    _heading_part,
    _subject_part,
    _place_part,
    _time_part,
    _count_part,
    _duration_part,
    _note_part,
)
"""The parts of a sentence about a group, in this order; all are required."""
