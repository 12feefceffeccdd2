"""The life of an incident as pure functions: what is remembered of it, and the facts it amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core import times
from pipeline.core.events import Analysis
from pipeline.core.facts import Facts, ObjectFact, TrackFact
from pipeline.core.geometry import Box, area, shared
from pipeline.core.incident import track
from pipeline.core.messages import Detection, FrameRef, Keyframe, Priority
from pipeline.core.vocabulary import CameraId, Group, IncidentId, Light, Nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from pipeline.core.incident.areas import Area
    from pipeline.core.settings import PriorityName, PrioritySettings

_RIDDEN = ("bicycle", "motorcycle")
_HOUR_NS = 3_600_000_000_000

PRIORITIES: dict[PriorityName, Priority] = {
    "alarm": Priority.ALARM,
    "warning": Priority.WARNING,
    "routine": Priority.ROUTINE,
}


class Tally(msgspec.Struct, frozen=True):
    """How often and how surely a class was seen."""

    group: Group
    evidence: float = 0.0  # sum of the likelihoods
    best: float = 0.0
    most: int = 0  # at once


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of an open incident; goes into the journal as it is."""

    id: IncidentId
    camera: CameraId
    area: str
    number: int
    began_ns: Nanoseconds  # on the camera's timeline
    began_utc_ns: Nanoseconds
    came_ns: Nanoseconds | None = None  # when its stay began, where an incident before it was cut; else with it
    continues: IncidentId | None = None  # the incident that was cut
    frame: FrameRef  # the last in which it was seen
    boxes: tuple[Box, ...] = ()  # where, in that frame
    area_ratio: float = 0.0  # the most that moved
    group: Group | None = None  # what it is about; None: the classifier abstains
    tallies: dict[str, Tally] = {}
    track: track.Track | None = None
    light: Light = "day"
    visits: int = 1
    rules: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    ridden: tuple[str, ...] = ()  # what people came on
    keyframes: tuple[Keyframe, ...] = ()  # told of, oldest first
    best: FrameRef | None = None  # in the keyframe pool: the best view so far
    best_box: Box = (0.0, 0.0, 1.0, 1.0)  # of the thing in it
    best_view: float = 0.0  # how good it is
    encoded_view: float = 0.0  # how good the one was that the tags are of
    encodings: int = 0
    vector: bytes = b""  # of the picture that the tags are of; see `FeaturesEncoded.embedding`
    encoder: str = ""  # which model made it
    similar: tuple[IncidentId, ...] = ()  # earlier incidents whose pictures look like it
    revision: int = 0  # events raised
    analysis: Analysis = Analysis(status="pending")
    described_as: tuple[str, tuple[str, ...]] = ("", ())  # group and rules that the last description was asked with
    holds_until_s: float = 0.0  # of its stay: then the verdict may be another; 0: never


def begun(camera: CameraId, area: str, number: int, began_ns: Nanoseconds, frame: FrameRef) -> Course:
    """Begin an incident of an area, with the frame in which it is certain; `began_ns` on the camera's timeline."""
    began_utc = Nanoseconds(frame.utc_ns - (frame.pts_ns - began_ns))
    return Course(
        id=IncidentId(f"inc-{times.utc(began_utc):%Y%m%dT%H%M%SZ}-{camera}-{number:04d}"),
        camera=camera,
        area=area,
        number=number,
        began_ns=began_ns,
        began_utc_ns=began_utc,
        frame=frame,
    )


class Recognition(NamedTuple):
    """What the classifier's sightings amount to."""

    label: str  # the detector's own class; "none" where it abstains
    group: Group | None
    likelihood: float
    most: int  # at once


def seen(course: Course, frame: FrameRef, boxes: tuple[Box, ...], area_ratio: float) -> Course:
    """Note that something is there in a frame."""
    return msgspec.structs.replace(
        course, frame=frame, boxes=boxes or course.boxes, area_ratio=max(course.area_ratio, area_ratio)
    )


def recognised(course: Course, detections: Iterable[Detection], group: Group | None, at_ns: Nanoseconds) -> Course:
    """Add what the classifier saw, and go on with the track of what the incident is about."""
    course = msgspec.structs.replace(course, group=group)
    found = [one for one in detections if one.group != "other"]
    if not found:
        return course
    course = msgspec.structs.replace(course, tallies=tallied(course.tallies, found))
    boxes = [one.box for one in found if one.group == group]
    path = track.follow(course.track, boxes, at_ns) if course.track else track.begin(boxes, at_ns)
    return msgspec.structs.replace(course, track=path)


def informed(course: Course, known: Mapping[str, Tally]) -> Course:
    """Add what is known, from elsewhere, of the things that the incident is about."""
    tallies = dict(course.tallies)
    for label, more in known.items():
        tallies[label] = together(tallies.get(label), more)
    return msgspec.structs.replace(course, tallies=tallies)


def together(one: Tally | None, other: Tally) -> Tally:
    """Two tallies of a class as one."""
    if one is None:
        return other
    return Tally(one.group, one.evidence + other.evidence, max(one.best, other.best), max(one.most, other.most))


