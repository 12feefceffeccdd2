"""Appending to a file so that its readers only ever see whole lines."""

from __future__ import annotations

import errno
import os


def append_whole(descriptor: int, data: bytes) -> None:
    """Write all of it with one call, or take back what was written. Raises OSError (ENOSPC where space ran out)."""
    size = os.fstat(descriptor).st_size
    if os.write(descriptor, data) != len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
