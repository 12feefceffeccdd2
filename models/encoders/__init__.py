"""Feature encoders: one contract, one file for each back end that fulfils it.

Nobody opens an accelerator but `models.encoders.gate`, which proves that it runs the model before it hands it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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
    for channel in range(3):
        plane = target[0, channel]
        np.subtract(bgr[:, :, 2 - channel], np.float32(127), out=plane)
        np.multiply(plane, np.float32(1 / 128), out=plane)
