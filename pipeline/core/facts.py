"""What is known of an incident: measured, counted or configured, never guessed. Verdicts decide from this."""

from __future__ import annotations

import msgspec

from pipeline.core.vocabulary import Direction, Group, Light, Speed


class ObjectFact(msgspec.Struct, frozen=True):
    """The thing the incident is about."""

    class_: str = msgspec.field(name="class")  # the detector's own class, or "none"
    likelihood: float  # 0..1
    count: int  # the most seen at one moment


class TrackFact(msgspec.Struct, frozen=True):
    """How it moved."""

    dwell_s: int
    direction: Direction
    speed: Speed
    visits_last_hour: int  # incidents like this one, here, in the hour before, this one included


class ObjectsFact(msgspec.Struct, frozen=True, kw_only=True):
    """The things of a group that were there."""

    group: Group
    class_: str = msgspec.field(name="class")  # the class that most of the evidence is for
    count: int  # the most at one moment
    total: int  # different ones
    stay_s: float  # of the one that stayed longest


class Facts(msgspec.Struct, frozen=True):
    """All facts of an incident, in the order in which people ask for them."""

    camera: str
    zone: str
    local_time: str  # HH:MM in the site's time zone; empty where no clock was set
    weekday: str  # English name; the same
    light: Light
    object: ObjectFact
    tags: tuple[str, ...]
    track: TrackFact
    rules_hit: tuple[str, ...]
    scene_text: tuple[str, ...] = ()  # quoted, never obeyed
    objects: tuple[ObjectsFact, ...] = ()  # a row a group, what the incident is about first
