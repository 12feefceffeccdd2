"""Classify: the resident detector looks where something moves, at a bounded rate, and things are followed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import cv2
import msgspec

from models import catalog
from models.detectors import NanoDet
from pipeline.core.device.limits import Rung
from pipeline.core.geometry import rounded
from pipeline.core.incident import areas
from pipeline.core.messages import MotionMeasured, SceneClassified
from pipeline.core.stage import Stage
from pipeline.core.track import pieces
from pipeline.core.track.looking import Looks
from pipeline.core.track.sight import Detection, Sight, TrackRules
from pipeline.core.track.thing import report
from pipeline.core.track.tracker import Tracker, on_their_way, step
from stages.colours import colours
from stages.patches import Patches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.frames import Planes
    from pipeline.core.geometry import Box
    from pipeline.core.messages import AnyMessage, FrameRef
    from pipeline.core.settings import ClassifySettings
    from pipeline.core.stage import Outputs
    from pipeline.core.vocabulary import CameraId


_NUMBERS_A_LIFE = 1_000_000  # after a restart no number is given again in an incident that goes on


class _Camera:
    """What is kept of one camera."""

    def __init__(self, rows: ClassifySettings, lives: int) -> None:
        self.looks = Looks(rows.looks_per_s, rows.still_looks_per_s, rows.max_crops)
        self.tracker = Tracker(things_born=lives * _NUMBERS_A_LIFE)
        self.patches = Patches()


class Classify(Stage):
    """One detector for all cameras. What it is unsure of it leaves out."""

    def warm_up(self) -> None:
        """Load the detector, checked against its hash, and run it once."""
        cv2.setNumThreads(1)
        settings = self.context.settings.classify
        self._rules = TrackRules(max_still_s=settings.max_still_s, likelihood=settings.min_likelihood)
        weak = self._rules.weak_ratio * settings.min_likelihood
        self._detector = NanoDet(catalog.verified_path(settings.model), min_likelihood=weak)
        self._detector.warm_up()
        self._cameras: dict[CameraId, _Camera] = {}

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield SceneClassified for every MotionMeasured, with the things that are followed."""
        assert isinstance(message, MotionMeasured)
        settings, frame = self.context.settings, message.frame
        if frame.camera not in self._cameras:
            self._cameras[frame.camera] = _Camera(settings.classify, self.context.lives)
        camera, row = self._cameras[frame.camera], settings.cameras[frame.camera]
        boxes = areas.unmasked(message.boxes, row)
        rules = self._rules.for_height(frame.height if frame.rotation in (0, 180) else frame.width)
        looked_at = self._regions(camera, () if message.global_change else boxes, frame.pts_ns)
        sight = Sight(
            frame.pts_ns,
            boxes,
            message.global_change,
            blurred=tuple(box for box in message.blurred if box in boxes),
            looked_at=looked_at,
        )
        with self._pixels(camera, frame, needed=bool(looked_at)) as planes:
            if planes is not None:
                if looked_at:
                    found, weak = self._look(planes, frame, looked_at, camera.tracker)
                    seen = [one for one in found if areas.unmasked((one.box,), row)]
                    sight = sight._replace(detections=seen, weak=weak)
                sight = sight._replace(carried=camera.patches.find(planes, frame.rotation))
            camera.tracker = step(camera.tracker, sight, rules)
            if planes is not None:
                camera.patches.keep(planes, frame.rotation, on_their_way(camera.tracker))
        yield SceneClassified(
            frame=frame,
            area_ratio=message.area_ratio,
            looked=bool(looked_at),
            things=tuple(report(thing, frame.pts_ns, rules) for thing in camera.tracker.things),
        )

    @contextmanager
    def _pixels(self, camera: _Camera, frame: FrameRef, *, needed: bool) -> Iterator[Planes | None]:
        """The picture, where something in it is looked at or found again; None: nothing is."""
        if not needed and not camera.tracker.things:
            yield None
            return
        with self.context.rings[frame.camera].reading(frame) as planes:
            yield planes

    def _regions(self, camera: _Camera, moving: tuple[Box, ...], now_ns: int) -> tuple[Box, ...]:
        """Where to look this time: at what moves and what is on its way, and now and then at what stopped."""
        if self.context.limits.get().rung >= Rung.MOTION:
            return ()
        return camera.looks.regions(camera.tracker, moving, now_ns, self._rules)

    def _look(
        self, planes: Planes, frame: FrameRef, regions: tuple[Box, ...], tracker: Tracker
    ) -> tuple[list[Detection], list[Detection]]:
        """What is seen there, pieces of one thing as one, each once; and what the detector is little sure of."""
        known = [thing.box for thing in tracker.things if thing.confirmed]
        objects = [one for box in regions for one in self._detector.detect(planes, box, frame.rotation)]
        found = [Detection(one.label, one.group, round(one.likelihood, 4), rounded(one.box)) for one in objects]
        sure = pieces.join((one for one in found if one.likelihood >= self._rules.likelihood), known)
        weak = pieces.join((one for one in found if one.likelihood < self._rules.likelihood), known)
        return [msgspec.structs.replace(one, colours=colours(planes, one.box, frame.rotation)) for one in sure], [*weak]
