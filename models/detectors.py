"""Object detectors that look at one region of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.encoders.cpu import open_cpu_session
from models.planes import CropReader
from pipeline.core.geometry import Box, Rotation, overlap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pipeline.core.frames import Planes
    from pipeline.core.vocabulary import Group

# fmt: off
COCO_LABELS = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light",
    "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow",
    "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee",
    "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard",
    "tennis racket", "bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple",
    "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch",
    "potted plant", "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard",
    "cell phone", "microwave", "oven", "toaster", "sink", "refrigerator", "book", "clock", "vase",
    "scissors", "teddy bear", "hair drier", "toothbrush",
)
# fmt: on
"""The 80 classes of COCO in the order of the detector's outputs."""


def _group_of(index: int) -> Group:
    if index == COCO_LABELS.index("person"):
        return "person"
    if COCO_LABELS.index("bicycle") <= index <= COCO_LABELS.index("boat"):
        return "vehicle"
    if COCO_LABELS.index("bird") <= index <= COCO_LABELS.index("giraffe"):
        return "animal"
    return "other"


GROUPS: tuple[Group, ...] = tuple(_group_of(index) for index in range(len(COCO_LABELS)))
"""The group of each label, in the same order."""


class FoundObject(NamedTuple):
    """One object that a detector found.

    Attributes:
        label: The detector's own class, a COCO name such as "truck".
        group: What an operator asks about.
        likelihood: 0..1, the detector's score; no calibrated probability.
        box: Where, in the whole upright picture.
    """

    label: str
    group: Group
    likelihood: float
    box: Box


class Square(NamedTuple):
    """A square of an upright picture, in its pixels; it may reach outside."""

    left: int
    top: int
    side: int

    def to_stored(self, width: int, height: int, rotation: Rotation) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of the same square in the stored picture.

        Args:
            width: Of the stored picture, pixels.
            height: Likewise.
            rotation: Clockwise degrees from the stored to the upright picture.
        """
        right, bottom = self.left + self.side, self.top + self.side
        if rotation == 90:  # noqa: PLR2004 - the four rotations are literals
            left, top = self.top, height - right
        elif rotation == 180:  # noqa: PLR2004 - the same
            left, top = width - right, height - bottom
        elif rotation == 270:  # noqa: PLR2004 - the same
            left, top = width - bottom, self.left
        else:
            left, top = self.left, self.top
        return left, top, left + self.side, top + self.side


def make_square(box: Box, width: int, height: int, *, margin: float, smallest: int) -> Square:
    """The square of an upright picture in which a detector should look for what is in `box`.

    Its side is the longer side of the box and a margin, at least `smallest`, at most the longer side
    of the picture. It stays inside the picture along an axis that has room for it and is centred on the
    picture along one that has not: a box as large as the picture gives the whole picture, letterboxed.

    Args:
        box: Region of interest, 0..1.
        width: Of the upright picture, pixels.
        height: Likewise.
        margin: Share of the longer side of the box that is added, half of it at either end.
        smallest: Least side in pixels.
    """
    longest = max((box[2] - box[0]) * width, (box[3] - box[1]) * height)
    side = min(max(round(longest * (1 + margin)), smallest, 1), max(width, height))
    return Square(
        _place((box[0] + box[2]) / 2 * width, side, width),
        _place((box[1] + box[3]) / 2 * height, side, height),
        side,
    )


def _place(centre: float, side: int, length: int) -> int:
    if side > length:
        return (length - side) // 2
    return min(max(round(centre - side / 2), 0), length - side)


class NanoDet:
    """NanoDet-g at 160x160: 80 COCO classes.

    Input and decoding are those of RangiLyu/nanodet: BGR, mean and deviation per channel; each of the
    four sides of a box is the expectation of a softmax over 11 distances, in strides, from the centre of
    its cell. One session, one thread; not safe for calls from two threads at once.

    Args:
        path: The ONNX file.
        min_likelihood: Detections below it are dropped, 0..1.
        margin: See `make_square`.
        smallest: See `make_square`; crops below are blown up beyond what the detector gains from.

    Raises:
        ValueError: The model's outputs are not those of NanoDet.
    """

    MEAN = (103.53, 116.28, 123.675)
    DEVIATION = (57.375, 57.12, 58.395)
    STRIDES = (8, 16, 32)
    DISTANCES = 11
    MOST_CANDIDATES = 100
    MOST_OVERLAP = 0.5
    """Intersection over union above which the weaker of two boxes of a group is dropped."""

    def __init__(self, path: Path, *, min_likelihood: float = 0.35, margin: float = 0.3, smallest: int = 128) -> None:
        self._session = open_cpu_session(path)
        self._min_likelihood = min_likelihood
        self._margin = margin
        self._smallest = smallest
        feed = self._session.get_inputs()[0]
        self._size = int(feed.shape[2])
        self._input = np.zeros((1, 3, self._size, self._size), np.float32)
        self._feed = {feed.name: self._input}
        self._outputs = _names_by_stride(self._session, self._size, self.STRIDES, self.DISTANCES)
        self._centres, self._strides = _make_cells(self._size, self.STRIDES)
        self._crops = CropReader(self._size)

    def warm_up(self) -> None:
        """Runs once on grey, so that the first picture does not pay for the arena."""
        self._session.run(self._outputs, self._feed)

    def detect(self, planes: Planes, box: Box, rotation: Rotation = 0) -> list[FoundObject]:
        """What is in and around one region.

        Args:
            planes: The stored picture, read in place and not kept.
            box: Region of interest in the upright picture.
            rotation: Clockwise degrees that make the stored picture upright.

        Returns:
            Detections of at least the least likelihood, likeliest first, of each group no two at the
            same place. They may lie outside `box`, as the square around it is what was looked at.
        """
        height, width = planes.y.shape
        upright = (width, height) if rotation in (0, 180) else (height, width)
        square = make_square(box, *upright, margin=self._margin, smallest=self._smallest)
        crop = self._crops.bgr(planes, *square.to_stored(width, height, rotation), rotation=rotation)
        self._fill(crop)
        scores, sides = self._run()
        return self._detections(scores, sides, square, upright)

    def _fill(self, bgr: NDArray[np.uint8]) -> None:
        for channel, (mean, deviation) in enumerate(zip(self.MEAN, self.DEVIATION, strict=True)):
            plane = self._input[0, channel]
            np.subtract(bgr[:, :, channel], np.float32(mean), out=plane)
            np.multiply(plane, np.float32(1 / deviation), out=plane)

    def _run(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Scores (cells, 80) and side logits (cells, 44) of all strides, finest first."""
        outputs = self._session.run(self._outputs, self._feed)
        count = len(self.STRIDES)
        return np.concatenate(outputs[:count], axis=1)[0], np.concatenate(outputs[count:], axis=1)[0]

    def _detections(
        self,
        scores: NDArray[np.float32],
        sides: NDArray[np.float32],
        square: Square,
        upright: tuple[int, int],
    ) -> list[FoundObject]:
        best = scores.max(axis=1)
        cells = np.flatnonzero(best >= self._min_likelihood)
        cells = cells[np.argsort(-best[cells], kind="stable")][: self.MOST_CANDIDATES]
        if not len(cells):
            return []
        boxes = self._boxes(cells, sides, square, upright)
        labels = scores[cells].argmax(axis=1)
        found = map(_make_object, labels.tolist(), best[cells].tolist(), boxes.tolist())
        return _remove_doubles(found, self.MOST_OVERLAP)

    def _boxes(
        self,
        cells: NDArray[np.intp],
        sides: NDArray[np.float32],
        square: Square,
        upright: tuple[int, int],
    ) -> NDArray[np.float32]:
        """Boxes (n, 4) of the chosen cells in 0..1 of the upright picture, clipped to it."""
        bins = sides[cells].reshape(-1, 4, self.DISTANCES)
        bins = np.exp(bins - bins.max(axis=2, keepdims=True))
        expected = bins @ np.arange(self.DISTANCES, dtype=np.float32) / bins.sum(axis=2)
        reach = expected * self._strides[cells, np.newaxis]
        centres = self._centres[cells]
        corners = np.concatenate((centres - reach[:, :2], centres + reach[:, 2:]), axis=1)
        corners = np.clip(corners, 0, self._size) * (square.side / self._size)
        corners += np.array([square.left, square.top] * 2, np.float32)
        boxes: NDArray[np.float32] = np.clip(corners / np.array(upright * 2, np.float32), 0, 1)
        return boxes


