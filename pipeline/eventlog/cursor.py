"""How far a reader of the log has come, kept so that a kill at any moment leaves the old place or the new one."""

from __future__ import annotations

import contextlib
import os
import struct
import time
import zlib
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.files import open_regular

if TYPE_CHECKING:
    from pathlib import Path

_SLOT = struct.Struct("<QQQI4x")  # number of the move, position, offset, CRC-32 of these
_SLOTS = 2  # written in turn: a torn one leaves the other


class LogPlace(NamedTuple):
    """A place in the log.

    Attributes:
        position: The last record that was delivered; 0: none.
        offset: Bytes of the one after it that were delivered, where a sink takes a line in pieces.
    """

    position: int = 0
    offset: int = 0


class Cursor:
    """A place in a small file, which is written in place and so needs no room on the disk.

    Attributes:
        place: Where the reader is.
        failing: Why the file does not take it; it is then kept in memory only, and written when it can be.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._moves, self.place = load(path)
        self.failing: OSError | None = None
        self.move(self.place)

    def move(self, place: LogPlace) -> None:
        """Go to a place."""
        self.place = place
        self._moves += 1
        numbers = (self._moves, *place)
        slot = _SLOT.pack(*numbers, zlib.crc32(struct.pack("<QQQ", *numbers)))
        try:
            if self._descriptor < 0:
                self._open()
            os.pwrite(self._descriptor, slot, self._moves % _SLOTS * _SLOT.size)
            self.failing = None
        except OSError as error:
            self.failing = error

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        self._clear_the_way()
        descriptor = open_regular(self._path, os.O_RDWR | os.O_CREAT)
        try:
            os.posix_fallocate(descriptor, 0, _SLOT.size * _SLOTS)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _clear_the_way(self) -> None:
        """Make the folder, and put aside what stands in the place of it or of the file and is neither."""
        folder = self._path.parent
        if not folder.is_dir() and (folder.exists() or folder.is_symlink()):
            folder.rename(folder.with_name(f"aside-{time.time_ns()}-{folder.name}"))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.is_symlink() or (self._path.exists() and not self._path.is_file()):
            self._path.rename(self._path.with_name(f"aside-{time.time_ns()}-{self._path.name}"))


def load(path: Path) -> tuple[int, LogPlace]:
    """Read a cursor's file: the number of its last move, and the place; the beginning where it cannot be read."""
    data = b""
    with contextlib.suppress(OSError):
        descriptor = open_regular(path)
        try:
            data = os.pread(descriptor, _SLOT.size * _SLOTS, 0)
        finally:
            os.close(descriptor)
    found = (0, LogPlace())
    most = 1 << 62
    for start in range(0, len(data) - _SLOT.size + 1, _SLOT.size):
        *numbers, checksum = _SLOT.unpack_from(data, start)
        if checksum == zlib.crc32(struct.pack("<QQQ", *numbers)) and found[0] < numbers[0] < most > max(numbers):
            found = (numbers[0], LogPlace(*numbers[1:]))
    return found


def all_of(folder: Path) -> dict[str, LogPlace]:
    """Return where every reader of a log is, by the name of its cursor."""
    return {path.stem: load(path)[1] for path in sorted(folder.glob("*.cursor"))}
