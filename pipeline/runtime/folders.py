"""The folders of a daemon: a private, locked one for sockets, and one for what must survive."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import topology
from pipeline.core import files
from pipeline.core.errors import RunDirectoryError

if TYPE_CHECKING:
    from collections.abc import Iterator

APP = "fieldwatch"
_PATIENCE_S = 1.0  # who only looks (`pipeline status`) and who was just killed lets go within it
_PAUSE_S = 0.02


def run_dir(configured: str) -> Path:
    """Return the runtime folder: as configured, else the user's own, else a private one in /tmp."""
    if configured:
        return Path(configured)
    if base := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(base) / APP
    return Path("/run") / APP if os.geteuid() == 0 else Path(f"/tmp/{APP}-{os.geteuid()}")  # noqa: S108  # checked to be ours and private


def state_dir(configured: str) -> Path:
    """Return the state folder: as configured, else the system's or the user's own."""
    if configured:
        return Path(configured)
    if os.geteuid() == 0:
        return Path("/var/lib") / APP
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / APP


class RunDirectory:
    """A folder of mode 0700 that one daemon holds; what an earlier one left in it is swept."""

    def __init__(self, path: Path) -> None:
        """Take the folder. Raises RunDirectoryError where it is another's."""
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RunDirectoryError(f"{path}: {error.strerror}: set runtime.run_dir or --run-dir") from error
        _check_private(path)
        self._lock = files.open_regular(path / "lock", os.O_RDWR | os.O_CREAT)
        try:
            _take(self._lock)
        except BlockingIOError as error:
            holder = os.pread(self._lock, 32, 0).decode(errors="replace").strip()
            os.close(self._lock)
            raise RunDirectoryError(
                f"{path}: held by another daemon (pid {holder or 'unknown'}): stop it, or give this one --run-dir"
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, str(os.getpid()).encode(), 0)
        self.swept = self.sweep()

    def sweep(self) -> int:
        """Delete what a daemon leaves behind; return how much there was. Nothing else in it is ours to delete."""
        old = [entry for entry in self.path.iterdir() if _is_ours(entry)]
        for entry in old:
            entry.unlink()
        return len(old)

    def close(self) -> None:
        """Leave the folder empty and let go of it."""
        self.sweep()
        (self.path / "lock").unlink(missing_ok=True)
        os.close(self._lock)


@contextmanager
def held(folder: Path, remedy: str) -> Iterator[None]:
    """Keep what is written into a folder to ourselves meanwhile. Raises RunDirectoryError where another writes.

    The lock is on the folder itself, so nothing of it is left behind, and our children hold it as long as they live.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _take(descriptor)
    except BlockingIOError as error:
        os.close(descriptor)
        raise RunDirectoryError(f"{folder}: another process of ours writes into it: {remedy}") from error
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Wait until nobody else holds a lock, which is a file of its own and stays. Raises OSError."""
    descriptor = files.open_regular(lock, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def check_held(path: Path) -> None:
    """Raise OSError unless a daemon holds this folder: one that was killed leaves its files behind."""
    lock = files.open_regular(path / "lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _take(descriptor: int) -> None:
    """Lock a file or folder. Raises BlockingIOError when another keeps it."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def _is_ours(entry: Path) -> bool:
    """Whether a daemon made it: the board, or the socket of a process."""
    process, _, kind = entry.name.rpartition(".")
    socket = kind in {"in", "tap"} and topology.split(process)[0] in topology.STAGES
    return (socket or entry.name in {"board", "board.names"}) and not entry.is_dir()


def _check_private(path: Path) -> None:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise RunDirectoryError(f"{path}: not a folder of this user: set runtime.run_dir or --run-dir")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise RunDirectoryError(f"{path}: others may look into it: chmod 700 {path}, or choose another --run-dir")
