"""List incidents that may happen at a site, so that notes can be weighed before they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.facts import Facts, ObjectFact, TrackFact
from pipeline.core.incident.areas import areas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.settings import Settings

_THINGS = ("person", "car", "truck", "bus", "motorcycle", "bicycle", "dog", "cat", "bird", "none")
"""Classes that outdoor cameras see, the most frequent first."""


def expected_incidents(settings: Settings) -> Iterator[Facts]:
    """Yield the facts of each usual class in each area of each camera, without tags."""
    for thing in _THINGS:
        for camera in settings.cameras:
            for area in areas(settings, camera).values():
                yield Facts(
                    camera=camera, zone=area.name, local_time="", weekday="", light="day",
                    object=ObjectFact(thing, 1.0, 1), tags=(), track=TrackFact(0, "none", "still", 1), rules_hit=(),
                )  # fmt: skip
