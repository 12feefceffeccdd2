"""The desk of who writes about incidents: which questions wait for a sentence, and which is next. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.inbox import aged_priority

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from pipeline.core.events import Details
    from pipeline.core.messages import DescriptionWanted
    from pipeline.core.settings import DescribeSettings
    from pipeline.core.vocabulary import IncidentId, Nanoseconds

_LATELY = 0.3  # weight of the last sentence in what one takes
_WAITING_MOST = 32  # incidents that wait for a sentence; the least urgent beyond them keep the template


class SentenceJob(NamedTuple):
    """A sentence to be written.

    Attributes:
        wanted: The question.
        since_ns: When it came, on the live timeline.
        until_ns: When it must be answered; None: whenever.
        first_verdict: The verdict that was given at once; None: nothing was.
    """

    wanted: DescriptionWanted
    since_ns: Nanoseconds
    until_ns: int | None
    first_verdict: Details | None = None

    def too_late(self, now_ns: int, takes_ns: int, *, begun: bool) -> bool:
        """Whether it is, or would be: what cannot be ready in time is not begun, so that others are."""
        if self.until_ns is None:
            return False
        hopeless = takes_ns > self.until_ns - self.since_ns  # then it is tried all the same: it may go faster now
        return self.until_ns <= now_ns + (0 if begun or hopeless else takes_ns)

    def urgency(self, now_ns: int, ageing_s: float) -> tuple[float, bool, int]:
        """Lower is sooner: by priority and age; among equals what ends an incident or has aged, then the oldest."""
        priority = self.wanted.priority
        urgency = aged_priority(priority, (now_ns - self.since_ns) / 1e9 // ageing_s, 1.0)
        return urgency, not self.wanted.final and urgency == priority, self.since_ns

    @property
    def dispensable(self) -> tuple[int, bool, int]:
        """Highest is given up first: the least severe, what does not end an incident, the oldest."""
        return self.wanted.priority, not self.wanted.final, -self.since_ns


class Desk(NamedTuple):
    """What is remembered.

    Attributes:
        questions: The last about each incident.
        takes_ns: From the beginning of a sentence to its end, lately; 0: none was written.
        crowded_out: Questions that had to give way so far, as too many waited.
    """

    questions: Mapping[IncidentId, SentenceJob] = {}
    takes_ns: int = 0
    crowded_out: int = 0

    @property
    def since_ns(self) -> Nanoseconds | None:
        """Since when the oldest question waits; None: none does."""
        return min((question.since_ns for question in self.questions.values()), default=None)

    def spent(self, now_ns: int) -> float:
        """How much of its time the question has waited that is nearest to be answered too late, 0..1."""
        limited = ((one.since_ns, one.until_ns) for one in self.questions.values() if one.until_ns)
        spans = ((now_ns - since, until - since) for since, until in limited)
        return max((min(1.0, waited / worth) for waited, worth in spans if worth), default=0.0)


def until_ns(wanted: DescriptionWanted, rows: DescribeSettings, now_ns: int) -> int:
    """When a sentence is too late: by what the incident is worth, or sooner where somebody waits for it."""
    most_s = (rows.alarm_within_s, rows.warning_within_s, rows.routine_within_s)
    within_s = min(most_s[wanted.priority], math.inf if wanted.within_s is None else wanted.within_s)
    return now_ns + round(within_s * 1e9)


def asked(desk: Desk, question: SentenceJob) -> Desk:
    """Take a question; an earlier one about the incident needs no answer any more."""
    return desk._replace(questions={**desk.questions, question.wanted.incident: question})


def promised(desk: Desk, incident: IncidentId, verdict: Details) -> Desk:
    """A verdict was told, and a sentence promised."""
    return asked(desk, desk.questions[incident]._replace(first_verdict=verdict))


def answered(desk: Desk, incident: IncidentId) -> Desk:
    """Take a question off the desk."""
    return desk._replace(questions={one: question for one, question in desk.questions.items() if one != incident})


def crowded(desk: Desk) -> tuple[Desk, SentenceJob | None]:
    """Return which question has to give way, where too many wait; it stays on the desk until it is answered."""
    if len(desk.questions) <= _WAITING_MOST:
        return desk, None
    gives_way = max(desk.questions.values(), key=lambda question: question.dispensable)
    return desk._replace(crowded_out=desk.crowded_out + 1), gives_way


def most_urgent(desk: Desk, now_ns: int, ageing_s: float) -> SentenceJob:
    """Choose the question to write for; there is one."""
    return min(desk.questions.values(), key=lambda question: question.urgency(now_ns, ageing_s))


def late(desk: Desk, now_ns: int, begun: Container[IncidentId]) -> tuple[SentenceJob, ...]:
    """Return the questions that are too late, or would be; `begun`: incidents whose sentence is being written."""
    return tuple(
        question
        for incident, question in desk.questions.items()
        if question.too_late(now_ns, desk.takes_ns, begun=incident in begun)
    )


def took(desk: Desk, took_ns: int) -> Desk:
    """Learn how long a sentence takes, rests included."""
    share = _LATELY if desk.takes_ns else 1.0
    return desk._replace(takes_ns=desk.takes_ns + round((took_ns - desk.takes_ns) * share))
