"""How a sentence names what is the same in a group of incidents: place, time, action, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.text.english import article, in_words, plain, plural
from pipeline.core.text.templates import duration

if TYPE_CHECKING:
    from pipeline.core.digest.groups import Group


def template(group: Group) -> str:
    """The sentence of a group without a language model."""
    one, size, most = group.one, group.size, group.most
    thing = "movement" if one.thing == "none" else _things(one.thing, most, counted=size == 1)
    often = f" in {size} incidents" if size > 1 else ""
    parts = [f"{thing}{often} at {place(group)}"]
    if size > 1 and most > 1:
        parts.append(f"up to {most} at once")
    parts.append(when(group))
    if group.longest_s > 1:
        parts.append(f"{'the longest ' if size > 1 else ''}for {duration(group.longest_s)}")
    return f"{heading(group)}{', '.join(parts)}{decided(group)}."


def heading(group: Group) -> str:
    """What every sentence of a group begins with: the action, and what it was taken for."""
    action = plain(group.one.action)
    situations = sorted({plain(one.situation.replace("_", " ")) for one in group.incidents if one.situation})
    taken_for = f" ({', '.join(situations)})" if situations else ""
    return f"{action[:1].upper()}{action[1:]}{taken_for}: "


def place(group: Group) -> str:
    """Where it was: the zone, and the camera where that is called otherwise."""
    name, camera = plain(group.one.zone), plain(group.one.camera)
    return name if name == camera or not camera else f"{name} (camera {camera})"


def when(group: Group) -> str:
    """When the incidents of a group began: the first and the last."""
    (day, clock), (last_day, last_clock) = group.first, group.last
    if group.first == group.last:
        return f"on {day} at {clock}"
    if day == last_day:
        return f"on {day} between {clock} and {last_clock}"
    return f"between {clock} on {day} and {last_clock} on {last_day}"


def decided(group: Group) -> str:
    """Which notes decided, and of how many incidents where that is not all."""
    size = group.size
    return "".join(
        f"; note {plain(note)} decided{'' if count == size else f' {count} of them'}"
        for note, count in group.notes.items()
    )


def times(number: int) -> str:
    """How often, in words: once, twice, three times."""
    if number <= 2:  # noqa: PLR2004  # which have words of their own
        return "once" if number == 1 else "twice"
    return f"{in_words(number)} times"


def _things(label: str, count: int, *, counted: bool) -> str:
    if count <= 1:
        return f"{article(label)} {label}"
    return f"{count} {plural(label)}" if counted else plural(label)
