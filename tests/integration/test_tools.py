"""The developers' tools, with the boot model and the engine."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys

import numpy as np
import pytest

from models import catalog
from models.llm import layout
from models.store import Store
from models.table import parse
from pipeline.core.errors import ConfigError, ModelError
from tests import boot
from tests.daemons import PATIENCE
from tests.reference import divergence
from tools import export_llm, make_graph, torch_route

RANDOM = """
import sys
import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

torch.manual_seed(1)
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(sys.argv[1]), dtype=torch.float32)
for weight in model.parameters():
    if weight.dim() > 1:
        torch.nn.init.normal_(weight, 0, 0.1)
model.save_pretrained(sys.argv[1])
np.save(sys.argv[1] + "/logits.npy", model(torch.tensor([[1, 0, 1, 1, 0, 0, 1, 0]])).logits[0].detach().numpy())
"""


@pytest.fixture(scope="module")
def source():
    try:
        return boot.gguf()
    except ModelError as error:
        pytest.skip(f"the boot model cannot be had: {error}")


@pytest.mark.timeout(300 * PATIENCE)
def test_a_scan_finds_which_matrices_bear_four_bits_and_a_recipe_that_is_as_good_as_predicted(source, tmp_path):
    words = ["--bits", "4", "--positions", "64", "--size-mb", "97", "--recipe-out", tmp_path / "r.toml", "--json"]
    command = [sys.executable, "-m", "tools.sensitivity", *map(str, [source, *words])]
    done = subprocess.run(command, cwd=boot.ROOT, capture_output=True, text=True, timeout=200 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    names = [group["name"] for group in found["groups"]]
    assert names.index("q_proj") < names.index("down_proj") < names.index("v_proj")
    made = found["recipe"]
    assert made["measured"]["bytes"] == pytest.approx(made["predicted"]["bytes"], abs=20)
    assert made["measured"]["bytes"] <= 97e6
    assert made["measured"]["kl"] == pytest.approx(made["predicted"]["kl"], rel=0.5)
    assert parse((tmp_path / "r.toml").read_bytes() + b"[models]\n").recipe("chosen").rules[-1].keep


@pytest.fixture(scope="module")
def exporter():
    try:
        return torch_route.find(None)
    except ConfigError as error:
        pytest.skip(f"llmexport cannot be had: {error}")


def test_the_bundled_graph_made_anew_is_the_same(source, exporter, tmp_path):
    made = make_graph.make(make_graph.of_gguf(source), exporter, tmp_path)
    bundled = lzma.decompress(catalog.verified_path("graph-smollm2-135m").read_bytes())
    assert make_graph.difference(made, make_graph.stripped(bundled, make_graph.of_gguf(source))) == ""


def test_a_model_exported_by_torch_says_in_the_engine_what_it_says_in_torch(exporter, tmp_path):
    model, shape = tmp_path / "model", layout.Shape("llama", 2, 128, 256, 2, 1, 320)
    make_graph.write_source(make_graph.Size(shape, 1e-5, 1e4), model)
    subprocess.run([exporter.python, "-c", RANDOM, model], check=True, capture_output=True, timeout=200 * PATIENCE)
    target = tmp_path / "state" / "models" / "random" / "keep"
    export_llm.export(model, target, "keep", exporter)
    assert [problems for _, problems in Store(tmp_path / "state").verify("random")] == [[]]
    boot.ask(target, numbers=[1, 0, 1, 1, 0, 0, 1, 0], logits=str(tmp_path / "logits.npy"))
    divergences, same = divergence(np.load(model / "logits.npy"), np.load(tmp_path / "logits.npy"))
    assert divergences.max() < 0.01
    assert same == 1
