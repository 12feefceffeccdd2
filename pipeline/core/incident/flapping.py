"""A camera that comes and goes again and again: told of a few times, then summed up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pipeline.core.events import Details

MAX_TOLD = 3  # losses within the window that are told of one by one
_WINDOW_S = 600.0
_STEADY_S = 60.0  # without a change for so long, it flaps no more
_SUMMED_UP_S = 600.0  # one that goes on flapping is told of so often


class Flapping(NamedTuple):
    """What is remembered of one camera; all times are seconds on its timeline.

    Attributes:
        losses_s: When it was lost, within the window.
        changed_s: When it last came or went.
        since_s: Since when its losses are summed up; None: they are told one by one.
        told_s: When they were last summed up.
        losses: How many there were since then.
        reason: Of the last of them.
    """

    losses_s: tuple[float, ...] = ()
    changed_s: float = 0.0
    since_s: float | None = None
    told_s: float = 0.0
    losses: int = 0
    reason: str = ""


def changed(flapping: Flapping, now_s: float, *, lost: bool, reason: str) -> tuple[Flapping, bool]:
    """A camera came or went. Returns whether that is to be told by itself."""
    flapping = flapping._replace(changed_s=now_s)
    if lost:
        losses = (*(at for at in flapping.losses_s if at > now_s - _WINDOW_S), now_s)
        flapping = flapping._replace(losses_s=losses, losses=flapping.losses + 1, reason=reason)
        if flapping.since_s is None and len(losses) > MAX_TOLD:
            flapping = flapping._replace(since_s=now_s, told_s=now_s, losses=1)
    return flapping, flapping.since_s is None


def passed(flapping: Flapping, now_s: float) -> tuple[Flapping, Details | None]:
    """Time goes by. Returns what there is to sum up: when the camera is steady again, or how it was so far."""
    if flapping.since_s is None:
        return flapping, None
    over = now_s - flapping.changed_s >= _STEADY_S
    if not over and now_s - flapping.told_s < _SUMMED_UP_S:
        return flapping, None
    details: Details = {
        "losses": flapping.losses,
        "seconds": round(now_s - flapping.told_s, 1),
        "reason": flapping.reason,
        "over": over,
    }
    if over:
        return Flapping(), details
    return flapping._replace(told_s=now_s, losses=0), details
