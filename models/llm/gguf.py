"""Reading GGUF, the file format of llama.cpp's models: what is said about the model, and its tensors, mapped.

The layout is that of the format's own description (ggml/docs/gguf.md, versions 2 and 3, little endian): magic, version,
counts, key-value pairs, tensor descriptions, then the data, aligned. Every length in the file is checked against the
file before it is believed, so that a download that was cut short is refused here and not by a crash later.
"""

from __future__ import annotations

import enum
import math
import mmap
import os
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, Never, overload

import numpy as np

from pipeline.core import files
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MAGIC = b"GGUF"
VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_ENTRIES_MOST, _ITEMS_MOST, _TEXT_MOST = 100_000, 4_000_000, 16 << 20  # of keys and tensors, of an array; bytes
_DIMENSIONS_MOST = 4
_TEXT, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Value type in the file to its struct code."""


class Kind(enum.IntEnum):
    """How a tensor's values are stored, by the numbers of ggml.h; those that can be converted."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    BF16 = 30


class Block(NamedTuple):
    """Values in one block, and the bytes that they take."""

    values: int
    size: int


BLOCKS = {
    Kind.F32: Block(1, 4),
    Kind.F16: Block(1, 2),
    Kind.BF16: Block(1, 2),
    Kind.Q4_0: Block(32, 18),
    Kind.Q4_1: Block(32, 20),
    Kind.Q5_0: Block(32, 22),
    Kind.Q5_1: Block(32, 24),
    Kind.Q8_0: Block(32, 34),
    Kind.Q4_K: Block(256, 144),
    Kind.Q5_K: Block(256, 176),
    Kind.Q6_K: Block(256, 210),
}


class Tensor(NamedTuple):
    """A tensor as it lies in the file.

    Attributes:
        name: As in the file.
        shape: (rows, columns); a vector is one row.
        kind: How its values are stored.
        data: (rows, bytes in a row) uint8, read only, borrowed from the mapped file.
    """

    name: str
    shape: tuple[int, int]
    kind: Kind
    data: NDArray[np.uint8]


class _Described(NamedTuple):
    name: str
    dimensions: tuple[int, ...]
    kind: int
    offset: int


