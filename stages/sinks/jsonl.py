"""JSON Lines on disk: whole lines, a continued sequence, bounded files."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.decoding import decode
from pipeline.core.errors import SinkUnavailableError
from stages.appending import append_whole

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.events import Event
    from pipeline.core.settings import EmitSettings

RECENT = 4096  # ids that a resent event is looked up in; more than can be unacknowledged


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
    """One write a line, appended; a torn last line is cut when the file is opened, so that readers see whole lines."""

    def __init__(self, path: Path, settings: EmitSettings) -> None:
        self._path = path
        self._settings = settings
        self._file = -1

    def open(self) -> Written:
        """Say what is there, and cut a torn end.

        A file that can only be read is opened again with the next event. Raises SinkUnavailableError where it cannot
        be read.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            written = _read_back(self._path)
            if put_away := self._put_away_files():  # an event that was not acknowledged may lie in there
                earlier = _read_back(put_away[-1])
                written = written._replace(ids=deque((*earlier.ids, *written.ids), RECENT))
            sequences = _last_sequences(self._sidecar()) | written.sequences
        except OSError as error:
            raise SinkUnavailableError(f"{self._path}: {error.strerror}") from error
        with contextlib.suppress(OSError):
            self._open(written.whole_bytes)
        return written._replace(sequences=sequences)

    def deliver(self, event: Event, line: bytes) -> None:
        """Append one line, or nothing of it. Raises SinkUnavailableError."""
        try:
            if self._file < 0:
                self._open(_read_back(self._path).whole_bytes)
            append_whole(self._file, line)
            if self._flushes(event):
                os.fdatasync(self._file)
        except OSError as error:
            raise SinkUnavailableError(f"{self._path}: {error.strerror}") from error

    def rotate(self, sequences: dict[str, int]) -> None:
        """Put a full file away under a number and the id of its first line, and keep the newest few; a disk that
        refuses is asked again with the next event.
        """
        if self._file < 0 or os.fstat(self._file).st_size < self._settings.rotate_mb * 1e6:
            return
        with contextlib.suppress(OSError):
            self._put_away(sequences)

    def _put_away(self, sequences: dict[str, int]) -> None:
        self._sidecar().write_bytes(msgspec.json.encode(sequences))
        with self._path.open("rb") as file:
            first = decode(file.readline(), _Head).id
        number = _number(old[-1]) + 1 if (old := self._put_away_files()) else 1
        fresh = self._path.with_name(f"{self._path.stem}-{number:06d}-{first}{self._path.suffix}")
        self._path.rename(fresh)
        self.close()
        self._open(0)
        for path in [*old, fresh][: -self._settings.keep_files]:
            path.unlink()

    def _open(self, whole_bytes: int) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        try:
            os.ftruncate(file, whole_bytes)
        except OSError:
            os.close(file)
            raise
        self._file = file

    def _put_away_files(self) -> list[Path]:
        """Files put away, oldest first by their number: the clock may have been wrong when they were."""
        return sorted(self._path.parent.glob(f"{self._path.stem}-[0-9]*-*{self._path.suffix}"), key=_number)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _flushes(self, event: Event) -> bool:
        policy = self._settings.fsync
        return policy == "always" or (policy == "incident" and event.data.operation in ("start", "end"))

    def _sidecar(self) -> Path:
        return self._path.with_suffix(".sequences")


def _number(path: Path) -> int:
    digits = path.stem.split("-")[-2]
    return int(digits) if digits.isdigit() else 0


def _read_back(path: Path) -> Written:
    sequences: dict[str, int] = {}
    ids: deque[str] = deque(maxlen=RECENT)
    whole = damaged = 0
    if path.exists():
        with path.open("rb") as file:
            for line in file:
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


def _last_sequences(path: Path) -> dict[str, int]:
    """What the files before this one came to; a file that was rotated away is not read again."""
    try:
        return decode(path.read_bytes(), dict[str, int])
    except (OSError, msgspec.DecodeError):
        return {}
