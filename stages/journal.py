"""What trigger must not forget: open incidents and events that nobody acknowledged, across kill -9."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from pipeline.core.incidents import Course
from pipeline.core.messages import EventKey, EventRaised
from pipeline.core.vocabulary import CameraId, IncidentId
from stages.appending import append_whole

if TYPE_CHECKING:
    from pathlib import Path

_COMPACT_BYTES = 1 << 20  # rewritten from what is still open when it has grown by so much


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """An incident is open, and this is what is known of it."""

    course: Course


class Closed(msgspec.Struct, frozen=True, tag="closed"):
    """An incident's end was raised."""

    incident: IncidentId


class Raised(msgspec.Struct, frozen=True, tag="raised"):
    """An event is to be delivered."""

    event: EventRaised


class Delivered(msgspec.Struct, frozen=True, tag="delivered"):
    """An event was delivered."""

    key: EventKey


class Numbered(msgspec.Struct, frozen=True, tag="numbered"):
    """How far a count went: incidents of a camera, or events of the device."""

    camera: CameraId
    number: int


class Missed(msgspec.Struct, frozen=True, tag="missed"):
    """A camera is gone, and how; or it is back (`how` is empty)."""

    camera: CameraId
    how: str


Entry: TypeAlias = Opened | Closed | Raised | Delivered | Numbered | Missed

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


class Journal:
    """An append-only file, one entry a line; without a path it only remembers.

    Every entry is one write, so a kill leaves whole lines and at most one torn one at the end, which is cut. The
    page cache outlives the process; `durable` entries are flushed to the disk as well, since power may fail too.
    """

    def __init__(self, path: Path | None) -> None:
        self.courses: dict[IncidentId, Course] = {}
        self.outbox: dict[EventKey, EventRaised] = {}
        self.numbers: dict[CameraId, int] = {}
        self.missed: dict[CameraId, str] = {}
        self.skipped = 0  # damaged lines that were left out
        self.failing: OSError | None = None  # why the disk does not take entries just now
        self._path = path
        self._file = -1
        if path is not None:
            self._read(path)
            try:
                self._compact()
            except OSError as error:  # a full disk is no reason not to start
                self.failing = error

    def write(self, *entries: Entry, durable: bool = False) -> None:
        """Remember entries, on disk before this returns.

        A disk that does not take them is no reason to keep silent about an incident: `failing` says so, and with
        the next entry that it does take, all that is still open is written anew.
        """
        for entry in entries:
            self._apply(entry)
        if self._path is None:
            return
        try:
            if self.failing or os.fstat(self._file).st_size > self._limit:
                self._compact()
            else:
                self._append(b"".join(_encoder.encode(entry) + b"\n" for entry in entries), durable=durable)
            self.failing = None
        except OSError as error:
            self.failing = error

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._path = None

    def _append(self, data: bytes, *, durable: bool) -> None:
        append_whole(self._file, data)
        if durable:
            os.fdatasync(self._file)

    def _apply(self, entry: Entry) -> None:
        match entry:
            case Opened(course):
                self.courses[course.id] = course
            case Closed(incident):
                self.courses.pop(incident, None)
            case Raised(event):
                self.outbox[event.key] = event
            case Delivered(key):
                self.outbox.pop(key, None)
            case Numbered(camera, number):
                self.numbers[camera] = number
            case Missed(camera, how):
                self.missed.pop(camera, None)
                if how:
                    self.missed[camera] = how

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        for line in path.read_bytes().splitlines():
            try:
                self._apply(_decoder.decode(line))
            except msgspec.DecodeError:  # torn by a kill or a full disk; what it says was never acted upon
                self.skipped += 1

    def _compact(self) -> None:
        """Write what is still open into a new file and put it in the place of the old one."""
        assert self._path is not None
        entries: list[Entry] = [Numbered(camera, number) for camera, number in self.numbers.items()]
        entries += [Missed(camera, how) for camera, how in self.missed.items()]
        entries += [Opened(course) for course in self.courses.values()]
        entries += [Raised(event) for event in self.outbox.values()]
        fresh = self._path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(b"".join(_encoder.encode(entry) + b"\n" for entry in entries))
            file.flush()
            os.fdatasync(file.fileno())
            self._limit = file.tell() + _COMPACT_BYTES
        fresh.replace(self._path)
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
