"""JSON Lines on disk: whole lines, a continued sequence, bounded files."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.decoding import decode
from pipeline.core.errors import SinkUnavailableError
from pipeline.core.files import open_regular
from stages.appending import append_whole

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.events import Event
    from pipeline.core.settings import EmitSettings
    from pipeline.eventlog.entries import Logged
    from stages.sinks.lines import Lines

RECENT = 4096  # ids of the last lines, for events whose cursor had not moved, or was not on the disk when power failed


class _Head(msgspec.Struct):
    """What is read back of a line."""

    id: str
    source: str
    sequence: str


class Written(NamedTuple):
    """What a file of events holds."""

    sequences: dict[str, int]  # the last of each source
    ids: deque[str]  # the newest
    whole_bytes: int  # up to the end of the last whole line
    damaged: int  # lines that are none of ours


class JsonLines:
    """One write a line, appended; a torn last line is cut when the file is opened, so that readers see whole lines.

    Attributes:
        trouble: Why lines that were written could not be flushed to the disk; empty: they could.
    """

    def __init__(self, path: Path, settings: EmitSettings, lines: Lines) -> None:
        self.trouble = ""
        self._path = path
        self._settings = settings
        self._lines = lines
        self._file = -1
        self._there: frozenset[str] = frozenset()  # ids of the last lines when the file was opened

    def deliver(self, logged: Logged, _offset: int) -> None:
        """Append one line, or nothing of it, unless it is there: a kill may come before the cursor moves.

        Raises SinkUnavailableError.
        """
        event, line = self._lines.of(logged)
        try:
            self._open()
            if event.id not in self._there:
                append_whole(self._file, line)
                self._flush(event)
                self._rotate()
        except OSError as error:
            raise SinkUnavailableError(f"{self._path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        """Open the file where it is not open, or where another one, or none, has its name by now."""
        if self._file >= 0 and _is_same(self._file, self._path):
            return
        self.close()
        self._path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        file = open_regular(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o640)
        try:
            written = _read_back(file)
            os.ftruncate(file, written.whole_bytes)
        except OSError:
            os.close(file)
            raise
        earlier = self._put_away_files()[-1:]  # an event whose cursor did not move may be the last in there
        self._there = frozenset(chain(written.ids, *(_ids(path) for path in earlier)))
        self._file = file

    def _flush(self, event: Event) -> None:
        """A line that cannot be flushed is written all the same: it is told of, not written again."""
        policy = self._settings.fsync
        if policy == "always" or (policy == "incident" and event.data.operation in ("start", "end")):
            try:
                os.fdatasync(self._file)
            except OSError as error:
                self.trouble = f"{self._path}: written, but not flushed to the disk: {error.strerror}"
            else:
                self.trouble = ""

    def _rotate(self) -> None:
        """Put a full file away under a number and the id of its first line, and keep the newest few; a disk that
        refuses is asked again with the next event.
        """
        if os.fstat(self._file).st_size < self._settings.rotate_mb * 1e6:
            return
        with contextlib.suppress(OSError):
            self._put_away()

    def _put_away(self) -> None:
        first = _read_back(self._file, most=1).ids or ("unknown",)
        number = _number(old[-1]) + 1 if (old := self._put_away_files()) else 1
        fresh = self._path.with_name(f"{self._path.stem}-{number:06d}-{first[0]}{self._path.suffix}")
        self._path.rename(fresh)
        self.close()
        for path in [*old, fresh][: -self._settings.keep_files]:
            path.unlink()

    def _put_away_files(self) -> list[Path]:
        """Files put away, oldest first by their number: the clock may have been wrong when they were."""
        return sorted(self._path.parent.glob(f"{self._path.stem}-[0-9]*-*{self._path.suffix}"), key=_number)


def last_sequences(path: Path) -> dict[str, int]:
    """Return the last sequence of each source in a file of events; nothing where it cannot be read."""
    try:
        file = open_regular(path)
    except OSError:
        return {}
    try:
        return _read_back(file).sequences
    except OSError:
        return {}
    finally:
        os.close(file)


def _number(path: Path) -> int:
    digits = path.stem.split("-")[-2]
    return int(digits) if digits.isdigit() else 0


def _ids(path: Path) -> deque[str]:
    file = open_regular(path)
    try:
        return _read_back(file).ids
    finally:
        os.close(file)


def _is_same(descriptor: int, path: Path) -> bool:
    """Whether a path still leads to the file that is open."""
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _read_back(descriptor: int, most: int | None = None) -> Written:
    """Read a file of events from its beginning, `most` lines of it at most."""
    sequences: dict[str, int] = {}
    ids: deque[str] = deque(maxlen=RECENT)
    whole = damaged = 0
    with open(descriptor, "rb", closefd=False) as file:  # a descriptor, not a path
        file.seek(0)
        for line in islice(file, most):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                head = decode(line, _Head)
                sequences[head.source] = int(head.sequence)
                ids.append(head.id)
            except (msgspec.DecodeError, ValueError):
                damaged += 1
    return Written(sequences, ids, whole, damaged)
