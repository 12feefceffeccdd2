"""Read the pictures that ranges are measured on, in the picture format of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from onnxruntime.quantization import CalibrationDataReader

from models.encoders import fill, gate
from pipeline.core import files
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from models.encoders import PictureFormat

_PICTURE_MOST = 256 << 20  # bytes of a file


class CalibrationPictures(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no type information
    """Gives one picture after the other to whoever measures ranges.

    Args:
        name: Of the model's input.
        shape: Of the model's input.
        reading: How the model wants its picture.
        files: Pictures; none: as many as `drawn` are drawn from the gate's seed.
        report: Called with how many were given, and how many there are.
    """

    def __init__(  # noqa: PLR0917  # made in one place
        self,
        name: str,
        shape: Sequence[int],
        reading: PictureFormat,
        files: Sequence[Path],
        report: Callable[[int, int], None] = lambda _given, _all: None,
        drawn: int = 0,
    ) -> None:
        self._name, self._shape, self._reading, self._files, self._told = name, tuple(shape), reading, files, report
        self._drawn = gate.make_probes(shape, drawn, reading) if not files else []
        self._given = 0

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self._files) or len(self._drawn)

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        """Return the next picture by the input's name; None after the last. Raises ModelError for a damaged file."""
        self._told(self._given, len(self))
        if self._given == len(self):
            return None
        at, self._given = self._given, self._given + 1
        if not self._files:
            return {self._name: self._drawn[at]}
        target = np.zeros(self._shape, np.float32)
        fill(target, read(self._files[at], self._reading.side(self._shape)), self._reading)
        return {self._name: target}


def read(file: Path, side: int) -> NDArray[np.uint8]:
    """Read the central square of a picture, (side, side, 3) uint8 BGR. Raises ModelError for a damaged file."""
    try:
        data = files.read_bounded(file, _PICTURE_MOST, follow=True)
        found = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error):  # not to be read; empty, or of more pixels than any camera's
        found = None
    if found is None:
        raise ModelError(f"{file} is no picture that can be read: take it out of the folder, or mend it")
    height, width = found.shape[:2]
    least = min(height, width)
    top, left = (height - least) // 2, (width - least) // 2
    square = found[top : top + least, left : left + least]
    how = cv2.INTER_AREA if least > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(square, (side, side), interpolation=how), np.uint8)
