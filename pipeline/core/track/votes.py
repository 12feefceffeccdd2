"""What detections say that a thing is: one vote a class, added up over looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.vocabulary import Group  # noqa: TC001  # msgspec reads it: votes are part of messages

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUPS: tuple[Group, ...] = ("person", "vehicle", "animal")
"""Groups that may name a thing or an incident; "other" is proof of an object but no name for it."""


class Vote(NamedTuple):
    """How often and how surely a thing was seen as of a class."""

    label: str
    group: Group
    evidence: float  # sum of the likelihoods
    best: float  # highest likelihood


def add_votes(old: tuple[Vote, ...], new: Iterable[Vote]) -> tuple[Vote, ...]:
    """Add votes up by class, in the order of their first sighting."""
    votes = {vote.label: vote for vote in old}
    for vote in new:
        before = votes.get(vote.label, vote._replace(evidence=0.0))
        votes[vote.label] = before._replace(evidence=before.evidence + vote.evidence, best=max(before.best, vote.best))
    return tuple(votes.values())


def sum_evidence(votes: Iterable[Vote]) -> dict[Group, float]:
    """Sum of the likelihoods by group, of those that may name something."""
    sums = dict.fromkeys(GROUPS, 0.0)
    for vote in votes:
        if vote.group in sums:
            sums[vote.group] += vote.evidence
    return sums


def find_group(votes: Iterable[Vote]) -> Group | None:
    """The group with most evidence; None: nobody knows."""
    sums = sum_evidence(votes)
    best = max(GROUPS, key=lambda group: sums[group])
    return best if sums[best] > 0 else None


def find_best(votes: Iterable[Vote]) -> Vote | None:
    """The class with most evidence in the group that has most; None: nobody knows."""
    votes = tuple(votes)
    group = find_group(votes)
    return max((vote for vote in votes if vote.group == group), key=lambda vote: vote.evidence, default=None)
