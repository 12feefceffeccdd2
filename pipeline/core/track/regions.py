"""Moving regions, followed from picture to picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.geometry import area, centre, size
from pipeline.core.track.sight import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.core.geometry import Box
    from pipeline.core.track.sight import Sight, TrackRules


class Region(NamedTuple):
    """A moving region that is followed.

    Attributes:
        number: Its own; older ones have lower ones.
        box: Where it was seen last.
        first: Where it was seen first.
        born_ns: Media time of that.
        seen_ns: Media time of the last sighting.
        largest: Its greatest size.
        sightings: How often it was seen.
        chances: How often it could have been seen since.
        blurred: How often it was out of focus.
        path: Length of the way of its centre.
        prominent: In how many of its sightings it stood out among all that moved.
        recognised_ns: When the classifier last saw a thing that moves in it.
    """

    number: int
    box: Box
    first: Box
    born_ns: int
    seen_ns: int
    largest: float
    sightings: int = 1
    chances: int = 1
    blurred: int = 0
    path: float = 0.0
    prominent: int = 0
    recognised_ns: int | None = None

    @property
    def age_s(self) -> float:
        """Seconds from the first to the last sighting."""
        return (self.seen_ns - self.born_ns) / NS_PER_S

    @property
    def travelled(self) -> float:
        """Distance of its centre from where it was first."""
        return _distance(self.first, self.box)


def follow(regions: tuple[Region, ...], sight: Sight, rules: TrackRules, born: int) -> tuple[Region, ...]:
    """Find every region again, oldest first, and take what is left for new; `born`: the highest number so far."""
    free = list(sight.boxes)
    total = sum(area(box) for box in free)
    few = len(free) <= rules.most_regions
    kept: list[Region] = []
    for region in regions:
        box = _nearest(region, free, sight.at_ns, rules)
        if box is not None:
            free.remove(box)
            kept.append(_moved(region, box, sight, prominent=few and area(box) >= rules.prominence_ratio * total))
        elif sight.at_ns - region.seen_ns < rules.lost_s * NS_PER_S or region.chances == region.sightings:
            # A slow camera may miss once; lost_s may be less than its interval.
            kept.append(region._replace(chances=region.chances + 1))
    for number, box in enumerate(free, born + 1):
        stands_out = few and area(box) >= rules.prominence_ratio * total
        new = Region(number, box, box, sight.at_ns, sight.at_ns, size(box))
        kept.append(new._replace(blurred=int(box in sight.blurred), prominent=int(stands_out)))
    return tuple(kept)


def _nearest(region: Region, boxes: Iterable[Box], at_ns: int, rules: TrackRules) -> Box | None:
    """The box that may be this region now: of like size and not farther away than it can have gone."""
    reach = rules.speed_per_s * min((at_ns - region.seen_ns) / NS_PER_S, rules.max_unseen_s)
    alike = (box for box in boxes if _alike(region.box, box, rules) and _gap(region.box, box) <= reach)
    return min(alike, key=lambda box: _distance(region.box, box), default=None)


def _moved(region: Region, box: Box, sight: Sight, *, prominent: bool) -> Region:
    return region._replace(
        box=box,
        seen_ns=sight.at_ns,
        largest=max(region.largest, size(box)),
        sightings=region.sightings + 1,
        chances=region.chances + 1,
        blurred=region.blurred + (box in sight.blurred),
        path=region.path + _distance(region.box, box),
        prominent=region.prominent + prominent,
    )


def _alike(one: Box, other: Box, rules: TrackRules) -> bool:
    small, large = sorted((size(one), size(other)))
    return small >= rules.size_ratio * large


def _gap(one: Box, other: Box) -> float:
    """Width of the strip between two boxes along the axis where it is wider; 0 or less where they meet."""
    across = max(one[0] - other[2], other[0] - one[2])
    down = max(one[1] - other[3], other[1] - one[3])
    return max(across, down)


def _distance(one: Box, other: Box) -> float:
    """Distance of the centres."""
    return math.dist(centre(one), centre(other))
