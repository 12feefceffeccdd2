"""From a borrowed planar picture to the small upright BGR square that a model reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.core.frames import Planes
    from pipeline.core.geometry import Rotation

GREY = 114
"""Value of B, G and R where a crop lies outside its picture; the detectors' authors pad with it."""

_LUMA_GREY = round(16 + GREY * 219 / 255)  # BT.601 video range, as the buffer holds
_NO_COLOUR = 128
_TURNS = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}

# Full range to video range: one look-up per pixel of the small buffer, none of the large picture.
_CODES = np.arange(256, dtype=np.float64)
_LUMA_TO_VIDEO = np.rint(16 + _CODES * 219 / 255).astype(np.uint8)
_CHROMA_TO_VIDEO = np.rint(128 + (_CODES - 128) * 224 / 255).astype(np.uint8)


class CropReader:
    """Reads square crops as small BGR pictures through buffers that it owns.

    Args:
        size: Side of the result in pixels; even, at least 2.

    Raises:
        ValueError: `size` is odd or below 2.
    """

    def __init__(self, size: int) -> None:
        if size < 2 or size % 2:  # noqa: PLR2004 - chroma halves it
            raise ValueError(f"the side of a crop is an even number of pixels, not {size}")
        self._i420 = np.empty((size * 3 // 2, size), np.uint8)
        flat, luma, chroma = self._i420.reshape(-1), size * size, size * size // 4
        half = size // 2
        self._y = flat[:luma].reshape(size, size)
        self._u = flat[luma : luma + chroma].reshape(half, half)
        self._v = flat[luma + chroma :].reshape(half, half)
        self._shrunk = np.empty(4 * luma, np.uint8)
        self._stored = np.empty((size, size, 3), np.uint8)
        self._upright = np.empty((size, size, 3), np.uint8)

    def bgr(
        self, planes: Planes, left: int, top: int, right: int, bottom: int, *, rotation: Rotation = 0
    ) -> NDArray[np.uint8]:
        """The crop, stretched to the square and turned upright.

        Args:
            planes: The picture, read in place.
            left: First column in pixels of the stored picture; it and the others may lie outside.
            top: First row.
            right: Column behind the last.
            bottom: Row behind the last.
            rotation: Clockwise degrees that make the stored picture upright.

        Returns:
            (size, size, 3) uint8 BGR, upright; grey outside the picture. Borrowed: the next call
            overwrites it.

        Raises:
            ValueError: The crop has no width or no height.
        """
        if right <= left or bottom <= top:
            raise ValueError(f"an empty crop: {left}, {top}, {right}, {bottom}")
        crop = (left, top, right, bottom)
        self._read(planes.y, self._y, crop, _LUMA_GREY, _LUMA_TO_VIDEO if planes.full_range else None)
        half = (left // 2, top // 2, max(right // 2, left // 2 + 1), max(bottom // 2, top // 2 + 1))
        for plane, out in ((planes.u, self._u), (planes.v, self._v)):
            self._read(plane, out, half, _NO_COLOUR, _CHROMA_TO_VIDEO if planes.full_range else None)
        cv2.cvtColor(self._i420, cv2.COLOR_YUV2BGR_I420, dst=self._stored)
        return self._turn(rotation)

    def _turn(self, rotation: Rotation) -> NDArray[np.uint8]:
        if rotation == 0:
            return self._stored
        cv2.rotate(self._stored, _TURNS[rotation], dst=self._upright)
        return self._upright

    def _read(
        self,
        plane: NDArray[np.uint8],
        out: NDArray[np.uint8],
        crop: tuple[int, int, int, int],
        padding: int,
        codes: NDArray[np.uint8] | None,
    ) -> None:
        """Fills `out` (n, n) from one plane; `codes` translates what was read, not the padding."""
        height, width = plane.shape
        columns = _clip_overlap(crop[0], crop[2], width, len(out))
        rows = _clip_overlap(crop[1], crop[3], height, len(out))
        if (columns[2:], rows[2:]) != ((0, len(out)), (0, len(out))):
            out.fill(padding)
        if columns.empty or rows.empty:
            return
        target = out[rows.start : rows.stop, columns.start : columns.stop]
        self._resize(plane[rows.first : rows.last, columns.first : columns.last], target)
        if codes is not None:
            np.take(codes, target, out=target, mode="clip")

    def _resize(self, source: NDArray[np.uint8], target: NDArray[np.uint8]) -> None:
        """Shrinks by a whole factor first: averaging keeps small objects, and only whole factors are fast.

        The rest, below 2, is linear. A remainder of the division (less than one pixel of the result)
        is left out at the right and bottom.
        """
        down, across = (max(1, a // b) for a, b in zip(source.shape, target.shape, strict=True))
        if down > 1 or across > 1:
            height, width = source.shape[0] // down, source.shape[1] // across
            shrunk = self._shrunk[: height * width].reshape(height, width)
            whole = source[: height * down, : width * across]
            cv2.resize(whole, (width, height), dst=shrunk, interpolation=cv2.INTER_AREA)
            source = shrunk
        cv2.resize(source, target.shape[::-1], dst=target, interpolation=cv2.INTER_LINEAR)


class _Overlap(NamedTuple):
    """Where crop and plane meet on one axis: [first, last) of the plane, [start, stop) of the result."""

    first: int
    last: int
    start: int
    stop: int

    @property
    def empty(self) -> bool:
        return self.first >= self.last or self.start >= self.stop


def _clip_overlap(begin: int, end: int, length: int, size: int) -> _Overlap:
    """Clips [begin, end) to [0, length) and finds the same part of a result of `size` pixels."""
    first, last = max(begin, 0), min(end, length)
    scale = size / (end - begin)
    return _Overlap(first, last, round((first - begin) * scale), round((last - begin) * scale))
