"""What every source yields, and what it reports when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.frames import Planes
    from pipeline.core.geometry import Rotation


LEAST_SIDE = 16
"""Pixels of the smallest picture in which movement can be told (`stages.background`)."""


class Picture(Protocol):
    """One decoded picture, still in the decoder's memory."""

    @property
    def index(self) -> int:
        """Pictures before this one."""
        ...

    @property
    def pts_ns(self) -> int | None:
        """Media time from the first picture on; None where the stream has none (yet)."""
        ...

    @property
    def width(self) -> int:
        """Of the stored picture, pixels."""
        ...

    @property
    def height(self) -> int:
        """Likewise."""
        ...

    @property
    def rotation(self) -> Rotation:
        """Degrees clockwise to upright."""
        ...

    @property
    def full_range(self) -> bool:
        """Luma spans 0..255."""
        ...

    def copy_to(self, planes: Planes) -> None:
        """Write the pixels into a slot of this size."""
        ...


class SourceReport(NamedTuple):
    """How much of a recording was there."""

    frames: int
    declared: int | None  # what the container says; None where it says nothing
    corrupt: int  # pictures that the decoder had to patch up
    truncated: str | None  # why, when it was cut


class Source(Protocol):
    """Opens when it is made; raises SourceError then or while it is read."""

    @property
    def began_utc_ns(self) -> int | None:
        """When the recording began, where its container says so; nanoseconds since 1970."""
        ...

    @property
    def declared(self) -> int | None:
        """Pictures that the container says it has."""
        ...

    def pictures(self) -> Iterator[Picture]:
        """Yield all pictures, in the order in which they are shown."""
        ...

    def report(self) -> SourceReport:
        """Say what was read so far."""
        ...

    def close(self) -> None:
        """Let go of the file or connection."""
        ...
