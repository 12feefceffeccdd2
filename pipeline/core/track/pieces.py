"""Pieces of one thing, as a detector finds them, joined to one detection. Boxes in 0..1 of the upright picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.core.geometry import area, around, covers, overlap, shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.geometry import Box
    from pipeline.core.track.sight import Detection
    from pipeline.core.vocabulary import Group

INSIDE = 0.6
"""Share of the smaller box that lies in the larger, from which on it is a piece of it: a head, a bonnet."""
SAME = 0.35
"""Intersection over union from which on two boxes show the same thing, seen in two crops."""
COLUMN = 0.6
"""Share of the narrower box, across, that lies above or below the other: head, torso and legs stand in a column."""
MOST_GAP = 0.03
"""Of the picture's height, between two pieces of a column."""
MOST_GROWTH = 1.5
"""Ratio of the area of a column to that of its pieces: above it, they are two people, one behind the other."""

_RIDDEN = ("bicycle", "motorcycle")
_KNOWN = 0.4  # intersection over union with the last box of a thing, from which on a detection shows it whole
_ALMOST_SAME = 0.6  # the same between two detections, from which on they are one thing whatever is known
_HIDDEN = 0.2  # of a cycle that is ridden


def join(found: Iterable[Detection], known: Sequence[Box] = ()) -> tuple[Detection, ...]:
    """Return every thing once, likeliest first: pieces of a group that belong together are one, as large as all.

    A piece takes the class and the likelihood of the likeliest.

    Args:
        found: What the detector found in one picture, in all crops.
        known: Boxes of things that are followed: what shows two of them is not one thing.
    """
    kept: list[Detection] = []
    for one in sorted(found, key=lambda detection: (-detection.likelihood, detection.box)):
        joined = one
        rest: list[Detection] = []
        for other in kept:
            if other.group == one.group and _one_thing(other.box, joined.box, one.group, known):
                joined = _together(other, joined)
            else:
                rest.append(other)
        kept = [*rest, joined]
    return tuple(sorted(kept, key=lambda detection: (-detection.likelihood, detection.box)))


def is_piece(box: Box, whole: Box) -> bool:
    """Whether a box shows part of a thing that was seen whole: it lies in it and is much smaller."""
    return covers(box, whole) >= INSIDE and area(box) < INSIDE * area(whole)


def ridden(detections: Iterable[Detection]) -> tuple[Detection, ...]:
    """Return the bicycles and motorcycles that a person sits on: what happens is about the person, not about a vehicle.

    A fifth of the cycle lies in the person's box when it is ridden or pushed; beside a parked one people hide less.
    """
    found = tuple(detections)
    people = [one for one in found if one.group == "person"]
    return tuple(one for one in found if one.label in _RIDDEN and any(rides(rider.box, one.box) for rider in people))


def rides(rider: Box, cycle: Box) -> bool:
    """Whether a person sits on a cycle, or pushes it."""
    return shared(cycle, rider) >= _HIDDEN * area(cycle)


def _one_thing(one: Box, other: Box, group: Group, known: Sequence[Box]) -> bool:
    if overlap(one, other) > _ALMOST_SAME:
        return True
    shown, shown_other = _shown(one, known), _shown(other, known)
    if shown != shown_other and None not in {shown, shown_other}:
        return False
    if overlap(one, other) > SAME or covers(one, other) > INSIDE:
        return True
    lower = shown if one[3] > other[3] else shown_other
    return (
        group == "person" and lower is None and _stacked(one, other)
    )  # somebody known has no second torso on the head


def _shown(box: Box, known: Sequence[Box]) -> int | None:
    """Which known thing a box shows as a whole."""
    best = max(range(len(known)), key=lambda number: overlap(box, known[number]), default=None)
    return best if best is not None and overlap(box, known[best]) > _KNOWN else None


def _stacked(one: Box, other: Box) -> bool:
    across = min(one[2], other[2]) - max(one[0], other[0])
    narrower = min(one[2] - one[0], other[2] - other[0])
    gap = max(one[1], other[1]) - min(one[3], other[3])
    whole = around((one, other))
    return (
        across >= COLUMN * narrower
        and gap < MOST_GAP
        and whole[3] - whole[1] < 1
        and area(whole) <= MOST_GROWTH * (area(one) + area(other))
    )


def _together(one: Detection, other: Detection) -> Detection:
    best = max(one, other, key=lambda detection: detection.likelihood)
    if covers(one.box, other.box) > INSIDE and not _stacked(one.box, other.box):
        larger = max(one.box, other.box, key=area)
        return msgspec.structs.replace(best, box=larger)
    if overlap(one.box, other.box) > SAME:
        return best
    return msgspec.structs.replace(best, box=around((one.box, other.box)))
