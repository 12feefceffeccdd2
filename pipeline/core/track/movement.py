"""Which moving regions are evidence by themselves, though the classifier sees nothing in them.

That is for what is too small or too strange to be recognised. Foliage, rain, light and an insect at the lens are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.geometry import area
from pipeline.core.track.sight import NS_PER_S, TrackRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.track.regions import Region


class Watch(NamedTuple):
    """How a camera is watched.

    Attributes:
        at_ns: Media time of the last observation.
        looked_ns: When the classifier last looked; None: never.
        upset_ns: When the whole picture last changed; None: never.
    """

    at_ns: int = 0
    looked_ns: int | None = None
    upset_ns: int | None = None


def gets_somewhere(region: Region, rules: TrackRules) -> bool:
    """Whether it moved away from where it began by more than it sways."""
    way = max(rules.travel_sizes * region.largest, rules.straight_ratio * region.path)
    return region.age_s >= rules.travel_s and region.travelled >= way


def stays(region: Region, rules: TrackRules, least_s: float) -> bool:
    """Whether it moves in one place for so long, stood out for most of that time and does not sway to and fro."""
    stood_out = region.prominent >= rules.prominent_ratio * region.sightings
    return region.age_s >= least_s and stood_out and region.path <= rules.sway_sizes * region.largest


def find_evidence(regions: Sequence[Region], watch: Watch, rules: TrackRules) -> frozenset[int]:
    """Return the numbers of the regions whose motion alone shows that something is there."""
    areas = [area(one.box) for one in regions if one.seen_ns == watch.at_ns]
    return frozenset(one.number for one in regions if _is_evidence(one, areas, watch, rules))


def _is_evidence(region: Region, areas: Sequence[float], watch: Watch, rules: TrackRules) -> bool:
    if not _credible(region, watch, rules):
        return False
    large = region.largest > rules.small_size
    if _within(watch.looked_ns, watch, rules.unwatched_s):
        if len(areas) > rules.most_regions or area(region.box) < rules.prominence_ratio * sum(areas):
            return False
        if large:
            return gets_somewhere(region, rules) or stays(region, rules, rules.unrecognised_s)
    return gets_somewhere(region, rules) or stays(region, rules, rules.linger_s)


def _credible(region: Region, watch: Watch, rules: TrackRules) -> bool:
    """Whether it is seen now and was all along, in focus, and long enough after a global change."""
    return (
        region.seen_ns == watch.at_ns
        and region.sightings >= max(rules.least_sightings, rules.persistence_ratio * region.chances)
        and region.blurred <= region.sightings / 2
        and not _within(watch.upset_ns, watch, rules.settle_s)
    )


def _within(then_ns: int | None, watch: Watch, seconds: float) -> bool:
    return then_ns is not None and watch.at_ns - then_ns < seconds * NS_PER_S
