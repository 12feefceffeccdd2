"""What one picture shows of one area, and what an incident learns of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.incident import incidents, members, presence
from pipeline.core.incident.presence import View

if TYPE_CHECKING:
    from pipeline.core.incident.incidents import Course
    from pipeline.core.incident.presence import Decision, Presence
    from pipeline.core.incident.spots import Spot
    from pipeline.core.incident.whereabouts import Where
    from pipeline.core.messages import FrameRef, SceneClassified
    from pipeline.core.track.thing import ThingSeen


_LONGEST_INTERVAL_S = 10.0  # between pictures; more is a camera that was away


class PictureRate(NamedTuple):
    """How far apart a camera's pictures are.

    Attributes:
        sequence: Number of the last picture; those in which nothing moves come here now and then.
        pts_ns: Its media time.
        interval_s: Seconds between two pictures.
    """

    sequence: int = 0
    pts_ns: int = 0
    interval_s: float = 0.0

    def after(self, frame: FrameRef) -> PictureRate:
        """The same after another picture; a stream that began anew tells nothing."""
        count, passed_ns = frame.sequence - self.sequence, frame.pts_ns - self.pts_ns
        if self.sequence == 0 or count <= 0 or passed_ns <= 0:
            return PictureRate(frame.sequence, frame.pts_ns, self.interval_s)
        return PictureRate(frame.sequence, frame.pts_ns, min(passed_ns / 1e9 / count, _LONGEST_INTERVAL_S))


class Seen(NamedTuple):
    """What one frame shows of one area.

    Attributes:
        frame: Which.
        things: What is seen to be there.
        members: What is known to be there: the same, and members that are followed though not seen now.
        area_ratio: Share of the picture that moves; 0 where nothing is there.
        where: Where all things of the camera are and were.
        presence: What is there, with this frame.
    """

    frame: FrameRef
    things: tuple[ThingSeen, ...]
    members: tuple[ThingSeen, ...]
    area_ratio: float
    where: Where
    presence: Presence


def see(
    spot: Spot, scene: SceneClassified, where: Where, course: Course | None, *, key: str, gap_s: float
) -> tuple[Seen, Decision]:
    """Let an area see its part of a picture.

    Args:
        spot: Of the area; its presence stays as it was until the decision is acted on.
        scene: The picture.
        where: Where all things of the camera are.
        course: The incident that goes on there; None: none does.
        key: Of the area.
        gap_s: An incident ends after so long without evidence.
    """
    here = [thing for thing in scene.things if where[thing.number].area == key]
    view = View(
        scene.frame.pts_ns,
        [(thing, max(thing.born_ns, where[thing.number].entered_ns)) for thing in here],
        scene.things,
    )
    numbers = {member.number for member in course.members} if course else None
    now, change = presence.step(spot.presence, view, numbers, gap_s)
    present = tuple(thing for thing in here if thing.present)
    known = tuple(thing for thing in here if thing.present or thing.number in (numbers or ()))
    return Seen(scene.frame, present, known, scene.area_ratio if present else 0.0, where, now), change


def note(course: Course, seen: Seen) -> Course:
    """Add to an incident what is seen in its area."""
    boxes = tuple(thing.box for thing in seen.things)
    course = msgspec.structs.replace(
        course,
        frame=seen.frame if seen.things else course.frame,
        boxes=boxes or course.boxes,
        area_ratio=max(course.area_ratio, seen.area_ratio),
        members=members.joined(course.members, seen.members, seen.where, seen.frame.pts_ns),
    )
    most = members.peaks(course.most, course.members, seen.frame.pts_ns)
    return msgspec.structs.replace(course, group=incidents.named(course), most=most)