def tallied(tallies: Mapping[str, Tally], detections: Iterable[Detection]) -> dict[str, Tally]:
    """Tallies with one observation added; only groups that may name an incident are counted."""
    found = dict(tallies)
    seen_now = [one for one in detections if one.group != "other"]
    for label in sorted({one.label for one in seen_now}):
        same = [one for one in seen_now if one.label == label]
        best = max(one.likelihood for one in same)
        found[label] = together(found.get(label), Tally(same[0].group, best, best, len(same)))
    return found


def moving(detection: Detection, boxes: Iterable[Box]) -> bool:
    """Whether what was recognised is what moves, and not scenery beside it: a third of it moves, or it moves whole."""
    own = area(detection.box)
    return any(shared(detection.box, box) >= 0.3 * own for box in boxes)  # see above


def recognition(course: Course) -> Recognition:
    """The group that the evidence names, and within it the label with most; abstains where it names none."""
    labels = {label: tally for label, tally in course.tallies.items() if tally.group == course.group}
    if not labels:
        return Recognition("none", None, 0.0, 0)
    label = max(sorted(labels), key=lambda name: labels[name].evidence)
    count = max(tally.most for tally in labels.values())
    return Recognition(label, course.group, round(labels[label].best, 2), count)


def news(course: Course) -> tuple[str, tuple[str, ...]]:
    """What is worth telling an operator again: another kind of thing, another rule hit."""
    return (recognition(course).group or "none", course.rules)


def candidates(course: Course) -> tuple[tuple[str, float], ...]:
    """Every class seen with its best likelihood, likeliest first."""
    rows = ((label, round(tally.best, 2)) for label, tally in course.tallies.items())
    return tuple(sorted(rows, key=lambda row: (-row[1], row[0])))


def came_ns(course: Course) -> Nanoseconds:
    """When its stay began, in an incident before it that was cut, or with it."""
    return course.began_ns if course.came_ns is None else course.came_ns


def dwell_s(course: Course) -> float:
    """How long it has been there, an incident before it that was cut included."""
    return (course.frame.pts_ns - came_ns(course)) / 1e9


def lasted_s(course: Course) -> float:
    """How long the incident has been open."""
    return (course.frame.pts_ns - course.began_ns) / 1e9


def priority(course: Course, place: Area, rows: PrioritySettings) -> Priority:
    """By the area where it says so, by a restricted area, else by class."""
    if place.priority is not None:
        return PRIORITIES[place.priority]
    group = recognition(course).group
    if place.restricted and group in ("person", "vehicle"):
        return PRIORITIES[rows.restricted]
    return PRIORITIES[getattr(rows, group or "unknown")]


def facts(course: Course, place: Area, moment: datetime) -> Facts:
    """Return what is known of the incident, in the shape that verdicts are decided from."""
    what = recognition(course)
    path = course.track
    moving = path is not None and what.group is not None
    return Facts(
        camera=course.camera,
        zone=place.name,
        local_time=f"{moment:%H:%M}" if times.clock_is_set(moment) else "",
        weekday=_WEEKDAYS[moment.weekday()] if times.clock_is_set(moment) else "",
        light=course.light,
        object=ObjectFact(class_=what.label, likelihood=what.likelihood, count=what.most),
        tags=(*course.ridden, *(tag for tag in course.tags if tag not in course.ridden)),
        track=TrackFact(
            dwell_s=round(dwell_s(course)),
            direction=track.direction(path) if path and moving else "none",
            speed=track.speed(path, what.group) if path and what.group else "still",
            visits_last_hour=course.visits,
        ),
        rules_hit=course.rules,
    )


def ridden(detections: Iterable[Detection]) -> tuple[Detection, ...]:
    """Return the bicycles and motorcycles that a person sits on: what happens is about the person, not about a vehicle.

    A fifth of the cycle lies in the person's box when it is ridden or pushed; beside a parked one people hide less.
    """
    found = tuple(detections)
    people = [one for one in found if one.group == "person"]
    return tuple(
        one
        for one in found
        if one.label in _RIDDEN
        and any(shared(one.box, rider.box) >= 0.2 * area(one.box) for rider in people)  # see above
    )


class Visit(NamedTuple):
    """An earlier incident of an area."""

    began_ns: Nanoseconds
    group: Group | None


def within_hour(earlier: Iterable[Visit], now_ns: Nanoseconds) -> tuple[Visit, ...]:
    """Return the visits of the hour up to now."""
    return tuple(visit for visit in earlier if now_ns - visit.began_ns < _HOUR_NS)


def visits(earlier: Iterable[Visit], course: Course) -> int:
    """How often something of this kind was here in the hour before the incident began, this time included."""
    group = recognition(course).group
    return 1 + sum(visit.group == group for visit in within_hour(earlier, course.began_ns))


def view(detection: Detection) -> float:
    """How good a picture of a thing is: sure, and large (its linear size, so that size does not outweigh all)."""
    return float(detection.likelihood * area(detection.box) ** 0.5)


def light_of(luma_mean: float, colour: float, moment: datetime | None) -> Light:
    """Judge the light from a picture: luma mean 0..255, and how far its most coloured parts are from grey (0..127).

    A picture without colour is an infra-red one, so it is night; a bright one in colour at night is lit.
    """
    if colour < 3 or luma_mean < 40:  # noqa: PLR2004  # coded grey is 128 +- 1; a lit street has more than 40
        return "night"
    if moment is not None and not 6 <= moment.hour < 21:  # noqa: PLR2004  # hours that are dark most of the year
        return "lit"
    return "day"


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
