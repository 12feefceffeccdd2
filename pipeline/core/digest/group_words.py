"""Phrases of a sentence about a group of incidents: place, time, action, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.text.english import choose_article, number_word, one_line, pluralise
from pipeline.core.text.templates import short_duration

if TYPE_CHECKING:
    from pipeline.core.digest.groups import Group


def write_template(group: Group) -> str:
    """Write the sentence of a group without a language model."""
    one, size, count = group.first_incident, group.size, group.max_count
    thing = "movement" if one.thing == "none" else _subject_phrase(one.thing, count, counted=size == 1)
    often = f" in {size} incidents" if size > 1 else ""
    parts = [f"{thing}{often} at {place_phrase(group)}"]
    if size > 1 and count > 1:
        parts.append(f"up to {count} at once")
    parts.append(time_phrase(group))
    if group.longest_s > 1:
        parts.append(f"{'the longest ' if size > 1 else ''}for {short_duration(group.longest_s)}")
    return f"{heading_phrase(group)}{', '.join(parts)}{note_phrase(group)}."


def heading_phrase(group: Group) -> str:
    """The beginning of a sentence: the action, and the situations of the verdicts."""
    action = one_line(group.first_incident.action)
    situations = sorted({one_line(one.situation.replace("_", " ")) for one in group.incidents if one.situation})
    taken_for = f" ({', '.join(situations)})" if situations else ""
    return f"{action[:1].upper()}{action[1:]}{taken_for}: "


def place_phrase(group: Group) -> str:
    """The zone, and the camera if it has another name."""
    name, camera = one_line(group.first_incident.zone), one_line(group.first_incident.camera)
    return name if name == camera or not camera else f"{name} (camera {camera})"


def time_phrase(group: Group) -> str:
    """When the first and the last incident of a group began."""
    (day, clock), (last_day, last_clock) = group.first_time, group.last_time
    if group.first_time == group.last_time:
        return f"on {day} at {clock}"
    if day == last_day:
        return f"on {day} between {clock} and {last_clock}"
    return f"between {clock} on {day} and {last_clock} on {last_day}"


def note_phrase(group: Group) -> str:
    """The notes that decided, each with the number of incidents unless it decided all."""
    size = group.size
    return "".join(
        f"; note {one_line(note)} decided{'' if count == size else f' {count} of them'}"
        for note, count in group.notes.items()
    )


def frequency_phrase(number: int) -> str:
    """A number of times in words: once, twice, three times."""
    if number <= 2:  # noqa: PLR2004  # which have words of their own
        return "once" if number == 1 else "twice"
    return f"{number_word(number)} times"


def _subject_phrase(label: str, count: int, *, counted: bool) -> str:
    if count <= 1:
        return f"{choose_article(label)} {label}"
    return f"{count} {pluralise(label)}" if counted else pluralise(label)
