"""Incidents that are told together, the loudest first."""

from __future__ import annotations

from collections import Counter
from datetime import timezone
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.digest import periods
from pipeline.core.text.english import plural

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from pipeline.core.digest.gathered import Incident, Period


class Group(NamedTuple):
    """Incidents that are told together: same camera, zone, thing and action; by when they began.

    Attributes:
        incidents: At least one, each with a time.
        first: Day and clock at which the first began, as a sentence names them.
        last: The same of the last.
    """

    incidents: tuple[Incident, ...]
    first: tuple[str, str]
    last: tuple[str, str]

    @property
    def size(self) -> int:
        """How many incidents."""
        return len(self.incidents)

    @property
    def one(self) -> Incident:
        """The first, for what is the same in all."""
        return self.incidents[0]

    @property
    def names(self) -> tuple[str, ...]:
        """What a sentence about it may repeat: its place and thing, words of verdicts, ids of notes."""
        one = self.one
        situations = (other.situation.replace("_", " ") for other in self.incidents)
        return one.zone, one.camera, one.thing, plural(one.thing), one.action, *situations, *self.notes

    @property
    def most(self) -> int:
        """The most things seen at one moment."""
        return max(one.seen for one in self.incidents)

    @property
    def longest_s(self) -> int:
        """How long the longest lasted."""
        return max(one.dwell_s for one in self.incidents)

    @property
    def notes(self) -> dict[str, int]:
        """Which notes decided how many."""
        return dict(sorted(Counter(one.note for one in self.incidents if one.note).items()))

    @property
    def ids(self) -> tuple[str, ...]:
        """Of all its incidents."""
        return tuple(one.id for one in self.incidents)


class Loudness(NamedTuple):
    """How loud the words of verdicts are.

    Attributes:
        actions: From quiet to loud.
        severities: The same.
        speak: From this action on a verdict tells somebody; counted from 0.
    """

    actions: tuple[str, ...]
    severities: tuple[str, ...]
    speak: int

    def quiet(self, action: str) -> bool:
        """Whether an action tells nobody; a word that is unknown may."""
        return action in self.actions[: self.speak]

    def place(self, action: str) -> int:
        """Return where an action stands among the others; what is unknown is the loudest."""
        return _place(action, self.actions)

    def rank(self, one: Incident) -> tuple[int, int]:
        """Higher is louder; what is unknown or was not judged goes first, as somebody should look."""
        return _place(one.action, self.actions), _place(one.severity, self.severities)


def groups(period: Period, loudness: Loudness, here: tzinfo) -> list[Group]:
    """Put incidents together that are told together, the loudest first, then the largest, then the earliest."""
    found: dict[tuple[str, str, str, str], list[Incident]] = {}
    for one in period.incidents:
        found.setdefault((one.camera, one.zone, one.thing, one.action), []).append(one)
    made = [_group(members, here, dated=period.dated) for members in found.values()]
    return sorted(made, key=lambda group: _order(group, loudness))


def _group(members: list[Incident], here: tzinfo, *, dated: bool) -> Group:
    first, last = (_local(one, here) for one in (members[0], members[-1]))
    return Group(tuple(members), periods.named(first, dated=dated), periods.named(last, dated=dated))


def _local(one: Incident, here: tzinfo) -> datetime:
    assert one.began is not None
    return one.began.astimezone(here if one.ahead is None else timezone(one.ahead))


def _order(group: Group, loudness: Loudness) -> tuple[object, ...]:
    action, severity = max(map(loudness.rank, group.incidents))
    one = group.one
    return -action, -severity, -group.size, one.began, one.camera, one.zone, one.thing, one.action


def _place(word: str, order: tuple[str, ...]) -> int:
    return order.index(word) if word in order else len(order)
