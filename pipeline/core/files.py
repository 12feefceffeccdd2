"""Files that somebody else may have put there: only regular ones are opened, of bounded size, and no link is followed.

A FIFO would be waited for, a device may have no end or do something when it is opened, and a link planted in a folder
leads what we write elsewhere. All of that is an OSError here, with the file's name and what to do about it.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from typing import TYPE_CHECKING

from pipeline.core.errors import RunDirectoryError

if TYPE_CHECKING:
    from pathlib import Path

SMALL = 16 << 20
"""Bytes that a configuration, a table or a manifest of ours may have; real ones have some thousand."""

TEXT = 1 << 20
"""Bytes that a file may have that somebody wrote by hand."""

_PART = ".part"
_CHUNK = 1 << 20
_KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "a folder"),
    (stat.S_ISLNK, errno.ELOOP, "a link, which is not followed here"),
    (stat.S_ISFIFO, errno.EINVAL, "a pipe"),
    (stat.S_ISSOCK, errno.EINVAL, "a socket"),
)


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600, *, follow: bool = False) -> int:
    """Open a file, and never wait for it.

    Args:
        path: The file.
        flags: As `os.open` has them; O_CLOEXEC, and O_NOFOLLOW unless `follow`, are added.
        mode: Of a file that is made.
        follow: A link to a regular file will do: an operator named this path, nobody else can have put it there.

    Returns:
        A descriptor, which the caller closes.

    Raises:
        OSError: It cannot be opened, or is no regular file; with the file's name and a text that says what it is.
    """
    if "\0" in str(path):  # for which Python raises another kind of error
        raise OSError(errno.EINVAL, "no file has such a name", str(path))
    try:
        _check_regular(path, path.stat(follow_symlinks=follow))
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    kept = flags & ~os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, kept, mode)
    try:
        _check_regular(path, os.fstat(descriptor))  # again: the name may have come to mean another file meanwhile
        os.set_blocking(descriptor, True)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except OSError as error:
        os.close(descriptor)
        error.filename = error.filename or str(path)
        raise
    return descriptor


def read_bounded(path: Path, most_bytes: int = SMALL, *, follow: bool = False) -> bytes:
    """Read a small file whole.

    Args:
        path: The file.
        most_bytes: A file with more is refused, whatever size it says it has.
        follow: See `open_regular`.

    Raises:
        OSError: It cannot be read, is no regular file, or is too large.
    """
    blocks, size = [], 0
    with os.fdopen(open_regular(path, follow=follow), "rb") as file:
        while block := file.read(min(_CHUNK, most_bytes + 1 - size)):
            blocks.append(block)
            size += len(block)
    if size > most_bytes:
        raise _too_large(path, most_bytes)
    return b"".join(blocks)


def own_folder(path: Path) -> None:
    """Make a folder that only this user may look into; where there is one, look whether it is ours alone to change.

    A group may read it. A link to it will do, if it is this user's or root's. Others may put files into one that is
    sticky, as a mounted disk often is: they can neither change nor replace ours, and no link of theirs is followed.

    Raises:
        RunDirectoryError: It belongs to another user, others may write into it, or it cannot be made.
    """
    remedy = "choose another --state-dir, or set runtime.state_dir"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        link, folder = path.lstat(), path.stat()
    except FileExistsError as error:
        what = "a link to what is not there" if path.is_symlink() else "a file, not a folder"
        raise RunDirectoryError(f"{path}: is {what}: {remedy}") from error
    except OSError as error:
        raise RunDirectoryError(f"{path}: {error.strerror}: {remedy}") from error
    if folder.st_uid != os.geteuid() or link.st_uid not in {os.geteuid(), 0}:
        whose = folder.st_uid if folder.st_uid != os.geteuid() else link.st_uid
        raise RunDirectoryError(f"{path}: belongs to another user (uid {whose}): {remedy}")
    if stat.S_IMODE(folder.st_mode) & 0o022 and not folder.st_mode & stat.S_ISVTX:
        raise RunDirectoryError(f"{path}: others may write into it: chmod go-w {shlex.quote(str(path))}, or {remedy}")


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths name one file that is there."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return False


def open_to_others(path: Path) -> str:
    """Say that others may put files into a folder, and how to close it; empty: they may not. Raises OSError."""
    if not stat.S_IMODE(path.stat().st_mode) & 0o022:
        return ""
    return f"{path}: others may put files into it: chmod go-w {shlex.quote(str(path))}"


def is_name(text: str) -> bool:
    """Whether a text names an entry of a folder, and nothing beside or below it."""
    return text not in {"", ".", ".."} and not {"/", "\0"} & set(text)


def check_size(path: Path, most_bytes: int) -> None:
    """Raise OSError where a file that will be read piece by piece is larger than it can be meant to be."""
    if "\0" not in str(path) and path.stat().st_size > most_bytes:
        raise _too_large(path, most_bytes)


def replace(path: Path, data: bytes, mode: int = 0o640) -> None:
    """Write a small file beside the old one and put it in its place: a reader sees the old one or the new one.

    A link in its place is replaced, not followed; a pipe or a device is refused.

    Raises:
        OSError: It cannot be written; the old one is as it was.
    """
    if path.exists() and not path.is_symlink() and not path.is_dir():  # a folder is refused by the renaming
        _check_regular(path, path.stat())
    part = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
    part.unlink(missing_ok=True)  # of a process that was killed; or planted, as the name can be guessed
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        part.rename(path)
    except OSError as error:  # of a full disk: it names no file
        error.filename = error.filename or str(path)
        raise
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_regular(path: Path, status: os.stat_result) -> None:
    """Raise OSError unless it is a regular file."""
    if stat.S_ISREG(status.st_mode):
        return
    found = ((number, what) for fits, number, what in _KINDS if fits(status.st_mode))
    number, what = next(found, (errno.EINVAL, "a device"))
    raise OSError(number, f"is {what}, not a regular file: move it away, or name another", str(path))


def _too_large(path: Path, most_bytes: int) -> OSError:
    size = f"{most_bytes >> 20} MB" if most_bytes >= 1 << 20 else f"{most_bytes} bytes"
    return OSError(errno.EFBIG, f"has more than {size}: another file must be meant", str(path))
