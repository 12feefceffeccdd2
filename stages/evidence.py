"""Pictures that belong to events: written once, hashed, bounded in bytes."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import cv2
import numpy as np

from pipeline.core.files import open_regular

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pipeline.core.frames import Planes

_RESERVED, _RESERVED_SHARE = 8e6, 0.1  # bytes of a disk that are for events, and the share of a small one
_LEAN = 0.8  # of the bytes of all pictures, kept when there is no room for more
_TURNS = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}


def jpeg(planes: Planes, rotation: int, quality: int) -> bytes:
    """Return the upright picture as JPEG. An odd last row or column is left out, as chroma has half of each."""
    height, width = (side // 2 * 2 for side in planes.y.shape)
    if not (height and width):
        return _encoded(cv2.cvtColor(planes.y, cv2.COLOR_GRAY2BGR), quality)
    i420 = np.concatenate(
        [
            np.ascontiguousarray(planes.y[:height, :width]).reshape(-1),
            np.ascontiguousarray(planes.u[: height // 2, : width // 2]).reshape(-1),
            np.ascontiguousarray(planes.v[: height // 2, : width // 2]).reshape(-1),
        ]
    )
    if planes.full_range:
        i420[: height * width] = cv2.LUT(i420[: height * width], _FULL_TO_VIDEO).reshape(-1)
    picture = cv2.cvtColor(i420.reshape(height * 3 // 2, width), cv2.COLOR_YUV2BGR_I420)
    return _encoded(cv2.rotate(picture, _TURNS[rotation]) if rotation else picture, quality)


def write(path: Path, data: bytes) -> str:
    """Write a file whole or not at all; return its sha256. Raises OSError, leaving nothing behind."""
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    try:
        with os.fdopen(open_regular(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "wb") as file:
            file.write(data)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return hashlib.sha256(data).hexdigest()


def room(folder: Path, size: int = 0) -> bool:
    """Whether a file of so many bytes leaves on its disk what events need. Raises OSError: the folder is not there."""
    disk = os.statvfs(folder)
    free, total = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    return free - size >= min(_RESERVED, total * _RESERVED_SHARE)


def thin_out(folder: Path) -> int:
    """Delete the oldest fifth of the bytes of all pictures; return how many went. No folder, no pictures."""
    if not folder.is_dir():
        return 0
    return prune(folder, sum(file.stat().st_size for file in folder.iterdir()) * _LEAN)


def prune(folder: Path, most_bytes: float) -> int:
    """Delete the oldest pictures until the rest is no more than `most_bytes`; return how many went."""
    entries = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    files = sorted((entry.stat().st_mtime_ns, entry.path, entry.stat().st_size) for entry in entries)
    total, gone = sum(size for *_, size in files), 0
    for _, path, size in files:
        if total <= most_bytes:
            break
        os.unlink(path)  # noqa: PTH108  # scandir yields strings
        total -= size
        gone += 1
    return gone


_FULL_TO_VIDEO: NDArray[np.uint8] = np.rint(16 + np.arange(256) * 219 / 255).astype(np.uint8)


def _encoded(picture: NDArray[np.uint8], quality: int) -> bytes:
    done, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done, "JPEG encodes any BGR picture"
    encoded: bytes = data.tobytes()
    return encoded
