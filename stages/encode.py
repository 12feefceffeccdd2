"""Encode: embedding and tags of the keyframes that incidents ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from models import catalog
from models.detectors import square_around
from models.encoders import fill, gate
from models.planes import CropReader
from models.tags import TagTable
from pipeline.core.messages import EncoderReported, FeaturesEncoded, FeaturesWanted
from pipeline.core.stage import Stage

if TYPE_CHECKING:
    from models.encoders import Encoder
    from pipeline.core.frames import Planes
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs
    from pipeline.core.vocabulary import Nanoseconds

_MARGIN = 0.2  # of surroundings: the encoder was trained on things with a little around them
_TRACE_S = 10.0  # for the first wrong node, well within what a stage has to become ready
_SMALLEST = 64  # pixels; below that there is nothing to encode but blocks


class Encode(Stage):
    """One encoder; behind its contract an accelerator may stand, which the gate let prove itself."""

    def warm_up(self) -> None:
        """Load the encoder and the table of tags, checked against their hashes, and run once."""
        settings = self.context.settings.encode
        trace_s = 0.0 if self.context.clock.media else _TRACE_S  # how far it gets in a time is no matter for a replay
        admission = gate.admit(catalog.verified(settings.model), settings.model, settings, trace_s)
        self._encoder = admission.encoder
        self._report: EncoderReported | None = None
        if settings.backend != "cpu":  # of the processor there is nothing to prove
            self._report = EncoderReported(state=admission.state, details=admission.details)
        self._tags = TagTable.load(catalog.verified("conse-minilm"))
        if self._encoder is not None:
            self._crops = CropReader(self._encoder.input.shape[2])
            self._encoder.run()

    def begin(self) -> Outputs:
        """Tell what came of the accelerator; a replay, which has no time yet, tells it with its first keyframe."""
        if not self.context.clock.media:
            yield from self._told(*self.context.clock.now())

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield the features of one keyframe; without an encoder, that there are none, so that nobody waits."""
        assert isinstance(message, FeaturesWanted)
        yield from self._told(message.keyframe.pts_ns, message.keyframe.utc_ns)
        settings = self.context.settings.encode
        if self._encoder is None:
            yield FeaturesEncoded(incident=message.incident, tags=(), embedding=b"", model="")
            return
        with self.context.keyframes.reading(message.keyframe) as planes:
            self._fill(self._encoder, planes, message)
        self._encoder.run()
        logits = self._encoder.logits
        yield FeaturesEncoded(
            incident=message.incident,
            tags=tuple(tag.name for tag in self._tags.tags(logits, settings.tags)) if settings.tags else (),
            embedding=self._tags.vector(logits).astype(np.dtype("<f2")).tobytes(),
            model=settings.model,
        )

    def _told(self, pts_ns: Nanoseconds, utc_ns: Nanoseconds) -> Outputs:
        """Say once what the accelerator is worth. A replay tells only what went wrong, as of a language model."""
        report, self._report = self._report, None
        if report is not None and not (self.context.clock.media and report.state == "loaded"):
            yield msgspec.structs.replace(report, pts_ns=pts_ns, utc_ns=utc_ns)

    def _fill(self, encoder: Encoder, planes: Planes, message: FeaturesWanted) -> None:
        """Crop around the box, upright, straight into the encoder's own input."""
        frame = message.keyframe
        width, height = frame.width, frame.height
        upright = (width, height) if frame.rotation in (0, 180) else (height, width)
        square = square_around(message.box, *upright, margin=_MARGIN, smallest=_SMALLEST)
        pixels = square.stored(width, height, frame.rotation)
        fill(encoder.input, self._crops.bgr(planes, *pixels, rotation=frame.rotation))
