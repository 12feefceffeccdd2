"""A sink and how far it has come in the event log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from pipeline.core.errors import SinkBusyError, SinkUnavailableError
from pipeline.eventlog import entries
from pipeline.eventlog.cursor import Cursor, LogPlace
from pipeline.eventlog.reader import LogReader, newest
from pipeline.eventlog.segments import RecordKind

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.eventlog.entries import Logged
    from pipeline.eventlog.segments import Record

_JUMP = 1_000_000  # records that a cursor may be ahead of the log; more is no place of this log


class Sink(Protocol):
    """Where events go.

    Attributes:
        trouble: What is wrong although events are delivered; empty: nothing.
    """

    trouble: str

    def deliver(self, logged: Logged, offset: int) -> int | None:
        """Take an event, or a piece of it.

        Args:
            logged: The event.
            offset: How many bytes of it were taken before, also by an earlier life.

        Returns:
            How many bytes of it are taken now; None: all.

        Raises:
            SinkBusyError: It takes it when it has done with what it was given.
            SinkUnavailableError: It does not take it now, and something is wrong.
        """
        ...

    def close(self) -> None:
        """Let go."""
        ...


class Outlet:
    """Delivers the log to one sink, in order; its cursor moves after each delivery and outlives the process.

    Attributes:
        durable: Whether what was delivered outlives the process; only then the log waits for it without bound.
        failing: Why the sink takes nothing now; empty: it does.
        lost: Events that it will not get: damaged in the log, or skipped because too many waited.
    """

    def __init__(self, name: str, sink: Sink, log: Path, *, durable: bool) -> None:
        self.name = name
        self.durable = durable
        self.failing = ""
        self.lost = 0
        self._sink = sink
        self._log = log
        self._cursor = Cursor(entries.cursors(log) / f"{name}.cursor")
        if self._cursor.place.position > newest(log) + _JUMP:
            self._cursor.move(LogPlace())
        self._reader = LogReader(log, self._cursor.place.position)
        self._next: Record | None = None

    @property
    def position(self) -> int:
        """Up to where everything was delivered."""
        return self._cursor.place.position

    @property
    def trouble(self) -> str:
        """What is wrong with it; empty: nothing."""
        cursor = self._cursor.failing
        unkept = f"how far it is cannot be kept: {cursor.strerror or cursor}" if cursor else ""
        return self.failing or self._sink.trouble or unkept

    def pump(self, most: int, up_to: int | None = None) -> bool:
        """Deliver events until there are none, the sink fails, or `most` are done. Returns whether there may be more.

        Args:
            most: How many records are read at most.
            up_to: The last position to deliver; None: no bound.
        """
        for _ in range(most):
            record = self._next = self._next or self._read()
            if record is None or (up_to is not None and record.position > up_to):
                return False
            if record.kind is RecordKind.EVENT and not self._delivered(record):
                return False
            self._cursor.move(LogPlace(record.position))
            self._next = None
        return True

    def skip_to(self, position: int) -> None:
        """Give up what waits before a position."""
        self._reader.seek(self.position)
        self._next = None
        while (record := self._reader.next()) is not None and record.position <= position:
            self.lost += record.kind is RecordKind.EVENT
        self._reader.seek(position)
        self._cursor.move(LogPlace(position))

    def close(self) -> None:
        """Close the sink and the files."""
        self._sink.close()
        self._reader.close()
        self._cursor.close()

    def _read(self) -> Record | None:
        missing = self._reader.missing
        try:
            record = self._reader.next()
        except OSError as error:
            self.failing = f"event log: {error.strerror or error}"
            return None
        self.lost += self._reader.missing - missing
        return record

    def _delivered(self, record: Record) -> bool:
        """Whether the sink has taken it, or nobody can read it."""
        try:
            logged = entries.decode(record.payload)
        except msgspec.DecodeError:
            self.lost += 1
            return True
        try:
            while (taken := self._sink.deliver(logged, self._cursor.place.offset)) is not None:
                self._cursor.move(LogPlace(self.position, taken))
        except SinkBusyError:  # it goes on when it can, and nothing is wrong
            self.failing = ""
            return False
        except SinkUnavailableError as error:
            self.failing = str(error)
            return False
        self.failing = ""
        return True
