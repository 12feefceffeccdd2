"""Frame pool: a ring of planar YUV pictures in sealed shared memory; one writer, many readers, no copies."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.core.errors import FrameOverwrittenError, FrameTooLargeError

if TYPE_CHECKING:
    from types import TracebackType

    from pipeline.core.messages import FrameRef

Plane = NDArray[np.uint8]
_View = tuple[int, int, int, bool]  # slot, width, height, full range

_PAGE = mmap.PAGESIZE
_HEADER_BYTES = _PAGE
_GEOMETRIES = 4  # sizes of picture whose views are kept; a camera changes its size seldom


class Planes(NamedTuple):
    """A borrowed picture, planar YUV 4:2:0: luma (height, width), chroma (height+1)//2 x (width+1)//2, uint8.

    The three planes lie one behind the other without gaps. `full_range` says that luma spans 0..255.
    """

    y: Plane
    u: Plane
    v: Plane
    full_range: bool = False


def picture_bytes(width: int, height: int) -> int:
    """Bytes of a YUV 4:2:0 picture of this size, odd sizes included."""
    return width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)


class FramePool:
    """A ring of slots in one memfd.

    The header holds one number: how many frames were begun. A frame is whole while fewer than `slots - 1`
    newer ones were begun; the spare slot is one frame time of margin, so that no lock, no reference count and
    no memory barrier is needed, and a reader that is killed leaves nothing to clean up. Who needs a frame
    for longer copies it to the keyframe pool.

    Every slot has the address space of the largest allowed picture, but memory only for the pictures that it
    holds (`reserve`), so that a camera may change its size in mid-stream without a new ring.
    """

    def __init__(self, descriptor: int, slots: int, slot_bytes: int, *, writable: bool) -> None:
        """Map a ring made by `create`; the descriptor stays the caller's."""
        self.descriptor = descriptor
        self.slots = slots
        self.slot_bytes = slot_bytes
        self._held = [-1] * slots  # bytes of memory behind each slot; -1: what an earlier writer left
        self._views: dict[_View, Planes] = {}  # slicing once a slot spares 30 us a hop
        self._lent_views: dict[_View, Planes] = {}  # the same, read-only
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        self._map = mmap.mmap(descriptor, _HEADER_BYTES + slots * slot_bytes, prot=protection)
        self._header = memoryview(self._map)[:8]
        self._begun = self._header.cast("q")  # aligned 8-byte stores never tear (measured)
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._lent = self._bytes.view()
        self._lent.flags.writeable = False

    @classmethod
    def create(cls, name: str, slots: int, largest: tuple[int, int], first: int = 0) -> FramePool:
        """Make a ring for pictures up to `largest` (width, height); nothing is reserved yet.

        Its frames are numbered from `first` on; another number for every ring keeps one's frames from being taken
        for another's.
        The memfd has no name in the file system, so nothing is left after a kill, and it is sealed against
        resizing, so no reader can be hit by SIGBUS through a shortened file.
        """
        slot_bytes = -(-picture_bytes(*largest) // _PAGE) * _PAGE
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, _HEADER_BYTES + slots * slot_bytes)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        pool = cls(descriptor, slots, slot_bytes, writable=True)
        pool._begun[0] = first  # its own
        return pool

    @property
    def begun(self) -> int:
        """How many frames were begun so far."""
        return self._begun[0]

    @property
    def address(self) -> int:
        """Where this process maps the ring: lets a test prove that a plane lies in it."""
        return int(self._bytes.ctypes.data)

    def reserve(self, width: int, height: int) -> None:
        """Back the next slot with memory for a picture of this size, so that writing cannot end in SIGBUS.

        Only the next slot: what the others hold may still be read. Memory that a larger picture left in it is
        given back. Raises FrameTooLargeError, which names what is needed, when size or memory do not allow it.
        """
        slot = (self.begun + 1) % self.slots
        needed = picture_bytes(width, height)
        if self._held[slot] == needed:
            return
        if needed > self.slot_bytes:
            raise FrameTooLargeError(
                f"pictures of {width}x{height} need {needed / 1e6:.1f} MB a slot, the ring allows "
                f"{self.slot_bytes / 1e6:.1f} MB: raise frames.largest"
            )
        self._give_back_memory(slot, needed)
        try:
            os.posix_fallocate(self.descriptor, 0, _HEADER_BYTES)
            os.posix_fallocate(self.descriptor, self._offset(slot), needed)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.ENOMEM):
                raise
            raise FrameTooLargeError(
                f"no memory for {self.slots} pictures of {width}x{height} ({self.slots * needed / 1e6:.0f} MB): "
                "use a smaller stream or fewer frames.slots"
            ) from error
        self._held[slot] = needed

    def begin(self, width: int, height: int) -> tuple[int, Planes]:
        """Open the next slot: its sequence number and its writable planes. Who reads it last loses it."""
        sequence = self.begun + 1
        self._begun[0] = sequence
        key = (sequence % self.slots, width, height, False)
        return sequence, self._views.get(key) or self._view(self._views, self._bytes, key)

    def copy(self, planes: Planes) -> int:
        """Copy a picture into the next slot; return its sequence number."""
        height, width = planes.y.shape
        self.reserve(width, height)
        sequence, slot = self.begin(width, height)
        for source, target in zip(planes[:3], slot[:3], strict=True):
            np.copyto(target, source)
        return sequence

    def reading(self, frame: FrameRef) -> FrameReading:
        """Lend the frame's planes in place, read-only: `with pool.reading(frame) as planes`.

        Raises FrameOverwrittenError before the block, or after it where the ring moved on meanwhile: what was
        computed inside is then worth nothing.
        """
        return FrameReading(self, frame)

    def lend(self, frame: FrameRef) -> Planes:
        """Return the frame's planes, read-only, for as long as `check` does not raise. Raises as `reading` does."""
        self.check(frame)
        key = (frame.sequence % self.slots, frame.width, frame.height, frame.full_range)
        return self._lent_views.get(key) or self._view(self._lent_views, self._lent, key)

    def close(self) -> None:
        """Forget the mapping; it goes when the last borrowed view does."""
        self._views.clear()
        self._lent_views.clear()
        self._begun.release()
        self._header.release()
        del self._bytes, self._lent
        try:
            self._map.close()
        except BufferError:  # a view is still out there; the mapping goes with it
            return

    def check(self, frame: FrameRef) -> None:
        """Raise FrameOverwrittenError when the frame is whole no more."""
        if not 0 <= self.begun - frame.sequence < self.slots - 1:  # below 0: of a ring before this one
            raise FrameOverwrittenError(frame)

    def _offset(self, slot: int) -> int:
        return _HEADER_BYTES + slot * self.slot_bytes

    def _view(self, views: dict[_View, Planes], memory: Plane, key: _View) -> Planes:
        """Slice a slot's planes once, and remember them."""
        if len(views) >= self.slots * _GEOMETRIES:
            views.clear()
        views[key] = self._slice(memory, *key)
        return views[key]

    def _slice(self, memory: Plane, slot: int, width: int, height: int, full_range: bool) -> Planes:  # noqa: FBT001  # a view's key
        start = self._offset(slot)
        half_width, half_height = (width + 1) // 2, (height + 1) // 2
        luma, chroma = width * height, half_width * half_height
        pixels = memory[start : start + luma + 2 * chroma]
        return Planes(
            pixels[:luma].reshape(height, width),
            pixels[luma : luma + chroma].reshape(half_height, half_width),
            pixels[luma + chroma :].reshape(half_height, half_width),
            full_range,
        )

    def _give_back_memory(self, slot: int, needed: int) -> None:
        """Return the pages behind a smaller picture; the slot keeps its address space."""
        kept = -(-needed // _PAGE) * _PAGE
        if kept < self.slot_bytes and not 0 <= self._held[slot] <= kept:
            self._map.madvise(mmap.MADV_REMOVE, self._offset(slot) + kept, self.slot_bytes - kept)


class FrameReading:
    """The loan of one frame; a class of its own, as a generator costs a hop ten microseconds more."""

    __slots__ = ("_frame", "_pool")

    def __init__(self, pool: FramePool, frame: FrameRef) -> None:
        self._pool = pool
        self._frame = frame

    def __enter__(self) -> Planes:
        return self._pool.lend(self._frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._pool.check(self._frame)
