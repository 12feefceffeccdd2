"""Quantised weights: GGUF's blocks, MNN's levels, and the ways from one to the other.

Block layouts are those of ggml-common.h and ggml-quants.c (MIT) by their definitions; MNN's are those its engine 3.6.1
reads (source/core/ConvolutionCommon.cpp, Apache-2.0). Both say: weight = middle + scale * (level - half), with one
scale (and one middle) for each `block` neighbours of a row; `half` is 2**(bits-1). So what one holds, the other can:

    Q4_0, Q4_1, Q4_K    4 bits, blocks of 32    the same values
    Q5_0, Q5_1, Q5_K    8 bits, blocks of 32    the same values, in larger levels
    Q8_0                8 bits, blocks of 32    the same values
    Q6_K, F32 F16 BF16                          has to be quantised anew: scales for 16 values, or none

In a block of 32, GGUF's byte j holds values j (low nibble) and j+16 (high); MNN's byte holds neighbours, the first one
high.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.llm.gguf import BLOCKS, Kind
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_LARGEST_NARROW = 65535
_PLAIN = {Kind.F32: "<f4", Kind.F16: "<f2"}


class Format(NamedTuple):
    """How MNN stores a matrix.

    Attributes:
        bits: Of a level, 4 or 8.
        block: Neighbours in a row that share a scale.
    """

    bits: int
    block: int

    @property
    def half(self) -> int:
        """The level in the middle."""
        return 1 << (self.bits - 1)


class Quantised(NamedTuple):
    """Rows of a matrix as levels: weight = middle + scale * (level - half).

    Attributes:
        levels: (rows, columns) uint8, 0..2**bits-1.
        scales: (rows, columns/block, 2) float32: middle and scale of each block.
    """

    levels: NDArray[np.uint8]
    scales: NDArray[np.float32]


def bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """float32 as the bits of bfloat16, rounded to nearest even; the same shape, little endian."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    found: NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    return found


def exact_format(kind: Kind) -> Format | None:
    """The format that holds the very values of a kind of block, or None where MNN has none."""
    return _EXACT[kind][0] if kind in _EXACT else None


def repack(data: NDArray[np.uint8], kind: Kind) -> Quantised:
    """The same values in MNN's levels.

    Args:
        data: (rows, bytes in a row) uint8, GGUF's blocks.
        kind: One for which `exact_format` has an answer.

    Raises:
        ModelError: The kind has no exact format.
    """
    if kind not in _EXACT:
        raise ModelError(f"{kind.name} blocks have no exact form in MNN: quantise them anew")
    blocks = np.ascontiguousarray(data).reshape(-1, BLOCKS[kind].size)
    levels, middle, scale = _EXACT[kind][1](blocks)
    rows = len(data)
    scales = np.stack([middle.reshape(rows, -1), scale.reshape(rows, -1)], axis=-1)
    return Quantised(levels.reshape(rows, -1), scales)


def decode_values(data: NDArray[np.uint8], kind: Kind) -> NDArray[np.float32]:
    """The weights themselves, (rows, columns) float32, a copy.

    Args:
        data: (rows, bytes in a row) uint8, GGUF's blocks or numbers.
        kind: How they are stored.
    """
    rows = len(data)
    data = np.ascontiguousarray(data)
    if kind in _PLAIN:
        numbers: NDArray[np.float32] = data.view(_PLAIN[kind]).astype(np.float32)
        return numbers
    if kind is Kind.BF16:  # the upper half of a float32
        return (data.view("<u2").astype(np.uint32) << 16).view(np.float32)
    if kind is Kind.Q6_K:
        return _q6_k(data.reshape(-1, BLOCKS[kind].size)).reshape(rows, -1)
    return dequantise(repack(data, kind), _EXACT[kind][0])


