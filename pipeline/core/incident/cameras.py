"""Cameras that come, go and fall silent: what is remembered of one, and what of it is told. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.incident import flapping
from pipeline.core.incident.flapping import Flapping
from pipeline.core.messages import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.core.events import Details
    from pipeline.core.incident.telling import CameraState
    from pipeline.core.vocabulary import CameraId, Nanoseconds

ENDED = "ended"
"""How a camera is missed whose recording is over; else it is lost or silent."""
SILENT = "silent"


class Camera(NamedTuple):
    """What is remembered of one.

    Attributes:
        seen_ns: When its last picture came, or it said that it is there; None: never.
        flapping: How often it came and went lately.
        told_lost: Whether it was told last that it is lost.
    """

    seen_ns: Nanoseconds | None = None
    flapping: Flapping = Flapping()
    told_lost: bool = False

    def quiet_for(self, now_ns: Nanoseconds, seconds: float) -> bool:
        """Whether no picture came for longer than so many seconds; where none ever did, nobody waits for one."""
        return self.seen_ns is not None and now_ns - self.seen_ns > seconds * 1e9


class FlappingSummary(NamedTuple):
    """What there is to tell of a camera that came and went again and again.

    Attributes:
        details: Of the event that sums it up.
        became: What became of it, and why, where something else was told last; None: nothing else.
    """

    details: Details
    became: tuple[CameraState, str] | None


def seen(camera: Camera, at_ns: Nanoseconds) -> Camera:
    """A picture came."""
    return camera._replace(seen_ns=at_ns)


def heard_of(camera: Camera, at_ns: Nanoseconds) -> Camera:
    """It said something; a picture may have been later."""
    return camera._replace(seen_ns=at_ns if camera.seen_ns is None else max(camera.seen_ns, at_ns))


def changed(camera: Camera, at_ns: Nanoseconds, *, lost: bool, reason: str) -> tuple[Camera, bool]:
    """It came or went. Returns whether that is to be told by itself."""
    known, alone = flapping.changed(camera.flapping, seconds(at_ns), lost=lost, reason=reason)
    return camera._replace(flapping=known, told_lost=lost if alone else camera.told_lost), alone


def step(camera: Camera, now_ns: Nanoseconds, how: str) -> tuple[Camera, FlappingSummary | None]:
    """Let time go by: sum up how often it came and went, and in the end say what became of it.

    Args:
        camera: From before.
        now_ns: On its timeline.
        how: It is missed; empty: it is there.
    """
    known, details = flapping.passed(camera.flapping, seconds(now_ns))
    camera = camera._replace(flapping=known)
    if details is None:
        return camera, None
    told_otherwise = how != ENDED and bool(how) != camera.told_lost
    if not (details["over"] and told_otherwise):
        return camera, FlappingSummary(details, None)
    return camera, FlappingSummary(details, ("lost", "it came and went") if how else ("found", "it stays"))


def silent(
    cameras: Mapping[CameraId, Camera], missed: Mapping[CameraId, str], now_ns: Nanoseconds, lost_after_s: float
) -> tuple[CameraId, ...]:
    """Name the cameras that are not missed, and have sent no picture for so long that they are lost."""
    return tuple(
        name for name, camera in cameras.items() if name not in missed and camera.quiet_for(now_ns, lost_after_s)
    )
