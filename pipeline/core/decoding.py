"""Decode JSON and TOML of others into types; every fault raises the same kind of error."""

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
"""Bytes; an event has a few thousand bytes."""
LARGEST_FILE = 1 << 30
"""Bytes of a file of lines; ours are rotated at about ten million bytes."""

_MAX_DEPTH = 100  # nested tables; an event has ten levels, and decoders are recursive
_BRACKETS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)
_DECODER_ERRORS = (RecursionError, ValueError, OverflowError)  # raised by decoders beside their own errors


class Damage:
    """The unreadable lines of a file: their number, and the number of the first line."""

    def __init__(self) -> None:
        self.count = 0
        self.first = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, number: int) -> None:
        """Count an unreadable line; line numbers must ascend."""
        self.first = self.first or number
        self.count += 1

    def message(self, path: Path) -> str:
        """Return a message of one line."""
        return f"{path}: {self.count} lines are no events, the first is line {self.first}"


def decode(text: bytes | str, kind: type[_T]) -> _T:
    """Decode JSON into a type.

    Raises:
        msgspec.DecodeError: The text is no JSON, not of this type, too deeply nested, has a number of thousands of
            digits, or is no UTF-8.
    """
    _check_depth(text)
    with _unify_errors():
        return msgspec.json.decode(text, type=kind)


def decode_whole(text: bytes | str) -> dict[str, Any]:
    """Decode a JSON object completely, so that it can be encoded again. Raises the same errors as `decode`."""
    found = decode(text, dict[str, Any])
    with _unify_errors():
        msgspec.json.encode(found)
    return found


def convert(table: Any, kind: type[_T]) -> _T:
    """Convert a decoded table into a type. Raises msgspec.DecodeError."""
    with _unify_errors():
        return msgspec.convert(table, kind)


def decode_toml(data: bytes, kind: type[_T]) -> _T:
    """Decode TOML into a type. Raises the same errors as `decode`."""
    with _unify_errors():
        return msgspec.toml.decode(data, type=kind)


def read_lines(path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file of an operator, with their line ends; None for a line longer than `LONGEST_LINE`.

    Raises:
        OSError: The file cannot be read, is no regular file, or is larger than `LARGEST_FILE`.
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
    """Raise msgspec.DecodeError if tables are nested deeper than `_MAX_DEPTH`."""
    data = text if isinstance(text, bytes) else text.encode(errors="replace")
    if data.count(b"{") + data.count(b"[") <= _MAX_DEPTH:
        return
    depth = 0
    for found in _BRACKETS.finditer(data):
        letter = found[0][:1]
        depth += (letter in b"[{") - (letter in b"]}")
        if depth > _MAX_DEPTH:
            raise msgspec.DecodeError("tables in tables without end")


@contextmanager
def _unify_errors() -> Iterator[None]:
    try:
        yield
    except msgspec.MsgspecError:
        raise
    except _DECODER_ERRORS as error:
        raise msgspec.DecodeError(_explain(error)) from error


def _explain(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "tables in tables without end"
    if isinstance(error, UnicodeError):
        return "letters that are not UTF-8"
    return str(error) if "digits" not in str(error) else "a number of thousands of digits"