def dequantise(quantised: Quantised, form: Format) -> NDArray[np.float32]:
    """The weights that levels stand for, (rows, columns) float32."""
    rows = len(quantised.levels)
    signed = quantised.levels.astype(np.float32).reshape(rows, -1, form.block) - np.float32(form.half)
    middle, scale = quantised.scales[..., :1], quantised.scales[..., 1:]
    return (signed * scale + middle).reshape(rows, -1)


def quantise(weights: NDArray[np.float32], form: Format, scale_type: np.dtype[np.floating]) -> Quantised:
    """Quantise weights, each block between its least and its greatest.

    Scale and middle are rounded to the type in which they will be stored before levels are chosen, so that the levels
    fit what is read back.

    Args:
        weights: (rows, columns) float32, finite.
        form: The columns are a multiple of its block.
        scale_type: float16 or float32.

    Raises:
        ModelError: The weights are not finite, or their scales overflow the type.
    """
    rows, columns = weights.shape
    top = np.float32((1 << form.bits) - 1)
    blocks = weights.reshape(rows, columns // form.block, form.block)
    least = blocks.min(-1, keepdims=True)
    scale = _round_to((blocks.max(-1, keepdims=True) - least) / top, scale_type)
    middle = _round_to(least + form.half * scale, scale_type)
    # a block of one value has scale 0: its levels are `half`, its middle the value
    steps = (blocks - middle) / np.where(scale == 0, np.float32(1), scale)
    levels = np.rint(steps + form.half).clip(0, top).astype(np.uint8)
    return Quantised(levels.reshape(rows, columns), np.concatenate([middle, scale], axis=-1))


def fit_block(form: Format, columns: int) -> Format:
    """The format with its block halved until it divides the columns."""
    block = form.block
    while columns % block:
        block //= 2
    return Format(form.bits, block)


def pack(levels: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Levels as MNN's file holds them: a byte each, or two to a byte, the first in the high nibble."""
    return levels if bits == 8 else (levels[:, 0::2] << np.uint8(4)) | levels[:, 1::2]  # noqa: PLR2004  # a byte


def make_header(rows: int, columns: int, bits: int) -> bytes:
    """What stands before a matrix's levels: its shape, and the value of each level, in order.

    Returns:
        22 or 26 bytes for 4 bits, 262 or 266 for 8; wider where a side is over 65535 (`is_wide`).
    """
    side = "<u4" if is_wide(rows, columns) else "<u2"
    count = 1 << bits
    table = np.arange(-count // 2, count // 2, dtype=np.int64).astype(np.int8)
    return b"\x02" + np.array([rows, columns], side).tobytes() + bytes([count & 255]) + table.tobytes()


def is_wide(rows: int, columns: int) -> bool:
    """Whether the header needs four bytes for a side."""
    return max(rows, columns) > _LARGEST_NARROW


def _round_to(numbers: NDArray[np.float32], kind: np.dtype[np.floating]) -> NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):
        found = numbers.astype(kind).astype(np.float32)
    if not np.isfinite(found).all():
        raise ModelError(f"weights or their scales are beyond {kind}: the file is damaged, or use scales of float32")
    return found


_Parts = tuple["NDArray[np.uint8]", "NDArray[np.float32]", "NDArray[np.float32]"]
"""Levels of whole blocks, in the order of the row, with middle and scale of each 32 values."""


def _read_half(columns: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Two bytes of each block as a float16, (blocks, 1)."""
    return np.ascontiguousarray(columns).view("<f2").astype(np.float32)


def _read_nibbles(packed_levels: NDArray[np.uint8], axis: int = 1) -> NDArray[np.uint8]:
    """Low nibbles, then high ones."""
    return np.concatenate([packed_levels & 15, packed_levels >> 4], axis=axis)


def _read_fifth_bits(columns: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """One bit for each of 32 values, as what it adds to a level."""
    return np.unpackbits(columns, axis=1, bitorder="little") << np.uint8(4)


def _q4_0(blocks: NDArray[np.uint8]) -> _Parts:
    scale = _read_half(blocks[:, 0:2])
    return _read_nibbles(blocks[:, 2:]), np.zeros_like(scale), scale


def _q4_1(blocks: NDArray[np.uint8]) -> _Parts:
    scale, least = _read_half(blocks[:, 0:2]), _read_half(blocks[:, 2:4])
    return _read_nibbles(blocks[:, 4:]), least + 8 * scale, scale


def _q5_0(blocks: NDArray[np.uint8]) -> _Parts:
    scale = _read_half(blocks[:, 0:2])
    levels = (_read_nibbles(blocks[:, 6:]) | _read_fifth_bits(blocks[:, 2:6])) + np.uint8(
        112
    )  # 16 of 32 becomes 128 of 256
    return levels, np.zeros_like(scale), scale


def _q5_1(blocks: NDArray[np.uint8]) -> _Parts:
    levels = (_read_nibbles(blocks[:, 8:]) | _read_fifth_bits(blocks[:, 4:8])) + np.uint8(128)  # 0 becomes 128 of 256
    return levels, _read_half(blocks[:, 2:4]), _read_half(blocks[:, 0:2])


def _q8_0(blocks: NDArray[np.uint8]) -> _Parts:
    scale = _read_half(blocks[:, 0:2])
    return blocks[:, 2:] ^ np.uint8(128), np.zeros_like(scale), scale


def _k_scales(blocks: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scale and least value of the eight sub-blocks of Q4_K and Q5_K: six bits each, in twelve bytes."""
    low, middle, high = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scale = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], axis=1).astype(np.float32)
    least = np.concatenate([middle & 63, (high >> 4) | ((middle >> 6) << 4)], axis=1).astype(np.float32)
    return _read_half(blocks[:, 0:2]) * scale, -_read_half(blocks[:, 2:4]) * least


def _k_nibbles(columns: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(blocks, 8, 32): each 32 bytes hold one sub-block in their low and the next in their high nibbles."""
    return _read_nibbles(columns.reshape(-1, 4, 1, 32), axis=2).reshape(-1, 8, 32)


def _q4_k(blocks: NDArray[np.uint8]) -> _Parts:
    scale, least = _k_scales(blocks)
    return _k_nibbles(blocks[:, 16:]), least + 8 * scale, scale


def _q5_k(blocks: NDArray[np.uint8]) -> _Parts:
    scale, least = _k_scales(blocks)
    fifth = (blocks[:, 16:48].reshape(-1, 1, 32) >> np.arange(8, dtype=np.uint8).reshape(1, 8, 1)) & np.uint8(1)
    return (_k_nibbles(blocks[:, 48:]) | (fifth << np.uint8(4))) + np.uint8(128), least, scale


def _q6_k(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(blocks, 256) float32: four low bits in 128 bytes, two high ones in 64, 16 scales of int8, one of float16."""
    count = len(blocks)
    low = _read_nibbles(blocks[:, :128].reshape(count, 2, 1, 64), axis=2).reshape(count, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    high = (blocks[:, 128:192].reshape(count, 2, 1, 32) >> shifts) & 3
    signed = (low | (high << 4)).astype(np.int8) - np.int8(32)
    scale = _read_half(blocks[:, 208:210]) * blocks[:, 192:208].view(np.int8)
    return (signed.reshape(count, 16, 16) * scale.reshape(count, 16, 1)).astype(np.float32).reshape(count, 256)


_EXACT: dict[Kind, tuple[Format, Callable[[NDArray[np.uint8]], _Parts]]] = {
    Kind.Q4_0: (Format(4, 32), _q4_0),
    Kind.Q4_1: (Format(4, 32), _q4_1),
    Kind.Q4_K: (Format(4, 32), _q4_k),
    Kind.Q5_0: (Format(8, 32), _q5_0),
    Kind.Q5_1: (Format(8, 32), _q5_1),
    Kind.Q5_K: (Format(8, 32), _q5_k),
    Kind.Q8_0: (Format(8, 32), _q8_0),
}
