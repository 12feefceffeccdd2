"""What a stage does with more messages than it can take: one policy per link, all of it pure."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

from pipeline.core.messages import DescriptionWanted, FeaturesWanted, camera_of

if TYPE_CHECKING:
    from pipeline.core.messages import AnyMessage


class Keep(Enum):
    """Which messages survive when a link is full."""

    LATEST = "latest"  # the newest of each camera: live video
    MOST_URGENT = "most_urgent"  # by priority, then age: incidents
    ALL = "all"  # never drop: events


class Inbox:
    """A bounded queue for one link. `offer` returns how many messages it dropped."""

    def __init__(self, keep: Keep, depth: int) -> None:
        self._keep = keep
        self._depth = depth
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
        self._waiting.remove(max(reversed(self._waiting), key=_urgency))
        return 1

    def take(self) -> AnyMessage:
        """Remove and return the next message. Raises IndexError when empty."""
        if self._keep is Keep.MOST_URGENT and self._waiting:
            chosen = min(self._waiting, key=_urgency)
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


def _urgency(message: AnyMessage) -> int:
    return message.priority if isinstance(message, DescriptionWanted | FeaturesWanted) else 0
