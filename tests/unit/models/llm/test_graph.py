from __future__ import annotations

import lzma
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import catalog
from models.llm.graph import Matrix, MnnGraph, OpKind
from pipeline.core.errors import ModelError

RAW = lzma.decompress(catalog.verified_path("graph-smollm2-135m").read_bytes())
MATRIX = Matrix(
    offset=7, weight_bytes=100, scale_bytes=20, bias_bytes=0, bits=8, blocks=5, wide=False, half_scales=True
)


def only(graph, name):
    (found,) = [op for op in graph.ops if op.name == name]
    return found


def test_matrices_norms_and_constants_are_found():
    graph = MnnGraph(RAW, "t")
    matrices = [op for op in graph.ops if op.kind is OpKind.CONVOLUTION]
    assert len(matrices) == 30 * 7 + 1
    assert graph.shape(only(graph, "/layers.3/mlp/down_proj/Linear")) == (576, 1536)
    norms = [op for op in graph.ops if op.kind is OpKind.LAYER_NORM and graph.epsilon(op) is not None]
    assert len(norms) == 61
    assert graph.epsilon(norms[0]) == pytest.approx(1e-5)
    assert [len(graph.floats(op)) for op in graph.ops if op.kind is OpKind.BLOB and graph.floats(op)] == [32]


def test_a_patched_graph_reads_back_and_keeps_its_length_but_for_what_is_appended():
    graph = MnnGraph(RAW, "t")
    op = only(graph, "/lm/lm_head/Linear")
    graph.set_matrix(op, MATRIX)
    graph.set_matrix(only(graph, "/layers.0/mlp/up_proj/Linear"), MATRIX)
    again = MnnGraph(graph.data, "t")
    assert again.shape(only(again, "/lm/lm_head/Linear")) == (49152, 576)
    assert not again.has_bias(only(again, "/lm/lm_head/Linear"))
    assert len(graph.data) - len(RAW) < 120


def test_a_bias_shows():
    qwen = MnnGraph(lzma.decompress(catalog.verified_path("graph-qwen2.5-0.5b").read_bytes()), "t")
    assert qwen.has_bias(only(qwen, "/layers.0/self_attn/q_proj/Linear"))
    assert not qwen.has_bias(only(qwen, "/layers.0/mlp/up_proj/Linear"))


def test_a_stripped_graph_keeps_nothing_of_the_export_but_what_the_model_is():
    raw = lzma.decompress(catalog.verified_path("graph-qwen2.5-0.5b").read_bytes())
    one, other = MnnGraph(raw, "t"), MnnGraph(raw, "t")
    other.set_norm(next(op for op in other.ops if op.kind is OpKind.LAYER_NORM and other.epsilon(op)), 70, 8)
    for graph in (one, other):
        graph.strip()
    assert one.data == other.data != raw
    assert b"0" * 36 in one.data
    assert one.has_bias(only(one, "/layers.0/self_attn/q_proj/Linear"))


def test_constants_are_overwritten_by_as_many():
    graph = MnnGraph(RAW, "t")
    (op,) = [op for op in graph.ops if op.kind is OpKind.BLOB and graph.floats(op)]
    graph.set_floats(op, [0.5] * 32)
    assert graph.floats(op) == (0.5,) * 32
    with pytest.raises(ModelError, match="not 31 numbers"):
        graph.set_floats(op, [0.5] * 31)


@pytest.mark.parametrize("data", [b"", b"GGUF", bytes(64), RAW[:1000], b"\xff" * 500])
def test_what_is_no_graph_is_refused(data):
    with pytest.raises(ModelError, match="the template is no graph"):
        MnnGraph(data, "the template")


@given(st.integers(0, len(RAW) - 1), st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused_but_never_worse(place, value):
    data = bytearray(RAW)
    data[place] = value
    with suppress(ModelError):
        graph = MnnGraph(bytes(data), "changed")
        for op in graph.ops:
            if op.kind is OpKind.CONVOLUTION:
                graph.set_matrix(op, MATRIX)
        graph.strip()
