"""Keyframes of incidents: the frame that shows the thing best is copied out of the camera's ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pipeline.core import times
from pipeline.core.errors import FrameOverwrittenError
from pipeline.core.geometry import WHOLE, around
from pipeline.core.incident import incidents

if TYPE_CHECKING:
    from datetime import datetime

    from pipeline.core.frames import Planes
    from pipeline.core.incident.incidents import Course
    from pipeline.core.incident.seeing import Seen
    from pipeline.core.stage import StageContext
    from pipeline.core.vocabulary import Light

_COPY_RATIO = 1.2  # a view must be so much better to be worth a copy
_SPARSE = 16  # every so many-th pixel tells the light of a picture


def keep_best_frame(context: StageContext, course: Course, seen: Seen, moment: datetime) -> Course:
    """Copy the frame if it shows the thing better than any before: the ring that it lies in is overwritten soon."""
    frame = seen.frame
    found = [thing.detection for thing in seen.things if thing.detection is not None]
    shown = [one for one in found if one.group == course.group]
    best = max(shown, key=incidents.view, default=None)
    view = incidents.view(best) if best else 0.0
    if course.best is not None and view <= _COPY_RATIO * course.best_view:
        return course
    try:
        with context.rings[frame.camera].reading(frame) as planes:
            sequence = context.keyframes.copy(planes)
            light = _light(planes, moment if times.clock_is_set(moment) else None)
    except FrameOverwrittenError:
        return course
    box = best.box if best else around(tuple(one.box for one in seen.things)) if seen.things else WHOLE
    kept = msgspec.structs.replace(frame, sequence=sequence)
    return msgspec.structs.replace(course, best=kept, best_box=box, best_view=view, light=light)


def warm_up() -> None:
    """Trigger imports that happen at first use: later they may fail, as no more files can be opened."""
    np.percentile(np.zeros(4, np.int16), 99)


def _light(planes: Planes, moment: datetime | None) -> Light:
    """Judge a sparse grid of pixels; colour: 99th percentile of the distance from grey, as most of a yard is grey."""
    luma = float(planes.y[::_SPARSE, ::_SPARSE].mean())
    sparse = max(1, _SPARSE // 2)
    chroma = np.concatenate([plane[::sparse, ::sparse].reshape(-1) for plane in (planes.u, planes.v)])
    colour = float(np.percentile(np.abs(chroma.astype(np.int16) - 128), 99))
    return incidents.light_of(luma, colour, moment)
