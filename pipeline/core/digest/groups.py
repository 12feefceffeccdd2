"""Put similar incidents of a period into groups, the loudest group first."""

from __future__ import annotations

from collections import Counter
from datetime import timezone
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.digest import periods
from pipeline.core.text.english import pluralise

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from pipeline.core.digest.history import Incident, Period


class Group(NamedTuple):
    """Incidents of one sentence: same camera, zone, thing and action; sorted by when they began.

    Attributes:
        incidents: At least one, each with a time.
        first_time: Day and clock of the first, in words of the sentence, such as `Monday` and `07:30`.
        last_time: Day and clock of the last.
    """

    incidents: tuple[Incident, ...]
    first_time: tuple[str, str]
    last_time: tuple[str, str]

    @property
    def size(self) -> int:
        """Number of incidents."""
        return len(self.incidents)

    @property
    def first_incident(self) -> Incident:
        """The first incident, to read what is the same in all."""
        return self.incidents[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Names that a sentence may contain: place, thing, words of verdicts, ids of notes."""
        one = self.first_incident
        situations = (other.situation.replace("_", " ") for other in self.incidents)
        return one.zone, one.camera, one.thing, pluralise(one.thing), one.action, *situations, *self.notes

    @property
    def max_count(self) -> int:
        """The most things at one moment."""
        return max(one.max_count for one in self.incidents)

    @property
    def longest_s(self) -> int:
        """Duration of the longest incident, in seconds."""
        return max(one.dwell_s for one in self.incidents)

    @property
    def notes(self) -> dict[str, int]:
        """How many incidents each note decided, by the note's id."""
        return dict(sorted(Counter(one.note for one in self.incidents if one.note).items()))

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all incidents."""
        return tuple(one.id for one in self.incidents)


class Loudness(NamedTuple):
    """How loud the actions and severities of verdicts are.

    Attributes:
        actions: Actions from quiet to loud.
        severities: Severities from quiet to loud.
        speak: Index of the first action that notifies somebody.
    """

    actions: tuple[str, ...]
    severities: tuple[str, ...]
    speak: int

    def is_quiet(self, action: str) -> bool:
        """Tell whether an action notifies nobody; an unknown action is not quiet."""
        return action in self.actions[: self.speak]

    def position(self, action: str) -> int:
        """Return the index of an action; an unknown one comes after the loudest."""
        return _position(action, self.actions)

    def rank(self, one: Incident) -> tuple[int, int]:
        """Return a sort key, higher is louder; unknown and missing verdicts are loudest, as somebody should look."""
        return _position(one.action, self.actions), _position(one.severity, self.severities)


def group_incidents(period: Period, loudness: Loudness, here: tzinfo) -> list[Group]:
    """Group the incidents of a period by camera, zone, thing and action.

    Args:
        period: The period.
        loudness: Of actions and severities.
        here: The site's time zone, for incidents whose events have no local time.

    Returns:
        Groups, the loudest first, then the largest, then the earliest.
    """
    found: dict[tuple[str, str, str, str], list[Incident]] = {}
    for one in period.incidents:
        found.setdefault((one.camera, one.zone, one.thing, one.action), []).append(one)
    made = [_make_group(members, here, dated=period.dated) for members in found.values()]
    return sorted(made, key=lambda group: _sort_key(group, loudness))


def _make_group(members: list[Incident], here: tzinfo, *, dated: bool) -> Group:
    first, last = (_local_time(one, here) for one in (members[0], members[-1]))
    return Group(tuple(members), periods.name_time(first, dated=dated), periods.name_time(last, dated=dated))


def _local_time(one: Incident, here: tzinfo) -> datetime:
    assert one.began_utc is not None
    return one.began_utc.astimezone(here if one.utc_offset is None else timezone(one.utc_offset))


def _sort_key(group: Group, loudness: Loudness) -> tuple[object, ...]:
    action, severity = max(map(loudness.rank, group.incidents))
    one = group.first_incident
    return -action, -severity, -group.size, one.began_utc, one.camera, one.zone, one.thing, one.action


def _position(word: str, order: tuple[str, ...]) -> int:
    return order.index(word) if word in order else len(order)
