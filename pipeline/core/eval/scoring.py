"""Compare what people saw with what incidents tell: visits, labels, counts and stays of recordings."""

from __future__ import annotations

import operator
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.core.eval.found import NAMED, FoundIncident, join_things
from pipeline.core.eval.truth import Range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.eval.truth import ClipTruth, TrueThing

JOIN_S = 1.0
"""Things that are less far apart are one visit."""
SLACK_S = 0.5
"""How far people may be off: an incident that is nearer to a visit is not false."""
TAIL_S = 2.0
"""How much later an incident may begin after a visit without being false: it ends once nothing was seen for a while."""
NEAR_S = 1.5
"""How far both ends of a stay may be off."""
_TOUCH_S = 0.3  # who comes as another goes is not there at once with it, as in `core/incident/members.py`

Judgement: TypeAlias = Literal["right", "mislabelled", "unnamed", "near", "false", "not judged"]
"""Of an incident: what it names is what was most there; it names another; none; it is beside a visit; beside all."""


class Span(NamedTuple):
    """A part of a recording, in seconds from the first picture."""

    from_s: float
    to_s: float

    def overlaps(self, other: Span) -> bool:
        """Whether they have a moment in common."""
        return self.from_s <= other.to_s and self.to_s >= other.from_s

    def common_s(self, other: Span) -> float:
        """How long both are."""
        return max(0.0, min(self.to_s, other.to_s) - max(self.from_s, other.from_s))


class CountScore(msgspec.Struct, frozen=True):
    """Things of a group in a recording: how many are told, how many there were (least, most), and stays."""

    group: str
    at_once: int
    at_once_is: Range
    total: int
    total_is: Range
    stays: int
    stays_right: int

    @property
    def at_once_right(self) -> bool:
        """Whether the most at one moment is told right."""
        return self.at_once_is[0] <= self.at_once <= self.at_once_is[1]

    @property
    def total_right(self) -> bool:
        """Whether the number of different ones is told right."""
        return self.total_is[0] <= self.total <= self.total_is[1]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of a recording that can be added to those of others.

    Attributes:
        footage_s: How long it is.
        empty_s: How long nobody was there.
        visits: Things that overlap or nearly do, joined.
        hits: Visits that an incident overlaps.
        incidents: All that were judged.
        false: Incidents that are beside all visits.
        merged: Further visits in one incident.
        split: Further incidents of one visit.
        labelled: Incidents of visits that name what they are about.
        labels_right: Those that name what was there longest.
        unnamed: Incidents of visits that name nothing.
        start_errors_s: How much later than its visit each incident begins.
        end_errors_s: How much later it ends.
        counts: A row a group.
    """

    footage_s: float = 0.0
    empty_s: float = 0.0
    visits: int = 0
    hits: int = 0
    incidents: int = 0
    false: int = 0
    merged: int = 0
    split: int = 0
    labelled: int = 0
    labels_right: int = 0
    unnamed: int = 0
    start_errors_s: tuple[float, ...] = ()
    end_errors_s: tuple[float, ...] = ()
    counts: tuple[CountScore, ...] = ()


class Judged(NamedTuple):
    """An incident, what it is worth, and which group was there longest meanwhile (empty: none)."""

    incident: FoundIncident
    judgement: Judgement
    group_is: str = ""


class ScoredClip(NamedTuple):
    """A recording with what was there, what was told, and how both compare."""

    name: str
    truth: ClipTruth
    incidents: tuple[Judged, ...]
    score: Score


def score_clip(name: str, truth: ClipTruth, incidents: Sequence[FoundIncident], footage_s: float) -> ScoredClip:
    """Compare a recording with what was told of it; of a crowd only counts are compared.

    Args:
        name: The recording's.
        truth: What people saw.
        incidents: What was told, in the order in which incidents began.
        footage_s: How long the recording is.
    """
    counts = _score_counts(truth, incidents)
    if truth.counts_only:
        judged = tuple(Judged(one, "not judged") for one in incidents)
        return ScoredClip(name, truth, judged, Score(footage_s=footage_s, counts=counts))
    visits = join_visits(truth.things)
    judged = tuple(_judge(one, truth.things, visits) for one in incidents)
    of_visits = [Span(one.from_s, one.to_s) for one in incidents]
    seen = [one.judgement for one in judged]
    starts, ends = _measure_errors(visits, of_visits)
    score = Score(
        footage_s=footage_s,
        empty_s=max(0.0, footage_s - sum(Span(0.0, footage_s).common_s(visit) for visit in visits)),
        visits=len(visits),
        hits=sum(any(visit.overlaps(one) for one in of_visits) for visit in visits),
        incidents=len(incidents),
        false=seen.count("false"),
        merged=sum(max(0, sum(one.overlaps(visit) for visit in visits) - 1) for one in of_visits),
        split=sum(max(0, sum(visit.overlaps(one) for one in of_visits) - 1) for visit in visits),
        labelled=seen.count("right") + seen.count("mislabelled"),
        labels_right=seen.count("right"),
        unnamed=seen.count("unnamed"),
        start_errors_s=starts,
        end_errors_s=ends,
        counts=counts,
    )
    return ScoredClip(name, truth, judged, score)


def join_visits(things: Iterable[TrueThing]) -> list[Span]:
    """Join things that overlap or are nearly so to visits, in the order in which they began."""
    found: list[Span] = []
    for thing in sorted(things, key=lambda one: (one.from_s, one.to_s)):
        if found and thing.from_s - found[-1].to_s < JOIN_S:
            found[-1] = Span(found[-1].from_s, max(found[-1].to_s, thing.to_s))
        else:
            found.append(Span(thing.from_s, thing.to_s))
    return found


def add_up(scores: Iterable[Score]) -> Score:
    """Add the numbers of recordings."""
    return reduce(_add, scores, Score())


def find_worst(clips: Iterable[ScoredClip], most: int) -> list[tuple[str, Judged]]:
    """Find the incidents that are worst: false ones, then those that name something else; long ones first."""
    wrong = [(clip.name, one) for clip in clips for one in clip.incidents if one.judgement in {"false", "mislabelled"}]
    wrong.sort(key=lambda row: (row[1].judgement != "false", row[1].incident.from_s - row[1].incident.to_s, row[0]))
    return wrong[:most]


def _add(one: Score, other: Score) -> Score:
    names = Score.__struct_fields__
    summed: dict[str, Any] = {name: operator.add(getattr(one, name), getattr(other, name)) for name in names}
    return Score(**summed)


def _judge(incident: FoundIncident, things: Iterable[TrueThing], visits: Sequence[Span]) -> Judged:
    own = Span(incident.from_s, incident.to_s)
    seconds: dict[str, float] = {}
    for thing in things:
        if own.overlaps(there := Span(thing.from_s, thing.to_s)):
            seconds[thing.group] = seconds.get(thing.group, 0.0) + own.common_s(there)
    if seconds:
        most = max((group for group in NAMED if group in seconds), key=lambda group: seconds[group])
        named: Judgement = "right" if incident.group == most else "mislabelled"
        return Judged(incident, named if incident.group else "unnamed", most)
    wide = Span(own.from_s - SLACK_S - TAIL_S, own.to_s + SLACK_S)
    return Judged(incident, "near" if any(wide.overlaps(visit) for visit in visits) else "false")


def _measure_errors(visits: Sequence[Span], told: Sequence[Span]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How much later incidents begin and end than visits, where each is the first, or the last, of the other."""
    starts, ends = list[float](), list[float]()
    for visit in visits:
        own = [one for one in told if one.overlaps(visit)]
        if not own:
            continue
        first, last = min(own), max(own, key=lambda one: one.to_s)
        if visit == next(one for one in visits if one.overlaps(first)):
            starts.append(round(first.from_s - visit.from_s, 3))
        if visit == [one for one in visits if one.overlaps(last)][-1]:
            ends.append(round(last.to_s - visit.to_s, 3))
    return tuple(starts), tuple(ends)


