"""Classify: the resident detector looks where something moves, at a bounded rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2

from models import catalog
from models.detectors import NanoDet
from pipeline.core.device.limits import Rung
from pipeline.core.geometry import rounded
from pipeline.core.incident import standing
from pipeline.core.messages import Detection, MotionMeasured, SceneClassified
from pipeline.core.stage import Stage
from pipeline.core.times import Pace

if TYPE_CHECKING:
    from pipeline.core.geometry import Box
    from pipeline.core.messages import AnyMessage, FrameRef
    from pipeline.core.stage import Outputs
    from pipeline.core.vocabulary import CameraId


class _Watch:
    """What is kept of one camera."""

    def __init__(self, looks_per_s: float, still_looks_per_s: float) -> None:
        self.pace = Pace(looks_per_s)
        self.still_pace = Pace(still_looks_per_s)
        self.standing: tuple[standing.Standing, ...] = ()


class Classify(Stage):
    """One detector for all cameras. What it is unsure of it leaves out."""

    def warm_up(self) -> None:
        """Load the detector, checked against its hash, and run it once."""
        cv2.setNumThreads(1)
        settings = self.context.settings.classify
        self._detector = NanoDet(catalog.verified_path(settings.model), min_likelihood=settings.min_likelihood)
        self._detector.warm_up()
        self._watches: dict[CameraId, _Watch] = {}

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield SceneClassified for every MotionMeasured, with detections when it was time to look."""
        assert isinstance(message, MotionMeasured)
        settings, camera, now = self.context.settings.classify, message.frame.camera, message.frame.pts_ns
        if camera not in self._watches:
            self._watches[camera] = _Watch(settings.looks_per_s, settings.still_looks_per_s)
        watch = self._watches[camera]
        regions = self._regions(watch, message)
        if not regions:
            yield _scene(message, None)
            return
        found = self._looked(message.frame, regions)
        watch.standing = standing.noted(watch.standing, found, message.boxes, regions, now)
        still = standing.still_there(watch.standing, message.boxes, now, settings.max_still_s)
        yield _scene(message, found, tuple(one.detection.box for one in still if one.seen_ns == now))

    def _regions(self, watch: _Watch, message: MotionMeasured) -> tuple[Box, ...]:
        """Where to look this time: at what moves, and now and then at what stopped."""
        if self.context.limits.get().rung >= Rung.MOTION:
            return ()
        settings, now = self.context.settings.classify, message.frame.pts_ns
        moving = () if message.global_change else message.boxes
        still = standing.still_there(watch.standing, moving, now, settings.max_still_s)
        regions: tuple[Box, ...] = ()
        if moving and watch.pace.due(now):
            regions = standing.crops(moving, settings.max_crops)
        if still and watch.still_pace.due(now):
            regions += standing.crops(tuple(one.detection.box for one in still), settings.max_crops)
        return regions

    def _looked(self, frame: FrameRef, regions: tuple[Box, ...]) -> tuple[Detection, ...]:
        with self.context.rings[frame.camera].reading(frame) as planes:
            found = [one for box in regions for one in self._detector.detect(planes, box, frame.rotation)]
        told = (Detection(one.label, one.group, round(one.likelihood, 4), rounded(one.box)) for one in found)
        return standing.apart(told)


def _scene(
    message: MotionMeasured, detections: tuple[Detection, ...] | None, standing: tuple[Box, ...] = ()
) -> SceneClassified:
    return SceneClassified(
        frame=message.frame,
        boxes=message.boxes,
        area_ratio=message.area_ratio,
        global_change=message.global_change,
        blurred=message.blurred,
        detections=detections,
        standing=standing,
    )
