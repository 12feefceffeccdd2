"""The colours of a thing, so that two that cross are not taken for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.geometry import stored

if TYPE_CHECKING:
    from pipeline.core.frames import Planes
    from pipeline.core.geometry import Box, Rotation

_MIDDLE = 0.2  # of its width, left out at either side: background
_MOST_SAMPLES = 24  # along each side; a mean needs no more


def colours(planes: Planes, box: Box, rotation: Rotation) -> tuple[int, ...]:
    """Return mean luma and chroma (0..255) of the upper and the lower half of a thing: six values.

    Args:
        planes: The stored picture, read in place.
        box: Of the thing, in 0..1 of the upright picture.
        rotation: Clockwise degrees that make the stored picture upright.
    """
    left, top, right, bottom = box
    inset, middle = _MIDDLE * (right - left), (top + bottom) / 2
    halves = ((left + inset, top, right - inset, middle), (left + inset, middle, right - inset, bottom))
    found = []
    for half in halves:
        part_of = stored(half, rotation)
        for plane in (planes.y, planes.u, planes.v):
            height, width = plane.shape
            first, last = int(part_of[1] * height), int(part_of[3] * height)
            begin, end = int(part_of[0] * width), int(part_of[2] * width)
            part = plane[
                first : max(last, first + 1) : max(1, (last - first) // _MOST_SAMPLES),
                begin : max(end, begin + 1) : max(1, (end - begin) // _MOST_SAMPLES),
            ]
            found.append(round(float(part.mean())) if part.size else 0)
    return tuple(found)
