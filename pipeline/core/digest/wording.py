"""Compose the sentences of a digest: one for each group, and summaries of everything else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from pipeline.core.digest.group_words import frequency_phrase
from pipeline.core.printing import counted
from pipeline.core.text.english import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.digest.groups import Group, Loudness
    from pipeline.core.digest.history import Incident, Period
    from pipeline.core.incident.eventlines import EventLine

About: TypeAlias = Literal["all", "group", "rest", "sentences", "scene", "device", "clock"]

MAX_SENTENCES = 8
"""Sentences of a digest; further groups share one sentence."""
_MIN_GROUPS = 3  # groups that always have a sentence of their own
_MAX_ZONES = 3  # named in one sentence; of more only the number is given
_LOUD = ("WARN", "ERROR", "FATAL")
_DEVICE = {
    "system.stage_restarted": ("stage", "stage {} was replaced"),
    "system.started": ("", "the daemon was started"),
    "system.disk_low": ("what", "the disk had no room for the {}"),
    "sink.degraded": ("sink", "sink {} took no events"),
    "model.rejected": ("model", "model {} was rejected"),
    "model.fallback": ("model", "model {} did not run on its accelerator as asked"),
}
"""Events of the device that an operator must know: the detail that names the thing, and the phrase."""


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of a digest.

    Attributes:
        text: The sentence, in English.
        incidents: Ids of the incidents that it is about.
        grounded: Whether the independent check found only facts in it.
        by: Whether a template or a language model wrote it.
        about: Its subject.
    """

    text: str
    incidents: tuple[str, ...]
    grounded: bool = True
    by: Literal["template", "model"] = "template"
    about: About = "group"


def count_own_sentences(period: Period, groups: Sequence[Group]) -> int:
    """Count the groups that have a sentence of their own; the others share one."""
    others = sum((
        1,  # the summary of the period
        bool(_template_incidents(period)),
        any(one.suspected for one in period.incidents),
        bool(period.unplaced),
        bool(_device_news(period)),
    ))  # fmt: skip
    room = max(_MIN_GROUPS, MAX_SENTENCES - others)
    return len(groups) if len(groups) <= room else room - 1


def compose_digest(
    period: Period, groups: Sequence[Group], group_sentences: Sequence[Sentence], loudness: Loudness
) -> tuple[Sentence, ...]:
    """Compose all sentences of a digest.

    Args:
        period: The period.
        groups: Its groups, the loudest first.
        group_sentences: The sentences of the first groups.
        loudness: Of actions and severities.
    """
    rest = groups[len(group_sentences) :]
    found = [_summarise_period(period, loudness), *group_sentences]
    if rest:
        found.append(_summarise_rest(rest, loudness))
    if unwritten := _template_incidents(period):
        found.append(_report_templates(unwritten))
    if suspected := [one for one in period.incidents if one.suspected]:
        found.append(_report_suspicions(suspected))
    if period.unplaced:
        found.append(_report_unplaced(period.unplaced, loudness))
    if matters := _device_news(period):
        found.append(Sentence(f"To know: {'; '.join(matters)}.", (), about="device"))
    return tuple(found)


def _count_by_action(found: Iterable[Incident], loudness: Loudness) -> str:
    """Return the number of incidents for each action, the loudest first, as text."""
    counts = Counter(one.action for one in found)
    order = sorted(counts, key=lambda action: (-loudness.position(action), action))
    return ", ".join(f"{counts[action]} {one_line(action)}" for action in order)


def _summarise_period(period: Period, loudness: Loudness) -> Sentence:
    found = period.incidents
    if not found:
        nothing = "Nothing that could be placed in time happened." if period.unplaced else "Nothing happened."
        return Sentence(nothing, (), about="all")
    text = f"{counted(len(found), 'incident')}: {_count_by_action(found, loudness)}"
    quiet = sum(loudness.is_quiet(one.action) for one in found)
    text += f"; {'none is' if not quiet else f'{quiet} are' if quiet > 1 else '1 is'} quiet"
    if going := sum(not one.ended for one in found):
        text += f"; {going} {'has' if going == 1 else 'have'} not ended"
    return Sentence(f"{text}.", tuple(one.id for one in found), about="all")


def _summarise_rest(rest: Sequence[Group], loudness: Loudness) -> Sentence:
    found = [one for group in rest for one in group.incidents]
    zones = dict.fromkeys(one_line(group.first_incident.zone) for group in rest)
    cameras = {group.first_incident.camera for group in rest}
    where = " and ".join(zones) if len(zones) <= _MAX_ZONES else f"{len(zones)} places"
    behind = f" of {len(cameras)} cameras" if len(cameras) > 1 else ""
    text = f"Besides, {counted(len(found), 'incident')} at {where}{behind}: {_count_by_action(found, loudness)}."
    return Sentence(text, tuple(one.id for one in found), about="rest")


def _template_incidents(period: Period) -> list[Incident]:
    return [one for one in period.incidents if one.status != "ok"]


def _report_templates(unwritten: list[Incident]) -> Sentence:
    """Report how many incidents have a sentence from the template, and why."""
    counts = Counter(one.status or "unknown" for one in unwritten)
    why = ", ".join(f"{count} {one_line(status)}" for status, count in sorted(counts.items()))
    text = f"The sentences of {counted(len(unwritten), 'incident')} are templates: {why}."
    return Sentence(text, tuple(one.id for one in unwritten), about="sentences")


def _report_suspicions(found: list[Incident]) -> Sentence:
    text = (
        f"In {counted(len(found), 'incident')} text in the scene seems to talk to machines; no verdict depends on it."
    )
    return Sentence(text, tuple(one.id for one in found), about="scene")


def _report_unplaced(found: Sequence[Incident], loudness: Loudness) -> Sentence:
    text = (
        f"{counted(len(found), 'incident')} cannot be placed in time, as no clock was set, and may be of this "
        f"period or not: {_count_by_action(found, loudness)}."
    )
    return Sentence(text, tuple(one.id for one in found), about="clock")


def _device_news(period: Period) -> list[str]:
    """Return phrases for what an operator must know of cameras and the device."""
    lost = Counter(line.camera for line in period.lines if line.what == "camera.lost")
    said = [
        f"camera {one_line(camera)} was lost {frequency_phrase(lost[camera]) if lost[camera] else 'before'}"
        f"{' and is not back' if camera in period.missing else ''}"
        for camera in sorted({*lost, *period.missing})
    ]
    device = Counter(_describe_news(line) for line in period.lines if _is_news(line))
    said += [f"{text} {frequency_phrase(count)}" for text, count in sorted(device.items())]
    if period.drops:
        said.append(f"messages dropped: {', '.join(f'{one_line(stage)} {n}' for stage, n in period.drops.items())}")
    recordings = (
        f"recording {one_line(name.removeprefix('input:'))} is {one_line(str(how))}"
        for line in period.lines
        if line.what == "replay.summary"
        for name, how in line.data.details.items()
        if name.startswith("input:")
    )
    return [*said, *dict.fromkeys(recordings)]


def _is_news(line: EventLine) -> bool:
    if line.what.startswith(("camera.", "replay.")):
        return False  # has a phrase of its own
    if line.data.details.get("error") == "written again":
        return False  # the end of a shortage that was reported before
    return line.what in _DEVICE or line.severitytext in _LOUD


def _describe_news(line: EventLine) -> str:
    if line.what not in _DEVICE:
        return f"{one_line(line.what.replace('_', ' '))} was told"
    detail, text = _DEVICE[line.what]
    return text.format(one_line(str(line.data.details.get(detail, ""))) if detail else "")
