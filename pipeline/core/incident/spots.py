"""What is remembered of an area beside the incident that is open there. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.incident import incidents
from pipeline.core.incident.presence import Presence
from pipeline.core.vocabulary import Nanoseconds

if TYPE_CHECKING:
    from pipeline.core.incident.incidents import Course, Visit
    from pipeline.core.incident.members import Member
    from pipeline.core.vocabulary import EndedBy

_MOST_VISITS = 1000  # of the last hour that are remembered


class Spot(NamedTuple):
    """An area of a camera.

    Attributes:
        presence: What is there.
        blind_ns: Until then no incident begins.
        visits: Things that were here in the last hour.
        cut: What lasted longer than an incident may, and goes on in the next one.
        refused_ns: When an incident was last tried that there was no room for; None: there was room.
    """

    presence: Presence = Presence()
    blind_ns: Nanoseconds = Nanoseconds(0)
    visits: tuple[Visit, ...] = ()
    cut: Course | None = None
    refused_ns: Nanoseconds | None = None


def refused(spot: Spot, now_ns: Nanoseconds, gap_s: float) -> tuple[Spot, bool]:
    """There was no room for an incident. Returns whether it is another than was refused before: it is tried again."""
    fresh = spot.refused_ns is None or now_ns - spot.refused_ns > gap_s * 1e9
    return spot._replace(refused_ns=now_ns), fresh


def started(spot: Spot, presence: Presence) -> Spot:
    """An incident began, and was told of."""
    return spot._replace(presence=presence, cut=None, refused_ns=None)


def continued(spot: Spot, course: Course, gap_s: float) -> Course:
    """Let a stay go on that an incident was too long for, where its like is seen again within the gap."""
    cut = spot.cut
    if cut is None or course.began_ns - cut.frame.pts_ns > gap_s * 1e9:
        return course
    if course.group is not None and cut.group is not None and course.group != cut.group:
        return course
    return msgspec.structs.replace(
        course, came_ns=incidents.came_ns(cut), continues=cut.id, members=_stays(course, cut)
    )


def _stays(course: Course, cut: Course) -> tuple[Member, ...]:
    """Let stays go on: by number, or where the tracker began anew, that of the thing that was there longest."""
    came = {member.number: member.first_ns for member in cut.members}
    if not any(member.number in came for member in course.members):
        since_ns = min((member.first_ns for member in incidents.of_name(cut)), default=None)
        came = {member.number: since_ns for member in course.members[:1] if since_ns is not None}
    return tuple(
        msgspec.structs.replace(member, first_ns=came.get(member.number, member.first_ns)) for member in course.members
    )


def over(spot: Spot, course: Course, ended_by: EndedBy, blind_s: float) -> Spot:
    """An incident is over: where it was cut, the visit goes on in the next one."""
    spot = spot._replace(blind_ns=Nanoseconds(spot.presence.at_ns + round(blind_s * 1e9)))
    if ended_by != "quiet":
        spot = spot._replace(presence=Presence(last_ns=spot.presence.at_ns, at_ns=spot.presence.at_ns))
    if ended_by == "max_duration":
        return spot
    earlier = incidents.within_hour(spot.visits, course.began_ns)
    new = incidents.visits_of(course)
    numbers = {visit.number for visit in new if visit.group is not None}
    return spot._replace(visits=(*(visit for visit in earlier if visit.number not in numbers), *new)[-_MOST_VISITS:])