class Gguf:
    """An open GGUF file.

    Args:
        path: The file. It is mapped, not read: memory is taken for what is looked at.

    Attributes:
        path: As given.
        metadata: Every key with its value; arrays are lists.
        tensors: Every tensor by name.

    Raises:
        ModelError: It cannot be read, is no GGUF file of a known version, is cut short, or contradicts itself.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0
        try:
            descriptor = files.open_regular(path, follow=True)
            try:
                mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            reason = getattr(error, "strerror", None) or "it is empty"
            raise ModelError(f"cannot read model file {path} ({reason}): name a GGUF file") from error
        self._bytes = np.frombuffer(mapped, np.uint8)
        self._view = memoryview(mapped)
        tensors, pairs = self._counts()
        self.metadata = dict(self._pair() for _ in range(pairs))
        described = [self._description() for _ in range(tensors)]
        start = self._data_start()
        self.tensors = {row.name: self._tensor(row, start) for row in described}

    @overload
    def value(self, key: str, kind: type[int]) -> int: ...
    @overload
    def value(self, key: str, kind: type[float]) -> float: ...
    @overload
    def value(self, key: str, kind: type[str]) -> str: ...
    @overload
    def value(self, key: str, kind: type[list[Any]]) -> list[Any]: ...

    def value(self, key: str, kind: type[Any]) -> Any:
        """Return what the file says of a key.

        Raises:
            ModelError: The key is missing, or its value is of another kind.
        """
        found = self.metadata.get(key)
        if not isinstance(found, kind) or (kind is not bool and isinstance(found, bool)):
            self._refuse(f"its key {key} is {'missing' if found is None else 'of another type'}", "another conversion")
        return found

    def tensor(self, name: str) -> Tensor:
        """Return a tensor by name.

        Raises:
            ModelError: There is none of that name.
        """
        if name not in self.tensors:
            self._refuse(f"it has no tensor {name}", "a GGUF of the whole model")
        return self.tensors[name]

    def _counts(self) -> tuple[int, int]:
        if bytes(self._view[:4]) != MAGIC:
            self._refuse("it does not begin with GGUF", "a file that ends in .gguf, not a page that stands for it")
        _, version, tensors, pairs = self._take("<4sIQQ")
        if version not in VERSIONS:
            self._refuse(f"it is of version {version}, known are 2 and 3", "a newer conversion of the model")
        if max(tensors, pairs) > min(len(self._view), _ENTRIES_MOST):
            self._cut("counts of tensors and keys")
        return tensors, pairs

    def _pair(self) -> tuple[str, Any]:
        key = self._text("a key")
        (kind,) = self._take("<I")
        return key, self._value(kind, key)

    def _description(self) -> _Described:
        name = self._text("a tensor's name")
        (count,) = self._take("<I")
        if not 1 <= count <= _DIMENSIONS_MOST:
            self._refuse(f"its tensor {name} has {count} dimensions", "an undamaged copy")
        dimensions = self._take(f"<{count}Q")
        kind, offset = self._take("<IQ")
        return _Described(name, dimensions, kind, offset)

    def _data_start(self) -> int:
        alignment = self.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0 or alignment % 8:
            self._refuse(f"its general.alignment is {alignment}, no multiple of 8", "an undamaged copy")
        return -(-self._at // alignment) * alignment

    def _tensor(self, row: _Described, start: int) -> Tensor:
        if row.kind not in set(Kind):
            known = ", ".join(kind.name for kind in Kind)
            self._refuse(
                f"its tensor {row.name} is stored as ggml type {row.kind}, which is not known here ({known})",
                "a file quantised as Q4_K_M, Q4_1 or Q8_0",
            )
        kind = Kind(row.kind)
        block = BLOCKS[kind]
        columns, rows = row.dimensions[0], math.prod(row.dimensions[1:])
        if not columns or not rows or columns % block.values:
            self._refuse(f"its tensor {row.name} of {row.dimensions} does not fit {kind.name}", "an undamaged copy")
        width = columns // block.values * block.size
        begin = start + row.offset
        if begin + rows * width > len(self._view):
            self._cut(f"tensor {row.name}")
        data = self._bytes[begin : begin + rows * width].reshape(rows, width)
        return Tensor(row.name, (rows, columns), kind, data)

    def _value(self, kind: int, key: str) -> Any:
        if kind == _TEXT:
            return self._text(key)
        if kind == _ARRAY:
            return self._array(key)
        if kind not in _SCALARS:
            self._refuse(f"its key {key} has the unknown type {kind}", "an undamaged copy")
        return self._take("<" + _SCALARS[kind])[0]

    def _array(self, key: str) -> list[Any]:
        kind, count = self._take("<IQ")
        if kind == _ARRAY:
            self._refuse(f"its key {key} is an array of arrays", "an undamaged copy")
        if count > min(len(self._view), _ITEMS_MOST):
            self._cut(key)
        if kind in _SCALARS:
            return list(self._take(f"<{count}{_SCALARS[kind]}"))
        return [self._value(kind, key) for _ in range(count)]

    def _text(self, what: str) -> str:
        (size,) = self._take("<Q")
        if size > min(len(self._view) - self._at, _TEXT_MOST):
            self._cut(what)
        text = bytes(self._view[self._at : self._at + size])
        self._at += size
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            self._refuse(f"{what} is no UTF-8 text", "an undamaged copy")

    def _take(self, code: str) -> tuple[Any, ...]:
        size = struct.calcsize(code)
        if size > len(self._view) - self._at:
            self._cut("header")
        found = struct.unpack_from(code, self._view, self._at)
        self._at += size
        return found

    def _cut(self, what: str) -> Never:
        self._refuse(f"it ends within its {what}, after {len(self._view)} bytes", "a complete copy: fetch it again")

    def _refuse(self, what: str, remedy: str) -> Never:
        raise ModelError(f"model file {self.path} cannot be used: {what:.300}; use {remedy}")
