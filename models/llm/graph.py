"""Patching a graph of MNN's in its FlatBuffer, with `struct` alone.

A graph is exported once for each size of model; its weights lie in another file, and the graph says where. Here those
places are written, and each matrix is given the format of its weights. Field numbers are those of MNN's schema at tag
3.6.1 (schema/default/*.fbs). A FlatBuffer's references point forward, so appending to one is always legal: a matrix's
new description is appended and its reference turned to it, and so a graph exported with one quantisation takes any.
"""

from __future__ import annotations

import enum
import struct
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Field numbers within their tables; a union takes two.
_NET_OPS, _NET_UUID = 3, 11
_OP_TYPE, _OP_MAIN, _OP_NAME = 1, 2, 3
_CONVOLUTION_COMMON, _CONVOLUTION_QUANTISATION, _CONVOLUTION_EXTERNAL = 0, 3, 6
_COMMON_ROWS, _COMMON_COLUMNS = 10, 11
_NORM_EPSILON, _NORM_EXTERNAL = 1, 5
_BLOB_FLOATS = 7
_QUANTISATION_FIELDS = {2: 4, 4: 8, 7: 12, 8: 16, 9: 20, 11: 24, 15: 25}
"""type, quantScale, aMaxOrBits, aMin, readType, shapeInt32, scaleStorage, and where they lie in the table we append."""
_QUANTISATION_SIZE = 28
_QUANTISATION_CHOSEN = (7, 8, 9)
_FIELDS = 16
_BIAS_BYTES = 3
"""Place of the bias's length in a matrix's external vector."""


class OpKind(enum.IntEnum):
    """What an operation's parameters are, by the numbers of the schema's union; those of interest."""

    OTHER = 0
    BLOB = 7
    CONVOLUTION = 9
    LAYER_NORM = 88


class Op(NamedTuple):
    """An operation of the graph.

    Attributes:
        name: As exported, e.g. /layers.0/self_attn/q_proj/Linear.
        kind: What it is.
        table: Where its parameters are, for the methods of `MnnGraph`.
    """

    name: str
    kind: OpKind
    table: int


class Matrix(NamedTuple):
    """Where a matrix's weights are, and how they are stored.

    Attributes:
        offset: In the weight file, bytes.
        weight_bytes: Header and levels.
        scale_bytes: Middles and scales.
        bias_bytes: 0 where there is none.
        bits: Of a level.
        blocks: All blocks of the matrix.
        wide: The header has four bytes a side.
        half_scales: Middles and scales are float16, else float32.
    """

    offset: int
    weight_bytes: int
    scale_bytes: int
    bias_bytes: int
    bits: int
    blocks: int
    wide: bool
    half_scales: bool


