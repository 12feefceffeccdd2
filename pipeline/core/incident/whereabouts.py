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

_SURE_NS = 400_000_000  # a foot point that trembles over a zone's edge is not in and out of it
_TREMBLE = 0.15  # of a box's side
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
        next: The area in which it was seen since; it is there when it stays there.
        next_ns: Since when.
    """

    area: str | None
    stays: tuple[ZoneStay, ...] = ()
    next: str | None = None
    next_ns: Nanoseconds | None = None

    @property
    def entered_ns(self) -> Nanoseconds:
        """When it came into the area it is in."""
        return self.stays[-1].first_ns if self.stays else Nanoseconds(0)


def step(where: Where, things: Iterable[ThingSeen], places: dict[str, Area], at_ns: Nanoseconds) -> dict[int, Place]:
    """Say where things are at a moment. Only where a thing is seen whole, its lower edge is where it stands."""
    return {
        thing.number: _stayed(_placed(where.get(thing.number), thing, places, at_ns), thing, at_ns) for thing in things
    }


def _placed(old: Place | None, thing: ThingSeen, places: dict[str, Area], at_ns: Nanoseconds) -> Place:
    if old is not None and not thing.whole:
        return old
    area = areas.area_of(thing.box, places)
    if old is None:
        return Place(area)
    if area == old.area:
        return old._replace(next=None, next_ns=None)
    if all(areas.area_of(box, places) == area for box in _trembled(thing.box)):
        return Place(area, old.stays)
    if old.next_ns is None or old.next != area:
        return old._replace(next=area, next_ns=at_ns)
    return Place(area, old.stays) if at_ns - old.next_ns >= _SURE_NS else old


def _trembled(box: Box) -> tuple[Box, ...]:
    """Where its foot point may be as well, by how a detector's box trembles."""
    across, down = _TREMBLE * (box[2] - box[0]), _TREMBLE * (box[3] - box[1])
    return tuple(shifted(box, *way) for way in ((across, 0.0), (-across, 0.0), (0.0, down), (0.0, -down)))


def _stayed(place: Place, thing: ThingSeen, at_ns: Nanoseconds) -> Place:
    if place.area is None or not thing.present:
        return place
    *before, last = place.stays or (None,)
    if last is None or last.area != place.area:
        first_ns = at_ns if place.stays else thing.born_ns
        return place._replace(stays=(*place.stays, ZoneStay(place.area, first_ns, at_ns))[-_MOST_STAYS:])
    return place._replace(stays=(*before, ZoneStay(last.area, last.first_ns, at_ns)))
