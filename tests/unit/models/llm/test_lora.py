from __future__ import annotations

import json

import numpy as np
import pytest

from models.llm import convert
from models.llm.lora import Adapter
from models.llm.recipes import Recipe, StorageRule
from pipeline.core.errors import ModelError
from tests import ggufs

KEEP = Recipe(rules=(StorageRule("*", keep=True),), scales="float32")
LAYER = "base_model.model.model.layers.5.self_attn.q_proj"
RANDOM = np.random.default_rng(5)
A = (RANDOM.normal(0, 0.1, (4, 128)).astype("<f4").view(np.uint32) & 0xFFFF0000).view("<f4")
B = (RANDOM.normal(0, 0.1, (128, 4)).astype("<f4").view(np.uint32) & 0xFFFF0000).view("<f4")


@pytest.fixture
def adapter(tmp_path):
    def write(tensors=None, metadata=None):
        pair = {f"{LAYER}.lora_A.weight": A, f"{LAYER}.lora_B.weight": B}
        return ggufs.safetensors(tmp_path / "a.safetensors", tensors or pair, metadata or {"alpha": "8"})

    return write


def test_what_is_added_is_alpha_by_rank_times_the_product(adapter):
    found = Adapter(adapter())
    assert found.layers == {"layers.5.self_attn.q_proj"}
    assert found.shape("layers.5.self_attn.q_proj") == (128, 128)
    assert np.allclose(found.delta("layers.5.self_attn.q_proj", 10, 30), 2 * (B @ A)[10:30], atol=1e-6)


def test_alpha_may_stand_in_the_file_beside_it(adapter, tmp_path):
    path = adapter(metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"no alpha.*adapter_config\.json"):
        Adapter(path)
    (tmp_path / "adapter_config.json").write_text(json.dumps({"lora_alpha": 4}))
    assert np.allclose(Adapter(path).delta("layers.5.self_attn.q_proj", 0, 128), B @ A, atol=1e-6)


@pytest.mark.parametrize("kind", ["use_rslora", "use_dora"])
def test_one_that_is_weighed_in_another_way_is_refused(adapter, tmp_path, kind):
    path = adapter()
    (tmp_path / "adapter_config.json").write_text(json.dumps({"lora_alpha": 4, kind: True}))
    with pytest.raises(ModelError, match="rank-stabilised or a DoRA"):
        Adapter(path)


def test_merged_weights_are_quantised_anew_in_the_order_of_the_graph(tiny, tmp_path, adapter):
    path = tiny()
    for name, lora in (("without", None), ("with", adapter())):
        convert.run(convert.plan(convert.ModelJob(path, KEEP, "test", lora)), tmp_path / name)
    before, after = ggufs.read_back(tmp_path / "without"), ggufs.read_back(tmp_path / "with")
    op = "/layers.5/self_attn/q_proj/Linear"
    assert after[op][0] == (8, 32)
    step = np.ptp(after[op][1]) / 255
    assert np.abs(after[op][1] - before[op][1] - 2 * (B @ A)).max() < step
    same = [name for name in before if np.array_equal(before[name][1], after[name][1])]
    assert set(before) - set(same) == {op}


def test_the_adapter_is_in_the_manifest_and_in_the_version(tiny, tmp_path, adapter):
    path = tiny()
    plain = convert.plan(convert.ModelJob(path, KEEP, "test"))
    merged = convert.plan(convert.ModelJob(path, KEEP, "test", adapter()))
    assert merged.manifest.adapter.name == "a.safetensors"
    assert merged.version != plain.version
    assert "Q4_1 + adapter -> int8, blocks of 32, quantised" in merged.manifest.layers


@pytest.mark.parametrize(
    ("tensors", "text"),
    [
        ({f"{LAYER}.lora_A.weight": A}, "do not fit together"),
        ({f"{LAYER}.lora_A.weight": A, f"{LAYER}.lora_B.weight": B[:, :3]}, "do not fit together"),
        ({"base_model.model.lm_head.lora_A.weight": A}, "lm_head.lora_A.weight is no LoRA of a layer"),
    ],
)
def test_what_is_no_adapter_is_refused(adapter, tensors, text):
    with pytest.raises(ModelError, match=text):
        Adapter(adapter(tensors))


def test_one_for_another_model_is_refused(tiny, adapter):
    wide = {f"{LAYER}.lora_A.weight": np.zeros((4, 64)), f"{LAYER}.lora_B.weight": B}
    with pytest.raises(ModelError, match=r"for another model.*\(128, 64\)"):
        convert.plan(convert.ModelJob(tiny(), KEEP, "test", adapter(wide)))
    far = LAYER.replace("layers.5", "layers.77")
    deep = {f"{far}.lora_A.weight": A, f"{far}.lora_B.weight": B}
    with pytest.raises(ModelError, match=r"adds to layers\.77\.self_attn\.q_proj"):
        convert.plan(convert.ModelJob(tiny(), KEEP, "test", adapter(deep)))


def test_one_cut_short_anywhere_is_refused(adapter):
    path = adapter()
    data = path.read_bytes()
    for size in (0, 4, 100, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(ModelError, match=r"a\.safetensors"):
            Adapter(path)
