"""Which parts of a camera's picture move: block means against a background that knows its own noise.

Every third row or so of the luma is averaged to about 180 rows of blocks. A block moves when it differs from
its background by more than its usual deviation allows and differs from half a second ago as well. The second
test is what lets a parked car, a ghost in the first picture or a switched lamp fade without an alarm: they
differ from the background but they do not move.

The usual deviation is the running median of the differences, kept in logarithmic steps (a sign test, as in
McFarlane and Schofield 1995, "Segmentation and tracking of piglets in images"). A median needs no mask
against movers: a block that is passed by for less than half of the time keeps the noise of its quiet half,
and one that never stops (foliage, waves) has its movement taken for its noise.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pipeline.core.geometry import Box

    Grid = NDArray[np.float32]
    Mask = NDArray[np.uint8]

NS_PER_S = 1e9

GRID_ROWS = 180
"""A block is 6 pixels at 1080p: a person 20 pixels tall, the smallest worth finding, still covers three."""

LEAST_SIDE = 16
"""Pixels of the smallest picture and least columns of blocks of a narrow one."""

DEVIATIONS = 6.0
"""Threshold in median deviations: 4 standard deviations of Gaussian noise, one false block in 16 000."""

LEAST_THRESHOLD = 3.5
"""Grey levels: what a codec's rounding and ringing move in a still picture, however clean the sensor."""

MOST_UNREST = 3.0
"""What differs everywhere (an I frame's pulse, a shake) raises its own threshold by at most this."""

LAG_S = 0.5
"""Age of the picture that "now" is compared with: a walker moves by a quarter of its height."""

REST_S = 3.0
"""How long a block must have stood still before what stands there becomes background."""

SETTLE_S, ABSORB_S, DRIFT_S = 1.5, 4.0, 60.0
"""Time until the noise is known; time constants of the background where it is still and where it moves."""

LEARN_PER_S, LEARN_FIRST_PER_S, LEARN_FIRST_S = 0.08, 0.5, 2.0
"""Relative change of the deviation a second: in the long run (a tree's tenfold noise in 30 s), and on top of
it at first, where it dies down with this time constant."""

GLOBAL_SHARE = 0.4
"""Share of the blocks that no ordinary mover changes within half a second."""

RETURN_S = 3.0
"""How long the background before a global change is kept, so that a flash is over when it is over."""

DARK = 8
"""Grey levels up to which a ratio of two pictures is noise."""

NEIGHBOURS = 3
"""Of nine blocks, how many must move with one, itself included; noise comes alone."""

MOST_BOXES = 8
JOIN = 2
"""Blocks by which regions are widened before they are joined: head and legs of a walker belong together."""

SOFT_BLOCKS, SOFT_SLOPE = 8, 0.2
"""From this many blocks on a region has edges to judge. The steepest slope of a blob of standard deviation s
blocks is 0.6/s of its height: below 0.2 it is blurred over 3 blocks or more, out of focus at the lens."""

SAMPLES = 1000
"""Blocks from which medians are estimated: 1.3 % standard error of the middle rank, for little work."""

_MOST_CHANNELS = 4  # of OpenCV's matrix products
_AROUND = np.ones((3, 3), np.uint8)
_WIDE = np.ones((2 * JOIN + 1, 2 * JOIN + 1), np.uint8)


class Movement(NamedTuple):
    """What moved in one picture.

    Attributes:
        boxes: Moving regions in 0..1 of the stored picture, largest first, at most eight.
        area_ratio: Share of the blocks that move, 0..1.
        global_change: Most of the picture changed at once (light, IR switch, cut, damage); no boxes then.
        settled: False while the noise is still being learnt.
        blurred: Those of `boxes` whose edges are out of focus, as an insect's or a cobweb's at the lens.
    """

    boxes: tuple[Box, ...]
    area_ratio: float
    global_change: bool
    settled: bool
    blurred: tuple[Box, ...] = ()


class _Past(NamedTuple):
    """An earlier picture; its exposure is a natural logarithm relative to the first one's."""

    at_ns: int
    means: Grid
    exposure: float


