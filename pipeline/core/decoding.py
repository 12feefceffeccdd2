"""JSON that somebody else may have written, as a type: whatever is wrong with it is one kind of error."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_T = TypeVar("_T")
LONGEST_LINE = 1 << 20
"""Bytes; an event has a few thousand."""


def decode(text: bytes | str, kind: type[_T]) -> _T:
    """Read JSON as a type.

    Raises:
        msgspec.DecodeError: It is none, not of this type, or has tables in tables without end.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except RecursionError as error:
        raise msgspec.DecodeError("tables in tables without end") from error


def lines(path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file, with their ends; None for one that is longer than any event. Raises OSError."""
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            if len(line) < LONGEST_LINE or line.endswith(b"\n"):
                yield line
                continue
            while (more := file.readline(LONGEST_LINE)) and not more.endswith(b"\n"):
                pass
            yield None
