"""What a sentence about a group of incidents may be: a grammar made of its counts, of which a language model chooses.

As for one incident (`sentences`), every word that states something is taken from the facts. Here no fact may be left
out either: a digest is read by who was away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.digest.group_words import decided, heading, place, times, when
from pipeline.core.text.sentences import any_of, in_words, plain, spoken
from pipeline.core.text.templates import plural

if TYPE_CHECKING:
    from pipeline.core.digest.groups import Group

_SEEN = ("seen", "noticed")
_AT = ("at", "by", "near", "in")


def grammar(group: Group) -> str:
    """The sentences that are true of a group, in llguidance's variant of Lark; each begins with a space."""
    parts = [any_of([" " + heading(group)]), any_of(_who(group)), any_of(f" {at}" for at in _AT), _where(group)]
    parts.append(any_of(_when(group)))
    if group.size > 1 and group.most > 1:
        parts.append(
            any_of((f", up to {in_words(group.most)} at once", f", as many as {in_words(group.most)} at a time"))
        )
    if group.longest_s > 1:
        parts.append(any_of(_how_long(group)))
    if said := _decided(group):
        parts.append(any_of(said))
    return f'start: {" ".join(parts)} "."'


def _who(group: Group) -> list[str]:
    label, most, size = group.one.thing, group.most, group.size
    often = "" if size == 1 else f" {times(size)}"
    if label == "none":
        return [f"movement was {seen}{often}" for seen in _SEEN]
    if most <= 1:
        article = "an" if label[:1] in "aeiou" else "a"
        return [f"{article} {label} was {seen}{often}" for seen in _SEEN]
    several = plural(label) if size > 1 else f"{in_words(most)} {plural(label)}"
    return [f"{several} were {seen}{often}" for seen in _SEEN]


def _where(group: Group) -> str:
    name = plain(group.one.zone)
    article = '" the"? ' if all(letter.isalpha() or letter.isspace() for letter in name) else ""
    return f"{article}{any_of([' ' + place(group)])}"


def _when(group: Group) -> list[str]:
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


def _how_long(group: Group) -> list[str]:
    said = spoken(group.longest_s)
    return [f" for {said}"] if group.size == 1 else [f", the longest for {said}", f", for up to {said}"]


def _decided(group: Group) -> list[str]:
    said = decided(group)
    if not said or len(group.notes) > 1 or set(group.notes.values()) != {group.size}:
        return [said] if said else []
    (note,) = group.notes
    return [said, f", decided by note {plain(note)}"]
