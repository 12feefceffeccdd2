"""Recordings: a file of any container that libav reads."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import av
import av.error

from pipeline.core.errors import SourceError
from stages.sources.decoder import DecodedPicture, Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.core.geometry import Rotation
    from stages.sources.picture import SourceReport


class Footage:
    """A recording on disk. Raises SourceError that says what is wrong with the file."""

    def __init__(self, path: Path, *, rotation: Rotation | None = None, name: str = "") -> None:
        """`name`: what it is called in errors; default: the file's name."""
        self._path = path
        self._name = name or path.name
        self._decoder = Decoder(_opened(path, self._name), self._name, live=False, rotation=rotation)
        self.began_utc_ns = self._decoder.began_utc_ns
        self.declared = self._decoder.declared

    def pictures(self) -> Iterator[DecodedPicture]:
        """Yield all pictures that decode. Raises SourceError where there is none at all."""
        yield from self._decoder.pictures()
        if not self.report().frames:
            raise SourceError(f"{self._name}: no picture could be decoded")

    def report(self) -> SourceReport:
        """Say what was read, and whether the recording was cut."""
        report = self._decoder.report()
        missing = _missing_bytes(self._path)
        if missing and not report.truncated:
            return report._replace(truncated=f"{missing} bytes are missing at the end")
        return report

    def close(self) -> None:
        """Close the file."""
        self._decoder.close()


def _opened(path: Path, name: str) -> av.container.InputContainer:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    if path.is_dir():
        readable = os.access(path, os.R_OK | os.X_OK)
        raise SourceError(f"{name}: {'this is a folder, not a recording' if readable else 'Permission denied'}")
    if not path.is_file():
        raise SourceError(f"{name}: this is a pipe or a device, not a recording: write what it gives into a file")
    if size == 0:
        raise SourceError(f"{name}: the file is empty (0 bytes)")
    try:
        return av.open(str(path), metadata_errors="replace")
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise SourceError(f"{name}: {_reason(path, error)}") from error


def _reason(path: Path, error: Exception) -> str:
    """Say why a file did not open, in the words of the one who recorded it."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as refused:
        return refused.strerror or str(refused)
    if head[4:8] in (b"ftyp", b"mdat", b"wide", b"free"):
        return "no moov atom: the recording was cut before its index was written"
    if head and all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head):  # noqa: PLR2004  # printable ASCII
        return "this is a text file, not a recording"
    return getattr(error, "strerror", None) or str(error)


def _missing_bytes(path: Path) -> int:
    """How many bytes an AVI's own header says should follow: a cut AVI plays on without a word otherwise."""
    with path.open("rb") as file:
        head = file.read(12)
        size = file.seek(0, 2)
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"AVI ":  # noqa: PLR2004  # the RIFF header
        return 0
    return max(0, int(struct.unpack("<I", head[4:8])[0]) + 8 - size)
