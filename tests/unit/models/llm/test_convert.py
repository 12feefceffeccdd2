from __future__ import annotations

import errno
import json
import os
import signal
import struct
from contextlib import suppress

import numpy as np
import pytest

from models.llm import convert, folder, layout, repack
from models.llm.gguf import Gguf, Kind
from models.llm.recipes import Recipe, StorageRule
from models.table import load_table
from pipeline.core.errors import ModelError
from tests import ggufs

KEEP = Recipe(rules=(StorageRule("*", keep=True),), scales="float32")
ALL_KINDS = {
    "attn_q.weight": Kind.Q8_0, "attn_q": Kind.Q4_0, "attn_k": Kind.Q5_0, "attn_v": Kind.Q5_1, "ffn_gate": Kind.Q8_0,
    "ffn_down": Kind.Q6_K, "ffn_up": Kind.F16, "token_embd": Kind.Q8_0,
}  # fmt: skip


@pytest.fixture
def converted(tiny, tmp_path):
    def run(kinds=None, recipe=KEEP, adapter=None, name="out", **changes):
        job = convert.ModelJob(tiny(kinds, **changes), recipe, "test", adapter)
        ready = convert.plan(job)
        manifest = convert.run(ready, tmp_path / name)
        return tmp_path / name, manifest, ready

    return run


def original(path, op):
    """A matrix of the source, its rows in the graph's order by the definition of llama.cpp's permutation."""
    model = Gguf(path)
    name = layout.tensor_name(op, tied=True)
    tensor = model.tensor(f"{name}.weight")
    found = repack.decode_values(tensor.data, tensor.kind)
    heads = {"attn_q": 2, "attn_k": 1}.get(name.rpartition(".")[2])
    if heads is None:
        return found
    per_head = found.reshape(heads, -1, found.shape[1])
    return np.concatenate([per_head[:, 0::2], per_head[:, 1::2]], axis=1).reshape(found.shape)


def test_what_is_kept_has_the_very_values_and_what_is_not_is_close(converted, tmp_path):
    out, manifest, _ = converted(ALL_KINDS)
    for op, (form, got) in ggufs.read_back(out).items():
        want = original(tmp_path / "tiny.gguf", op)
        rounded = "down_proj" in op or "up_proj" in op
        allowed = np.ptp(want) / 255 * 0.51 if rounded else 2e-6 * np.abs(want).max()
        assert form.bits == (4 if "q_proj" in op or "o_proj" in op else 8)
        assert np.abs(got - want).max() <= allowed, op
    assert sum(manifest.layers.values()) == 211
    assert "Q6_K -> int8, blocks of 32, quantised" in manifest.layers


def test_the_mixed_recipe_gives_layers_their_bits(converted):
    out, _, _ = converted(recipe=load_table().recipe("mixed"))
    bits = {op: form for op, (form, _) in ggufs.read_back(out).items()}
    assert bits["/layers.7/self_attn/k_proj/Linear"] == (8, 128)
    assert bits["/layers.7/self_attn/o_proj/Linear"] == (4, 64)
    assert bits["/layers.7/mlp/down_proj/Linear"] == (4, 64)
    assert bits["/lm/lm_head/Linear"] == (8, 128)


def test_norms_and_rotary_frequencies_are_the_models_own(converted):
    out, _, _ = converted()
    graph = ggufs.MnnGraph((out / "llm.mnn").read_bytes(), "t")
    (blob,) = [op for op in graph.ops if op.kind is ggufs.OpKind.BLOB and graph.floats(op)]
    assert graph.floats(blob)[1] == np.float32(100000.0 ** (-2 / 64))
    norm = next(op for op in graph.ops if op.kind is ggufs.OpKind.LAYER_NORM and graph.epsilon(op))
    place, gains, zeros = struct.unpack_from("<3q", graph._bytes, graph._read_required(norm.table, 5, "") + 4)
    data = (out / "llm.mnn.weight").read_bytes()
    assert np.allclose(np.frombuffer(data, "<f4", 128, place), np.linspace(0.5, 1.5, 128))
    assert (gains, data[place + gains : place + gains + zeros]) == (512, bytes(512))


def test_the_embedding_is_read_out_of_the_output_matrix(converted):
    out, _, _ = converted({"token_embd": Kind.Q8_0})
    config = json.loads((out / "llm_config.json").read_text())
    levels, scales, size, bits, block = config["tie_embeddings"]
    assert (scales - levels, size, bits, block) == (320 * 128, 320 * 4 * 8, 8, 32)
    assert config["jinja"] == {"chat_template": "{{ messages }}", "eos": "<|im_end|>"}
    assert (config["layer_nums"], config["hidden_size"]) == (30, 128)


