"""Encode: embedding and tags of the keyframes that incidents ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models import catalog
from models.detectors import square_around
from models.encoders import fill
from models.encoders.cpu import CpuEncoder
from models.planes import CropReader
from models.tags import TagTable
from pipeline.core.messages import FeaturesEncoded, FeaturesWanted
from pipeline.core.stage import Stage

if TYPE_CHECKING:
    from pipeline.core.frames import Planes
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs

_MARGIN = 0.2  # of surroundings: the encoder was trained on things with a little around them
_SMALLEST = 64  # pixels; below that there is nothing to encode but blocks


class Encode(Stage):
    """One encoder; behind its contract an accelerator may stand."""

    def warm_up(self) -> None:
        """Load the encoder and the table of tags, checked against their hashes, and run once."""
        self._encoder = CpuEncoder(catalog.verified(self.context.settings.encode.model))
        self._tags = TagTable.load(catalog.verified("conse-minilm"))
        self._crops = CropReader(self._encoder.input.shape[2])
        self._encoder.run()

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield the features of one keyframe."""
        assert isinstance(message, FeaturesWanted)
        with self.context.keyframes.reading(message.keyframe) as planes:
            self._fill(planes, message)
        self._encoder.run()
        logits = self._encoder.logits
        settings = self.context.settings.encode
        yield FeaturesEncoded(
            incident=message.incident,
            tags=tuple(tag.name for tag in self._tags.tags(logits, settings.tags)) if settings.tags else (),
            embedding=self._tags.vector(logits).astype(np.dtype("<f2")).tobytes(),
            model=settings.model,
        )

    def _fill(self, planes: Planes, message: FeaturesWanted) -> None:
        """Crop around the box, upright, straight into the encoder's own input."""
        frame = message.keyframe
        width, height = frame.width, frame.height
        upright = (width, height) if frame.rotation in (0, 180) else (height, width)
        square = square_around(message.box, *upright, margin=_MARGIN, smallest=_SMALLEST)
        pixels = square.stored(width, height, frame.rotation)
        fill(self._encoder.input, self._crops.bgr(planes, *pixels, rotation=frame.rotation))