def _make_object(label: int, likelihood: float, box: Sequence[float]) -> FoundObject:
    left, top, right, bottom = box
    return FoundObject(COCO_LABELS[label], GROUPS[label], likelihood, (left, top, right, bottom))


def _names_by_stride(session: object, size: int, strides: Iterable[int], distances: int) -> list[str]:
    """Output names, scores of every stride first, then sides; the graph lists them in no order."""
    shapes = {tuple(output.shape): output.name for output in session.get_outputs()}  # type: ignore[attr-defined]  # untyped library
    wanted = [(1, (size // stride) ** 2, width) for width in (80, 4 * distances) for stride in strides]
    if missing := [shape for shape in wanted if shape not in shapes]:
        raise ValueError(f"not a NanoDet of {size} pixels: outputs {missing} are missing")
    return [shapes[shape] for shape in wanted]


def _make_cells(size: int, strides: Iterable[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Centre (cells, 2) as x and y in pixels of the input, and stride (cells,), of every cell."""
    centres, lengths = [], []
    for stride in strides:
        steps = (np.arange(size // stride, dtype=np.float32) + 0.5) * stride
        across, down = np.meshgrid(steps, steps)
        centres.append(np.stack((across.ravel(), down.ravel()), axis=1))
        lengths.append(np.full(across.size, stride, np.float32))
    return np.concatenate(centres), np.concatenate(lengths)


def _remove_doubles(found: Iterable[FoundObject], most_overlap: float) -> list[FoundObject]:
    """Drops what a likelier one of the same group covers; `found` comes likeliest first."""
    kept: list[FoundObject] = []
    for one in found:
        rivals = (other for other in kept if other.group == one.group)
        if all(overlap(one.box, other.box) <= most_overlap for other in rivals):
            kept.append(one)
    return kept
