"""In which area of a camera each thing is, and was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from pipeline.core.incident import areas
from pipeline.core.track.thing import shifted
from pipeline.core.vocabulary import Nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.core.geometry import Box
    from pipeline.core.incident.areas import Area
    from pipeline.core.track.thing import ThingSeen

    Where: TypeAlias = Mapping[int, "Place"]

_SETTLE_NS = 400_000_000  # so long in another area before a thing counts as there: foot points tremble over edges
_JITTER = 0.15  # of a box's side, by which its edges tremble from look to look
_MOST_STAYS = 16  # of a thing; the last are kept


class ZoneStay(msgspec.Struct, frozen=True):
    """How long a thing was in an area of the camera."""

    area: str  # its key; empty: outside all zones
    first_ns: Nanoseconds
    last_ns: Nanoseconds

    @property
    def stay_s(self) -> float:
        """How long it was there."""
        return (self.last_ns - self.first_ns) / 1e9


class Place(NamedTuple):
    """Where a thing is.

    Attributes:
        area: Key of the area; None: in none.
        stays: Areas that it was in, in order; the last is the one it is in.
        candidate: The area in which it was seen since; it is there when it stays there.
        candidate_since_ns: Since when.
    """

    area: str | None
    stays: tuple[ZoneStay, ...] = ()
    candidate: str | None = None
    candidate_since_ns: Nanoseconds | None = None

    @property
    def entered_ns(self) -> Nanoseconds:
        """When it came into the area it is in."""
        return self.stays[-1].first_ns if self.stays else Nanoseconds(0)


def step(where: Where, things: Iterable[ThingSeen], places: dict[str, Area], at_ns: Nanoseconds) -> dict[int, Place]:
    """Say where things are at a moment; those that are not among `things` are dropped.

    A thing that is not seen whole keeps the area it had: its lower edge is not where it stands.
    """
    return {
        thing.number: _extend_stays(_decide_area(where.get(thing.number), thing, places, at_ns), thing, at_ns)
        for thing in things
    }


def _decide_area(old: Place | None, thing: ThingSeen, places: dict[str, Area], at_ns: Nanoseconds) -> Place:
    if old is not None and not thing.whole:
        return old
    area = areas.area_of(thing.box, places)
    if old is None:
        return Place(area)
    if area == old.area:
        return old._replace(candidate=None, candidate_since_ns=None)
    if all(areas.area_of(box, places) == area for box in _jittered(thing.box)):
        return Place(area, old.stays)
    if old.candidate_since_ns is None or old.candidate != area:
        return old._replace(candidate=area, candidate_since_ns=at_ns)
    return Place(area, old.stays) if at_ns - old.candidate_since_ns >= _SETTLE_NS else old


def _jittered(box: Box) -> tuple[Box, ...]:
    """Where its foot point may be as well, by how a detector's box trembles."""
    across, down = _JITTER * (box[2] - box[0]), _JITTER * (box[3] - box[1])
    return tuple(shifted(box, *way) for way in ((across, 0.0), (-across, 0.0), (0.0, down), (0.0, -down)))


def _extend_stays(place: Place, thing: ThingSeen, at_ns: Nanoseconds) -> Place:
    if place.area is None or not thing.present:
        return place
    *before, last = place.stays or (None,)
    if last is None or last.area != place.area:
        first_ns = at_ns if place.stays else thing.born_ns
        return place._replace(stays=(*place.stays, ZoneStay(place.area, first_ns, at_ns))[-_MOST_STAYS:])
    return place._replace(stays=(*before, ZoneStay(last.area, last.first_ns, at_ns)))
