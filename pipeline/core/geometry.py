"""Boxes and polygons in 0..1 of a picture, and what rotation does to them."""

from __future__ import annotations

from typing import Literal, TypeAlias

Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom; 0..1, origin top left
Point: TypeAlias = tuple[float, float]  # x, y; 0..1
Polygon: TypeAlias = tuple[Point, ...]
Rotation: TypeAlias = Literal[0, 90, 180, 270]  # degrees clockwise from the stored picture to the upright one

_BACK: dict[Rotation, Rotation] = {0: 0, 90: 270, 180: 180, 270: 90}

WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


def upright(box: Box, rotation: Rotation) -> Box:
    """Turn a box of the stored picture into the upright picture."""
    left, top, right, bottom = box
    if rotation == 90:  # noqa: PLR2004  # degrees
        return (1 - bottom, left, 1 - top, right)
    if rotation == 180:  # noqa: PLR2004  # degrees
        return (1 - right, 1 - bottom, 1 - left, 1 - top)
    if rotation == 270:  # noqa: PLR2004  # degrees
        return (top, 1 - right, bottom, 1 - left)
    return box


def stored(box: Box, rotation: Rotation) -> Box:
    """Turn a box of the upright picture back into the stored one."""
    return upright(box, _BACK[rotation])


def area(box: Box) -> float:
    """Area of a box, as a share of the picture; 0 for an empty one."""
    width, height = box[2] - box[0], box[3] - box[1]
    return width * height if width > 0 and height > 0 else 0.0


def shared(one: Box, other: Box) -> float:
    """Area common to two boxes, as a share of the picture."""
    if one[2] <= other[0] or other[2] <= one[0]:  # most boxes lie apart: this is asked thousands of times a second
        return 0.0
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if height > 0 else 0.0


def overlap(one: Box, other: Box) -> float:
    """Intersection over union, 0..1."""
    both = shared(one, other)
    return both / (area(one) + area(other) - both) if both else 0.0


def covers(one: Box, other: Box) -> float:
    """Share of the smaller box that lies in the larger, 0..1: high when one holds the other."""
    smaller = min(area(one), area(other))
    return shared(one, other) / smaller if smaller > 0 else 0.0


def size(box: Box) -> float:
    """The longer side of a box."""
    return max(box[2] - box[0], box[3] - box[1])


def around(boxes: tuple[Box, ...]) -> Box:
    """Return the smallest box that holds all boxes. Raises ValueError for none."""
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


def centre(box: Box) -> Point:
    """Return the middle of a box."""
    return ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)


def foot(box: Box) -> Point:
    """Where a thing stands: the middle of the lower edge, just inside a picture that cuts it off there."""
    return ((box[0] + box[2]) / 2, min(box[3], 1 - 1e-6))


def inside(point: Point, polygon: Polygon) -> bool:
    """Whether a point lies in a polygon (even-odd rule; the upper and left edges belong to it)."""
    x, y = point
    odd = False
    for (x1, y1), (x2, y2) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            odd = not odd
    return odd


def rounded(box: Box) -> Box:
    """Clip to the picture and round to 1/10000 of it: what events carry (0.4 px at 4K)."""
    left, top, right, bottom = (round(min(1.0, max(0.0, edge)), 4) for edge in box)
    return (left, top, right, bottom)
