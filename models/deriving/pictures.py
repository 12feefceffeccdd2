"""Find and hash the operator's pictures that ranges are measured on."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def find_pictures(folder: Path) -> tuple[Path, ...]:
    """Return the pictures of a folder and its subfolders, sorted. Raises ModelError if there are none."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise ModelError(f"{folder} {what}: give a folder of pictures (.jpg, .jpeg, .png) of what the camera sees")
    kinds = {".jpg", ".jpeg", ".png"}
    found = tuple(sorted(file for file in folder.rglob("*") if file.suffix.casefold() in kinds and file.is_file()))
    if not found:
        raise ModelError(f"{folder} holds no pictures (.jpg, .jpeg, .png): give a folder of what the camera sees")
    return found


def hash_pictures(pictures: Sequence[Path], folder: Path) -> str:
    """Return the sha256 of names and contents of pictures. Raises ModelError if one cannot be read."""
    found = hashlib.sha256()
    for file in pictures:
        found.update(os.fsencode(file.relative_to(folder)) + b"\0")
        try:
            with file.open("rb") as stream:
                found.update(hashlib.file_digest(stream, "sha256").digest())
        except OSError as error:
            raise ModelError(f"{file}: {error.strerror}") from error
    return found.hexdigest()
