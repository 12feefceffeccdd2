"""What every source yields, and what it reports when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.frames import Planes


class Picture(Protocol):
    """One decoded picture, still in the decoder's memory."""

    index: int  # pictures before this one
    pts_ns: int | None  # media time from the first picture on; None: the stream has none yet
    width: int
    height: int
    rotation: int  # degrees clockwise to upright
    full_range: bool

    def copy_to(self, planes: Planes) -> None:
        """Write the pixels into a slot of this size."""
        ...


class Report(NamedTuple):
    """How much of a recording was there."""

    frames: int
    declared: int | None  # what the container says; None where it says nothing
    corrupt: int  # pictures that the decoder had to patch up
    truncated: str | None  # why, when it was cut


class Source(Protocol):
    """Opens when it is made; raises SourceError then or while it is read."""

    began_utc_ns: int | None  # when the recording began, where its container says so

    def pictures(self) -> Iterator[Picture]:
        """Yield all pictures, in the order in which they are shown."""
        ...

    def report(self) -> Report:
        """Say what was read so far."""
        ...

    def close(self) -> None:
        """Let go of the file or connection."""
        ...
