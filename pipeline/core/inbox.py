"""What a stage does with more messages than it can take: one policy per link, all of it pure."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

from pipeline.core.messages import camera_of

if TYPE_CHECKING:
    from pipeline.core.messages import AnyMessage


AGEING_S = 20.0
"""After so long a wait, something is as urgent as what is a class above it and has just come."""


class Keep(Enum):
    """Which messages survive when a link is full."""

    LATEST = "latest"  # the newest of each camera: live video
    MOST_URGENT = "most_urgent"  # by priority, then age: incidents
    ALL = "all"  # never drop: events


class Inbox:
    """A bounded queue for one link. `offer` returns how many messages it dropped."""

    def __init__(self, keep: Keep, depth: int, ageing_s: float = AGEING_S) -> None:
        self._keep = keep
        self._depth = depth
        self._ageing_ns = ageing_s * 1e9
        self._waiting: deque[AnyMessage] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, message: AnyMessage) -> int:
        """Add a message, dropping what the policy gives up."""
        if self._keep is Keep.LATEST:
            return self._replace(message)
        self._waiting.append(message)
        if self._keep is Keep.ALL or len(self._waiting) <= self._depth:
            return 0
        self._waiting.remove(max(self._waiting, key=_priority))  # of the least urgent the oldest
        return 1

    @property
    def since_ns(self) -> int:
        """Monotonic time at which the oldest message was sent; 0: it is empty, or holds what was never sent.

        A link has one writer, so the first that waits is the oldest, unless newer ones take the places of older ones.
        """
        if self._keep is Keep.LATEST:
            return min(map(_sent_ns, self._waiting), default=0)
        return _sent_ns(self._waiting[0]) if self._waiting else 0

    def take(self, now_ns: int = 0) -> AnyMessage:
        """Remove and return the next message, by a monotonic time. Raises IndexError when empty.

        What waits becomes more urgent, by a class every `ageing_s`: so the lowest gets its turn, whatever comes.
        """
        if self._keep is Keep.MOST_URGENT and self._waiting:
            chosen = min(
                self._waiting,
                key=lambda message: aged_priority(_priority(message), _waiting_ns(message, now_ns), self._ageing_ns),
            )
            self._waiting.remove(chosen)
            return chosen
        return self._waiting.popleft()

    def _replace(self, message: AnyMessage) -> int:
        """Put the message in place of the older one of its camera, so that no camera starves another."""
        camera = camera_of(message)
        for place, older in enumerate(self._waiting):
            if camera_of(older) == camera:
                self._waiting[place] = message
                return 1
        self._waiting.append(message)
        return 0


def aged_priority(priority: int, waited: float, ageing: float) -> float:
    """How urgent something is after a wait, lower being sooner; both times in one unit.

    Nothing becomes more urgent than an alarm: so whatever has waited for an alarm's urgency goes before all alarms that
    came since, however long these wait.
    """
    return max(0.0, priority - waited / ageing)


def _waiting_ns(message: AnyMessage, now_ns: int) -> int:
    sent = _sent_ns(message)
    return max(0, now_ns - sent) if sent else 0


def _sent_ns(message: AnyMessage) -> int:
    return message.hops[-1].sent_at if message.hops else 0


def _priority(message: AnyMessage) -> int:
    return getattr(message, "priority", 0)