class MnnGraph:
    """A graph in memory.

    Args:
        data: A file `llm.mnn`; copied.
        what: What the file is called in errors.

    Raises (every method): ModelError: The bytes are no such graph.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._bytes = bytearray(data)
        self._what = what
        self._shared_vtable: int | None = None
        self._ops = tuple(self._read_ops())

    @property
    def data(self) -> bytes:
        """The graph as it is now."""
        return bytes(self._bytes)

    @property
    def ops(self) -> tuple[Op, ...]:
        """Every operation, in the order of execution."""
        return self._ops

    def shape(self, op: Op) -> tuple[int, int]:
        """(rows, columns) of a convolution's matrix."""
        common = self._read_required(op.table, _CONVOLUTION_COMMON, op.name)
        return self._integer(common, _COMMON_ROWS), self._integer(common, _COMMON_COLUMNS)

    def has_bias(self, op: Op) -> bool:
        """Whether a convolution adds a bias out of the weight file."""
        vector = self._read_required(op.table, _CONVOLUTION_EXTERNAL, op.name)
        return bool(self._unpack("<q", vector + 4 + 8 * _BIAS_BYTES))

    def epsilon(self, op: Op) -> float | None:
        """The epsilon of a layer norm whose weights are in the weight file; None for any other."""
        if not self._reference(op.table, _NORM_EXTERNAL):
            return None
        place = self._place(op.table, _NORM_EPSILON)
        return float(self._unpack("<f", place)) if place else 0.0

    def floats(self, op: Op) -> tuple[float, ...]:
        """The float32 numbers of a blob; empty where it has none."""
        vector = self._reference(op.table, _BLOB_FLOATS)
        if not vector:
            return ()
        count = self._unpack("<I", vector)
        self._check(vector + 4, 4 * count)
        return struct.unpack_from(f"<{count}f", self._bytes, vector + 4)

    def set_floats(self, op: Op, numbers: Sequence[float]) -> None:
        """Write a blob's numbers over those it has; as many."""
        self._overwrite(self._read_required(op.table, _BLOB_FLOATS, op.name), "f", numbers)

    def set_norm(self, op: Op, offset: int, vector_bytes: int) -> None:
        """Say where a layer norm's gains and offsets are, one after the other."""
        vector = self._read_required(op.table, _NORM_EXTERNAL, op.name)
        self._overwrite(vector, "q", [offset, vector_bytes, vector_bytes])

    def set_matrix(self, op: Op, matrix: Matrix) -> None:
        """Say where a convolution's weights are and how they are stored."""
        vector = self._read_required(op.table, _CONVOLUTION_EXTERNAL, op.name)
        self._overwrite(vector, "q", [matrix.offset, matrix.weight_bytes, matrix.scale_bytes, matrix.bias_bytes, 0])
        slot = self._place(op.table, _CONVOLUTION_QUANTISATION)
        if not slot:
            raise self._damaged_error(f"{op.name} has no quantisation")
        table = self._append_quantisation(matrix)
        struct.pack_into("<I", self._bytes, slot, table - slot)

    def strip(self) -> None:
        """Drop what one export alone has: its identifier, and where and how its weights were stored.

        What is left is the same for every export of a size. Whether a matrix has a bias stays.
        """
        identifier = self._read_required(self._unpack("<I", 0), _NET_UUID, "the net")
        size = self._unpack("<I", identifier)
        self._check(identifier + 4, size)
        self._bytes[identifier + 4 : identifier + 4 + size] = b"0" * size
        for op in self._ops:
            if op.kind is OpKind.CONVOLUTION:
                vector = self._read_required(op.table, _CONVOLUTION_EXTERNAL, op.name)
                bias = self._unpack("<q", vector + 4 + 8 * _BIAS_BYTES)
                self._overwrite(vector, "q", [0, 0, 0, bias, 0])
                quantisation = self._read_required(op.table, _CONVOLUTION_QUANTISATION, op.name)
                for number in _QUANTISATION_CHOSEN:
                    if place := self._place(quantisation, number):
                        self._check(place, 4)
                        struct.pack_into("<i", self._bytes, place, 0)
            elif op.kind is OpKind.LAYER_NORM and self.epsilon(op) is not None:
                self.set_norm(op, 0, 0)

    def _append_quantisation(self, matrix: Matrix) -> int:
        """Append a table IDSTQuan.

        aMin 1 and readType > 0 mean that each block has a middle; quantScale would be multiplied with the scales.
        """
        if self._shared_vtable is None:
            self._align(8)
            self._shared_vtable = len(self._bytes)
            places = [_QUANTISATION_FIELDS.get(number, 0) for number in range(_FIELDS)]
            self._bytes += struct.pack(f"<2H{_FIELDS}H", 4 + 2 * _FIELDS, _QUANTISATION_SIZE, *places)
        self._align(4)
        table = len(self._bytes)
        back = table - self._shared_vtable
        flags = (int(matrix.wide), int(matrix.half_scales))
        self._bytes += struct.pack("<iifiiiBBxx", back, 1, 1.0, matrix.bits, 1, matrix.blocks, *flags)
        return table

    def _align(self, to: int) -> None:
        self._bytes += bytes(-len(self._bytes) % to)

    def _read_ops(self) -> Iterator[Op]:
        vector = self._read_required(self._unpack("<I", 0), _NET_OPS, "the net")
        for number in range(self._unpack("<I", vector)):
            place = vector + 4 + 4 * number
            table = place + self._unpack("<I", place)
            name = self._reference(table, _OP_NAME)
            kind = self._place(table, _OP_TYPE)
            value = self._unpack("<B", kind) if kind else 0
            known = OpKind(value) if value in set(OpKind) else OpKind.OTHER
            yield Op(self._text(name) if name else "", known, self._reference(table, _OP_MAIN))

    def _text(self, place: int) -> str:
        size = self._unpack("<I", place)
        self._check(place + 4, size)
        return self._bytes[place + 4 : place + 4 + size].decode("utf-8", "replace")

    def _overwrite(self, vector: int, code: str, numbers: Sequence[float]) -> None:
        if self._unpack("<I", vector) != len(numbers):
            raise self._damaged_error(f"a vector of it has not {len(numbers)} numbers")
        self._check(vector + 4, struct.calcsize(f"<{len(numbers)}{code}"))
        struct.pack_into(f"<{len(numbers)}{code}", self._bytes, vector + 4, *numbers)

    def _place(self, table: int, number: int) -> int:
        """Where a field of a table is, or 0 when it has its default."""
        if not table:
            return 0
        vtable = table - int(self._unpack("<i", table))
        slot = 4 + 2 * number
        if slot >= self._unpack("<H", vtable):
            return 0
        offset = self._unpack("<H", vtable + slot)
        return table + int(offset) if offset else 0

    def _reference(self, table: int, number: int) -> int:
        place = self._place(table, number)
        return place + int(self._unpack("<I", place)) if place else 0

    def _read_required(self, table: int, number: int, what: str) -> int:
        if found := self._reference(table, number):
            return found
        raise self._damaged_error(f"{what} lacks field {number}")

    def _integer(self, table: int, number: int) -> int:
        place = self._place(table, number)
        return int(self._unpack("<i", place)) if place else 0

    def _unpack(self, code: str, place: int) -> int:
        """One number; whole, but for the code f."""
        self._check(place, struct.calcsize(code))
        (found,) = struct.unpack_from(code, self._bytes, place)
        return found  # type: ignore[no-any-return]  # struct knows no types

    def _check(self, place: int, size: int) -> None:
        if place < 0 or place + size > len(self._bytes):
            raise self._damaged_error("a reference leads out of it")

    def _damaged_error(self, what: str) -> ModelError:
        return ModelError(f"{self._what} is no graph of a language model ({what}): reinstall fieldwatch")
