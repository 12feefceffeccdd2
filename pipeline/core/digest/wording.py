"""The sentences of a digest: one a group, and what is summed up; nothing is left out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from pipeline.core.digest.group_words import times
from pipeline.core.printing import counted
from pipeline.core.text.english import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.digest.gathered import Incident, Period
    from pipeline.core.digest.groups import Group, Loudness
    from pipeline.core.incident.eventlines import EventLine

About: TypeAlias = Literal["all", "group", "rest", "sentences", "scene", "device", "clock"]

MOST = 8
"""Sentences of a digest; groups beyond them are summed up in one."""
_GROUPS_LEAST = 3  # that have a sentence of their own, whatever else is to be said
_ZONES_NAMED = 3  # in a sentence about several; of more it says how many
_LOUD = ("WARN", "ERROR", "FATAL")
_DEVICE = {
    "system.stage_restarted": ("stage", "stage {} was replaced"),
    "system.started": ("", "the daemon was started"),
    "system.disk_low": ("what", "the disk had no room for the {}"),
    "sink.degraded": ("sink", "sink {} took no events"),
    "model.rejected": ("model", "model {} was rejected"),
    "model.fallback": ("model", "model {} did not run on its accelerator as asked"),
}
"""What an operator must know of the device: the detail that names it, and how it is said."""


class Sentence(msgspec.Struct, frozen=True):
    """A sentence, and the incidents behind it.

    Attributes:
        text: In English.
        incidents: Their ids.
        grounded: Whether an independent reading found nothing in it but facts.
        by: Who worded it.
        about: What it tells.
    """

    text: str
    incidents: tuple[str, ...]
    grounded: bool = True
    by: Literal["template", "model"] = "template"
    about: About = "group"


def count_own_sentences(period: Period, made: Sequence[Group]) -> int:
    """How many groups have a sentence of their own; the others are summed up in one."""
    others = sum((
        1,  # what it amounts to
        bool(_unwritten(period)),
        any(one.suspected for one in period.incidents),
        bool(period.unplaced),
        bool(_matters(period)),
    ))  # fmt: skip
    room = max(_GROUPS_LEAST, MOST - others)
    return len(made) if len(made) <= room else room - 1


def sentences(
    period: Period, made: Sequence[Group], worded: Sequence[Sentence], loudness: Loudness
) -> tuple[Sentence, ...]:
    """Put a digest together.

    Args:
        period: What lies in it.
        made: Its groups.
        worded: The sentences of the first of them.
        loudness: Of the verdicts' words.
    """
    rest = made[len(worded) :]
    found = [_overall(period, loudness), *worded]
    if rest:
        found.append(_rest(rest, loudness))
    if unwritten := _unwritten(period):
        found.append(_made(unwritten))
    if suspected := [one for one in period.incidents if one.suspected]:
        found.append(_suspected(suspected))
    if period.unplaced:
        found.append(_unplaced(period.unplaced, loudness))
    if matters := _matters(period):
        found.append(Sentence(f"To know: {'; '.join(matters)}.", (), about="device"))
    return tuple(found)


def _by_action(found: Iterable[Incident], loudness: Loudness) -> str:
    """Counts of each action, the loudest first."""
    counts = Counter(one.action for one in found)
    order = sorted(counts, key=lambda action: (-loudness.place(action), action))
    return ", ".join(f"{counts[action]} {plain(action)}" for action in order)


def _overall(period: Period, loudness: Loudness) -> Sentence:
    found = period.incidents
    if not found:
        nothing = "Nothing that could be placed in time happened." if period.unplaced else "Nothing happened."
        return Sentence(nothing, (), about="all")
    text = f"{counted(len(found), 'incident')}: {_by_action(found, loudness)}"
    quiet = sum(loudness.quiet(one.action) for one in found)
    text += f"; {'none is' if not quiet else f'{quiet} are' if quiet > 1 else '1 is'} quiet"
    if going := sum(not one.over for one in found):
        text += f"; {going} {'has' if going == 1 else 'have'} not ended"
    return Sentence(f"{text}.", tuple(one.id for one in found), about="all")


def _rest(rest: Sequence[Group], loudness: Loudness) -> Sentence:
    found = [one for group in rest for one in group.incidents]
    zones = dict.fromkeys(plain(group.one.zone) for group in rest)
    cameras = {group.one.camera for group in rest}
    where = " and ".join(zones) if len(zones) <= _ZONES_NAMED else f"{len(zones)} places"
    behind = f" of {len(cameras)} cameras" if len(cameras) > 1 else ""
    text = f"Besides, {counted(len(found), 'incident')} at {where}{behind}: {_by_action(found, loudness)}."
    return Sentence(text, tuple(one.id for one in found), about="rest")


def _unwritten(period: Period) -> list[Incident]:
    return [one for one in period.incidents if one.status != "ok"]


def _made(unwritten: list[Incident]) -> Sentence:
    """How many sentences the templates wrote, and why."""
    counts = Counter(one.status or "unknown" for one in unwritten)
    why = ", ".join(f"{count} {plain(status)}" for status, count in sorted(counts.items()))
    text = f"The sentences of {counted(len(unwritten), 'incident')} are templates: {why}."
    return Sentence(text, tuple(one.id for one in unwritten), about="sentences")


def _suspected(found: list[Incident]) -> Sentence:
    text = (
        f"In {counted(len(found), 'incident')} text in the scene seems to talk to machines; no verdict depends on it."
    )
    return Sentence(text, tuple(one.id for one in found), about="scene")


def _unplaced(found: Sequence[Incident], loudness: Loudness) -> Sentence:
    text = (
        f"{counted(len(found), 'incident')} cannot be placed in time, as no clock was set, and may be of this "
        f"period or not: {_by_action(found, loudness)}."
    )
    return Sentence(text, tuple(one.id for one in found), about="clock")


def _matters(period: Period) -> list[str]:
    """What an operator must know besides incidents."""
    lost = Counter(line.camera for line in period.lines if line.what == "camera.lost")
    said = [
        f"camera {plain(camera)} was lost {times(lost[camera]) if lost[camera] else 'before'}"
        f"{' and is not back' if camera in period.missing else ''}"
        for camera in sorted({*lost, *period.missing})
    ]
    device = Counter(_said(line) for line in period.lines if _must_be_known(line))
    said += [f"{text} {times(count)}" for text, count in sorted(device.items())]
    if period.drops:
        said.append(f"messages dropped: {', '.join(f'{plain(stage)} {n}' for stage, n in period.drops.items())}")
    recordings = (
        f"recording {plain(name.removeprefix('input:'))} is {plain(str(how))}"
        for line in period.lines
        if line.what == "replay.summary"
        for name, how in line.data.details.items()
        if name.startswith("input:")
    )
    return [*said, *dict.fromkeys(recordings)]


def _must_be_known(line: EventLine) -> bool:
    if line.what.startswith(("camera.", "replay.")):
        return False  # told by name
    if line.data.details.get("error") == "written again":
        return False  # the end of a want that was told
    return line.what in _DEVICE or line.severitytext in _LOUD


def _said(line: EventLine) -> str:
    if line.what not in _DEVICE:
        return f"{plain(line.what.replace('_', ' '))} was told"
    detail, text = _DEVICE[line.what]
    return text.format(plain(str(line.data.details.get(detail, ""))) if detail else "")
