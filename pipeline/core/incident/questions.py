"""Questions about incidents that are not answered yet. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.core.messages import DescriptionWanted
    from pipeline.core.vocabulary import IncidentId


class PendingDescription(NamedTuple):
    """A question, and whether it was asked again."""

    wanted: DescriptionWanted
    again: bool = False


class Questions(NamedTuple):
    """The last question about each incident, where its answer is outstanding."""

    open: Mapping[IncidentId, PendingDescription] = {}


def asked(questions: Questions, wanted: DescriptionWanted) -> Questions:
    """Remember a question; an earlier one about the incident needs no answer any more."""
    return Questions({**questions.open, wanted.incident: PendingDescription(wanted)})


def answered(questions: Questions, incident: IncidentId, revision: int | None = None) -> Questions:
    """Forget a question; with a revision only where it was asked at that one, else this answers an earlier one."""
    known = questions.open.get(incident)
    if known is None or revision not in (None, known.wanted.revision):
        return questions
    return Questions({one: question for one, question in questions.open.items() if one != incident})


def lost(questions: Questions) -> tuple[Questions, tuple[DescriptionWanted, ...]]:
    """The process that was to answer took them with it.

    Returns:
        What is asked again: each once only, as the question may be what ended it.
    """
    again = {one: question._replace(again=True) for one, question in questions.open.items() if not question.again}
    return Questions(again), tuple(question.wanted for question in again.values())
