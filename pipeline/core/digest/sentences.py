"""What a sentence about a group of incidents may be: a grammar made of its counts, of which a language model chooses.

As for one incident (`core/text/sentences.py`), every word that states something is taken from the facts. Here no fact
may be left out either: a digest is read by who was away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.digest.group_words import decided, heading, place, times, when
from pipeline.core.text import engine
from pipeline.core.text.engine import any_of, at_place
from pipeline.core.text.english import article, in_words, plain, plural, spoken

if TYPE_CHECKING:
    from pipeline.core.digest.groups import Group

_SEEN = ("seen", "noticed")
_AT = ("at", "by", "near", "in")


def grammar(group: Group) -> str:
    """The sentences that are true of a group, in llguidance's variant of Lark; each begins with a space."""
    return engine.grammar(group, _PARTS)


def _heading(group: Group) -> str:
    return any_of([" " + heading(group)])


def _who(group: Group) -> str:
    return any_of(_named(group))


def _named(group: Group) -> list[str]:
    label, most, size = group.one.thing, group.most, group.size
    often = "" if size == 1 else f" {times(size)}"
    if label == "none":
        return [f"movement was {seen}{often}" for seen in _SEEN]
    if most <= 1:
        return [f"{article(label)} {label} was {seen}{often}" for seen in _SEEN]
    several = plural(label) if size > 1 else f"{in_words(most)} {plural(label)}"
    return [f"{several} were {seen}{often}" for seen in _SEEN]


def _where(group: Group) -> str:
    return f"{any_of(f' {at}' for at in _AT)} {at_place(plain(group.one.zone), place(group))}"


def _when(group: Group) -> str:
    return any_of(_times(group))


def _times(group: Group) -> list[str]:
    (day, clock), (last_day, last_clock) = group.first, group.last
    found = [f" {when(group)}"]
    if group.first == group.last:
        return [*found, f" at {clock} on {day}"]
    if day == last_day:
        return [
            *found,
            f" between {clock} and {last_clock} on {day}",
            f", first at {clock} and last at {last_clock} on {day}",
        ]
    return [*found, f", first at {clock} on {day} and last at {last_clock} on {last_day}"]


def _at_once(group: Group) -> str:
    if group.size <= 1 or group.most <= 1:
        return ""
    most = in_words(group.most)
    return any_of((f", up to {most} at once", f", as many as {most} at a time"))


def _how_long(group: Group) -> str:
    if group.longest_s <= 1:
        return ""
    said = spoken(group.longest_s)
    return any_of([f" for {said}"] if group.size == 1 else [f", the longest for {said}", f", for up to {said}"])


def _decided(group: Group) -> str:
    said = decided(group)
    if not said or len(group.notes) > 1 or set(group.notes.values()) != {group.size}:
        return any_of([said]) if said else ""
    (note,) = group.notes
    return any_of([said, f", decided by note {plain(note)}"])


_PARTS: tuple[engine.Part[Group], ...] = (_heading, _who, _where, _when, _at_once, _how_long, _decided)
"""What a sentence about a group says, in this order; nothing of it may be left out."""
