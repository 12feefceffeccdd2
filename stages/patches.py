"""Finds things again in the next picture by what they look like: small patches of their luma, matched near by.

Between two looks of the classifier a thing may cross another one or move in one region with it; then its own patch says
where it went. Normalised correlation of about twenty pixels across (J. P. Lewis 1995, "Fast Normalized
Cross-Correlation"): about 30 us a thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np

from pipeline.core.geometry import stored, upright
from pipeline.core.track.sight import Carried

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pipeline.core.frames import Planes
    from pipeline.core.geometry import Box, Rotation

_SIDE = 20  # pixels of a patch's longer side
_SAMPLED = 4  # times as many pixels are read, and averaged
_REACH = 0.6  # of its longer side, how far a thing may go from one picture to the next
_LEAST_CONTRAST = 3.0  # standard deviation, codes; a flat patch is everywhere
_LEAST_SIDE = 4  # pixels of a patch that can be told from others


class _Patch(NamedTuple):
    luma: NDArray[np.uint8]  # (rows, columns)
    box: Box  # in the stored picture
    scale: float  # pixels of the patch a pixel of the picture


class Patches:
    """The patches of one camera's things, each of the last picture."""

    def __init__(self) -> None:
        self._kept: dict[int, _Patch] = {}

    def find(self, planes: Planes, rotation: Rotation) -> dict[int, Carried]:
        """Return where each thing of the last picture is in this one, by number, with how sure that is.

        Args:
            planes: The stored picture, read in place.
            rotation: Clockwise degrees that make it upright.
        """
        found = {}
        for number, patch in self._kept.items():
            place = _found(planes.y, patch)
            if place is not None:
                found[number] = Carried(upright(place.box, rotation), place.likeness)
        return found

    def keep(self, planes: Planes, rotation: Rotation, boxes: Mapping[int, Box]) -> None:
        """Take the patches of things, by number, at their boxes in the upright picture; forget all others."""
        made = ((number, _patch(planes.y, stored(box, rotation))) for number, box in boxes.items())
        self._kept = {number: patch for number, patch in made if patch is not None}


def _patch(luma: NDArray[np.uint8], box: Box) -> _Patch | None:
    height, width = luma.shape
    longest = max((box[2] - box[0]) * width, (box[3] - box[1]) * height)
    if longest < _LEAST_SIDE:
        return None
    scale = min(1.0, _SIDE / longest)
    pixels = _read(luma, box, scale)
    if min(pixels.shape) < _LEAST_SIDE or float(pixels.std()) < _LEAST_CONTRAST:
        return None
    return _Patch(pixels, box, scale)


def _found(luma: NDArray[np.uint8], patch: _Patch) -> Carried | None:
    left, top, right, bottom = patch.box
    height, width = luma.shape
    reach = _REACH * max((right - left) * width, (bottom - top) * height)
    window = (left - reach / width, top - reach / height, right + reach / width, bottom + reach / height)
    inside = (max(0.0, window[0]), max(0.0, window[1]), min(1.0, window[2]), min(1.0, window[3]))
    pixels = _read(luma, inside, patch.scale)
    rows, columns = patch.luma.shape
    if pixels.shape[0] < rows or pixels.shape[1] < columns:
        return None
    likeness = cv2.matchTemplate(pixels, patch.luma, cv2.TM_CCOEFF_NORMED)
    _, best, _, (x, y) = cv2.minMaxLoc(likeness)
    if not np.isfinite(best):
        return None
    new_left = inside[0] + x / pixels.shape[1] * (inside[2] - inside[0])
    new_top = inside[1] + y / pixels.shape[0] * (inside[3] - inside[1])
    return Carried((new_left, new_top, new_left + right - left, new_top + bottom - top), float(best))


def _read(luma: NDArray[np.uint8], box: Box, scale: float) -> NDArray[np.uint8]:
    """The pixels of a box, so many times smaller; part of it may lie outside the picture, and is left out."""
    height, width = luma.shape
    left, right = max(0, round(box[0] * width)), min(width, round(box[2] * width))
    top, bottom = max(0, round(box[1] * height)), min(height, round(box[3] * height))
    step = max(1, int(1 / scale / _SAMPLED))
    part = luma[top:bottom:step, left:right:step]
    size = (max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale)))
    if part.size == 0:
        return np.zeros((1, 1), np.uint8)
    return np.asarray(cv2.resize(np.ascontiguousarray(part), size, interpolation=cv2.INTER_AREA), np.uint8)
