"""The files of the log: fixed-size segments whose room on the disk is taken before it is needed.

A record is a header, a payload and zeros up to a multiple of eight bytes. Positions count the records of the whole log
from 1, and a segment's file is named after the first position in it. A file that is used again still holds records of
its earlier use: their positions are lower than its name, so nobody takes them for new ones.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"fwl1"
_HEADER = struct.Struct("<4sIQIB3x")  # magic, bytes of the payload, position, CRC-32 of the rest, kind
_ALIGNMENT = 8
_MAX_POSITION = 10**16  # that a file's name has digits for
_NAME = re.compile(r"(\d{16})\.log")
MAX_BYTES = 64 << 20
"""Of a segment; a larger file is none of ours."""


class RecordKind(IntEnum):
    """What a record holds."""

    EVENT = 1  # an event, and what its author has to remember with it
    STATE = 2  # only what the author has to remember
    SNAPSHOT = 3  # all that the author remembers; the first record of every segment


class Record(NamedTuple):
    """One entry of the log."""

    position: int
    kind: RecordKind
    payload: bytes


class Segment(NamedTuple):
    """A file of the log."""

    first: int  # position of its first record
    path: Path


def encoded(record: Record) -> bytes:
    """Return a record as it lies in a file."""
    head = _HEADER.pack(_MAGIC, len(record.payload), record.position, _checksum(record), record.kind)
    data = head + record.payload
    return data + bytes(-len(data) % _ALIGNMENT)


def size_of(payload_bytes: int) -> int:
    """How many bytes a record with such a payload takes in a file."""
    size = _HEADER.size + payload_bytes
    return size + -size % _ALIGNMENT


def read(descriptor: int, offset: int, least: int) -> tuple[Record, int] | None:
    """Return the record at an offset and where the next one begins; None where there is no whole one.

    Args:
        descriptor: Of a segment's file.
        offset: Where to read, in bytes.
        least: The lowest position that can be here: the segment's first.
    """
    head = os.pread(descriptor, _HEADER.size, offset)
    if len(head) < _HEADER.size:
        return None
    magic, length, position, checksum, kind = _HEADER.unpack(head)
    if magic != _MAGIC or not least <= position < _MAX_POSITION or kind not in RecordKind.__members__.values():
        return None
    if length > os.fstat(descriptor).st_size - offset:
        return None
    payload = os.pread(descriptor, length, offset + _HEADER.size)
    record = Record(position, RecordKind(kind), payload)
    if len(payload) != length or checksum != _checksum(record):
        return None
    return record, offset + size_of(length)


def find(descriptor: int, offset: int, least: int) -> tuple[Record, int] | None:
    """Return the first whole record at an offset or behind it, past damage."""
    data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    at = data.find(_MAGIC, offset)
    while at >= 0:
        if at % _ALIGNMENT == 0 and (found := read(descriptor, at, least)) is not None:
            return found
        at = data.find(_MAGIC, at + 1)
    return None


def segments(folder: Path) -> list[Segment]:
    """Return the segments of a log, oldest first. Raises OSError where the folder cannot be read."""
    named = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted(Segment(int(match[1]), path) for match, path in named if match)


def path_of(folder: Path, first: int) -> Path:
    """Return where the segment lies that begins with a position."""
    return folder / f"{first:016d}.log"


def _checksum(record: Record) -> int:
    head = struct.pack("<QBI", record.position, record.kind, len(record.payload))
    return zlib.crc32(record.payload, zlib.crc32(head))
