"""Signals from the first moment on: before this program has anything to clear up, and while it has.

Imports nothing of ours, so that it can be called before everything else is imported.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def install() -> None:
    """End at once, with 128 + the number, until `unwind` is called: nothing is there yet that could be left behind.

    An exception would be lost in an import that catches it. What was ignored when we were started stays so.
    """
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a job in the background
            signal.signal(number, _end)


def unwind() -> None:
    """From now on end by way of an exception, so that what was begun is cleared up; no matter without `install`."""
    for number in ENDING:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else leave)


def leave(number: int, _: FrameType | None = None) -> None:
    """Leave by SystemExit with 128 + the number; a second signal must not cut the clearing up short."""
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _end(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)
