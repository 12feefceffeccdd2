"""Every kind of block against a dequantisation written value by value from the format's definition."""

from __future__ import annotations

import numpy as np
import pytest

from models.llm import repack
from models.llm.gguf import BLOCKS, Kind
from pipeline.core.errors import ModelError
from tests.ggufs import blocks

EXACT = [kind for kind in Kind if repack.exact_format(kind)]
HALF, SINGLE = np.dtype("float16"), np.dtype("float32")


def half(block, at):
    return float(np.frombuffer(block, "<f2", 1, at)[0])


def nibble(block, at, value):
    """The value-th of 32 four-bit numbers: bytes hold j and j+16."""
    return block[at + value % 16] >> (4 * (value // 16)) & 15


def k_scale(block, sub):
    """Six bits of scale and of least value, as get_scale_min_k4 has them."""
    q = block[4:16]
    if sub < 4:
        return q[sub] & 63, q[sub + 4] & 63
    return (q[sub + 4] & 15) | (q[sub - 4] >> 6) << 4, (q[sub + 4] >> 4) | (q[sub] >> 6) << 4


def k_value(block, value, with_fifth_bit):
    sub, place = divmod(value, 32)
    scale, least = k_scale(block, sub)
    at = 48 if with_fifth_bit else 16
    level = block[at + 32 * (sub // 2) + place] >> (4 * (sub % 2)) & 15
    if with_fifth_bit:
        level |= (block[16 + place] >> sub & 1) << 4
    return half(block, 0) * scale * level - half(block, 2) * least


def q6_value(block, value):
    part, inside = divmod(value, 128)
    quarter, place = divmod(inside, 32)
    low = block[64 * part + 32 * (quarter % 2) + place] >> (4 * (quarter // 2)) & 15
    high = block[128 + 32 * part + place] >> (2 * quarter) & 3
    scale = np.int8(np.uint8(block[192 + value // 16]))
    return half(block, 208) * float(scale) * ((low | high << 4) - 32)


def fifth(block, at, value):
    return (int.from_bytes(block[at : at + 4], "little") >> value & 1) << 4


REFERENCE = {
    Kind.Q4_0: lambda b, j: half(b, 0) * (nibble(b, 2, j) - 8),
    Kind.Q4_1: lambda b, j: half(b, 0) * nibble(b, 4, j) + half(b, 2),
    Kind.Q5_0: lambda b, j: half(b, 0) * ((nibble(b, 6, j) | fifth(b, 2, j)) - 16),
    Kind.Q5_1: lambda b, j: half(b, 0) * (nibble(b, 8, j) | fifth(b, 4, j)) + half(b, 2),
    Kind.Q8_0: lambda b, j: half(b, 0) * float(np.int8(np.uint8(b[2 + j]))),
    Kind.Q4_K: lambda b, j: k_value(b, j, with_fifth_bit=False),
    Kind.Q5_K: lambda b, j: k_value(b, j, with_fifth_bit=True),
    Kind.Q6_K: q6_value,
}


def reference(data, kind):
    per, size = BLOCKS[kind]
    found = [
        [REFERENCE[kind](bytes(row[at : at + size]), j) for at in range(0, len(row), size) for j in range(per)]
        for row in data
    ]
    return np.array(found)


def close(got, want):
    return np.abs(got - want).max() <= 2e-6 * np.abs(want).max()


@pytest.mark.parametrize("kind", REFERENCE)
def test_values_are_those_of_the_definition(kind):
    data = blocks(kind, 3, 512)
    assert close(repack.decode_values(data, kind), reference(data, kind))


@pytest.mark.parametrize("kind", EXACT)
def test_levels_stand_for_the_very_values(kind):
    data = blocks(kind, 3, 512)
    found, form = repack.repack(data, kind), repack.exact_format(kind)
    assert found.scales.shape == (3, 512 // form.block, 2)
    assert found.levels.max() < 1 << form.bits
    assert close(repack.dequantise(found, form), reference(data, kind))


def test_those_that_have_no_exact_form_say_so():
    assert set(Kind) - set(EXACT) == {Kind.Q6_K, Kind.F32, Kind.F16, Kind.BF16}
    with pytest.raises(ModelError, match="Q6_K"):
        repack.repack(blocks(Kind.Q6_K, 1, 256), Kind.Q6_K)


@pytest.mark.parametrize(("kind", "relative"), [(Kind.F32, 0), (Kind.F16, 2**-11), (Kind.BF16, 2**-7)])
def test_plain_numbers_are_read_as_they_are(kind, relative):
    weights = blocks(Kind.F32, 4, 96).view("<f4")
    assert np.allclose(repack.decode_values(blocks(kind, 4, 96), kind), weights, rtol=relative, atol=1e-7)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("block", [32, 64, 128])
@pytest.mark.parametrize("stored", [HALF, SINGLE])
def test_quantising_is_off_by_half_a_step_at_most(bits, block, stored):
    weights = np.random.default_rng(3).normal(0, 0.1, (5, 256)).astype(np.float32)
    form = repack.Format(bits, block)
    found = repack.quantise(weights, form, stored)
    assert np.array_equal(found.scales, found.scales.astype(stored))
    step = np.repeat(found.scales[..., 1], block, axis=1)
    rounding = 2.0**-10 if stored == HALF else 1e-6  # of the middle
    assert (np.abs(repack.dequantise(found, form) - weights) <= step * (0.51 + (stored == HALF)) + rounding).all()


def test_a_block_of_one_value_keeps_it():
    weights = np.full((1, 64), -0.25, np.float32)
    found = repack.quantise(weights, repack.Format(4, 32), HALF)
    assert np.array_equal(repack.dequantise(found, repack.Format(4, 32)), weights)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_weights_that_do_not_fit_the_scales_are_refused(value):
    weights = np.zeros((1, 32), np.float32)
    weights[0, 3] = value
    with pytest.raises(ModelError, match="beyond float16"):
        repack.quantise(weights, repack.Format(8, 32), HALF)


def test_the_first_of_two_neighbours_lies_in_the_high_nibble():
    assert repack.pack(np.array([[1, 2, 15, 0]], np.uint8), 4).tolist() == [[0x12, 0xF0]]
    assert repack.pack(np.array([[1, 255]], np.uint8), 8).tolist() == [[1, 255]]


@pytest.mark.parametrize(("rows", "bits", "size"), [(576, 4, 22), (70000, 4, 26), (576, 8, 262), (70000, 8, 266)])
def test_the_header_holds_the_shape_and_every_level_in_order(rows, bits, size):
    found = repack.make_header(rows, 64, bits)
    assert (len(found), found[0]) == (size, 2)
    assert np.frombuffer(found[1:5], "<u4" if rows > 65535 else "<u2")[0] == rows
    assert np.frombuffer(found[-(1 << bits) :], np.int8).tolist() == list(range(-(1 << bits - 1), 1 << bits - 1))


def test_a_block_is_halved_until_it_fits():
    assert repack.fit_block(repack.Format(8, 128), 896) == repack.Format(8, 128)
    assert repack.fit_block(repack.Format(8, 128), 576) == repack.Format(8, 64)
