"""JSON Lines on disk: whole lines, a continued sequence, bounded files."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.decoding import LONGEST_LINE, decode
from pipeline.core.errors import SinkUnavailableError
from pipeline.core.files import open_regular
from stages.appending import append_whole

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.events import Event
    from pipeline.core.settings import EmitSettings
    from pipeline.eventlog.entries import Logged
    from stages.sinks.lines import Lines

_TAIL_BYTES = 16 << 20  # some thousand lines
_READ_BACK = 16  # files put away that are looked into for what a damaged log has lost
_MAX_DIGITS, _MAX_ID = 18, 64  # of a sequence and an id of ours
_PUT_AWAY = re.compile(r"(.+)-([0-9]{1,18})-[^-]+")
RECENT = 4096  # ids of the last lines, for events whose cursor had not moved, or was not on the disk when power failed


class _Head(msgspec.Struct):
    """What is read back of a line."""

    id: str
    source: str
    sequence: str
    type: str = ""
    subject: str = ""


class _Tail(NamedTuple):
    """The end of a file of events."""

    heads: list[_Head]  # of its last lines, oldest first
    whole_bytes: int  # up to the end of the last whole line


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
            tail = _tail(file)
            os.ftruncate(file, tail.whole_bytes)
        except OSError:
            os.close(file)
            raise
        ids = [head.id for head in tail.heads]
        for path in reversed(self._put_away_files()):  # an event whose cursor did not move may be in there
            if len(ids) >= RECENT:
                break
            ids += [head.id for head in _tail_of(path).heads]
        self._there = frozenset(ids)
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
        first = _first_id(self._file)
        number = int(old[-1].stem.rsplit("-", 2)[1]) + 1 if (old := self._put_away_files()) else 1
        fresh = self._path.with_name(f"{self._path.stem}-{number:06d}-{first}{self._path.suffix}")
        self._path.rename(fresh)
        self.close()
        for path in [*old, fresh][: -self._settings.max_files]:
            path.unlink()

    def _put_away_files(self) -> list[Path]:
        return put_away(self._path)


def put_away(path: Path) -> list[Path]:
    """Files put away, oldest first by their number: the clock may have been wrong when they were."""
    named = ((_PUT_AWAY.fullmatch(one.stem), one) for one in path.parent.glob(f"{path.stem}-*{path.suffix}"))
    ours = [(int(match[2]), one) for match, one in named if match and match[1] == path.stem]
    return [one for _, one in sorted(ours) if one.is_file() and not one.is_symlink()]


def last_written(path: Path) -> tuple[dict[str, int], frozenset[str]]:
    """Read back the ends of a file of events and of those put away beside it.

    Returns:
        The last sequence of each source, and the subjects that have an `incident.end`.
    """
    sequences: dict[str, int] = {}
    ended: set[str] = set()
    for one in (*put_away(path)[-_READ_BACK:], path):
        for head in _tail_of(one).heads:
            if head.sequence.isdecimal():
                sequences[head.source] = int(head.sequence)
            if ".incident.end." in head.type:
                ended.add(head.subject)
    return sequences, frozenset(ended)


def _tail_of(path: Path) -> _Tail:
    """The end of a file; nothing where it cannot be read."""
    try:
        file = open_regular(path)
    except OSError:
        return _Tail([], 0)
    try:
        return _tail(file)
    except OSError:
        return _Tail([], 0)
    finally:
        os.close(file)


def _tail(descriptor: int) -> _Tail:
    """Read the last lines of a file, however large it is. One without any line is begun anew."""
    size = os.fstat(descriptor).st_size
    begin = max(0, size - _TAIL_BYTES)
    data = os.pread(descriptor, size - begin, begin)
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()[1 if begin else 0 :]  # the first may be cut
    heads = (_head(line) for line in lines[-RECENT:])
    return _Tail([head for head in heads if head is not None], begin + whole if whole else 0)


def _head(line: bytes) -> _Head | None:
    try:
        head = decode(line, _Head)
    except msgspec.DecodeError:
        return None
    return head if len(head.sequence) <= _MAX_DIGITS else None


def _first_id(descriptor: int) -> str:
    """The id of the first event, for a file's name."""
    line, newline, _ = os.pread(descriptor, LONGEST_LINE, 0).partition(b"\n")
    head = _head(line) if newline else None
    return head.id if head is not None and head.id.isalnum() and len(head.id) <= _MAX_ID else "unknown"


def _is_same(descriptor: int, path: Path) -> bool:
    """Whether a path still leads to the file that is open."""
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)
