"""A thing that is followed: where it is, what it is, how it moved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.geometry import WHOLE, Box, area, centre, rounded, shared, size
from pipeline.core.track.sight import NS_PER_S, Detection
from pipeline.core.track.votes import Vote, find_group
from pipeline.core.vocabulary import Direction, Group, Nanoseconds, Speed

if TYPE_CHECKING:
    from pipeline.core.track.sight import TrackRules

_EDGE = 0.04  # nearer to the border than this is coming in or going out
_SOON_S = 0.7  # two looks
_GROWTH = 1.6  # as much larger (area) is nearer: 1.26 times the distance
_FEWEST_SIGHTINGS = 3  # for a speed

# Size in metres that a box's height (person, animal) or width (vehicle) stands for.
_METRES: dict[Group, float] = {"person": 1.7, "vehicle": 4.5, "animal": 0.8, "other": 1.0}

# Metres a second up to which a speed is called so; walking is 1.4 m/s, a car in a yard about 5.
_SPEEDS: dict[Group, tuple[tuple[float, Speed], ...]] = {
    "person": ((0.15, "still"), (0.7, "slow"), (2.2, "walk"), (math.inf, "run")),
    "vehicle": ((0.4, "still"), (2.5, "slow"), (9.0, "medium"), (math.inf, "fast")),
    "animal": ((0.1, "still"), (0.6, "slow"), (2.0, "walk"), (math.inf, "run")),
    "other": ((0.15, "still"), (0.7, "slow"), (2.2, "medium"), (math.inf, "fast")),
}


class Thing(NamedTuple):
    """A thing that is followed.

    Attributes:
        number: Its own, from 1.
        box: Where it is now: the last whole box, moved on with what moves.
        first: Where it was seen first.
        born_ns: Media time from which on it moved.
        seen_ns: When it was last detected or seen to move.
        detected_ns: When it was last detected; None: never, it only moves.
        moved_ns: When it was last seen to move.
        hits: In how many looks it was detected.
        moving_hits: In how many of them it moved.
        misses: How many looks in a row, at where it is, did not show it.
        proof: Excess likelihood added up, as faded when it was last detected.
        votes: By class, in the order of their first sighting.
        regions: Numbers of the moving regions that it was seen in.
        velocity: Of its centre, shares of the picture a second.
        carried: How far what looks like it went, between pictures, in all: across and down, shares of the picture.
        carried_s: Seconds in which it could be followed so.
        travelled: The farthest that it got from where it was first, in its own sizes.
        path: Way gone between detections, in its own sizes.
        path_s: Seconds in which that way was gone.
        mark: The box from which on its way is measured next.
        mark_ns: When it was there.
        rest: The box that it has not left by more than a detector's box trembles.
        rest_ns: Since when.
        pieces: How many detections in a row showed only part of it.
        proven: It was evident at some time.
        confirmed: It is a thing, and not a mistake of the detector.
        rides: What a person rides; empty: nothing.
        colours: As of a detection, blended over all of them.
        now: Its detection in this observation, if there is one.
        evident: What is known of it now is enough to begin an incident.
        present: It is seen to be there now, and was evident at some time.
        stirs: It is, or something moves where it was recognised of late.
    """

    number: int
    box: Box
    first: Box
    born_ns: int
    seen_ns: int
    detected_ns: int | None = None
    moved_ns: int = 0
    hits: int = 0
    moving_hits: int = 0
    misses: int = 0
    proof: float = 0.0
    votes: tuple[Vote, ...] = ()
    regions: frozenset[int] = frozenset()
    velocity: tuple[float, float] = (0.0, 0.0)
    carried: tuple[float, float] = (0.0, 0.0)
    carried_s: float = 0.0
    travelled: float = 0.0
    path: float = 0.0
    path_s: float = 0.0
    mark: Box | None = None
    mark_ns: int = 0
    rest: Box | None = None
    rest_ns: int = 0
    pieces: int = 0
    proven: bool = False
    confirmed: bool = False
    rides: str = ""
    colours: tuple[int, ...] = ()
    now: Detection | None = None
    evident: bool = False
    present: bool = False
    stirs: bool = False

    def rests(self, at_ns: int, rules: TrackRules) -> bool:
        """Whether it stands still."""
        return self.hits > 1 and seconds(at_ns - self.rest_ns) >= rules.rest_s and self.moved_ns < at_ns

    @property
    def group(self) -> Group | None:
        """What it is by all votes; None: nobody knows."""
        return find_group(self.votes)

    def after(self, passed_s: float) -> Box:
        """Where it is after so many seconds, if it goes on as it does."""
        return shifted(self.box, self.velocity[0] * passed_s, self.velocity[1] * passed_s)

    @property
    def speed(self) -> Speed | None:
        """How fast it went over the ground, taking it to be as large as its kind is; None: seen too seldom to say."""
        if self.group is None or self.hits < _FEWEST_SIGHTINGS or self.path_s <= 0:
            return None
        metres_per_s = self.path * _METRES[self.group] / self.path_s
        return next(name for limit, name in _SPEEDS[self.group] if metres_per_s <= limit)

    @property
    def direction(self) -> Direction:
        """In and out go over the picture's border, toward and away by size, along is any other way gone."""
        if distance(self.first, self.box) < 0.5:  # noqa: PLR2004  # half its own size is no way
            return "none"
        grown = area(self.box) / max(area(self.first), 1e-6)
        came, left = at_edge(self.first), at_edge(self.box)
        if came != left:
            return "in" if came else "out"
        if grown > _GROWTH:
            return "toward"
        return "away" if grown < 1 / _GROWTH else "along"


