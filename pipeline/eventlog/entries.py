"""What the author of the log and its readers agree on: an event as it was when it happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.core.messages import EventRaised  # msgspec reads it
from pipeline.core.vocabulary import Nanoseconds  # the same

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "eventlog"


class Logged(msgspec.Struct, frozen=True, array_like=True):
    """An event with all of its envelope that is known when it is raised.

    Attributes:
        event: What happened, with its data.
        sequence: Of the event's source, from 1, without holes.
        recorded: When it was raised: nanoseconds since 1970 in UTC, on the boot-time clock, and the boot's id.
        entries: What the author has to remember with it; readers leave it encoded.
    """

    event: EventRaised
    sequence: int
    recorded: tuple[Nanoseconds, Nanoseconds, str]
    entries: msgspec.Raw


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Logged)


def encode(logged: Logged) -> bytes:
    """Return the payload of a record."""
    return _encoder.encode(logged)


def decode(payload: bytes) -> Logged:
    """Read the payload of a record. Raises msgspec.DecodeError."""
    try:
        return _decoder.decode(payload)
    except RecursionError as error:
        raise msgspec.DecodeError("tables in tables without end") from error


def cursors(folder: Path) -> Path:
    """Return the folder of the cursors of a log."""
    return folder / "cursors"
