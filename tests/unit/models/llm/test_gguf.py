from __future__ import annotations

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.llm.gguf import Gguf, Kind
from pipeline.core.errors import ModelError
from tests.ggufs import blocks, gguf

DATA = blocks(Kind.Q4_1, 3, 64)
METADATA = {"general.architecture": "llama", "llama.block_count": 2, "eps": 0.5, "yes": True, "names": ["a", "ü"]}
WHOLE = gguf(METADATA, {"w": (Kind.Q4_1, 3, 64, DATA.tobytes()), "n": (Kind.F32, None, 4, bytes(16))})


@pytest.fixture
def opened(tmp_path):
    def write_and_open(data):
        (tmp_path / "m.gguf").write_bytes(data)
        return Gguf(tmp_path / "m.gguf")

    return write_and_open


def test_metadata_and_tensors_come_back(opened):
    model = opened(WHOLE)
    assert model.metadata == METADATA
    assert model.tensor("w").shape == (3, 64)
    assert np.array_equal(model.tensor("w").data, DATA)
    assert model.tensor("n").shape == (1, 4)


def test_version_2_is_read_alike(opened):
    assert opened(gguf(METADATA, {}, version=2)).metadata == METADATA


def test_a_value_is_asked_for_with_its_kind(opened):
    model = opened(WHOLE)
    assert model.value("llama.block_count", int) == 2
    assert model.value("eps", float) == 0.5
    with pytest.raises(ModelError, match="eps is of another type"):
        model.value("eps", str)
    with pytest.raises(ModelError, match="yes is of another type"):
        model.value("yes", int)
    with pytest.raises(ModelError, match="absent is missing"):
        model.value("absent", int)


@pytest.mark.parametrize("size", range(0, len(WHOLE) - 16, 7))
def test_a_file_cut_short_anywhere_is_refused_with_its_name(opened, size):
    with pytest.raises(ModelError, match=r"m\.gguf.*use|empty"):
        opened(WHOLE[:size])


def test_a_truncated_download_is_told_apart(opened):
    with pytest.raises(ModelError, match=r"ends within its tensor n.*fetch it again"):
        opened(WHOLE[:-17])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"<html>" + WHOLE, "does not begin with GGUF"),
        (gguf({}, {}, version=1), "version 1"),
        (gguf({}, {"w": (10, 1, 256, bytes(84))}), "ggml type 10.*Q4_K_M"),
        (gguf({}, {"w": (Kind.Q4_1, 1, 33, bytes(20))}), "does not fit Q4_1"),
        (gguf({"general.alignment": 7}, {}), "alignment is 7"),
        (gguf({}, {}).replace(struct.pack("<QQ", 0, 0), struct.pack("<QQ", 1 << 60, 0)), "counts"),
    ],
)
def test_what_is_wrong_is_named(opened, data, text):
    with pytest.raises(ModelError, match=text):
        opened(data)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "absent.gguf"):
        with pytest.raises(ModelError, match="cannot read"):
            Gguf(path)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused_but_never_worse(tmp_path_factory, place, value):
    data = bytearray(WHOLE)
    data[place] = value
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    path.write_bytes(data)
    with suppress(ModelError):
        Gguf(path)
