"""From what happened to the event an operator reads. Pure; emit adds the envelope."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.core.events import (
    SCHEMA_ID,
    AreaStay,
    Candidate,
    Event,
    EventData,
    EventMember,
    Features,
    Media,
    Motion,
    Scene,
    milliseconds,
    rfc3339,
)
from pipeline.core.incident import incidents, rules
from pipeline.core.messages import CameraChanged, EventKey, EventRaised, Keyframe, Priority

if TYPE_CHECKING:
    from pipeline.core.events import Analysis, Details, SeverityText
    from pipeline.core.facts import Facts
    from pipeline.core.incident.incidents import Course
    from pipeline.core.incident.members import Member
    from pipeline.core.messages import Hop
    from pipeline.core.settings import SiteSettings
    from pipeline.core.vocabulary import CameraId, EndedBy, Nanoseconds

Ongoing = Literal["start", "update"]
CameraState = Literal["lost", "found"]

_CAMERA_TOPIC = "tns1:VideoSource/SignalLoss"

_SEVERITY: dict[Priority, tuple[SeverityText, int]] = {  # numbers of OpenTelemetry's log model
    Priority.ALARM: ("ERROR", 17),
    Priority.WARNING: ("WARN", 13),
    Priority.ROUTINE: ("INFO", 9),
}


_LOUD = {"alarm": Priority.ALARM, "notify": Priority.WARNING, "log": Priority.ROUTINE, "ignore": Priority.ROUTINE}


def source(site: SiteSettings, camera: CameraId | None = None) -> str:
    """Name what an event is about: a camera, or the device."""
    device = f"/site/{site.name}/device/{site.device}"
    return f"{device}/camera/{camera}" if camera else device


def enveloped(  # noqa: PLR0917  # an envelope has many fields
    raised: EventRaised,
    data: EventData,
    source: str,
    identity: str,
    sequence: int,
    stamps: tuple[Nanoseconds, Nanoseconds, str],
) -> Event:
    """Put an event into its envelope. `stamps`: when it is recorded (UTC), the boot-time clock, the boot id."""
    recorded, monotonic, boot = stamps
    text, number = _SEVERITY[raised.priority if raised.severity is None else raised.severity]
    return Event(
        specversion="1.0",
        id=identity,
        source=source,
        type=raised.kind,
        subject=raised.subject,
        time=rfc3339(raised.utc_ns),
        datacontenttype="application/json",
        dataschema=SCHEMA_ID,
        sequence=f"{sequence:012d}",
        recordedtime=rfc3339(recorded),
        severitytext=text,
        severitynumber=number,
        monotime=str(monotonic),
        bootid=boot,
        data=data,
    )


def incident_event(  # noqa: PLR0917  # all of it is one event
    course: Course,
    operation: Literal["start", "update", "end"],
    facts: Facts,
    priority: Priority,
    uri: str,
    ended_by: EndedBy | None = None,
) -> tuple[Course, EventRaised]:
    """Return the event, and the course with the event counted and its picture told of."""
    course = _with_best_keyframe(course)
    course = msgspec.structs.replace(
        course, revision=course.revision + 1, told=incidents.now_there(course), told_ns=course.frame.pts_ns
    )
    began = operation == "start"
    event = EventRaised(
        key=EventKey(f"{course.id}/{course.revision}"),
        kind=f"fieldwatch.incident.{operation}.v1",
        camera=course.camera,
        subject=course.id,
        priority=priority,
        pts_ns=course.began_ns if began else course.frame.pts_ns,
        utc_ns=course.began_utc_ns if began else course.frame.utc_ns,
        data=EventData(
            operation=operation,
            ended_by=ended_by or UNSET,
            continues=course.continues or UNSET,
            similar_to=course.similar or UNSET,
            features=_features(course) if ended_by is not None and course.vector else UNSET,
            topic=rules.topic(course.rules),
            media=_media(course, uri, ended=ended_by is not None),
            motion=_motion(course, moving=ended_by is None),
            scene=_scene(course),
            facts=facts,
            members=tuple(_member(member) for member in course.members if member.confirmed) or UNSET,
            priority=priority.name.lower(),  # type: ignore[arg-type]  # the names are the literals
            analysis=course.analysis,
        ),
        keyframes=course.keyframes,
        severity=_severity(course.analysis),
    )
    return course, event


def _features(course: Course) -> Features:
    return Features(model=course.encoder, vector=base64.b64encode(course.vector).decode())


def _member(member: Member) -> EventMember:
    vote = member.vote
    return EventMember(
        id=member.number,
        group=member.group or UNSET,
        class_=vote.label if vote else "none",
        likelihood=round(vote.best, 2) if vote else UNSET,
        first_pts_ms=milliseconds(member.first_ns),
        last_pts_ms=milliseconds(member.last_ns),
        stay_s=round(member.stay_s, 1),
        direction=member.direction,
        speed=member.speed or UNSET,
        rides=member.rides or UNSET,
        areas=tuple(AreaStay(area=one.area, stay_s=round(one.stay_s, 1)) for one in member.areas),
    )


def _severity(analysis: Analysis) -> Priority | None:
    """How loud a verdict is; None: there is none yet, or in words of a table that is not ours."""
    fields = {} if isinstance(analysis.fields, UnsetType) else analysis.fields
    return _LOUD.get(str(fields.get("action")))


def camera_event(change: CameraChanged, number: int, uri: str) -> EventRaised:
    """A camera was lost or found."""
    lost = change.state == "lost"
    return EventRaised(
        key=EventKey(f"camera-{change.camera}/{number}"),
        kind=f"fieldwatch.camera.{change.state}.v1",
        camera=change.camera,
        subject=f"camera-{change.camera}",
        priority=Priority.WARNING if lost else Priority.ROUTINE,
        pts_ns=change.pts_ns,
        utc_ns=change.utc_ns,
        data=EventData(
            operation="start" if lost else "end",
            topic=_CAMERA_TOPIC,
            details={"reason": change.reason, "uri": uri},
        ),
    )


def flapping_event(camera: CameraId, number: int, details: Details, at: tuple[Nanoseconds, Nanoseconds]) -> EventRaised:
    """A camera comes and goes again and again. `at`: on its timeline, and in UTC."""
    return EventRaised(
        key=EventKey(f"camera-{camera}/{number}"),
        kind="fieldwatch.camera.flapping.v1",
        camera=camera,
        subject=f"camera-{camera}",
        priority=Priority.WARNING,
        pts_ns=at[0],
        utc_ns=at[1],
        data=EventData(operation="point", topic=_CAMERA_TOPIC, details=details),
    )


def device_event(  # noqa: PLR0917  # all of it is one event
    what: str,
    number: int,
    priority: Priority,
    details: Details,
    pts_ns: Nanoseconds,
    utc_ns: Nanoseconds,
) -> EventRaised:
    """Something about the device itself: `what` is AREA.WHAT, such as system.stage_restarted."""
    return EventRaised(
        key=EventKey(f"device/{number}"),
        kind=f"fieldwatch.{what}.v1",
        camera=None,
        subject=what,
        priority=priority,
        pts_ns=pts_ns,
        utc_ns=utc_ns,
        data=EventData(operation="point", details=details),
    )


def timings(hops: tuple[Hop, ...], now_ns: int) -> dict[str, float]:
    """Milliseconds that each stage took, the last of them until now, and from the first receiving until now."""
    if not hops:
        return {}
    *before, last = hops
    spent = {hop.stage: round((hop.sent_at - hop.received_at) / 1e6, 3) for hop in before}
    own = round((now_ns - last.received_at) / 1e6, 3)
    return {**spent, last.stage: own, "total": round((now_ns - hops[0].received_at) / 1e6, 3)}


def _with_best_keyframe(course: Course) -> Course:
    """Tell of the best view, where it is another than the last one told of."""
    if course.best is None or (course.keyframes and course.keyframes[-1].frame == course.best):
        return course
    ref = f"evidence/{course.id}-{len(course.keyframes) + 1}.jpg"
    told = Keyframe(course.best, ref, milliseconds(course.best.pts_ns))
    return msgspec.structs.replace(course, keyframes=(*course.keyframes, told))


def _media(course: Course, uri: str, *, ended: bool) -> Media:
    frame = course.frame
    return Media(
        uri=uri,
        pts_ms=milliseconds(frame.pts_ns),
        start_pts_ms=milliseconds(course.began_ns),
        end_pts_ms=milliseconds(frame.pts_ns) if ended else UNSET,
        frame=frame.index,
        width=frame.width,
        height=frame.height,
        rotation=frame.rotation,
    )


def _motion(course: Course, *, moving: bool) -> Motion:
    return Motion(is_motion=moving, area_ratio=course.area_ratio, global_change=False, boxes=course.boxes)


def _scene(course: Course) -> Scene:
    what = incidents.recognition(course)
    rows = tuple(Candidate(type=label, likelihood=best) for label, best in incidents.candidates(course))
    if what.group is None:
        return Scene(candidates=rows or UNSET)
    return Scene(class_=what.group, label=what.label, likelihood=what.likelihood, candidates=rows)
