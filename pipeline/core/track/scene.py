"""One observation of a camera, with what is followed in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.geometry import area, shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.core.geometry import Box
    from pipeline.core.track.movement import Watch
    from pipeline.core.track.regions import Region
    from pipeline.core.track.sight import Sight, TrackRules


class Scene(NamedTuple):
    """An observation with what is followed in it.

    Attributes:
        watch: When the camera was observed and looked at, this observation included.
        regions: Moving regions that are followed, this observation included.
        evidence: Numbers of those whose motion alone shows that something is there.
        before: The same by number, as they were before it.
        before_ns: Media time of the observation before.
        sight: The observation.
        rules: Thresholds.
    """

    watch: Watch
    regions: tuple[Region, ...]
    evidence: frozenset[int]
    before: Mapping[int, Region]
    before_ns: int
    sight: Sight
    rules: TrackRules

    @property
    def at_ns(self) -> int:
        """Media time of the observation."""
        return self.watch.at_ns

    def live(self, numbers: Iterable[int]) -> list[Region]:
        """Those of the regions that are seen now."""
        return [one for one in self.regions if one.number in numbers and one.seen_ns == self.at_ns]

    def moving(self, box: Box) -> list[Region]:
        """The regions that show, together, that what is in a box moves, and not something beside it."""
        touching = [one for one in self.regions if one.seen_ns == self.at_ns and shared(one.box, box) > 0]
        covered = sum(shared(one.box, box) for one in touching)
        return touching if covered >= self.rules.coverage_ratio * area(box) else []
