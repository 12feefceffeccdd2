"""Write and verify the folder of a converted model, which has a manifest of hashes and is written atomically."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from models.llm.recipes import Recipe
from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST = "manifest.json"
WEIGHTS = "llm.mnn.weight"
FORMAT = 1
_PART = ".part"
_CHUNK = 1 << 20


class File(msgspec.Struct, frozen=True):
    """A file of the manifest, with size and hash."""

    sha256: str
    bytes: int


class Origin(msgspec.Struct, frozen=True):
    """The source of a model: a file with its hash."""

    name: str
    sha256: str
    bytes: int


class ModelManifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The manifest of a model. It has no times, so that the same input gives the same bytes.

    Attributes:
        format: Format of this file.
        title: The model's own title.
        licence: The licence that the source names.
        source: The GGUF file, or None for a folder that was published as it is.
        template: The graph's row of the catalogue.
        recipe: The name of the recipe, and its rules as they were.
        adapter: The LoRA that was merged.
        layers: Number of matrices, by way of storing.
        tools: Versions of the tools, by package.
        files: All files but this one.
    """

    format: int
    title: str
    files: dict[str, File]
    licence: str = ""
    source: Origin | None = None
    template: Origin | None = None
    recipe: str = ""
    rules: Recipe | None = None
    adapter: Origin | None = None
    layers: dict[str, int] = {}
    tools: dict[str, str] = {}

    @property
    def weights(self) -> File:
        """The file of the weights. Raises ModelError if it is missing."""
        if WEIGHTS not in self.files:
            raise ModelError(f"{self.title}: its manifest names no {WEIGHTS}: convert or pull the model again")
        return self.files[WEIGHTS]

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        return sum(file.bytes for file in self.files.values())


def read(folder: Path) -> ModelManifest:
    """Read the manifest of a folder.

    Raises:
        ModelError: There is none, or it is damaged or of another format.
    """
    path = folder / MANIFEST
    try:
        found = decode(files.read_bounded(path), ModelManifest)
    except (OSError, msgspec.DecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path} cannot be read ({reason}): convert or pull the model again") from error
    if found.format != FORMAT:
        raise ModelError(f"{path} is of format {found.format}, known is {FORMAT}: convert or pull the model again")
    if outside := [name for name in found.files if not files.is_name(name)]:
        raise ModelError(f"{path} names {outside[0]!r:.80}, no file of its folder: convert or pull the model again")
    return found


def write(folder: Path, manifest: ModelManifest) -> None:
    """Write the manifest of a folder."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / MANIFEST).write_bytes(text + b"\n")


def verify(folder: Path, *, weights: bool = True) -> list[str]:
    """Verify the hash of every file of a model; a truncated weight file would crash the engine.

    Args:
        folder: The model's folder.
        weights: Whether to hash the weights too; else only their size is checked.

    Returns:
        Problems, one line each; empty if there are none.

    Raises:
        ModelError: The manifest cannot be read.
    """
    problems = []
    manifest = read(folder)
    for name, wanted in manifest.files.items():
        path = folder / name
        try:
            found = describe(path) if weights or name != WEIGHTS else File(wanted.sha256, path.stat().st_size)
        except OSError as error:
            problems.append(f"{name}: {error.strerror}")
            continue
        if found.bytes != wanted.bytes:
            problems.append(f"{name}: {found.bytes} bytes, {wanted.bytes} were written")
        elif found.sha256 != wanted.sha256:
            problems.append(f"{name}: changed, sha256 is {found.sha256[:12]}..., {wanted.sha256[:12]}... was written")
    return problems


def describe(path: Path, report: Callable[[int], None] = lambda _: None, *, follow: bool = False) -> File:
    """Return size and hash of a regular file. Raises OSError.

    Args:
        path: The file.
        report: Called with the bytes read so far.
        follow: See `files.open_regular`.
    """
    digest, size = hashlib.sha256(), 0
    with os.fdopen(files.open_regular(path, follow=follow), "rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
            size += len(block)
            report(size)
    return File(digest.hexdigest(), size)


@contextmanager
def build_folder(target: Path, needed: int) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` on success, and is removed on failure.

    Args:
        target: The folder; replaced if it exists; its parents are created.
        needed: Approximate number of bytes that will be written.

    Raises:
        ModelError: There is no room, or the folder cannot be written to.
    """
    part = target.parent / f".{target.name}.{os.getpid()}{_PART}"
    ours = not target.parent.exists()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        check_room(target.parent, needed)
        part.mkdir()
        yield part
        for file in part.iterdir():
            _sync_path(file)
        _sync_path(part)
        _replace(target, part)
        _sync_path(target.parent)
    except OSError as error:
        raise write_error(error, target, needed) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if ours:
            with suppress(OSError):  # not empty: all went well
                target.parent.rmdir()


def check_room(folder: Path, needed: int) -> None:
    """Raise ModelError unless a folder's disk has room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"{folder}: {needed / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free: make room, or choose another "
            "--state-dir"
        )


def write_error(error: OSError, target: Path, needed: int) -> ModelError:
    """Return the error for a failed write, after which the temporary folder was removed."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return ModelError(
            f"{target}: the disk is full, about {needed / 1e6:.0f} MB are needed; nothing was left behind: make room, "
            "or choose another --state-dir"
        )
    return ModelError(f"{error.filename or target}: {error.strerror or error}: choose another --state-dir")


def _replace(target: Path, part: Path) -> None:
    """Replace a folder by another one; the old one is moved aside first, as folders cannot be exchanged in one step."""
    aside = target.parent / f".{target.name}.{os.getpid()}.old{_PART}"
    if target.exists():
        target.rename(aside)
    part.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove temporary folders of killed processes."""
    for left in folder.glob(f".*{_PART}"):
        number = next((word for word in left.name.split(".")[::-1] if word.isdigit()), "")
        if left.is_dir() and number and not _is_alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _sync_path(path: Path) -> None:
    """Wait until a file or a folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
