"""The life of an incident as pure functions: what is remembered of it, and the facts it amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core import times
from pipeline.core.events import Analysis
from pipeline.core.facts import Facts, ObjectFact, TrackFact
from pipeline.core.geometry import Box, area
from pipeline.core.incident import members
from pipeline.core.incident.members import Member
from pipeline.core.messages import FrameRef, Keyframe, Priority
from pipeline.core.track.votes import GROUPS
from pipeline.core.vocabulary import CameraId, Group, IncidentId, Light, Nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pipeline.core.incident.areas import Area
    from pipeline.core.settings import PriorityName, PrioritySettings
    from pipeline.core.track.sight import Detection

_LABEL_LIKELIHOOD = 0.5  # least sum of likelihoods that gives an incident its name
_LABEL_LEAD = 1.3  # least ratio to the sum of the second best, unless the evidence is as strong as the next
_GONE_NS = 2_000_000_000  # a member that was not seen for so long is said to be gone
_LABEL_SURE = 2.0  # sum of likelihoods that names an incident in which there is more than one kind of thing
_HOUR_NS = 3_600_000_000_000

PRIORITIES: dict[PriorityName, Priority] = {
    "alarm": Priority.ALARM,
    "warning": Priority.WARNING,
    "routine": Priority.ROUTINE,
}


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
    members: tuple[Member, ...] = ()  # things that were there, in the order in which they came
    most: dict[Group, int] = {}  # confirmed things of a group that were there at one moment
    told: tuple[int, ...] = ()  # numbers of the confirmed members that were there when an event last told of it
    told_ns: Nanoseconds = Nanoseconds(0)  # when that was
    light: Light = "day"
    visits: int = 1
    rules: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
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


def named(course: Course) -> Group | None:
    """The group that an incident is about; None where the evidence is weak, or little and divided.

    An incident that has a name keeps it until another leads clearly, so that it is not renamed to and fro.
    """
    sums = members.evidence(course.members)
    first, second, *_ = sorted(sums, key=lambda group: (-sums[group], GROUPS.index(group)))
    certain = any(member.confirmed and member.group == first for member in course.members)
    clear = (sums[first] >= _LABEL_LIKELIHOOD or certain) and (
        sums[first] >= _LABEL_LEAD * sums[second] or sums[first] >= _LABEL_SURE
    )
    if course.group is not None and sums[first] < _LABEL_LEAD * sums[course.group]:
        return course.group
    return first if clear else None


def of_name(course: Course) -> list[Member]:
    """The members that the incident is about."""
    return members.of_group(course.members, course.group)


def recognition(course: Course) -> Recognition:
    """The group that the evidence names, and within it the label with most; abstains where it names none."""
    own = of_name(course) if course.group else []
    if not own:
        return Recognition("none", None, 0.0, 0)
    best = max(vote.best for member in own for vote in member.votes if vote.group == course.group)
    most = members.count_at_once(own, course.most)
    return Recognition(members.common_label(own), course.group, round(best, 2), most)


def news(course: Course) -> tuple[str, tuple[str, ...]]:
    """What is worth telling an operator again: another kind of thing, another rule hit."""
    return (recognition(course).group or "none", course.rules)


def now_there(course: Course) -> tuple[int, ...]:
    """Numbers of the confirmed members that are there now."""
    return tuple(
        sorted(
            member.number
            for member in course.members
            if member.confirmed and course.frame.pts_ns - member.last_ns < _GONE_NS
        )
    )


def has_news(course: Course, at_ns: Nanoseconds, min_update_s: float) -> bool:
    """Whether a member came or went since an event last told of the incident, not too short a time ago."""
    return at_ns - course.told_ns >= min_update_s * 1e9 and now_there(course) != course.told


def candidates(course: Course) -> tuple[tuple[str, float], ...]:
    """Every class seen with its best likelihood, likeliest first."""
    best: dict[str, float] = {}
    for vote in (vote for member in course.members for vote in member.votes if vote.group != "other"):
        best[vote.label] = max(best.get(vote.label, 0.0), vote.best)
    rows = ((label, round(likelihood, 2)) for label, likelihood in best.items())
    return tuple(sorted(rows, key=lambda row: (-row[1], row[0])))


def came_ns(course: Course) -> Nanoseconds:
    """When its stay began, in an incident before it that was cut, or with it."""
    return course.began_ns if course.came_ns is None else course.came_ns


def dwell_s(course: Course) -> float:
    """How long the one of its things has been there that stayed longest; of what has no name, how long it moves."""
    own = of_name(course) if course.group else []
    if own:
        return max(member.stay_s for member in own)
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
    main = max(of_name(course), key=lambda member: member.stay_s, default=None) if what.group else None
    cycles = tuple(sorted({member.rides for member in course.members if member.rides}))
    return Facts(
        camera=course.camera,
        zone=place.name,
        local_time=f"{moment:%H:%M}" if times.clock_is_set(moment) else "",
        weekday=_WEEKDAYS[moment.weekday()] if times.clock_is_set(moment) else "",
        light=course.light,
        object=ObjectFact(class_=what.label, likelihood=what.likelihood, count=what.most),
        tags=(*cycles, *(tag for tag in course.tags if tag not in cycles)),
        track=TrackFact(
            dwell_s=round(dwell_s(course)),
            direction=main.direction if main else "none",
            speed=(main and main.speed) or "still",
            visits_last_hour=course.visits,
        ),
        rules_hit=course.rules,
        objects=members.objects(course.members, course.group, course.most),
    )


class Visit(NamedTuple):
    """A thing that was in an area earlier."""

    began_ns: Nanoseconds
    group: Group | None
    number: int


def within_hour(earlier: Iterable[Visit], now_ns: Nanoseconds) -> tuple[Visit, ...]:
    """Return the visits of the hour up to now."""
    return tuple(visit for visit in earlier if now_ns - visit.began_ns < _HOUR_NS)


def visits_of(course: Course) -> tuple[Visit, ...]:
    """The things of an incident that count, as visits; what has no name is one."""
    if course.group is None:
        return (Visit(came_ns(course), None, 0),)
    return tuple(Visit(member.first_ns, member.group, member.number) for member in of_name(course))


def visits(earlier: Iterable[Visit], course: Course) -> int:
    """How many things of this kind were here in the hour before the incident began, its own first one included."""
    group = recognition(course).group
    own = {member.number for member in course.members}
    return 1 + sum(
        visit.group == group and (group is None or visit.number not in own)
        for visit in within_hour(earlier, course.began_ns)
    )


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