def test_an_embedding_that_is_stored_twice_is_tied_to_the_better_copy(converted):
    weights = ggufs.blocks(Kind.F32, 320, 128)
    copy = repack.decode_values(weights, Kind.F32).astype("<f2")
    doubled = {
        "token_embd.weight": (Kind.F16, 320, 128, copy.tobytes()),
        "output.weight": (Kind.F32, 320, 128, weights.tobytes()),
    }
    out, manifest, _ = converted(tensors=doubled)
    assert "tie_embeddings" in json.loads((out / "llm_config.json").read_text())
    assert "F32 -> int8, blocks of 32, quantised" in manifest.layers


def test_an_embedding_of_its_own_lies_in_a_file_of_its_own(converted):
    output = ggufs.blocks(Kind.F32, 320, 128, seed=9)
    out, manifest, _ = converted(
        {"token_embd": Kind.F32}, tensors={"output.weight": (Kind.F32, 320, 128, output.tobytes())}
    )
    assert "tie_embeddings" not in json.loads((out / "llm_config.json").read_text())
    assert manifest.files["embeddings_bf16.bin"].bytes == 320 * 128 * 2


def test_two_conversions_are_the_same_bytes_and_have_the_same_name(converted):
    (one, first, ready), (other, second, again) = converted(name="a"), converted(name="b")
    assert first == second
    assert ready.version == again.version
    assert all((other / file.name).read_bytes() == file.read_bytes() for file in one.iterdir())


def test_another_recipe_has_another_name_and_another_description_has_not(converted):
    version = converted()[2].version
    assert converted(recipe=Recipe(rules=KEEP.rules, scales="float32", what="words"))[2].version == version
    assert converted(recipe=Recipe(rules=KEEP.rules))[2].version != version


def test_the_manifest_vouches_for_every_file(converted):
    out, manifest, _ = converted()
    assert {file.name for file in out.iterdir()} == {*manifest.files, "manifest.json"}
    assert folder.read(out) == manifest
    assert manifest.source.name == "tiny.gguf"
    assert folder.verify(out) == []


@pytest.mark.parametrize("name", ["llm.mnn", "llm.mnn.weight", "llm_config.json", "config.json", "tokenizer.mtok"])
def test_one_changed_byte_is_found(converted, name):
    out, _, _ = converted()
    data = bytearray((out / name).read_bytes())
    data[len(data) // 2] ^= 1
    (out / name).write_bytes(data)
    assert [problem.partition(":")[0] for problem in folder.verify(out)] == [name]


def test_a_missing_file_and_one_cut_short_are_found(converted):
    out, _, _ = converted()
    (out / "llm.mnn").unlink()
    os.truncate(out / "llm.mnn.weight", 1000)
    assert folder.verify(out)[0] == "llm.mnn: No such file or directory"
    assert folder.verify(out)[1].startswith("llm.mnn.weight: 1000 bytes")


def test_progress_ends_with_all(tiny, tmp_path):
    told = []
    ready = convert.plan(convert.ModelJob(tiny(), KEEP, "test"))
    convert.run(ready, tmp_path / "out", lambda done, size: told.append((done, size)))
    assert told == sorted(told)
    assert told[-1] == (ready.planned.size, (tmp_path / "out" / "llm.mnn.weight").stat().st_size)


def test_nothing_is_left_behind_when_the_disk_is_full(tiny, tmp_path, monkeypatch):
    ready = convert.plan(convert.ModelJob(tiny(), KEEP, "test"))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(convert.tokenizer, "encode_mtok", full)
    with pytest.raises(ModelError, match=r"the disk is full, about \d+ MB are needed; nothing was left behind"):
        convert.run(ready, tmp_path / "models" / "out")
    assert not (tmp_path / "models").exists()


def test_room_is_asked_for_before_anything_is_written(tiny, tmp_path, monkeypatch):
    ready = convert.plan(convert.ModelJob(tiny(), KEEP, "test"))
    usage = folder.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
    with pytest.raises(ModelError, match=r"MB are needed, 1 MB are free: make room"):
        convert.run(ready, tmp_path / "models" / "out")
    assert not (tmp_path / "models").exists()


def test_an_interrupted_conversion_leaves_the_old_one(converted, tiny, tmp_path):
    out, _, ready = converted()

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert.run(convert.plan(ready.job), out, interrupted)
    assert folder.verify(out) == []
    assert not list(tmp_path.glob(".*"))


def test_what_a_killed_conversion_left_is_swept(converted, tmp_path):
    left = tmp_path / ".out.999999999.part"
    left.mkdir()
    (left / "llm.mnn.weight").write_bytes(b"half")
    converted()
    assert not left.exists()


@pytest.mark.parametrize("call", [0, 40, 200])
def test_a_killed_conversion_leaves_the_old_one_and_the_next_one_cleans_up(converted, tmp_path, call):
    out, manifest, ready = converted()
    calls = iter(range(1000))
    child = os.fork()
    if child == 0:
        kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL) if next(calls) == call else None  # noqa: E731
        convert.run(convert.plan(ready.job), out, kill)
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert folder.verify(out) == []
    assert len(list(tmp_path.glob(".*.part"))) == 1
    assert convert.run(convert.plan(ready.job), out) == manifest
    assert list(tmp_path.glob(".*.part")) == []


