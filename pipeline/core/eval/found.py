"""What events tell of recordings: incidents on the timeline of each, and the things in them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, get_args

from pipeline.core.eval.truth import ClipTruth, Named, TrueThing
from pipeline.core.incident.eventfiles import Rank, rank
from pipeline.core.incident.eventlines import FactsLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.core.incident.eventlines import EventLine

NAMED: tuple[Named, ...] = get_args(Named)
"""Groups that people count, in the order in which they are shown."""


class FoundThing(NamedTuple):
    """A thing of an incident: its number, of the recording, and when it was seen, in seconds from the first picture."""

    number: int
    group: str  # empty: nobody knows
    class_: str
    from_s: float
    to_s: float


class FoundIncident(NamedTuple):
    """An incident as its newest event tells it.

    Attributes:
        id: Its subject.
        from_s: When it began, in seconds from the first picture.
        to_s: When it ended.
        group: What it is about; empty: nothing that has a name.
        things: Its members.
        counts: By group, the most at once and the different ones.
        pictures: Names of its pictures, relative to the events; the best is the last.
    """

    id: str
    from_s: float
    to_s: float
    group: str = ""
    things: tuple[FoundThing, ...] = ()
    counts: Mapping[str, tuple[int, int]] = MappingProxyType({})
    pictures: tuple[str, ...] = ()


def collect_incidents(events: Iterable[EventLine]) -> dict[str, list[FoundIncident]]:
    """Collect the incidents of events by recording, in the order in which they began; its newest event holds."""
    newest: dict[tuple[str, str], tuple[Rank, EventLine]] = {}
    for event in events:
        if ".incident." not in event.type:
            continue
        key, ranked = (event.source, event.subject), rank(event.type, event)
        if key not in newest or ranked >= newest[key][0]:
            newest[key] = ranked, event
    found: dict[str, list[FoundIncident]] = {}
    for _, event in newest.values():
        found.setdefault(_name_clip(event), []).append(_incident(event))
    return {clip: sorted(own, key=lambda one: (one.from_s, one.id)) for clip, own in found.items()}


def join_things(incidents: Iterable[FoundIncident]) -> list[FoundThing]:
    """Return the things of a recording, each once however many incidents it is in, in the order in which they came."""
    found: dict[int, FoundThing] = {}
    for thing in (one for incident in incidents for one in incident.things):
        old = found.get(thing.number, thing)
        first, last = min(old.from_s, thing.from_s), max(old.to_s, thing.to_s)
        found[thing.number] = thing._replace(from_s=first, to_s=last)
    return sorted(found.values(), key=lambda one: (one.from_s, one.number))


def propose_truth(incidents: Iterable[FoundIncident]) -> tuple[ClipTruth, int]:
    """Return what was found as if people had seen it, and how many things are left out, as nobody can name them."""
    things = join_things(incidents)
    named = tuple(
        TrueThing(group, round(max(0.0, one.from_s), 2), round(max(0.0, one.to_s), 2), one.class_)
        for one in things
        for group in NAMED
        if one.group == group
    )
    return ClipTruth(named), len(things) - len(named)


def _name_clip(event: EventLine) -> str:
    return (event.data.media.uri if event.data.media else "") or event.camera


def _incident(event: EventLine) -> FoundIncident:
    data, media, facts = event.data, event.data.media, event.data.facts or FactsLine()
    first, last = (media.start_pts_ms, media.end_pts_ms) if media else (0.0, 0.0)
    now = media.pts_ms if media else 0.0
    things = (
        FoundThing(one.id, one.group, one.class_, one.first_pts_ms / 1e3, one.last_pts_ms / 1e3) for one in data.members
    )
    return FoundIncident(
        id=event.subject,
        from_s=(now if first is None else first) / 1e3,
        to_s=(now if last is None else last) / 1e3,
        group=data.scene.class_ if data.scene.class_ in NAMED else "",
        things=tuple(things),
        counts={row.group: (row.count, row.total) for row in facts.objects},
        pictures=tuple(one.ref for one in data.evidence if one.ref),
    )
