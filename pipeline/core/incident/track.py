"""How a thing moved, from the boxes in which it was seen. Pure; distances in the thing's own size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.core.geometry import Box, area, centre, overlap
from pipeline.core.vocabulary import Direction, Group, Nanoseconds, Speed

if TYPE_CHECKING:
    from collections.abc import Iterable

_EDGE = 0.04  # nearer to the border than this is coming in or going out
_GROWTH = 1.6  # as much larger (area) is nearer: 1.26 times the distance
_SETTLE_S = 0.4  # steps shorter in time than this are mostly jitter of the detector's box

# Size in metres that a box's height (person, animal) or width (vehicle) stands for.
_METRES: dict[Group, float] = {"person": 1.7, "vehicle": 4.5, "animal": 0.8, "other": 1.0}

# Metres a second up to which a speed is called so; walking is 1.4 m/s, a car in a yard about 5.
_SPEEDS: dict[Group, tuple[tuple[float, Speed], ...]] = {
    "person": ((0.15, "still"), (0.7, "slow"), (2.2, "walk"), (float("inf"), "run")),
    "vehicle": ((0.4, "still"), (2.5, "slow"), (9.0, "medium"), (float("inf"), "fast")),
    "animal": ((0.1, "still"), (0.6, "slow"), (2.0, "walk"), (float("inf"), "run")),
    "other": ((0.15, "still"), (0.7, "slow"), (2.2, "medium"), (float("inf"), "fast")),
}


class Track(msgspec.Struct, frozen=True):
    """The path of one thing: where it was first and last, how far it went meanwhile."""

    first: Box
    last: Box
    first_ns: Nanoseconds
    last_ns: Nanoseconds
    sizes: float = 0.0  # way gone, in its own sizes
    seconds: float = 0.0  # time in which that way was gone


def begin(boxes: Iterable[Box], at_ns: Nanoseconds) -> Track | None:
    """Start at the largest box; None without boxes."""
    largest = max(boxes, key=area, default=None)
    return Track(largest, largest, at_ns, at_ns) if largest else None


def follow(track: Track, boxes: Iterable[Box], at_ns: Nanoseconds) -> Track:
    """Go on to the box that is most likely the same thing: the nearest within one and a half of its sizes."""
    elapsed = (at_ns - track.last_ns) / 1e9
    if elapsed < _SETTLE_S:
        return track
    near = min(boxes, key=lambda box: _distance(track.last, box), default=None)
    if near is None or (_distance(track.last, near) > 1.5 * max(elapsed, 1.0) and not overlap(track.last, near)):
        return track
    return Track(
        track.first,
        near,
        track.first_ns,
        at_ns,
        track.sizes + _distance(track.last, near),
        track.seconds + elapsed,
    )


def direction(track: Track) -> Direction:
    """In and out go over the picture's border, toward and away by size, along is any other way gone."""
    if _distance(track.first, track.last) < 0.5:  # noqa: PLR2004  # half its own size is no way
        return "none"
    grown = area(track.last) / max(area(track.first), 1e-6)
    came, left = _at_edge(track.first), _at_edge(track.last)
    if came != left:
        return "in" if came else "out"
    if grown > _GROWTH:
        return "toward"
    return "away" if grown < 1 / _GROWTH else "along"


def speed(track: Track, group: Group) -> Speed:
    """How fast it went over the ground, taking it to be as large as its kind is."""
    metres = track.sizes * _METRES[group] / track.seconds if track.seconds > 0 else 0.0
    return next(name for limit, name in _SPEEDS[group] if metres <= limit)


def _distance(one: Box, other: Box) -> float:
    """Way between two boxes in their own mean size (the longer side)."""
    (x1, y1), (x2, y2) = centre(one), centre(other)
    size = (max(one[2] - one[0], one[3] - one[1]) + max(other[2] - other[0], other[3] - other[1])) / 2
    return float(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 / max(size, 1e-3))


def _at_edge(box: Box) -> bool:
    return box[0] < _EDGE or box[1] < _EDGE or box[2] > 1 - _EDGE or box[3] > 1 - _EDGE
