"""A sink with a bounded memory, so that one that fails neither loses events nor stops the others."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from pipeline.core.errors import SinkUnavailableError

if TYPE_CHECKING:
    from pipeline.core.events import Event


class Sink(Protocol):
    """Where lines go."""

    def deliver(self, event: Event, line: bytes) -> None:
        """Take one line whole. Raises SinkUnavailableError."""
        ...

    def rotate(self, sequences: dict[str, int]) -> None:
        """Put away what is full."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


class Spooled:
    """Delivers in order; what cannot be delivered now waits, and is offered again with every next event or tick."""

    def __init__(self, name: str, sink: Sink, most: int, *, durable: bool) -> None:
        self.name = name
        self.durable = durable  # what it has taken outlives the process
        self.failing: str | None = None  # why it does not take events now
        self.lost = 0  # events given up because the spool was full
        self._sink = sink
        self._most = most
        self._waiting: deque[tuple[Event, bytes]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, event: Event, line: bytes) -> None:
        """Deliver an event after those that wait; the oldest routine one goes when the spool is full."""
        self._waiting.append((event, line))
        self.flush()
        if len(self._waiting) > self._most:
            # the first may be half written: it stays
            routine = (n for n, (old, _) in enumerate(self._waiting) if n and old.severitytext == "INFO")
            del self._waiting[next(routine, min(1, len(self._waiting) - 1))]
            self.lost += 1

    def flush(self) -> None:
        """Deliver what waits, as far as it goes."""
        while self._waiting:
            event, line = self._waiting[0]
            try:
                self._sink.deliver(event, line)
            except SinkUnavailableError as error:
                self.failing = str(error)
                return
            self._waiting.popleft()
        self.failing = None

    def rotate(self, sequences: dict[str, int]) -> None:
        """Pass on."""
        self._sink.rotate(sequences)

    def close(self) -> None:
        """Try once more, then close."""
        self.flush()
        self._sink.close()
