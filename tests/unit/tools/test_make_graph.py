"""What of making a graph needs no torch: the sizes, the stripping, the row; the bundled graphs stand for an export."""

from __future__ import annotations

import json
import lzma
import struct
import sys
from pathlib import Path

import pytest

from models import catalog
from models.llm import layout
from models.llm.graph import Matrix, MnnGraph, OpKind
from pipeline.core.errors import ConfigError, ModelError
from tests import ggufs
from tools import make_graph
from tools.torch_route import Exporter

RAW = lzma.decompress(catalog.verified_path("graph-smollm2-135m").read_bytes())
SMOLLM = make_graph.Size(layout.TEMPLATES["graph-smollm2-135m"], 1e-5, 1e5)
CONFIG = {
    "model_type": "llama", "num_hidden_layers": 30, "hidden_size": 576, "intermediate_size": 1536,
    "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "rms_norm_eps": 1e-5, "rope_theta": 1e5,
}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def config(changes):
        (tmp_path / "config.json").write_text(json.dumps(CONFIG | changes), encoding="utf-8")
        return tmp_path / "config.json"

    return config


def test_a_configuration_gives_the_size(write):
    assert make_graph.of_config(write({})) == SMOLLM


@pytest.mark.parametrize("key", ["rope_parameters", "rope_scaling"])
def test_newer_configurations_have_the_rotary_base_in_a_table(write, key):
    changes = {"rope_theta": None, key: {"rope_theta": 1e6, "rope_type": "default"}}
    assert make_graph.of_config(write(changes)).theta == 1e6


def test_metadata_give_the_size_that_was_meant_and_not_what_float32_made_of_it(tiny):
    assert make_graph.of_gguf(tiny()) == make_graph.Size(ggufs.TINY, 1e-5, 1e5)


def test_a_size_is_a_configuration_that_gives_it_again(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(SMOLLM.config), encoding="utf-8")
    assert make_graph.of_config(tmp_path / "c.json") == SMOLLM


@pytest.mark.parametrize(("changes", "text"), [
    ({"model_type": "gemma3"}, "its model_type is gemma3; known are llama and qwen2"),
    ({"hidden_size": "576"}, "its hidden_size is 576"),
    ({"num_hidden_layers": True}, "its num_hidden_layers is True"),
    ({"rope_scaling": {"rope_type": "llama3"}}, "rope_scaling are not known here: use tools.export_llm"),
    ({"head_dim": 128, "hidden_act": "gelu"}, "hidden_act and head_dim are not known here"),
    ({"attention_bias": True}, "attention_bias"),
    ({"use_sliding_window": True}, "use_sliding_window"),
    ({"num_attention_heads": 7}, "contradicts itself"),
    ({"rope_theta": 0.5}, "contradicts itself"),
])  # fmt: skip
def test_a_configuration_that_no_graph_here_can_follow_is_refused(write, changes, text):
    with pytest.raises(ConfigError, match=text):
        make_graph.of_config(write(changes))


def test_a_file_that_is_no_configuration_is_refused(tmp_path):
    (tmp_path / "c.json").write_text("[", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"c\.json cannot be read"):
        make_graph.of_config(tmp_path / "c.json")


def exported(bits, block):
    """A graph as two exports of one size may differ: where and how weights are stored, and the identifier."""
    graph = MnnGraph(RAW, "t")
    net = graph._unpack("<I", 0)
    identifier = graph._read_required(net, 11, "") + 4
    graph._bytes[identifier : identifier + 36] = bytes([bits]) * 36
    for op in graph.ops:
        if op.kind is OpKind.CONVOLUTION:
            table = graph._read_required(op.table, 3, op.name)
            for number, value in {7: bits, 9: 7 * block}.items():
                struct.pack_into("<i", graph._bytes, graph._place(table, number), value)
            graph._overwrite(graph._read_required(op.table, 6, ""), "q", [bits, block, 3, 0, 0])
    return graph.data


def test_two_exports_of_one_size_are_the_same_when_stripped():
    one, other = (make_graph.stripped(exported(*how), SMOLLM) for how in ((4, 32), (8, 64)))
    assert one == other == make_graph.stripped(RAW, SMOLLM)