def test_a_conversion_replaces_what_was_there(converted):
    out, _, ready = converted()
    (out / "llm.mnn").unlink()
    convert.run(convert.plan(ready.job), out)
    assert folder.verify(out) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"metadata": {"general.architecture": "gemma3"}}, "architecture gemma3; known here are llama and qwen2"),
        ({"metadata": {"llama.block_count": 22}}, "no graph for its size .*22 layers.*smollm2-135m.*qwen2.5-1.5b"),
        ({"metadata": {"llama.attention.head_count": 0}}, "contradicts itself"),
        ({"metadata": {"llama.rope.scaling.type": "linear"}}, "positions are scaled"),
        ({"metadata": {"llama.rope.freq_base": 10000.0}}, "rotary frequencies"),
        ({"metadata": {"llama.attention.layer_norm_rms_epsilon": 1e-6}}, "epsilon 1e-06"),
        ({"tensors": {"blk.3.attn_q.weight": (Kind.F32, 64, 128, bytes(4 * 64 * 128))}}, "attn_q is 64x128"),
        ({"tensors": {"blk.3.attn_q.bias": (Kind.F32, None, 128, bytes(512))}}, "attn_q has a bias"),
        ({"tensors": {"output_norm.weight": (Kind.F32, None, 64, bytes(256))}}, "output_norm.weight is"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(converted, changes, text):
    with pytest.raises(ModelError, match=text):
        converted(**changes)


def test_a_tensor_that_is_missing_is_named(tiny):
    path = tiny()
    path.write_bytes(path.read_bytes().replace(b"blk.4.ffn_up.weight", b"blk.4.ffn_xx.weight"))
    with pytest.raises(ModelError, match=r"no tensor blk\.4\.ffn_up\.weight"):
        convert.plan(convert.ModelJob(path, KEEP, "test"))


def test_weights_that_are_no_numbers_are_refused_and_leave_nothing(tiny, tmp_path):
    bad = np.full((128, 128), np.nan, "<f4").tobytes()
    path = tiny(tensors={"blk.2.attn_output.weight": (Kind.F32, 128, 128, bad)})
    with pytest.raises(ModelError, match="beyond float32"):
        convert.run(convert.plan(convert.ModelJob(path, KEEP, "test")), tmp_path / "models" / "out")
    assert not (tmp_path / "models").exists()


def test_a_recipe_must_have_a_rule_for_every_layer(converted):
    with pytest.raises(ModelError, match=r"no rule for /lm/lm_head/Linear: end it with one for \*"):
        converted(recipe=Recipe(rules=(StorageRule("/layers.*"),)))


def test_a_damaged_file_is_read_or_refused_but_never_worse(tiny, tmp_path):
    data = tiny().read_bytes()
    random = np.random.default_rng(7)
    for _ in range(60):
        damaged = bytearray(data)
        for place in random.integers(0, 25_000, 3):  # all that is not weights
            damaged[place] = random.integers(0, 256)
        (tmp_path / "damaged.gguf").write_bytes(damaged)
        with suppress(ModelError):
            convert.tokenizer.encode_mtok(
                convert.tokenizer.read_vocabulary(
                    convert.plan(convert.ModelJob(tmp_path / "damaged.gguf", KEEP, "test")).model
                )
            )
