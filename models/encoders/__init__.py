"""Feature encoders: one contract, one file for each back end that fulfils it.

Nobody opens an accelerator but `models.encoders.gate`, which proves that it runs the model before it hands it on.
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
        """What `run` reads, float32 RGB, (1, 3, 224, 224) of the bundled one; the same array, filled in place."""

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
        """The device works on these arrays themselves, with no copy in between."""

    def run(self) -> None:
        """Encodes what `input` holds."""

    def placement(self) -> Placement:
        """What runs where; constant after construction."""


class PictureFormat(NamedTuple):
    """How a model wants its picture.

    Attributes:
        layout: Of its input: planes of one colour, or pixels of three.
        mean: Of R, G and B, 0..255: taken away,
        deviation: then divided by.
    """

    layout: Literal["nchw", "nhwc"] = "nchw"
    mean: tuple[float, float, float] = (127.0, 127.0, 127.0)
    deviation: tuple[float, float, float] = (128.0, 128.0, 128.0)

    @classmethod
    def of(cls, settings: EncodeSettings) -> PictureFormat:
        """That of a configuration, which is of a model of one's own."""
        return cls(settings.layout, settings.mean, settings.deviation)

    def side(self, shape: Sequence[int]) -> int:
        """The side of its picture in pixels. Raises ModelError: the input is no square picture of three colours."""
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
"""Pixels: more than any encoder looks at; a file that says more is damaged, or means harm."""

OURS = PictureFormat()
"""Of the bundled encoder, as EfficientNet-Lite was trained: ImageNet's mean and deviation cost it a tenth."""


def fill(target: NDArray[np.float32], bgr: NDArray[np.uint8], reading: PictureFormat = OURS) -> None:
    """Writes a picture into an encoder's input in place, asking for no memory.

    Args:
        target: (1, 3, H, W) float32, or (1, H, W, 3), overwritten.
        bgr: (H, W, 3) uint8, read only.
        reading: How the model wants it.

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
    """What each code of a pixel becomes, (3, 256) float32 of R, G and B."""
    mean, deviation = np.array(reading.mean)[:, None], np.array(reading.deviation)[:, None]
    values: NDArray[np.float32] = ((np.arange(256) - mean) / deviation).astype(np.float32)
    return values


@functools.cache
def _channel_buffer(height: int, width: int, kind: type[np.generic]) -> NDArray[Any]:
    """One channel, (H, W), kept between pictures; numpy would ask for a buffer at every one."""
    return np.empty((height, width), kind)