class ThingSeen(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What others are told of a thing after an observation; see `Thing` where it says nothing."""

    number: int
    box: Box
    born_ns: Nanoseconds
    seen_ns: Nanoseconds
    evident: bool
    present: bool
    stirs: bool
    confirmed: bool
    votes: tuple[Vote, ...] = ()
    rides: str = ""
    detection: Detection | None = None  # of this observation
    whole: bool = True  # its lower edge is where it stands
    rested_s: float = 0.0  # since when it stands; 0: it moves
    direction: Direction = "none"
    speed: Speed | None = None


def report(thing: Thing, at_ns: int, rules: TrackRules) -> ThingSeen:
    """Return what others are told of a thing."""
    return ThingSeen(
        number=thing.number,
        box=rounded(thing.box),
        born_ns=Nanoseconds(thing.born_ns),
        seen_ns=Nanoseconds(thing.seen_ns),
        evident=thing.evident,
        present=thing.present,
        stirs=thing.stirs,
        confirmed=thing.confirmed,
        votes=thing.votes,
        rides=thing.rides,
        detection=thing.now,
        whole=thing.pieces == 0,
        rested_s=round(seconds(at_ns - thing.rest_ns), 1) if thing.rests(at_ns, rules) else 0.0,
        direction=thing.direction,
        speed=thing.speed,
    )


def distance(one: Box, other: Box) -> float:
    """Way between two boxes in their own mean size: of their centres, or of their nearer edges as they grow."""
    (x1, y1), (x2, y2) = centre(one), centre(other)
    return math.dist((x1, y1), (x2, y2)) / max((size(one) + size(other)) / 2, 1e-3)


def change(one: Box, other: Box) -> float:
    """How far a box is from another one in their mean size, growth included: half of the change of its size."""
    grown = abs(size(one) - size(other)) / 2 / max((size(one) + size(other)) / 2, 1e-3)
    return distance(one, other) + grown


def at_edge(box: Box) -> bool:
    """Whether it is about to come into the picture or to leave it."""
    return box[0] < _EDGE or box[1] < _EDGE or box[2] > 1 - _EDGE or box[3] > 1 - _EDGE


def is_leaving(box: Box, velocity: tuple[float, float]) -> bool:
    """Whether most of a box will be outside the picture in a moment, if it moves on at that velocity."""
    soon = shifted(box, velocity[0] * _SOON_S, velocity[1] * _SOON_S)
    return shared(soon, WHOLE) < 0.5 * area(soon)  # half


def shifted(box: Box, across: float, down: float) -> Box:
    """The box moved; it may lie outside the picture."""
    return (box[0] + across, box[1] + down, box[2] + across, box[3] + down)


def difference(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Mean distance of colours, 1: 64 codes of each; 0 where one is not known."""
    if not one or not other:
        return 0.0
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one) / 64


def blended(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """Colours of a thing, which change slowly as it turns and the light does."""
    if not old or not new:
        return new or old
    return tuple(round(0.7 * a + 0.3 * b) for a, b in zip(old, new, strict=True))


def seconds(ns: int) -> float:
    """Nanoseconds as seconds."""
    return ns / NS_PER_S
