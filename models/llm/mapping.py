"""Keep weights in the engine's own layout in mapped files, so that a start takes 0.05 s instead of seconds.

MNN's own cache has no key: over the files of another model or of other options it loads without complaint and answers
nonsense. So every set of files has a folder named by all that decides its content, and a seal with its hash.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from models.llm import folder as folders
from pipeline.core import files
from pipeline.core.decoding import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEAL = "seal.json"
_BLOCK = 1 << 20
_BLANK = bytes(_BLOCK)
_PREFIX = ".mapping-"
_SPARE = 64 << 20  # bytes that must stay free for others
_PATIENCE_S = 60.0  # half of what makes the stage count as stalled
_PAUSE_S = 0.05
_GROWS = 1.4
"""A mapping's size in weights: the engine widens scales to float32 (1.24 at 1.5B in blocks of 32, 1.31 at 135M)."""


class _Seal(msgspec.Struct, frozen=True):
    sha256: str


class Mapping:
    """The mapped weights of a model.

    Args:
        model: The folder of the converted model.
        engine: Name and version of the engine, and all options that change the files.
    """

    def __init__(self, model: Path, engine: str) -> None:
        manifest = folders.read(model)
        hashes = sorted((name, file.sha256) for name, file in manifest.files.items())
        key = hashlib.sha256(msgspec.json.encode([hashes, engine, platform.machine(), _processor_id()])).hexdigest()[
            :16
        ]
        self._model = model
        self._needed = round(_GROWS * manifest.weights.bytes)
        self.path = model / f"{_PREFIX}{key}"

    def is_sealed(self) -> bool:
        """Tell whether it exists and its hash is right; takes about a second a gigabyte."""
        try:
            seal = decode(files.read_bounded(self.path / _SEAL), _Seal)
            return seal.sha256 == _hash(self.path)
        except (OSError, msgspec.DecodeError):
            return False

    def sweep(self) -> None:
        """Remove mappings of other options (processes that use them keep them), and leftovers of killed processes."""
        for old in self._model.glob(f"{_PREFIX}*"):
            shutil.rmtree(old, ignore_errors=True)

    def has_room(self) -> bool:
        """Tell whether the disk has room for it; a full disk would kill the engine."""
        return shutil.disk_usage(self._model).free > self._needed + _SPARE

    @contextmanager
    def build(self) -> Iterator[Path]:
        """Yield an empty folder that becomes the mapping on success, and is removed on failure.

        Raises:
            OSError: The folder cannot be written to.
        """
        self.sweep()
        part = self.path.with_name(f"{self.path.name}.part")
        part.mkdir()
        try:
            yield part
            (part / _SEAL).write_bytes(msgspec.json.encode(_Seal(_hash(part))))
            part.rename(self.path)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def discard(self) -> None:
        """Remove the mapping."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def lock(model: Path) -> Iterator[None]:
    """Lock the mapping of a model; others wait.

    Raises:
        OSError: The lock cannot be taken, or another process holds it too long, such as a stopped one.
    """
    descriptor = files.open_regular(model / folders.MANIFEST)
    try:
        _take(descriptor)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise TimeoutError("another process keeps the mapping to itself: end it, if it stands still") from error
            time.sleep(_PAUSE_S)
        else:
            return


def _hash(path: Path) -> str:
    """Return the hash of all files but the seal, without blank blocks, as the files are sparse."""
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()):
        if file.name != _SEAL:
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            for at, block in _read_blocks(file):
                digest.update(at.to_bytes(8, "little"))
                digest.update(block)
    return digest.hexdigest()


def _read_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks of a file that are not blank, with their positions."""
    with os.fdopen(files.open_regular(path), "rb") as file:
        at = 0
        while (at := _next_data(file.fileno(), at)) >= 0:
            file.seek(at)
            block = file.read(_BLOCK)
            if block != _BLANK[: len(block)]:
                yield at, block
            at += _BLOCK


def _next_data(descriptor: int, at: int) -> int:
    """Return the position of the next block with data; -1 at the end."""
    try:
        return os.lseek(descriptor, at, os.SEEK_DATA) // _BLOCK * _BLOCK
    except OSError:  # ENXIO: nothing but a hole until the end
        return -1


def _processor_id() -> str:
    """Return the features of the processor, which decide the layout of weights."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return " ".join(sorted(found[1].split())) if found else ""