def _score_counts(truth: ClipTruth, incidents: Sequence[FoundIncident]) -> tuple[CountScore, ...]:
    """A row for each group that was there or was told of."""
    things = join_things(incidents)
    rows = []
    for group in NAMED:
        stays = [Span(one.from_s, one.to_s) for one in truth.things if one.group == group]
        told = [one.counts[group] for one in incidents if group in one.counts]
        own = [Span(one.from_s, one.to_s) for one in things if one.group == group]
        if not (stays or told or own or group in truth.counts_only):
            continue
        at_once, total = _count(group, truth, stays)
        nameless = sum(_nameless(one, group) for one in incidents)
        rows.append(
            CountScore(
                group=group,
                at_once=max((count for count, _ in told), default=0),
                at_once_is=at_once,
                total=len(own) + nameless,
                total_is=total,
                stays=len(stays),
                stays_right=_match_stays(stays, own),
            )
        )
    return tuple(rows)


def _count(group: Any, truth: ClipTruth, stays: Sequence[Span]) -> tuple[Range, Range]:
    """How many there were: at once, and different ones."""
    if truth.counts_only:
        given = truth.counts_only.get(group)
        return (given.at_once, given.total) if given else ((0, 0), (0, 0))
    most = _most_at_once(stays)
    return (most, most), (len(stays), len(stays))


def _nameless(incident: FoundIncident, group: str) -> int:
    """How many things an incident counts beside its members, such as cycles with their riders."""
    _, total = incident.counts.get(group, (0, 0))
    return max(0, total - sum(one.group == group for one in incident.things))


def _most_at_once(spans: Iterable[Span]) -> int:
    changes = sorted(
        change for one in spans for change in ((one.from_s, 1), (max(one.from_s + 1e-3, one.to_s - _TOUCH_S), -1))
    )
    return max(accumulate(step for _, step in changes), default=0)


def _match_stays(stays: Iterable[Span], found: Iterable[Span]) -> int:
    """How many stays were found with both ends near, each by another thing."""
    left, right = list(found), 0
    for stay in stays:
        off = {one: (abs(one.from_s - stay.from_s), abs(one.to_s - stay.to_s)) for one in left}
        near = [one for one, ends in off.items() if max(ends) <= NEAR_S]
        if near:
            left.remove(min(near, key=lambda one: sum(off[one])))
            right += 1
    return right
