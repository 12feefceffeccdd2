"""JSON and TOML that somebody else may have written, as a type: whatever is wrong with it is one kind of error."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pipeline.core import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_T = TypeVar("_T")
LONGEST_LINE = 1 << 20
"""Bytes; an event has a few thousand."""
LARGEST_FILE = 1 << 30
"""Bytes of a file of lines; ours are put away at some ten million."""

_DEEPEST = 100  # tables in tables; an event has ten, and what reads them goes down into each
_BRACKETS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)
_WRONG = (RecursionError, ValueError, OverflowError)  # what decoders raise beside their own kind


class Damage:
    """Lines of a file that could not be read: how many, and the number of the first."""

    def __init__(self) -> None:
        self.count = 0
        self.first = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, number: int) -> None:
        """Count the line of this number, which comes behind those that were counted before."""
        self.first = self.first or number
        self.count += 1

    def message(self, path: Path) -> str:
        """One line for people."""
        return f"{path}: {self.count} lines are no events, the first is line {self.first}"


def decode(text: bytes | str, kind: type[_T]) -> _T:
    """Read JSON as a type.

    Raises:
        msgspec.DecodeError: It is none, not of this type, or has tables in tables without end, numbers of thousands of
            digits, or letters that are none.
    """
    _check_depth(text)
    with _one_kind_of_error():
        return msgspec.json.decode(text, type=kind)


def decode_whole(text: bytes | str) -> dict[str, Any]:
    """Read a JSON object with all that is in it, so that it can be written again; raises as `decode`."""
    found = decode(text, dict[str, Any])
    with _one_kind_of_error():
        msgspec.json.encode(found)
    return found


def convert(table: Any, kind: type[_T]) -> _T:
    """Turn what was read into a type. Raises msgspec.DecodeError."""
    with _one_kind_of_error():
        return msgspec.convert(table, kind)


def decode_toml(data: bytes, kind: type[_T]) -> _T:
    """Read TOML as a type; raises as `decode`."""
    with _one_kind_of_error():
        return msgspec.toml.decode(data, type=kind)


def lines(path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file that an operator named, with their ends; None for one that is longer than any event.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger than any file of ours.
    """
    files.check_size(path, LARGEST_FILE)
    with open(files.open_regular(path, follow=True), "rb") as file:  # noqa: PTH123  # a descriptor
        while line := file.readline(LONGEST_LINE):
            if len(line) < LONGEST_LINE or line.endswith(b"\n"):
                yield line
                continue
            while (more := file.readline(LONGEST_LINE)) and not more.endswith(b"\n"):
                pass
            yield None


def _check_depth(text: bytes | str) -> None:
    """Raise msgspec.DecodeError where tables are deeper in one another than anybody can follow."""
    data = text if isinstance(text, bytes) else text.encode(errors="replace")
    if data.count(b"{") + data.count(b"[") <= _DEEPEST:
        return
    depth = 0
    for found in _BRACKETS.finditer(data):
        letter = found[0][:1]
        depth += (letter in b"[{") - (letter in b"]}")
        if depth > _DEEPEST:
            raise msgspec.DecodeError("tables in tables without end")


@contextmanager
def _one_kind_of_error() -> Iterator[None]:
    try:
        yield
    except msgspec.MsgspecError:
        raise
    except _WRONG as error:
        raise msgspec.DecodeError(_why(error)) from error


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "tables in tables without end"
    if isinstance(error, UnicodeError):
        return "letters that are not UTF-8"
    return str(error) if "digits" not in str(error) else "a number of thousands of digits"
