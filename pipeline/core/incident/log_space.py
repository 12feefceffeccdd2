"""Space in the event log: how many events found none, and when that is reported. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from pipeline.core.events import Details
    from pipeline.core.vocabulary import Nanoseconds

UnloggedKind: TypeAlias = Literal["notices", "starts", "updates"]
"""Kinds of events that found no space: notices are of cameras and of the device, starts and updates of incidents."""

_RECOVERED_AFTER_S = 10.0  # without trouble for so long, the disk is reported to be well again


class LogSpace(NamedTuple):
    """Events that were not logged, and the last trouble with the log's disk.

    Attributes:
        reported_trouble_ns: When the log's disk was last in trouble, once that has been reported; None: it is well.
        unlogged: Events that found no space since the last report, by kind; in the order of the kinds.
    """

    reported_trouble_ns: Nanoseconds | None = None
    unlogged: tuple[tuple[UnloggedKind, int], ...] = ()

    @property
    def total(self) -> int:
        """How many events found no space since the last report."""
        return sum(count for _, count in self.unlogged)

    @property
    def as_details(self) -> Details:
        """The counts by kind, for the next event that reports them."""
        return {f"{kind}_given_up": count for kind, count in self.unlogged}


def count_unlogged(space: LogSpace, kind: UnloggedKind, more: int = 1) -> LogSpace:
    """Count events that found no space; a negative number where an event found space after all."""
    counts = dict(space.unlogged)
    counts[kind] = max(0, counts.get(kind, 0) + more)  # a report may have set it to zero meanwhile
    return space._replace(unlogged=tuple(sorted((one, count) for one, count in counts.items() if count)))


def report_due(space: LogSpace, now_ns: Nanoseconds, *, trouble: bool) -> tuple[LogSpace, bool]:
    """Say whether the state of the log's disk is to be reported: trouble is new, or has been over for a while.

    After the report has found space itself, `after_report` gives the state that follows.

    Args:
        space: The state.
        now_ns: On the timeline of the daemon.
        trouble: Whether the disk is in trouble now.
    """
    known = space.reported_trouble_ns
    if trouble and known is not None:
        return space._replace(reported_trouble_ns=now_ns), False
    if trouble == (known is not None) or (known is not None and now_ns - known < _RECOVERED_AFTER_S * 1e9):
        return space, False
    return space, True


def after_report(now_ns: Nanoseconds, *, trouble: bool) -> LogSpace:
    """Return the state after a report: nothing is counted yet."""
    return LogSpace(now_ns if trouble else None)
