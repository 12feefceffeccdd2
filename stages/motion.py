"""Motion: what differs from the camera's background, seen on the luma plane in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2

from pipeline.core.geometry import Box, Rotation, rounded, upright
from pipeline.core.messages import FrameCaptured, MotionMeasured
from pipeline.core.stage import Stage
from pipeline.core.times import Pace
from stages.background import Background

if TYPE_CHECKING:
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs, StageContext


class Motion(Stage):
    """One background model; says where it moves, and now and then that it does not."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        settings = context.settings.motion
        self._background = Background(settings.sensitivity)
        self._quiet = Pace(1 / settings.quiet_report_s)

    def warm_up(self) -> None:
        """One thread: the stages share the cores, and small pictures do not gain from more."""
        cv2.setNumThreads(1)

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield MotionMeasured where something moves, and at the quiet rate elsewhere."""
        assert isinstance(message, FrameCaptured)
        frame = message.frame
        if frame.sequence % self.context.limits.get().stride:
            self.dropped += 1
            return
        assert self.context.camera is not None
        with self.context.rings[self.context.camera].reading(frame) as planes:
            movement = self._background.measure(planes.y, frame.pts_ns)
        due = self._quiet.due(frame.pts_ns)
        if not (movement.boxes or movement.global_change or due):
            return
        yield MotionMeasured(
            frame=frame,
            boxes=_upright(movement.boxes, frame.rotation),
            blurred=_upright(movement.blurred, frame.rotation),
            area_ratio=round(movement.area_ratio, 4),
            global_change=movement.global_change,
        )


def _upright(boxes: tuple[Box, ...], rotation: Rotation) -> tuple[Box, ...]:
    return tuple(rounded(upright(box, rotation)) for box in boxes)
