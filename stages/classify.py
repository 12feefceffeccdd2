"""Classify: the resident detector looks where something moves, at a bounded rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2

from models import catalog
from models.detectors import NanoDet
from pipeline.core.geometry import rounded
from pipeline.core.messages import Detection, MotionMeasured, SceneClassified
from pipeline.core.pace import Pace
from pipeline.core.stage import Stage
from stages import sightings

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
        self.standing: tuple[sightings.Standing, ...] = ()


class Classify(Stage):
    """One detector for all cameras. What it is unsure of it leaves out."""

    def warm_up(self) -> None:
        """Load the detector, checked against its hash, and run it once."""
        cv2.setNumThreads(1)
        settings = self.context.settings.classify
        self._detector = NanoDet(catalog.verified(settings.model), min_likelihood=settings.min_likelihood)
        self._detector.warm_up()
        self._watches: dict[CameraId, _Watch] = {}

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield SceneClassified for every MotionMeasured, with detections when it was time to look."""
        assert isinstance(message, MotionMeasured)
        frame, settings = message.frame, self.context.settings.classify
        if frame.camera not in self._watches:
            self._watches[frame.camera] = _Watch(settings.looks_per_s, settings.still_looks_per_s)
        watch = self._watches[frame.camera]
        moving = bool(message.boxes) and not message.global_change
        standing = sightings.still_there(watch.standing, message.boxes, frame.pts_ns, settings.still_most_s)
        if moving and watch.pace.due(frame.pts_ns):
            regions = sightings.crops(message.boxes, settings.crops_a_look)
        elif standing and not moving and watch.still_pace.due(frame.pts_ns):
            regions = sightings.crops(tuple(one.detection.box for one in standing), settings.crops_a_look)
        else:
            yield _scene(message, None, still=False)
            return
        found = self._looked(frame, regions)
        watch.standing = sightings.noted(watch.standing, found, message.boxes, regions, frame.pts_ns)
        yield _scene(message, found if moving else _kept(found, watch.standing), still=not moving)

    def _looked(self, frame: FrameRef, regions: tuple[Box, ...]) -> tuple[Detection, ...]:
        with self.context.rings[frame.camera].reading(frame) as planes:
            found = [one for box in regions for one in self._detector.detect(planes, box, frame.rotation)]
        return tuple(Detection(one.label, one.group, round(one.likelihood, 4), rounded(one.box)) for one in found)


def _kept(found: tuple[Detection, ...], standing: tuple[sightings.Standing, ...]) -> tuple[Detection, ...]:
    """Only what came is still there; what stood there all the time is scenery."""
    return tuple(one for one in found if any(one is other.detection for other in standing))


def _scene(message: MotionMeasured, detections: tuple[Detection, ...] | None, *, still: bool) -> SceneClassified:
    return SceneClassified(
        frame=message.frame,
        boxes=message.boxes,
        area_ratio=message.area_ratio,
        global_change=message.global_change,
        blurred=message.blurred,
        detections=detections,
        still=still,
    )
