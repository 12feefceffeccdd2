"""Feature encoders: one contract, one file for each back end that fulfils it.

Nobody opens an accelerator but `models.encoders.gate`, which proves that it runs the model before it hands it on.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Protocol

import cv2
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.encoders.placement import Placement


class Encoder(Protocol):
    """A model that turns one 224x224 picture into a vector, through buffers that stay where they are."""

    @property
    def input(self) -> NDArray[np.float32]:
        """What `run` reads, (1, 3, 224, 224) float32 RGB; the same array for good, filled in place."""

    @property
    def output(self) -> NDArray[np.float32]:
        """The embedding of the last run, (1280,) float32; borrowed, the next run overwrites it."""

    @property
    def logits(self) -> NDArray[np.float32]:
        """The ImageNet logits of the last run, (1000,) float32; borrowed likewise."""

    @property
    def zero_copy(self) -> bool:
        """The device works on these arrays themselves, with no copy in between."""

    def run(self) -> None:
        """Encodes what `input` holds."""

    def placement(self) -> Placement:
        """What runs where; constant after construction."""


def fill(target: NDArray[np.float32], bgr: NDArray[np.uint8]) -> None:
    """Writes a picture into an encoder's input in place, as EfficientNet-Lite was trained: (x-127)/128, RGB.

    ImageNet's mean and deviation cost this network a tenth of its accuracy.

    Args:
        target: (1, 3, H, W) float32, overwritten.
        bgr: (H, W, 3) uint8, read only.

    Raises:
        ValueError: The shapes do not fit.
    """
    if target.shape != (1, 3, *bgr.shape[:2]):
        raise ValueError(f"a picture of {bgr.shape} does not fit an input of {target.shape}")
    codes = _codes(*bgr.shape[:2])
    for channel in range(3):
        cv2.extractChannel(bgr, 2 - channel, dst=codes)
        cv2.LUT(codes, _VALUES, dst=target[0, channel])


_VALUES = ((np.arange(256) - 127) / 128).astype(np.float32)
"""What each code of a pixel becomes; exact, as 128 is a power of two."""


@functools.cache
def _codes(height: int, width: int) -> NDArray[np.uint8]:
    """One channel, (H, W), kept between pictures; numpy would ask for a buffer at every one."""
    return np.empty((height, width), np.uint8)
