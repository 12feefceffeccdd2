"""Feature encoders: one protocol, and one module for each back end.

Only `models.encoders.gate` opens accelerators; it first proves that they run the model.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import cv2
import numpy as np

from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from models.encoders.placement import Placement
    from pipeline.core.settings import EncodeSettings


class Encoder(Protocol):
    """A model that turns one picture into a vector, through buffers that stay where they are."""

    @property
    def input(self) -> NDArray[np.float32]:
        """The input of `run`, float32 RGB, (1, 3, 224, 224) for the bundled encoder; one array, filled in place."""

    @property
    def outputs(self) -> dict[str, NDArray[np.float32]]:
        """Every output of the last run by its name, in its own shape; borrowed, the next run overwrites them."""

    @property
    def output(self) -> NDArray[np.float32]:
        """The embedding of the last run, (1280,) float32 of the bundled one; borrowed likewise."""

    @property
    def logits(self) -> NDArray[np.float32]:
        """The logits of the last run, (1000,) float32 of the bundled one, of ImageNet; borrowed likewise."""

    @property
    def zero_copy(self) -> bool:
        """Whether the device works on these arrays without a copy."""

    def run(self) -> None:
        """Encode the picture in `input`."""

    def placement(self) -> Placement:
        """Return which provider runs which node; constant after construction."""


class PictureFormat(NamedTuple):
    """The picture format of a model's input.

    Attributes:
        layout: Planes of one colour (nchw), or pixels of three colours (nhwc).
        mean: Mean of R, G and B, 0..255, which is subtracted.
        deviation: Deviation of R, G and B, by which the difference is divided.
    """

    layout: Literal["nchw", "nhwc"] = "nchw"
    mean: tuple[float, float, float] = (127.0, 127.0, 127.0)
    deviation: tuple[float, float, float] = (128.0, 128.0, 128.0)

    @classmethod
    def of(cls, settings: EncodeSettings) -> PictureFormat:
        """Return the configured format, which is that of an operator's own model."""
        return cls(settings.layout, settings.mean, settings.deviation)

    def side(self, shape: Sequence[int]) -> int:
        """Return the side of its picture in pixels. Raises ModelError if the input is no square RGB picture."""
        colours, sides = (shape[1:2], shape[2:]) if self.layout == "nchw" else (shape[3:], shape[1:3])
        if len(shape) != 4 or shape[0] != 1 or list(colours) != [3] or len(set(sides)) != 1 or sides[0] % 2:  # noqa: PLR2004
            other = "nhwc" if self.layout == "nchw" else "nchw"
            at = 3 if other == "nhwc" else 1  # where the colours then are
            fits = len(shape) == 4 and shape[at] == 3  # noqa: PLR2004
            way = f"set encode.layout to {other} (--layout), or " if fits else ""
            raise ModelError(
                f"its input is {tuple(shape)}, where layout {self.layout} wants one square RGB picture, an even side: "
                f"{way}export the model with such an input, of a fixed size"
            )
        if not 0 < sides[0] <= _SIDE_MOST:
            raise ModelError(f"its input is {tuple(shape)}: a side of 2 to {_SIDE_MOST} pixels is wanted")
        return sides[0]


_SIDE_MOST = 4096
"""Largest side in pixels; a file with a larger one is damaged or malicious."""

OURS = PictureFormat()
"""The format of the bundled encoder, as EfficientNet-Lite was trained."""


def fill(target: NDArray[np.float32], bgr: NDArray[np.uint8], reading: PictureFormat = OURS) -> None:
    """Write a picture into an encoder's input in place, without allocating memory.

    Args:
        target: (1, 3, H, W) float32, or (1, H, W, 3), overwritten.
        bgr: (H, W, 3) uint8, read only.
        reading: The picture format of the model.

    Raises:
        ValueError: The shapes do not fit.
    """
    height, width = bgr.shape[:2]
    if target.shape != ((1, 3, height, width) if reading.layout == "nchw" else (1, height, width, 3)):
        raise ValueError(f"a picture of {bgr.shape} does not fit an input of {target.shape}")
    codes, values = _channel_buffer(height, width, np.uint8), _value_table(reading)
    for channel in range(3):
        cv2.extractChannel(bgr, 2 - channel, dst=codes)
        if reading.layout == "nchw":
            cv2.LUT(codes, values[channel], dst=target[0, channel])
        else:
            cv2.insertChannel(
                cv2.LUT(codes, values[channel], dst=_channel_buffer(height, width, np.float32)), target[0], channel
            )


@functools.cache
def _value_table(reading: PictureFormat) -> NDArray[np.float32]:
    """Return the input value of each pixel value, (3, 256) float32 for R, G and B."""
    mean, deviation = np.array(reading.mean)[:, None], np.array(reading.deviation)[:, None]
    values: NDArray[np.float32] = ((np.arange(256) - mean) / deviation).astype(np.float32)
    return values


@functools.cache
def _channel_buffer(height: int, width: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return a buffer for one channel, (H, W), kept between pictures to save allocations."""
    return np.empty((height, width), kind)
