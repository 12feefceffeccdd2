"""The rules that an incident may hit: one table, from which all others read what they need of a rule.

Whoever adds a row adds what follows from it to `config/incidents.toml`; docs/adding.md says what else may be needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core import times
from pipeline.core.incident import incidents, members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from pipeline.core.incident.areas import Area
    from pipeline.core.incident.incidents import Course, Recognition

UNCERTAIN = 0.5
"""Below this likelihood the class is called uncertain."""
STOPPED_S = 10
"""A vehicle that stands as long has stopped."""

_SOMEBODY = ("person", "vehicle")
_OBJECT_TOPIC = "tns1:RuleEngine/ObjectDetection/Object"
_LOITERING = "tns1:RuleEngine/LoiteringDetector/ObjectIsLoitering"
_INSIDE = "tns1:RuleEngine/FieldDetector/ObjectsInside"
_MOTION = "tns1:RuleEngine/CellMotionDetector/Motion"


class IncidentRule(NamedTuple):
    """A row of the table.

    Attributes:
        name: In events, and in `hits` of config/incidents.toml.
        hits: Whether an incident hits it, by what it is about, where and at what local time; None: no clock is set.
        sticky: Once hit, it stays hit, whatever becomes known later.
        listed: Whether a list of the rules that were hit names it.
        parameter: The key of a camera, and of a zone, that says when it is hit; empty: there is none. One that ends in
            `_s` is the length of a stay from which on it is hit.
        spoken: How a sentence says it; empty: it says nothing beyond the rest of a sentence.
        topic: Of ONVIF; empty: that of an object.
    """

    name: str
    hits: Callable[[Course, Recognition, Area, datetime | None], bool]
    sticky: bool
    listed: bool
    parameter: str
    spoken: str
    topic: str


def rules_hit(course: Course, place: Area, moment: datetime | None) -> tuple[str, ...]:
    """Name the rules that the incident hits so far, in the order of the table. Without a clock no hours hold."""
    what = incidents.recognition(course)
    return tuple(
        rule.name
        for rule in TABLE
        if (rule.sticky and rule.name in course.rules) or rule.hits(course, what, place, moment)
    )


def spoken_as(name: str) -> str | None:
    """How a sentence says a rule; empty: it does not; None: it is no rule of ours."""
    return next((rule.spoken for rule in TABLE if rule.name == name), None)


def listed(hit: Iterable[str]) -> tuple[str, ...]:
    """Of the rules that were hit those that a list names, in their order; those of others are named."""
    unlisted = {rule.name for rule in TABLE if not rule.listed}
    return tuple(name for name in hit if name not in unlisted)


def topic(hit: Iterable[str]) -> str:
    """Return the ONVIF topic of an incident: of the last rule in the table that was hit and has one."""
    hits = frozenset(hit)
    return next((rule.topic for rule in reversed(TABLE) if rule.topic and rule.name in hits), _OBJECT_TOPIC)


def stays_s(place: Area) -> tuple[float, ...]:
    """Return the lengths of a stay, in seconds, at which a rule may be hit in an area."""
    return (STOPPED_S, *(getattr(place, rule.parameter) for rule in TABLE if rule.parameter.endswith("_s")))


def _unnamed(_course: Course, what: Recognition, _place: Area, _moment: datetime | None) -> bool:
    return what.group is None


def _entered(_course: Course, what: Recognition, place: Area, _moment: datetime | None) -> bool:
    return place.zone and what.group in _SOMEBODY


def _forbidden(_course: Course, what: Recognition, place: Area, _moment: datetime | None) -> bool:
    return place.restricted and _may_be_somebody(what)


def _late(_course: Course, what: Recognition, place: Area, moment: datetime | None) -> bool:
    shut = bool(place.open_hours) and moment is not None and not times.within(place.open_hours, moment)
    return shut and _may_be_somebody(what)


def _stays(course: Course, what: Recognition, place: Area, _moment: datetime | None) -> bool:
    people = members.of_group(course.members, "person") if what.group is not None else []
    return any(member.stay_s >= place.loiter_s for member in people if member.confirmed or what.group == "person")


def _stopped(course: Course, what: Recognition, _place: Area, _moment: datetime | None) -> bool:
    stood = (member for member in course.members if member.group == "vehicle" and member.confirmed)
    return what.group is not None and any(member.rested_s >= STOPPED_S for member in stood)


def _crowded(_course: Course, what: Recognition, place: Area, _moment: datetime | None) -> bool:
    return what.group == "person" and what.most >= place.crowd


def _unsure(_course: Course, what: Recognition, _place: Area, _moment: datetime | None) -> bool:
    return what.group is not None and what.likelihood < UNCERTAIN


def _may_be_somebody(what: Recognition) -> bool:
    """Whether it is a person or a vehicle, or movement that nobody could name."""
    return what.group is None or what.group in _SOMEBODY


# fmt: off
TABLE = (
    #            name               hits        sticky listed parameter     spoken                        topic
    IncidentRule("motion",          _unnamed,   False, False, "",           "",                           _MOTION),
    IncidentRule("zone_entered",    _entered,   True,  True,  "zones",      "",                           _INSIDE),
    IncidentRule("restricted_zone", _forbidden, True,  True,  "restricted", "in a restricted zone",       ""),
    IncidentRule("after_hours",     _late,      True,  True,  "open_hours", "outside opening hours",      ""),
    IncidentRule("loiter",          _stays,     True,  True,  "loiter_s",   "loitering",                  _LOITERING),
    IncidentRule("vehicle_stop",    _stopped,   True,  True,  "",           "",                           ""),
    IncidentRule("crowd",           _crowded,   True,  True,  "crowd",      "a crowd",                    ""),
    IncidentRule("class_uncertain", _unsure,    False, True,  "",           "not recognised for certain", ""),
)
# fmt: on
