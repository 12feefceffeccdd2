"""Writing the log: room is taken before it is needed, so that a full disk still takes what must not be lost."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.files import open_regular, sync_folder
from pipeline.eventlog import segments as files
from pipeline.eventlog.segments import Record, RecordKind, Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_MIN_SEGMENT_BYTES, _MAX_SEGMENT_BYTES = 128 << 10, 1 << 20
_SEGMENTS = 8  # that a reserve is divided into, where that makes no tiny ones
_MAX_SHARE = 0.25  # of its disk that a reserve may take
_SPARE = re.compile(r"spare-\d+")


class Sizes(NamedTuple):
    """How large a log is.

    Attributes:
        reserve_bytes: Room that is taken beforehand.
        max_bytes: What the log may grow to where events wait and the disk has room.
        segment_bytes: Of one file.
    """

    reserve_bytes: int
    max_bytes: int
    segment_bytes: int


def sizes(folder: Path, reserve_bytes: float, max_bytes: float) -> Sizes:
    """Fit the wanted sizes to the disk that a folder is on. Raises OSError."""
    disk = os.statvfs(folder)
    reserve = int(min(reserve_bytes, disk.f_blocks * disk.f_frsize * _MAX_SHARE))
    segment = min(max(reserve // _SEGMENTS, _MIN_SEGMENT_BYTES), _MAX_SEGMENT_BYTES) & -4096
    return Sizes(max(reserve, 2 * segment), int(max(max_bytes, 2 * segment)), segment)


class LogWriter:
    """The only author of a log.

    Attributes:
        position: Of the last record.
        damaged: Places in the segments that were read back where records are missing.
        put_aside: Names of what lay in the folder and is no part of a log; it is left there under another name.
        unsynced: Why what was written could not be flushed to the disk, the last time that was tried.
        short: Why the reserve cannot be filled up just now.
    """

    def __init__(self, folder: Path, sizes_of: Callable[[Path], Sizes], snapshot: Callable[[], bytes]) -> None:
        """Open a log, or begin one.

        Args:
            folder: Where it lies; made where it is not there.
            sizes_of: Says how large it may be, once the folder is there.
            snapshot: Returns all that the author remembers. Asked for whenever a segment begins.

        Raises:
            OSError: The folder cannot be made or read.
        """
        self._folder = folder
        self._snapshot = snapshot
        self.put_aside: list[str] = []
        self.unsynced: OSError | None = None
        self.short: OSError | None = None
        self._make_folder()
        self._sizes = sizes_of(folder)
        self._segments = [one for one in files.segments(folder) if self._sound(one.path)]
        self._spares: dict[Path, int] = {}  # bytes of each
        for path in self._paths():
            if _SPARE.fullmatch(path.name) and self._sound(path):
                self._take_over(path)
        self._descriptor = -1
        self._offset = self._size = 0
        self._snapshot_bytes = 0  # of the last segment that was begun
        self.position = 0
        self.damaged = 0

    def recover(self) -> Iterator[list[Record]]:
        """Yield the records of each segment, newest first, until the caller has found a snapshot that it can read."""
        for segment in reversed(tuple(self._segments)):
            descriptor = open_regular(segment.path)
            records, offset, damaged = [], 0, 0
            try:
                while (found := files.find(descriptor, offset, segment.first)) is not None:
                    damaged += files.read(descriptor, offset, segment.first) is None
                    record, offset = found
                    records.append(record)
            finally:
                os.close(descriptor)
            if not records:  # garbage under the name of a segment would stand in the way of those behind it
                self._segments.remove(segment)
                self._set_aside(segment.path)
                continue
            self.position = max(self.position, records[-1].position)
            self.damaged += damaged
            if segment == self._segments[-1]:  # behind damage nothing is written: readers would come to it late
                self._offset = 0 if damaged else offset
            yield records

    def begin(self, after: int = 0) -> None:
        """Go on behind the last record, and behind a position that a reader has seen already."""
        if after <= self.position and self._segments and self._offset:
            self._descriptor = open_regular(self._segments[-1].path, os.O_RDWR)
            self._size = os.fstat(self._descriptor).st_size
        self.position = max(self.position, after)
        self.replenish()

    def append(self, kind: RecordKind, payload: bytes, *, durable: bool) -> int:
        """Write a record; return its position.

        A flush that fails does not undo what was written: `unsynced` says so.

        Raises:
            OSError: It was not written; ENOSPC where all room is used up.
        """
        if self._offset + files.size_of(len(payload)) > self._size:
            self._begin_segment(files.size_of(len(payload)))
        self._write(self._descriptor, self._offset, Record(self.position + 1, kind, payload))
        self._offset += files.size_of(len(payload))
        self.position += 1
        if durable:
            self._sync(self._descriptor)
        return self.position

    def room(self) -> int:
        """How many bytes can be written for sure; what snapshots take at the beginning of segments is left out."""
        spares = sum(min(size, self._sizes.segment_bytes) for size in self._spares.values())
        return max(0, self._size - self._offset) + spares - len(self._spares) * 2 * self._snapshot_bytes

    @property
    def reserve_bytes(self) -> int:
        """How much of that there is when the disk is not full."""
        return self._sizes.reserve_bytes

    @property
    def scarce(self) -> bool:
        """Whether the reserve is not full: the disk is, or too much waits."""
        return len(self._spares) < self._wanted_spares()

    def release(self, position: int) -> None:
        """Give up segments that hold nothing behind a position: they are used again, or deleted."""
        while len(self._segments) > 1 and self._segments[1].first - 1 <= position:
            path = self._segments.pop(0).path
            try:
                if self._wanted() > 0 and path.stat().st_size >= self._sizes.segment_bytes:
                    free = self._free_name()
                    path.rename(free)
                    self._spares[free] = self._sizes.segment_bytes
                else:
                    path.unlink()
            except OSError as error:
                self.short = error

    def replenish(self) -> None:
        """Take room until the reserve is full again, as far as the disk has any; notice what somebody deleted."""
        self.short = None
        self._spares = {path: size for path, size in self._spares.items() if path.exists()}
        if self._descriptor >= 0 and not self._is_current():
            self._size = 0  # nobody will find what is written there: the next record begins a segment
        while self._wanted() > 0:
            path = self._free_name()
            try:
                self._allocate(path, self._sizes.segment_bytes)
            except OSError as error:
                self.short = error
                return
            self._spares[path] = self._sizes.segment_bytes

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _begin_segment(self, needed_bytes: int) -> None:
        """Go on in a file of its own, which has its snapshot before it has its name."""
        snapshot = Record(self.position + 1, RecordKind.SNAPSHOT, self._snapshot())
        needed_bytes += files.size_of(len(snapshot.payload))
        path = self._with_room(needed_bytes)
        descriptor = open_regular(path, os.O_RDWR)
        try:
            self._write(descriptor, 0, snapshot)
            self._sync(descriptor)
            named = files.path_of(self._folder, snapshot.position)
            path.rename(named)
        except OSError:
            os.close(descriptor)
            raise
        self.close()
        self._descriptor, self._size = descriptor, os.fstat(descriptor).st_size
        self._offset = self._snapshot_bytes = files.size_of(len(snapshot.payload))
        self._spares.pop(path, None)
        self._segments.append(Segment(snapshot.position, named))
        self.position = snapshot.position
        try:
            sync_folder(self._folder)
        except OSError as error:
            self.unsynced = error
        self.replenish()

    def _with_room(self, needed_bytes: int) -> Path:
        """Return a file that has so many bytes: a spare one, else a new one. Raises OSError."""
        for path in list(self._spares):
            if not path.exists():  # somebody deleted it
                del self._spares[path]
            elif self._spares[path] >= needed_bytes:
                return path
        if not self._allowed():
            raise OSError(errno.ENOSPC, "too many events wait for a sink")
        if not self._folder.is_dir():
            self._make_folder()
        path = self._free_name()
        self._allocate(path, max(needed_bytes, self._sizes.segment_bytes))
        return path

    def _write(self, descriptor: int, offset: int, record: Record) -> None:
        data = files.encoded(record)
        if os.pwrite(descriptor, data, offset) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _sync(self, descriptor: int) -> None:
        try:
            os.fdatasync(descriptor)
        except OSError as error:
            self.unsynced = error
        else:
            self.unsynced = None

    def _allocate(self, path: Path, size: int) -> None:
        """Make a new file whose room is taken; leave none behind where there is too little."""
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            path.unlink()
            raise
        finally:
            os.close(descriptor)

    def _wanted(self) -> int:
        """How many more spare segments there should be."""
        return min(self._wanted_spares(), self._allowed()) - len(self._spares)

    def _wanted_spares(self) -> int:
        return max(1, self._sizes.reserve_bytes // self._sizes.segment_bytes - 1)

    def _allowed(self) -> int:
        """How many more segments there may be."""
        most = (self._sizes.max_bytes + self._sizes.reserve_bytes) // self._sizes.segment_bytes
        return max(0, most - len(self._segments))

    def _free_name(self) -> Path:
        names = (self._folder / f"spare-{number}" for number in count())
        return next(path for path in names if path not in self._spares and not os.path.lexists(path))

    def _take_over(self, path: Path) -> None:
        """Keep a spare file of an earlier life where its room is taken; one that was cut short is deleted."""
        there = path.stat()
        if there.st_size >= self._sizes.segment_bytes and there.st_blocks * 512 >= self._sizes.segment_bytes:
            self._spares[path] = there.st_size
        else:
            path.unlink()

    def _is_current(self) -> bool:
        """Whether the segment that is written still has its name."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._segments[-1].path.lstat())
        except FileNotFoundError:
            return False

    def _paths(self) -> list[Path]:
        return sorted(self._folder.iterdir())

    def _make_folder(self) -> None:
        """Make the folder, if no reader has; what stands in its place and is none is put aside."""
        with suppress(FileExistsError):
            self._folder.mkdir(mode=0o700, parents=True)
        if not stat.S_ISDIR(self._folder.lstat().st_mode):
            self._set_aside(self._folder)
            self._folder.mkdir(mode=0o700, exist_ok=True)

    def _sound(self, path: Path) -> bool:
        """Whether it may be a file of ours; what is none gets another name, so that it is in nobody's way."""
        there = path.lstat()
        if stat.S_ISREG(there.st_mode) and there.st_size <= files.MAX_BYTES:
            return True
        self._set_aside(path)
        return False

    def _set_aside(self, path: Path) -> None:
        number = 1
        while (aside := path.with_name(f"aside-{number}-{path.name}")).is_symlink() or aside.exists():
            number += 1
        path.rename(aside)
        self.put_aside.append(path.name)
