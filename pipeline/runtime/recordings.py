"""Recordings: found below files and folders, each a camera of its own."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from pipeline.core.errors import ConfigError
from pipeline.core.secrets import redact
from pipeline.core.settings import CameraSettings
from pipeline.core.vocabulary import CameraId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.core.settings import Settings

# What is taken from a folder; a file that is named is always tried.
SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in (
        *("avi", "flv", "mkv", "mov", "mp4", "m4v", "mpeg", "mpg", "ts", "webm", "wmv", "3gp", "asf"),
        *("h264", "264", "h265", "265", "hevc", "mjpeg"),  # raw streams
    )
)
_MAX_CAMERA = 60  # characters: a camera's name is part of the names of sockets and pictures


class Recording(NamedTuple):
    """One input: where it lies, and what it is called below the argument it was found under."""

    path: Path
    name: str

    @property
    def camera(self) -> CameraId:
        """The name as a camera's: a source in its own right, with a sequence of its own."""
        name = re.sub(r"[^A-Za-z0-9._~-]", "_", self.name.replace("/", "~"))
        if len(name) > _MAX_CAMERA:
            digest = hashlib.sha256(self.name.encode()).hexdigest()[:8]
            name = f"{name[: _MAX_CAMERA - len(digest) - 1]}~{digest}"
        return CameraId(name)


def find(paths: Iterable[Path]) -> list[Recording]:
    """Return the recordings under files and folders: folders in sorted order, hidden files left out.

    What may not be read, and a link that leads nowhere, is among them, so that it is told of like any other that
    cannot be used. Raises ConfigError for a path that does not exist or a folder without recordings.
    """
    found: list[Recording] = []
    taken: set[str] = set()
    for path in paths:
        if _absent(path):
            raise ConfigError(f"{_as_utf8(redact(str(path)))}: no such file or folder")
        below = _below(path) if os.path.isdir(path) else [Recording(path, _as_utf8(path.name))]  # noqa: PTH112  # raises nothing
        if not below:
            raise ConfigError(f"{path}: holds no recording ({', '.join(sorted(SUFFIXES))})")
        for recording in below:
            name, number = recording.name, 2
            while Recording(recording.path, name).camera in taken:
                name, number = f"{recording.name}~{number}", number + 1
            taken.add(Recording(recording.path, name).camera)
            found.append(Recording(recording.path, name))
    return found


def address(path: Path) -> str:
    """Return a file's address as a source, whatever bytes its name is made of."""
    return f"file://{quote(os.fsencode(path.absolute()))}"


def like(settings: Settings, camera: str) -> CameraSettings:
    """Return the camera whose zones and rules hold for recordings; none for no name. Raises ConfigError."""
    if not camera:
        return CameraSettings(source="")
    if camera not in settings.cameras:
        known = ", ".join(settings.cameras) or "it has none"
        raise ConfigError(f"no camera `{camera}` in the configuration: {known}")
    return settings.cameras[CameraId(camera)]


def _absent(path: Path) -> bool:
    """Whether nothing is there; what may not be looked at may be."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _below(folder: Path) -> list[Recording]:
    found: list[Path] = []

    def refused(error: OSError) -> None:
        found.append(Path(error.filename))

    for where, below, files in os.walk(folder, onerror=refused):
        below[:] = [name for name in below if not name.startswith(".")]
        paths = (Path(where, name) for name in files if not name.startswith("."))
        found += [path for path in paths if path.suffix.lower() in SUFFIXES and (path.is_file() or path.is_symlink())]
    names = {path: path.name if path == folder else path.relative_to(folder).as_posix() for path in found}
    return [Recording(path, _as_utf8(names[path])) for path in sorted(found)]


def _as_utf8(name: str) -> str:
    """A name that can be written in UTF-8, whatever bytes the file system holds."""
    return name.encode(errors="backslashreplace").decode()