def test_a_stripped_graph_can_be_given_weights():
    graph = MnnGraph(make_graph.stripped(RAW, SMOLLM), "t")
    op = next(op for op in graph.ops if op.kind is OpKind.CONVOLUTION)
    graph.set_matrix(op, Matrix(7, 100, 20, 0, 8, 5, wide=False, half_scales=True))
    assert MnnGraph(graph.data, "t").shape(op) == (576, 576)


@pytest.mark.parametrize("changes", [{"layers": 29}, {"vocabulary": 5}, {"feed_forward": 1500}, {"kv_heads": 9}])
def test_a_graph_of_another_size_is_refused(changes):
    with pytest.raises(ModelError, match="does not fit"):
        make_graph.stripped(RAW, SMOLLM._replace(shape=SMOLLM.shape._replace(**changes)))


def test_a_graph_of_another_epsilon_is_refused():
    with pytest.raises(ModelError, match="does not fit"):
        make_graph.stripped(RAW, SMOLLM._replace(epsilon=1e-6))


def test_graphs_whose_made_up_names_are_numbered_otherwise_are_the_same():
    at = RAW.index(b"\0BinaryOp") + 9
    renumbered = RAW[:at] + bytes([RAW[at] ^ 1]) + RAW[at + 1 :]
    assert RAW[at : at + 1].isdigit()
    assert make_graph.difference(RAW, renumbered) == ""


def test_graphs_that_compute_otherwise_are_not_the_same():
    at = RAW.index(b"/layers.0/mlp")
    assert make_graph.difference(RAW, RAW[:at] + b"?" + RAW[at + 1 :]) == f"1 bytes differ, the first at {at}"
    assert "bytes long" in make_graph.difference(RAW, RAW + b"?")


@pytest.mark.parametrize("model", [row for row in catalog.CATALOG if row.name in layout.TEMPLATES])
def test_what_is_printed_is_what_the_tables_hold(model):
    name = model.name.removeprefix("graph-")
    shape = layout.TEMPLATES[model.name]
    printed = eval(make_graph.row(name, model.sha256, shape).strip().rstrip(","), {"Model": catalog.BundledModel})
    assert printed._replace(source="") == model._replace(source="")
    source = (Path(layout.__file__)).read_text(encoding="utf-8")
    assert make_graph.entry(name, shape) in source


def test_a_graph_is_made_of_a_folder_with_a_configuration_and_a_tokenizer_alone(tmp_path):
    (tmp_path / "bundled").write_bytes(RAW)
    (tmp_path / "llmexport.py").write_text(
        "import os, shutil, sys\n"
        "assert sorted(os.listdir('model')) == ['config.json', 'tokenizer.json', 'tokenizer_config.json']\n"
        "assert '--skip_weight' in sys.argv\n"
        f"os.mkdir('out'); shutil.copy({str(tmp_path / 'bundled')!r}, 'out/llm.mnn')\n",
        encoding="utf-8",
    )
    (tmp_path / "work").mkdir()
    made = make_graph.make(SMOLLM, Exporter(Path(sys.executable), tmp_path, {}), tmp_path / "work")
    assert make_graph.difference(made, make_graph.stripped(RAW, SMOLLM)) == ""


@pytest.mark.parametrize(("words", "text"), [
    (["My model"], "is no name"),
    (["smollm2-135m"], r"smollm2-135m.mnn.xz exists"),
    (["none", "--check"], "no model 'graph-none'"),
    (["new"], "need an environment of their own"),
])  # fmt: skip
def test_what_cannot_be_made_is_refused_before_torch_is_started(write, words, text, monkeypatch, capsys):
    monkeypatch.delenv("FIELDWATCH_TORCH_PYTHON", raising=False)
    monkeypatch.setattr("sys.argv", ["make_graph", *words, "--config", str(write({}))])
    with pytest.raises(SystemExit, match=r"[12]"):
        make_graph.main()
    assert text in capsys.readouterr().err
