"""Work out the verdicts of the rules for every kind of thing, area, time of day and length of stay.

The trial facts are made by the same code as those of incidents, so the results are what will happen.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from pipeline.core import times
from pipeline.core.incident import areas, incidents, rules
from pipeline.core.incident.members import Member
from pipeline.core.messages import FrameRef
from pipeline.core.track.votes import Vote
from pipeline.core.vocabulary import CameraId, Group, IncidentId, Light, Nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.facts import Facts
    from pipeline.core.incident.areas import Area
    from pipeline.core.incident.incidents import Course
    from pipeline.core.settings import Settings
    from pipeline.core.verdict.rulebook import Rulebook

Time: TypeAlias = Literal["by day", "after hours", "at night"]
"""`after hours` only for areas with hours, `at night` only for areas without."""

_NS_PER_S = 1_000_000_000
_BOX = (0.4, 0.4, 0.6, 0.8)
_A_WEEKDAY = datetime(2026, 12, 1, tzinfo=UTC)  # any weekday; this is a Tuesday
_SURE = 0.9
_PASSING_S = 5  # a passage through the picture
_LONGEST_S = 24 * 3600
_MINUTES = 24 * 60
_DAYLIGHT_MIN, _NIGHT_MIN = 12 * 60, 3 * 60  # noon and 03:00: where the search for an hour begins

KINDS: tuple[tuple[str, str, Group | None], ...] = (
    ("a person", "person", "person"),
    ("a vehicle", "car", "vehicle"),
    ("an animal", "dog", "animal"),
    ("unnamed movement", "none", None),
)
"""Kinds of things: in words, the detector's class, and its group."""


class StayStep(msgspec.Struct, frozen=True):
    """The rule that decides from so many seconds of a stay on."""

    from_s: int
    rule: str
    action: str


class Outcome(msgspec.Struct, frozen=True):
    """The verdicts for one kind of thing in one area at one time.

    Attributes:
        camera: The camera's name.
        place: The area's name.
        zone: Whether the area is a drawn zone; else it is the rest of the picture.
        kind: One of `KINDS`, in words.
        time: The time of day.
        steps: The deciding rules, by length of stay.
        loud: Whether any of them notifies somebody.
    """

    camera: str
    place: str
    zone: bool
    kind: str
    time: Time
    steps: tuple[StayStep, ...]
    loud: bool


def find_outcomes(settings: Settings, book: Rulebook) -> Iterator[Outcome]:
    """Yield the outcome of the rules, without notes, for every kind, in every area of every camera, at every time."""
    for camera in settings.cameras:
        for area in areas.areas(settings, camera).values():
            for kind, label, group in KINDS:
                for time in _trial_times(area):
                    steps = _find_steps(_start_course(camera, label, group), area, time, book)
                    loud = any(book.is_loud(step.action) for step in steps)
                    yield Outcome(camera, area.name, area.zone, kind, time, steps, loud)


def find_quiet_kinds(found: list[Outcome]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return for each camera and area the kinds that never notify anybody."""
    places = dict.fromkeys((one.camera, one.place) for one in found)
    return {
        place: tuple(kind for kind, *_ in KINDS if not any(one.loud for one in found if _is_about(one, place, kind)))
        for place in places
    }


def _is_about(one: Outcome, place: tuple[str, str], kind: str) -> bool:
    return (one.camera, one.place) == place and one.kind == kind


def _find_steps(course: Course, area: Area, time: Time, book: Rulebook) -> tuple[StayStep, ...]:
    steps: list[StayStep] = []
    for dwell_s in _trial_stays(area, book):
        rule = book.decide(make_trial_facts(course, area, time, dwell_s))
        if not steps or steps[-1].rule != rule.name:
            steps.append(StayStep(dwell_s if steps else 0, rule.name, rule.then.action))
    return tuple(steps)


def make_trial_facts(course: Course, area: Area, time: Time, dwell_s: int) -> Facts:
    """Return the facts of an incident of one thing that stays for `dwell_s` seconds at a time of day."""
    moment = _find_moment(area, time)
    at_ns = Nanoseconds(dwell_s * _NS_PER_S)
    light: Light = "day" if time == "by day" else "night"
    stayed_as = tuple(
        msgspec.structs.replace(member, last_ns=at_ns, rested_s=float(dwell_s)) for member in course.members
    )
    frame = msgspec.structs.replace(course.frame, pts_ns=at_ns)
    stayed = msgspec.structs.replace(course, frame=frame, members=stayed_as, light=light)
    judged = msgspec.structs.replace(stayed, rules=rules.rules_hit(stayed, area, moment))
    return incidents.facts(judged, area, moment)


def _start_course(camera: CameraId, label: str, group: Group | None) -> Course:
    frame = FrameRef(camera, 1, 0, Nanoseconds(0), Nanoseconds(0), 640, 480)
    begun = incidents.Course(
        id=IncidentId(""),
        camera=camera,
        area="",
        number=1,
        began_ns=Nanoseconds(0),
        began_utc_ns=Nanoseconds(0),
        frame=frame,
    )
    if group is None:
        return begun
    alone = Member(
        number=1,
        first_ns=Nanoseconds(0),
        last_ns=Nanoseconds(0),
        votes=(Vote(label, group, _SURE, _SURE),),
        confirmed=True,
        speed="still",
    )
    return msgspec.structs.replace(begun, group=group, members=(alone,))


def _trial_stays(area: Area, book: Rulebook) -> tuple[int, ...]:
    """Return the lengths of stay, in seconds, at which the rule may change: limits of the area and of the rules."""
    edges = {_PASSING_S, *map(round, rules.stays_s(area))}
    edges |= {round(edge) + more for rule in book.rule for edge in rule.if_.dwell_s or () for more in (0, 1)}
    return tuple(sorted(edge for edge in edges if _PASSING_S <= edge <= _LONGEST_S))


def _trial_times(area: Area) -> tuple[Time, ...]:
    if not area.open_hours:
        return ("by day", "at night")
    return ("by day",) if _closed_moment(area) is None else ("by day", "after hours")


def _find_moment(area: Area, time: Time) -> datetime:
    if time == "by day":
        return _first_moment(area, _DAYLIGHT_MIN, open_=True) or _A_WEEKDAY
    return (_closed_moment(area) if area.open_hours else None) or _A_WEEKDAY + timedelta(minutes=_NIGHT_MIN)


def _closed_moment(area: Area) -> datetime | None:
    """Return a moment outside the hours; None if they cover the whole day."""
    return _first_moment(area, _NIGHT_MIN, open_=False)


def _first_moment(area: Area, begin_min: int, *, open_: bool) -> datetime | None:
    moments = (_A_WEEKDAY + timedelta(minutes=(begin_min + step) % _MINUTES) for step in range(_MINUTES))
    hours = area.open_hours or "00:00-23:59"
    return next((moment for moment in moments if times.within(hours, moment) == open_), None)