class Background:
    """The background of one camera and what moves before it.

    Args:
        sensitivity: Above 0, up to 1; thresholds are inversely proportional to it. At 0.75, two thirds of
            the contrast is enough that the usual 0.5 needs.

    Raises:
        ValueError: `sensitivity` is not in that range.
    """

    def __init__(self, sensitivity: float = 0.5) -> None:
        if not 0 < sensitivity <= 1:
            raise ValueError(f"sensitivity lies above 0 and is at most 1, not {sensitivity}")
        self._deviations = DEVIATIONS * 0.5 / sensitivity
        self._least_deviation = LEAST_THRESHOLD / DEVIATIONS
        self._shape: tuple[int, ...] = ()
        self._at_ns = 0
        self._age_s = 0.0
        self._count = 0

    def measure(self, luma: NDArray[np.uint8], at_ns: int) -> Movement:
        """What moves in the next picture.

        Args:
            luma: (H, W) uint8 from 16x16 on, borrowed and only read; rows may be strided. A new size starts
                anew.
            at_ns: Media time in nanoseconds, later than the last; gaps and any rate are fine.

        Returns:
            The first picture of a size has no movement.
        """
        if luma.shape != self._shape:
            self._start(luma, at_ns)
            return Movement((), 0.0, global_change=False, settled=False)
        seconds = max(1e-3, (at_ns - self._at_ns) / NS_PER_S)
        self._at_ns, self._age_s = at_ns, self._age_s + seconds
        small = self._reduced(luma)
        over, changed = self._compare(small)
        moving = _without_loners(cv2.bitwise_and(over, changed))
        upset = cv2.countNonZero(changed) > GLOBAL_SHARE * changed.size
        if upset:
            self._replace(small)
        else:
            self._learn(small, over, changed, seconds)
        self._recent.append(_Past(at_ns, small, self._exposure))
        return self._movement(moving, upset=upset)

    def _start(self, luma: NDArray[np.uint8], at_ns: int) -> None:
        self._shape = luma.shape
        self._factor = max(1, min(round(luma.shape[0] / GRID_ROWS), luma.shape[1] // LEAST_SIDE))
        small = self._reduced(luma)
        self._at_ns, self._age_s, self._count = at_ns, 0.0, 1
        self._sparse = _every(small.size)
        self._background = small.copy()
        self._deviation = np.full_like(small, self._least_deviation)
        self._difference, self._change, self._threshold = (np.zeros_like(small) for _ in range(3))
        self._above, self._below, self._factors = (np.zeros_like(small) for _ in range(3))  # work space
        self._calm_s, self._zero = np.zeros_like(small), np.zeros_like(small)
        self._exposure = 0.0
        self._recent = deque([_Past(at_ns, small, self._exposure)])
        self._before: tuple[int, Grid] | None = None

    def _reduced(self, luma: NDArray[np.uint8]) -> Grid:
        """Block means, a new array; rows and columns beyond the last whole block are left out."""
        factor = self._factor
        if factor == 1:
            return luma.astype(np.float32)
        rows, columns = (length // factor for length in luma.shape)
        whole = luma[: rows * factor, : columns * factor]
        if factor % 2:
            return np.asarray(cv2.resize(whole, (columns, rows), interpolation=cv2.INTER_AREA), np.float32)
        return _halved(whole[:: factor // 2], columns)

    def _compare(self, small: Grid) -> tuple[Mask, Mask]:
        """Masks (0 or 255) of the blocks that differ from the background, and from half a second ago."""
        background, change = self._background, self._change
        gain = self._gain(small, background)
        self._exposure += math.log(gain)
        np.multiply(background, np.float32(gain), out=background)  # a fifth of what OpenCV takes with a scalar
        cv2.absdiff(small, background, dst=self._difference)
        then = self._then()
        np.multiply(then.means, np.float32(math.exp(self._exposure - then.exposure)), out=change)
        cv2.absdiff(small, change, dst=change)
        self._calibrate(change)
        np.multiply(self._deviation, np.float32(self._deviations * self._unrest()), out=self._threshold)
        over = cv2.compare(self._beyond(small), self._threshold, cv2.CMP_GT)
        return over, cv2.compare(change, self._threshold, cv2.CMP_GT)

    def _beyond(self, small: Grid) -> Grid:
        """How far a block is beyond its own and all neighbours' background, as edges may shake by a block."""
        above, below = self._above, self._below
        cv2.dilate(self._background, _AROUND, dst=above)
        cv2.erode(self._background, _AROUND, dst=below)
        cv2.subtract(small, above, dst=above)
        cv2.subtract(below, small, dst=below)
        cv2.max(above, below, dst=above)
        return above

    def _then(self) -> _Past:
        """The picture of half a second ago, or the last one of a slower camera."""
        recent = self._recent
        while len(recent) > 1 and self._at_ns - recent[1].at_ns >= LAG_S * NS_PER_S:
            recent.popleft()
        return recent[0]

    def _calibrate(self, change: Grid) -> None:
        """The second picture tells the noise: more than half of any scene stands still for a moment."""
        if self._count == 1:
            self._deviation.fill(max(self._least_deviation, _quantile(change[self._sparse], 0.5)))
        self._count += 1

    def _unrest(self) -> float:
        """How much more than usual this picture differs everywhere, 1..`MOST_UNREST`."""
        if self._count == 2:  # noqa: PLR2004 - the picture just calibrated on
            return 1.0
        usual = _quantile(self._difference[self._sparse] / self._deviation[self._sparse], 0.5)
        return min(max(1.0, usual), MOST_UNREST)

    def _gain(self, small: Grid, reference: Grid) -> float:
        """Exposure of `small` by that of `reference`: the median ratio of the blocks that are not dark."""
        now, then = small[self._sparse], reference[self._sparse]
        lit = then > DARK
        if np.count_nonzero(lit) < 16:  # noqa: PLR2004 - too few for a median
            return 1.0
        return min(max(0.25, _quantile(now[lit] / then[lit], 0.5)), 4.0)  # two stops, what a camera may jump

    def _learn(self, small: Grid, over: Mask, changed: Mask, seconds: float) -> None:
        self._learn_deviation(seconds)
        cv2.add(self._calm_s, min(seconds, REST_S), dst=self._calm_s)
        cv2.copyTo(self._zero, changed, self._calm_s)
        rested = cv2.compare(self._calm_s, REST_S, cv2.CMP_GT)
        still = cv2.bitwise_or(cv2.bitwise_not(over), rested)
        absorb_s = min(ABSORB_S, 0.3 + self._age_s / 2)  # young backgrounds are averages of what there is
        cv2.accumulateWeighted(small, self._background, -math.expm1(-seconds / DRIFT_S))
        cv2.accumulateWeighted(small, self._background, -math.expm1(-seconds / absorb_s), still)

    def _learn_deviation(self, seconds: float) -> None:
        rate = LEARN_PER_S + LEARN_FIRST_PER_S * math.exp(-self._age_s / LEARN_FIRST_S)
        step = min(0.5, rate * seconds)  # one picture of a slow camera is still only one sample
        up = cv2.compare(self._difference, self._deviation, cv2.CMP_GT)
        low, high = math.exp(-step), math.exp(step)
        cv2.addWeighted(up, (high - low) / 255, up, 0, low, dst=self._factors, dtype=cv2.CV_32F)
        cv2.multiply(self._deviation, self._factors, dst=self._deviation)
        cv2.max(self._deviation, self._least_deviation, dst=self._deviation)

    def _replace(self, small: Grid) -> None:
        """Starts from the changed picture, or from before an earlier change when this is its end."""
        before, self._before = self._before, None
        self._recent.clear()
        if before is not None and self._at_ns <= before[0]:
            old = before[1] * np.float32(self._gain(small, before[1]))
            differing = cv2.compare(cv2.absdiff(small, old), self._threshold, cv2.CMP_GT)
            if cv2.countNonZero(differing) < GLOBAL_SHARE / 2 * small.size:
                self._background = old
                return
            self._before = before
        else:
            self._before = (self._at_ns + int(RETURN_S * NS_PER_S), self._background)
        self._background = small.copy()

    def _movement(self, moving: Mask, *, upset: bool) -> Movement:
        settled = self._age_s >= SETTLE_S
        count = cv2.countNonZero(moving)
        area_ratio = count / moving.size
        if upset or not count:
            return Movement((), area_ratio, global_change=upset, settled=settled)
        regions = _regions(moving)
        boxes = tuple(self._box(*region) for region in regions)
        soft = tuple(box for box, region in zip(boxes, regions, strict=True) if self._blurred(moving, *region))
        return Movement(boxes, area_ratio, global_change=False, settled=settled, blurred=soft)

    def _box(self, left: int, top: int, right: int, bottom: int) -> Box:
        height, width = self._shape
        down, across = self._factor / height, self._factor / width
        return left * across, top * down, right * across, bottom * down

    def _blurred(self, moving: Mask, left: int, top: int, right: int, bottom: int) -> bool:
        if max(right - left, bottom - top) < SOFT_BLOCKS or min(right - left, bottom - top) < len(_AROUND):
            return False
        height = self._difference[top:bottom, left:right]
        across = np.abs(height[1:-1, 2:] - height[1:-1, :-2])
        down = np.abs(height[2:, 1:-1] - height[:-2, 1:-1])
        sparse = _every(across.size)
        steepest = _quantile(np.maximum(across[sparse], down[sparse]), 0.95) / 2
        raised = height[sparse][moving[top:bottom, left:right][sparse] > 0]
        return raised.size > 0 and steepest < SOFT_SLOPE * _quantile(raised, 0.9)


def _quantile(values: Grid, share: float) -> float:
    """A quantile without interpolation, in a fraction of numpy's time for a thousand values."""
    flat = values.ravel()
    rank = int(share * (flat.size - 1))
    return float(np.partition(flat, rank)[rank])


def _every(size: int) -> tuple[slice, slice]:
    """Rows and columns that leave about `SAMPLES` of so many blocks."""
    step = slice(None, None, max(1, math.isqrt(size // SAMPLES)))
    return step, step


def _halved(pairs: NDArray[np.uint8], columns: int) -> Grid:
    """Means of two rows by `width / columns`, an even number; halving both first takes OpenCV's fast path."""
    half = pairs.shape[1] // columns // 2
    halves = cv2.resize(pairs, (columns * half, len(pairs) // 2), interpolation=cv2.INTER_AREA)
    if half <= _MOST_CHANNELS:  # as channels of one picture they are averaged twice as fast
        groups = halves.reshape(len(halves), columns, half).astype(np.float32)
        return np.asarray(cv2.transform(groups, np.full((1, half), 1 / half, np.float32)))
    means = cv2.resize(halves, (columns, len(halves)), interpolation=cv2.INTER_AREA)
    return np.asarray(means, np.float32)


def _without_loners(mask: Mask) -> Mask:
    """Drops blocks with too few moving neighbours."""
    share = cv2.boxFilter(mask, -1, (3, 3), normalize=True)
    crowded = cv2.compare(share, 255 * (NEIGHBOURS - 0.5) / 9, cv2.CMP_GT)
    kept: Mask = cv2.bitwise_and(crowded, mask)
    return kept


def _regions(moving: Mask) -> list[tuple[int, int, int, int]]:
    """Left, top, right, bottom in blocks of the largest regions, neighbouring ones joined."""
    height, width = moving.shape
    wide = cv2.dilate(moving, _WIDE)
    outlines, _ = cv2.findContours(wide, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    largest = sorted(outlines, key=cv2.contourArea, reverse=True)[:MOST_BOXES]
    return [_narrowed(cv2.boundingRect(outline), width, height) for outline in largest]


def _narrowed(body: Sequence[int], width: int, height: int) -> tuple[int, int, int, int]:
    """Takes back the widening, except at the picture's edges, where there was none to take."""
    left, top, across, down = body
    right, bottom = left + across, top + down
    return (
        left + JOIN if left else 0,
        top + JOIN if top else 0,
        right - JOIN if right < width else width,
        bottom - JOIN if bottom < height else height,
    )
