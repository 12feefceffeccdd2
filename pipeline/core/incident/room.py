"""Room in the event log: what found none, and when that is told. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from pipeline.core.events import Details
    from pipeline.core.vocabulary import Nanoseconds

GivenUp: TypeAlias = Literal["notices", "starts", "updates"]

_CALM_S = 10.0  # without trouble for so long, a disk is told to be well again


class Room(NamedTuple):
    """What is remembered.

    Attributes:
        trouble_ns: When the log's disk was last in trouble, while that is told; None: it is not.
        given_up: Events that found no room since that was told, by kind; in the order of the kinds.
    """

    trouble_ns: Nanoseconds | None = None
    given_up: tuple[tuple[GivenUp, int], ...] = ()

    @property
    def total(self) -> int:
        """How many events found no room since that was told."""
        return sum(count for _, count in self.given_up)

    @property
    def untold(self) -> Details:
        """The same by kind, for an event."""
        return {f"{what}_given_up": count for what, count in self.given_up}


def given_up(room: Room, what: GivenUp, more: int = 1) -> Room:
    """Count events that found no room; less than none where one found room after all."""
    counts = dict(room.given_up)
    counts[what] = max(0, counts.get(what, 0) + more)  # it may have been told of meanwhile
    return room._replace(given_up=tuple(sorted((kind, count) for kind, count in counts.items() if count)))


def step(room: Room, now_ns: Nanoseconds, *, trouble: bool) -> tuple[Room, bool]:
    """Look at the log's disk. Returns whether there is something to tell: trouble is new, or over for a while."""
    known = room.trouble_ns
    if trouble and known is not None:
        return room._replace(trouble_ns=now_ns), False
    if trouble == (known is not None) or (known is not None and now_ns - known < _CALM_S * 1e9):
        return room, False
    return room, True


def after_report(now_ns: Nanoseconds, *, trouble: bool) -> Room:
    """What is remembered after that was told."""
    return Room(now_ns if trouble else None)
