"""The two clocks: that of a recording, which is in its pictures, and that of the world."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.vocabulary import ClockState, Nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable

_STA_UNSYNC = 0x40  # linux/timex.h: the kernel does not take its clock for synchronised
_STEP_NS = 1_000_000_000  # wall and monotonic time drift apart by less, unless somebody set the clock


class MediaClock:
    """Knows no time: what a replay writes depends on its pictures alone."""

    media = True

    def recorded(self, utc_ns: Nanoseconds, pts_ns: Nanoseconds) -> tuple[Nanoseconds, Nanoseconds, str]:
        """Return the event's own times."""
        return utc_ns, pts_ns, "replay"

    def state(self) -> ClockState:
        """Return where the times come from."""
        return "media"

    def now(self) -> tuple[Nanoseconds, Nanoseconds]:
        """Return the beginning: no time passes but in messages."""
        return Nanoseconds(0), Nanoseconds(0)

    def monotonic_ns(self) -> Nanoseconds:
        """Return nothing, as no time passes."""
        return Nanoseconds(0)

    def sleep(self, seconds: float) -> None:
        """Nobody waits in a replay."""


class LiveClock:
    """Wall clock for people, monotonic clock for durations; a timeline that starts when the daemon did."""

    media = False

    def __init__(self, since_ns: Callable[[], int], stopped: Callable[[], bool] = lambda: False) -> None:
        """`since_ns`: monotonic time at which the timeline begins. `stopped`: ends a sleep early."""
        self._since_ns = since_ns
        self._stopped = stopped
        self._offset = time.time_ns() - time.monotonic_ns()
        self._boot = _boot_id()

    def recorded(self, _utc_ns: Nanoseconds, _pts_ns: Nanoseconds) -> tuple[Nanoseconds, Nanoseconds, str]:
        """Return now, the boot-time clock and the boot id: order survives a step of the clock."""
        return Nanoseconds(time.time_ns()), Nanoseconds(time.clock_gettime_ns(time.CLOCK_BOOTTIME)), self._boot

    def state(self) -> ClockState:
        """Return `stepped` once after the clock was set, else what the kernel thinks of it."""
        offset = time.time_ns() - time.monotonic_ns()
        stepped, self._offset = abs(offset - self._offset) > _STEP_NS, offset
        return "stepped" if stepped else "synced" if synchronised() else "unsynced"

    def now(self) -> tuple[Nanoseconds, Nanoseconds]:
        """Return nanoseconds on the timeline, and since 1970 in UTC."""
        return Nanoseconds(time.monotonic_ns() - self._since_ns()), Nanoseconds(time.time_ns())

    def monotonic_ns(self) -> Nanoseconds:
        """Return the clock that hops are measured with."""
        return Nanoseconds(time.monotonic_ns())

    def sleep(self, seconds: float) -> None:
        """Wait, in pieces short enough to be stopped."""
        until = time.monotonic() + seconds
        while not self._stopped() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except OSError:
        return "unknown"


def synchronised() -> bool:
    """Ask the kernel (adjtimex with no change); a status word lies at the same place on 32 and 64 bit."""
    timex = (ctypes.c_long * 64)()
    if ctypes.CDLL(None, use_errno=True).adjtimex(timex) < 0:
        return False
    status = ctypes.cast(timex, ctypes.POINTER(ctypes.c_int))[ctypes.sizeof(ctypes.c_long) * 5 // 4]
    return not status & _STA_UNSYNC
