"""Descriptions of incidents that were requested and have not come yet. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.core.messages import DescriptionWanted
    from pipeline.core.vocabulary import IncidentId


class PendingDescription(NamedTuple):
    """A request, and whether it was sent again after a restart of the stage that answers."""

    wanted: DescriptionWanted
    resent: bool = False


class PendingDescriptions(NamedTuple):
    """The last request about each incident, while its answer is outstanding."""

    by_incident: Mapping[IncidentId, PendingDescription] = {}


def asked(pending: PendingDescriptions, wanted: DescriptionWanted) -> PendingDescriptions:
    """Remember a request; an earlier one about the same incident needs no answer any more."""
    return PendingDescriptions({**pending.by_incident, wanted.incident: PendingDescription(wanted)})


def answered(pending: PendingDescriptions, incident: IncidentId, revision: int | None = None) -> PendingDescriptions:
    """Forget a request. If a revision is given and differs, do nothing: the answer is to an older request."""
    known = pending.by_incident.get(incident)
    if known is None or revision not in (None, known.wanted.revision):
        return pending
    return PendingDescriptions({one: request for one, request in pending.by_incident.items() if one != incident})


def after_restart(pending: PendingDescriptions) -> tuple[PendingDescriptions, tuple[DescriptionWanted, ...]]:
    """The stage that answers was restarted, and has forgotten all requests.

    Returns:
        The requests to send again. One that was sent again before is dropped: it may be what ended the stage.
    """
    to_resend = {
        one: request._replace(resent=True) for one, request in pending.by_incident.items() if not request.resent
    }
    return PendingDescriptions(to_resend), tuple(request.wanted for request in to_resend.values())
