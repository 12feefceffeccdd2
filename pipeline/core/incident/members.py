"""The things of an incident: who was there, how long, which way, and how many at once."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from pipeline.core.facts import ObjectsFact
from pipeline.core.incident.presence import RUN_UP_NS
from pipeline.core.incident.whereabouts import ZoneStay
from pipeline.core.track.votes import GROUPS, Vote, find_best, find_group, sum_evidence
from pipeline.core.vocabulary import Direction, Group, Nanoseconds, Speed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pipeline.core.incident.whereabouts import Where
    from pipeline.core.track.thing import ThingSeen

MOST = 256
"""Members that an incident remembers; of more, those that came last are not."""

_THERE_NS = 1_000_000_000  # who was seen so lately is there: two looks
_TOUCH_NS = 300_000_000  # who comes as another goes is not there at once with it: looks are so far apart


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A thing of an incident, as far as it was seen in the incident's area."""

    number: int  # that the camera's tracker gave it
    first_ns: Nanoseconds  # when it came into the area
    last_ns: Nanoseconds  # when it was last seen there
    votes: tuple[Vote, ...] = ()
    confirmed: bool = False
    rides: str = ""
    rested_s: float = 0.0  # how long it has stood, at most
    direction: Direction = "none"
    speed: Speed | None = None  # None: seen too seldom to say
    areas: tuple[ZoneStay, ...] = ()  # all areas of the camera that it was in, in order

    @property
    def group(self) -> Group | None:
        """What it is; None: nobody knows."""
        return find_group(self.votes)

    @property
    def vote(self) -> Vote | None:
        """The class with most evidence in its group."""
        return find_best(self.votes)

    @property
    def stay_s(self) -> float:
        """How long it was there."""
        return (self.last_ns - self.first_ns) / 1e9


def joined(
    members: Sequence[Member], things: Iterable[ThingSeen], where: Where, at_ns: Nanoseconds
) -> tuple[Member, ...]:
    """Add what is seen in the area at a moment: of members how they went on, of others that they came.

    Args:
        members: So far.
        things: What is seen to be there.
        where: Where all things of the camera are and were.
        at_ns: The moment, on the camera's timeline.
    """
    found = {member.number: member for member in members}
    for thing in things:
        old = found.get(thing.number)
        if old is None and len(found) >= MOST:
            continue
        places = where[thing.number]
        first_ns = old.first_ns if old else max(thing.born_ns, places.entered_ns, at_ns - RUN_UP_NS)
        found[thing.number] = Member(
            number=thing.number,
            first_ns=Nanoseconds(min(first_ns, at_ns)),
            last_ns=at_ns if thing.present or old is None else old.last_ns,
            votes=thing.votes,
            confirmed=thing.confirmed,
            rides=thing.rides or (old.rides if old else ""),
            rested_s=max(thing.rested_s, old.rested_s if old else 0.0),
            direction=thing.direction,
            speed=thing.speed,
            areas=places.stays,
        )
    return tuple(found.values())


def evidence(members: Iterable[Member]) -> dict[Group, float]:
    """Sum of the likelihoods with which things were seen, by group."""
    return sum_evidence(vote for member in members for vote in member.votes)


def of_group(members: Iterable[Member], group: Group | None) -> list[Member]:
    """Those of a group that count: the confirmed ones, or all where none is."""
    own = [member for member in members if member.group == group]
    return [member for member in own if member.confirmed] or own


def at_once(members: Sequence[Member]) -> int:
    """The most that were there at one moment."""
    changes = sorted(
        change
        for member in members
        for change in ((member.first_ns, 1), (max(member.first_ns + 1, member.last_ns - _TOUCH_NS), -1))
    )
    return max(accumulate(step for _, step in changes), default=0)


def peaks(most: Mapping[Group, int], members: Iterable[Member], at_ns: Nanoseconds) -> dict[Group, int]:
    """The most confirmed things that were there at one moment, by group, with this moment added."""
    there = Counter(
        member.group for member in members if member.confirmed and at_ns - member.last_ns < _THERE_NS and member.group
    )
    return {group: max(most.get(group, 0), there[group]) for group in {*most, *there}}


def count_at_once(own: Sequence[Member], most: Mapping[Group, int]) -> int:
    """The most of a group at one moment: as counted, else as their stays say."""
    group = own[0].group
    counted = most.get(group, 0) if group else 0
    return min(counted, len(own)) or at_once(own)


def objects(
    members: Sequence[Member], group: Group | None, most: Mapping[Group, int] = MappingProxyType({})
) -> tuple[ObjectsFact, ...]:
    """Return a row for each group that was there; what an incident is about comes first.

    Groups of which nothing is confirmed are mistakes of the detector, but for the one that the incident is about.
    A cycle and its rider are one thing, and said as both.
    """
    rows = []
    for name in sorted(GROUPS, key=lambda one: (one != group, GROUPS.index(one))):
        own = of_group(members, name)
        if own and (name == group or own[0].confirmed):
            rows.append(_row(name, own, most=most))
    cycles = [member for member in members if member.rides and member.confirmed]
    if cycles and all(row.group != "vehicle" for row in rows):
        rows.append(_row("vehicle", cycles, max(sorted(member.rides for member in cycles)), {}))
    return tuple(rows)


def _row(
    group: Group, own: Sequence[Member], label: str = "", most: Mapping[Group, int] = MappingProxyType({})
) -> ObjectsFact:
    return ObjectsFact(
        group=group,
        class_=label or common_label(own),
        count=count_at_once(own, most),
        total=len(own),
        stay_s=round(max(member.stay_s for member in own), 1),
    )


def common_label(own: Iterable[Member]) -> str:
    """The class with most evidence; "none" where nothing was recognised."""
    sums: dict[str, float] = {}
    for member in own:
        for vote in member.votes:
            if vote.group == member.group:
                sums[vote.label] = sums.get(vote.label, 0.0) + vote.evidence
    return max(sorted(sums), key=lambda label: sums[label], default="none")
