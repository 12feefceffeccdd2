"""Whether something happens in an area: from the things that are seen there to the start and the end of an incident.

An incident is a visit: of one thing, or of those that come while it is there. It ends when nothing was seen for a
while, or at once when all of it left the picture and something else comes.

Pure and without a clock: the same observations give the same decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pipeline.core.track.thing import at_edge

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pipeline.core.track.thing import ThingSeen

Decision: TypeAlias = Literal["start", "stop", "next"] | None
"""What to do: begin an incident, end it, or end it and begin another one."""

RUN_UP_NS = 10_000_000_000
"""How far a start may be put back; what moved before then was not this."""

_APART_NS = 1_000_000_000  # what comes within a second of what went came together with it


class Presence(NamedTuple):
    """What is remembered between two observations.

    Attributes:
        began_ns: Media time of the first evidence of the incident that goes on, or of the last one.
        last_ns: Media time of its latest evidence so far.
        at_ns: Media time of the last observation.
    """

    began_ns: int = 0
    last_ns: int = 0
    at_ns: int = 0


class View(NamedTuple):
    """What an area sees.

    Attributes:
        at_ns: Media time.
        here: Things in the area, with the time since when each is there.
        followed: All things of the camera.
    """

    at_ns: int
    here: Sequence[tuple[ThingSeen, int]]
    followed: Sequence[ThingSeen]


def step(state: Presence, view: View, members: Collection[int] | None, gap_s: float) -> tuple[Presence, Decision]:
    """Take one observation into account.

    Args:
        state: Result of the last step, `Presence()` at first.
        view: The observation.
        members: Numbers of the things of the incident that goes on; None: none does.
        gap_s: An incident ends after so long without evidence.

    Returns:
        The new state and what to do. At "start" and "next", `began_ns` is when the evidence began; at "stop",
        `last_ns` is when it ended, earlier than the observation by the gap.
    """
    state = state._replace(at_ns=view.at_ns)
    new = [row for row in view.here if row[0].evident and row[0].number not in (members or ())]
    if members is None:
        return _begun(state, new, view.at_ns, "start") if new else (state, None)
    named = [row for row in new if row[0].votes]
    own = [thing for thing in view.followed if thing.number in members]
    left = members and not any(_still_there(thing, view.at_ns) for thing in own)
    if left and named and min(since_ns for _, since_ns in named) - state.last_ns > _APART_NS:
        return _begun(state, named, view.at_ns, "next")
    if any(thing.stirs for thing, _ in view.here):
        return state._replace(last_ns=view.at_ns), None
    if view.at_ns - state.last_ns < gap_s * 1e9:
        return state, None
    return state, "stop"


def _begun(
    state: Presence, new: Sequence[tuple[ThingSeen, int]], at_ns: int, decision: Decision
) -> tuple[Presence, Decision]:
    began_ns = max(min(since_ns for _, since_ns in new), state.last_ns, at_ns - RUN_UP_NS)
    return Presence(began_ns, at_ns, at_ns), decision


def _still_there(thing: ThingSeen, at_ns: int) -> bool:
    return at_ns - thing.seen_ns < _APART_NS or not at_edge(thing.box)
