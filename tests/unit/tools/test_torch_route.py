"""What of the way by torch needs no torch; a script stands for llmexport."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from models.llm import convert, folder, repack
from models.store import Store
from models.table import load_table
from pipeline.core.errors import ConfigError, ModelError
from tools import export_llm, torch_route
from tools.torch_route import Exporter

CONFIG = {
    "model_type": "qwen3", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 2,
    "num_attention_heads": 9, "head_dim": 128,
}  # fmt: skip
SHOWS = """
import json, os, shutil, sys
assert os.path.isfile("model/config.json")
os.mkdir("out")
json.dump([sys.argv, dict(os.environ), shutil.which("pip"), shutil.which("mnnconvert")], open("out/llm.mnn", "w"))
"""
WRITES = """
import shutil
shutil.copytree({converted!r}, "out")
open("out/export_args.json", "w").write("of no use")
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "a bge model"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return path


@pytest.fixture
def exporter(tmp_path):
    def write(script):
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "llmexport.py").write_text(script, encoding="utf-8")
        return Exporter(Path(sys.executable), tmp_path / "home", {"llmexport": "0.0.5"})

    return write


@pytest.fixture
def work(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    return path


def test_the_exporter_runs_where_there_is_no_pip_and_no_hub_and_no_secret_of_ours(exporter, model, work, monkeypatch):
    monkeypatch.setenv("SECRET", "s")
    out = exporter(SHOWS).run(model, ["--skip_weight"], work)
    words, seen, pip, converter = json.loads((out / "llm.mnn").read_text(encoding="utf-8"))
    assert (pip, converter) == (None, str(work / "bin" / "mnnconvert"))
    assert seen["HF_HUB_OFFLINE"] == "1"
    assert "SECRET" not in seen
    assert words[1:3] == ["--path", "model"]
    assert words[-1] == "--skip_weight"


def test_an_export_that_fails_says_what_the_exporter_said(exporter, model, work):
    with pytest.raises(ModelError, match=r"llmexport failed on .*a bge model \(status 3\).*\nout of paper"):
        exporter("import sys; print('out of paper'); sys.exit(3)").run(model, [], work)


def test_an_export_without_a_graph_has_failed(exporter, model, work):
    with pytest.raises(ModelError, match="status 0"):
        exporter("").run(model, [], work)


def test_without_an_environment_it_says_how_to_make_one(monkeypatch):
    monkeypatch.delenv(torch_route.ENVIRONMENT, raising=False)
    with pytest.raises(ConfigError, match=r"pip install llmexport==0\.0\.5 torch=="):
        torch_route.find(None)


def test_a_package_that_is_missing_is_named_and_no_other(monkeypatch):
    monkeypatch.setattr(torch_route, "PINNED", {"numpy": "1", "no-such-package": "2"})
    with pytest.raises(ConfigError, match=r"lacks no-such-package\. Make one: .*pip install no-such-package==2`"):
        torch_route.find(Path(sys.executable))


def test_what_is_no_python_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="does not run as a Python"):
        torch_route.find(tmp_path / "python")


def test_a_recipe_gives_every_matrix_its_bits_and_a_block_that_fits():
    found = export_llm.forms(load_table().recipe("keep-b128"), CONFIG)
    assert len(found) == 2 * 7 + 1
    assert found["/layers.1/self_attn/q_proj/Linear"] == repack.Format(8, 64)  # 576 columns
    assert found["/layers.1/self_attn/o_proj/Linear"] == repack.Format(8, 128)  # 9 heads of 128
    assert found["/layers.0/mlp/down_proj/Linear"] == repack.Format(8, 128)
    mixed = export_llm.forms(load_table().recipe("mixed"), CONFIG)
    assert [mixed[f"/layers.0/self_attn/{part}_proj/Linear"].bits for part in "qkvo"] == [8, 8, 8, 4]


def test_the_exporter_is_told_each_matrix_and_never_symmetry(tmp_path):
    words = export_llm.words(export_llm.forms(load_table().recipe("mixed"), CONFIG), tmp_path / "q.json")
    told = json.loads((tmp_path / "q.json").read_text(encoding="utf-8"))
    assert told["/layers.1/mlp/up_proj/Linear"] == {"bits": 4, "block_size": 64, "symmetric": False}
    assert {one["symmetric"] for one in told.values()} == {False}
    assert words[4:] == ["--lm_quant_bit", "8", "--lm_quant_block", "64", "--quant_config", "q.json"]
    assert "--sym" not in words


def test_an_exported_model_is_one_that_the_store_verifies_and_uses(exporter, model, tiny, tmp_path):
    job = convert.ModelJob(tiny(), load_table().recipe("keep"), "keep")
    convert.run(convert.plan(job), tmp_path / "converted")
    target = tmp_path / "state" / "models" / "other" / "mixed"
    done = export_llm.export(model, target, "mixed", exporter(WRITES.format(converted=str(tmp_path / "converted"))))
    store = Store(tmp_path / "state")
    assert [problems for _, problems in store.verify("other")] == [[]]
    assert store.use("other").active
    assert folder.read(target) == done
    assert sorted(done.files) == ["config.json", "llm.mnn", "llm.mnn.weight", "llm_config.json", "tokenizer.mtok"]
    assert done.layers == {"int4, blocks of 64, quantised": 8, "int8, blocks of 64, quantised": 7}
    assert msgspec.json.decode((target / "config.json").read_bytes()) == convert.ENGINE
    assert sorted(path.name for path in target.iterdir()) == [
        *sorted(done.files)[:4],
        "manifest.json",
        "tokenizer.mtok",
    ]


def test_nothing_is_left_of_an_export_that_failed(exporter, model, tmp_path):
    with pytest.raises(ModelError):
        export_llm.export(model, tmp_path / "models" / "m", "mixed", exporter("raise SystemExit(1)"))
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("name", ["llm.mnn.weight", "tokenizer.mtok"])
def test_a_file_that_the_exporter_left_out_is_named(tmp_path, name):
    for one in ("llm.mnn", "llm.mnn.weight", "llm_config.json", "tokenizer.mtok"):
        (tmp_path / one).write_bytes(b"" if one == name else b"1")
    with pytest.raises(ModelError, match=f"left out {name}"):
        export_llm.check(tmp_path)


def test_a_graph_that_is_none_is_refused(tmp_path):
    for one in ("llm.mnn", "llm.mnn.weight", "llm_config.json", "tokenizer.mtok"):
        (tmp_path / one).write_bytes(b"1")
    with pytest.raises(ModelError, match="what llmexport wrote is no graph"):
        export_llm.check(tmp_path)


@pytest.mark.parametrize(("changes", "text"), [
    ({"num_hidden_layers": None}, "num_hidden_layers is None"),
    ({"num_attention_heads": 0}, "matrices of 576, 1536 and 0 columns"),
    ({"intermediate_size": [1, 2]}, "known are models whose layers are all alike"),
])  # fmt: skip
def test_a_configuration_that_says_too_little_is_refused(model, changes, text):
    (model / "config.json").write_text(json.dumps(CONFIG | changes), encoding="utf-8")
    with pytest.raises(ConfigError, match=text):
        export_llm.forms(load_table().recipe("mixed"), export_llm.read_config(model))


def test_a_folder_without_a_configuration_is_refused(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["export_llm", str(tmp_path), str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="2"):
        export_llm.main()
    assert "is no folder of a language model" in capsys.readouterr().err
