"""Encode: embedding and tags of the keyframes that incidents ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from models import catalog
from models.detectors import make_square
from models.encoders import OURS, PictureFormat, fill, gate
from models.encoders.watched import StateFile, WatchedEncoder
from models.features import Conse, Direct
from models.foreign import catch_library_errors
from models.planes import CropReader
from models.tags import TagTable, VectorTable
from pipeline.core.errors import ModelError
from pipeline.core.messages import EncoderReported, FeaturesEncoded, FeaturesWanted
from pipeline.core.stage import Stage

if TYPE_CHECKING:
    from models.encoders import Encoder
    from models.features import PictureFeatures
    from pipeline.core.events import Details
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
        trace_s = 0.0 if self.context.clock.media else _TRACE_S  # how far it gets in a time is no matter for a replay
        self._report: EncoderReported | None = None
        self._encoder: Encoder | None = None
        try:
            with catch_library_errors("it cannot be run"):
                self._encoder = self._opened(trace_s)
        except ModelError as error:
            if not self.context.settings.encode.own:
                raise  # ours is damaged: that is no matter of configuration
            self._report = self._fallback(f"{error}: incidents have no tags until [encode] is put right", "nothing")

    def _opened(self, trace_s: float) -> Encoder | None:
        model = self._file()
        if self.context.settings.encode.backend == "cpu":  # of the processor there is nothing to prove
            encoder: Encoder | None = self._processed(model)
        else:
            encoder = self._accelerated(model, trace_s)
        if encoder is not None:
            self._crops = CropReader(self._format.side(encoder.input.shape))
            encoder.run()
            self._features = self._table(encoder)
        return encoder

    def _file(self) -> Path:
        """The model's file, checked; one of the operator's own is named with the beginning of its hash."""
        settings = self.context.settings.encode
        self._name, self._format = settings.model, OURS
        if not settings.own:
            return catalog.verified_path(settings.model)
        file = Path(settings.model)
        self._name = f"{file.stem}@{catalog.hash_own_file(file, settings.sha256)[:8]}"
        self._format = PictureFormat.of(settings)
        return file

    def _table(self, encoder: Encoder) -> PictureFeatures:
        """What answers are turned into: a vector and tags."""
        settings = self.context.settings.encode
        if not settings.own:
            return Conse(TagTable.load(catalog.verified_path("conse-minilm")))
        name = settings.embedding or next(reversed(encoder.outputs))
        if name not in encoder.outputs:
            raise ModelError(f"{settings.model} has no output {name}: there are {', '.join(encoder.outputs)}")
        size = encoder.outputs[name].size
        return Direct(name, VectorTable.load(Path(settings.table), size) if settings.table else None)

    def _processed(self, model: Path) -> Encoder:
        """On the processor. Raises ModelError: a file of the operator's own ended a process before."""
        mark = self._mark()
        if not self.context.settings.encode.own:
            return gate.open_cpu_encoder(model)
        if mark.state() != "idle":
            raise ModelError(f"{model}: a process ended as it opened this model, which is damaged")
        mark.set("running")
        try:
            encoder = gate.open_cpu_encoder(model)
            encoder.run()
        finally:
            mark.set("idle")  # whoever was killed comes not here
        return encoder

    def _mark(self) -> StateFile:
        folder = self.context.state_dir
        return StateFile(folder / "encode.mark" if folder else None, self.context.lives)

    def _accelerated(self, model: Path, trace_s: float) -> Encoder | None:
        """What the gate admits, watched from then on; the processor, where the accelerator took a process with it."""
        settings, mark = self.context.settings.encode, self._mark()
        if mark.state() != "idle":
            ended = "a process ended or hung in it" if mark.state() == "running" else "it failed before"
            mark.set("abandoned")
            self._report = self._fallback(f"{ended}: the processor does it until the daemon starts anew")
            return gate.open_cpu_encoder(model)
        mark.set("running")  # native code of somebody else is opened
        try:
            admission = gate.admit(model, self._name, settings, trace_s, self._format)
        finally:
            mark.set("idle")
        self._report = EncoderReported(state=admission.state, details=admission.details)
        if admission.encoder is None or admission.details.get("runs_on") != "accelerator":
            return admission.encoder
        return WatchedEncoder(
            admission.encoder, lambda: gate.open_cpu_encoder(model), settings.min_cosine, mark, self._format
        )

    def _fallback(self, reason: str, runs_on: str = "cpu") -> EncoderReported:
        settings = self.context.settings.encode
        details: Details = {"model": self._name, "backend": settings.backend, "runs_on": runs_on, "reason": reason}
        return EncoderReported(state="fallback" if runs_on == "cpu" else "rejected", details=details)

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
        fault = self._fault()
        self._encoder.run()
        if self._fault() != fault:
            self._report = self._fallback(self._fault())
            yield from self._told(message.keyframe.pts_ns, message.keyframe.utc_ns)
        vector, tags = self._features.of(self._encoder, settings.tags)
        yield FeaturesEncoded(
            incident=message.incident,
            tags=tuple(tag.name for tag in tags),
            embedding=vector.astype(np.dtype("<f2")).tobytes(),
            model=self._name,
        )

    def _fault(self) -> str:
        return self._encoder.fault if isinstance(self._encoder, WatchedEncoder) else ""

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
        square = make_square(message.box, *upright, margin=_MARGIN, smallest=_SMALLEST)
        pixels = square.to_stored(width, height, frame.rotation)
        fill(encoder.input, self._crops.bgr(planes, *pixels, rotation=frame.rotation), self._format)
