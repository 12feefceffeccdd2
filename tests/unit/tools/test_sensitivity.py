from __future__ import annotations

import itertools
import json

import msgspec
import numpy as np
import pytest

from models.llm.recipes import Recipe, StorageRule
from models.table import load_table, parse
from pipeline.core.errors import ConfigError, ModelError
from tests import ggufs
from tools import sensitivity
from tools.sensitivity import Aim, Group, Row
from tools.trials import UNCOUNTED, Closeness, Trials, Yardstick, ask, closeness, windows_of

KEEP = load_table().recipe("keep")
MIXED = Recipe(
    rules=(StorageRule("*/down_proj/*", bits=4, block=64), StorageRule("/lm/*", bits=4, block=64), *KEEP.rules)
)
A, B, C = (Group(name, f"*/{name}/*") for name in "abc")
ROWS = [Row(A, 8, 64, 0.01, 1, 2_000_000), Row(A, 4, 64, 0.2, 1, 12_000_000), Row(B, 4, 64, 0.03, 1, 3_000_000),
        Row(C, 4, 64, 0.04, 1, 2_000_000), Row(C, 8, 64, 0.0, 1, -5_000_000)]  # fmt: skip


@pytest.fixture
def trials(tiny, tmp_path):
    (tmp_path / "scratch").mkdir()
    return Trials(tiny(), KEEP, tmp_path / "scratch")


def far(folder):
    """In place of the engine: the mean square distance of the matrices from the base's."""
    base, other = ggufs.read_back(folder.with_name("base")), ggufs.read_back(folder)
    return Closeness(float(np.mean([np.square(base[op][1] - other[op][1]).mean() for op in base])), 1.0)


def wanted(trials, by="kind", bits=(4,)):
    return list(itertools.product(sensitivity.groups(trials.matrices, by), bits, (64,)))


def test_a_trial_is_read_as_a_conversion_with_its_recipe_would_be(trials, tmp_path):
    change = trials.write(MIXED)
    size = trials.convert(MIXED, tmp_path / "whole")
    assert change.matrices == 31
    trial, whole = ggufs.read_back(trials.trial), ggufs.read_back(tmp_path / "whole")
    for op, (form, values) in whole.items():
        assert trial[op][0] == form
        assert (trial[op][1] == values).all()
    assert trials.size - change.saved == pytest.approx(size, abs=20)  # digits in llm_config.json


def test_a_trial_finds_its_embedding_in_the_matrix_that_it_wrote(trials):
    trials.write(MIXED)
    config = json.loads((trials.trial / "llm_config.json").read_text(encoding="utf-8"))
    place, scales, size, bits, block, half = config["tie_embeddings"]
    assert place > trials._ready.planned.size
    assert (scales - place, size, bits, block, half) == (320 * 128 // 2, 320 * 2 * 2 * 2, 4, 64, 1)


def test_nothing_of_a_trial_is_left_in_the_next(trials):
    trials.write(MIXED)
    trials.write(KEEP)
    for name in ("llm.mnn", "llm.mnn.weight"):
        assert (trials.trial / name).read_bytes() == (trials.base / name).read_bytes()


def test_a_trial_has_the_scales_of_its_base(trials):
    with pytest.raises(ConfigError, match="scales are float16"):
        trials.write(msgspec.structs.replace(KEEP, scales="float32"))


@pytest.mark.parametrize(("by", "count", "first"), [
    ("kind", 8, Group("q_proj", "*/self_attn/q_proj/*")),
    ("layer", 31, Group("layer 0", "/layers.0/*")),
    ("matrix", 211, Group("layers.0/self_attn/q_proj", "/layers.0/self_attn/q_proj/Linear")),
])  # fmt: skip
def test_every_matrix_is_in_one_group_whose_glob_fits_it_alone(trials, by, count, first):
    found = sensitivity.groups(trials.matrices, by)
    assert len(found) == count
    assert found[0] == first
    recipe = Recipe(rules=tuple(StorageRule(group.layers) for group in found))
    assert {recipe.rule(op).layers for op in trials.matrices} == {group.layers for group in found}


def test_a_scan_has_a_row_for_each_group_and_finds_what_it_saves(trials):
    rows = sensitivity.scan(trials, far, wanted(trials), Closeness(0, 1))
    assert [row.group.name for row in rows][:2] == ["q_proj", "k_proj"]
    assert len(rows) == 8
    assert all(row.kl > 0 and row.saved > 0 for row in rows)
    assert sum(row.saved for row in rows) == trials.write(Recipe(rules=(StorageRule("*", bits=4, block=64),))).saved


def test_what_would_change_nothing_is_no_row(tiny, tmp_path):
    (tmp_path / "scratch").mkdir()
    trials = Trials(tiny({"ffn_down": ggufs.Kind.Q6_K}), KEEP, tmp_path / "scratch")
    down = Group("down_proj", "*/down_proj/*")
    rows = sensitivity.scan(trials, far, [(down, 8, 32), (down, 8, 64)], Closeness(0, 1))
    assert [row.block for row in rows] == [64]


def test_the_noise_of_the_reference_is_no_cost(trials):
    rows = sensitivity.scan(trials, lambda _: Closeness(0.5, 1), wanted(trials), Closeness(0.6, 1))
    assert {row.kl for row in rows} == {0}


def test_the_cheapest_megabyte_comes_first_and_what_saves_none_last():
    assert [(row.group.name, row.bits) for row in sensitivity.ranked(ROWS)] == [
        ("a", 8), ("b", 4), ("a", 4), ("c", 4), ("c", 8),
    ]  # fmt: skip


@pytest.mark.parametrize(("size_mb", "chosen"), [
    (100, []), (98, ["a8"]), (97, ["b4"]), (95, ["a8", "b4"]), (94, ["a8", "b4", "c4"]), (88, ["a4"]),
    (83, ["a4", "b4", "c4"]),
])  # fmt: skip
def test_a_size_is_met_with_the_least_kl(size_mb, chosen):
    found = sensitivity.choose(ROWS, 100e6, 0, Aim(size=size_mb * 1e6))
    assert [f"{row.group.name}{row.bits}" for row in found] == chosen


@pytest.mark.parametrize(("kl", "chosen"), [(0.1, []), (0.111, ["a8"]), (0.139, ["b4"]), (0.5, ["a4", "b4", "c4"])])
def test_a_kl_is_met_with_the_smallest_size(kl, chosen):
    found = sensitivity.choose(ROWS, 100e6, 0.1, Aim(kl=kl))
    assert [f"{row.group.name}{row.bits}" for row in found] == chosen


def test_a_size_that_cannot_be_met_is_refused_with_the_least_there_is():
    with pytest.raises(ConfigError, match=r"smallest it can become is 83\.0 MB"):
        sensitivity.choose(ROWS, 100e6, 0, Aim(size=82e6))


def test_the_choice_is_the_best_of_all_there_are():
    random = np.random.default_rng(3)
    rows = [
        Row(group, bits, 64, *random.random(2), int(random.integers(1, 10**6)))
        for group in (A, B, C)
        for bits in (4, 8)
    ]
    every = itertools.product(*([None, *(row for row in rows if row.group == group)] for group in (A, B, C)))
    all_ = [tuple(row for row in one if row) for one in every]
    for need in (10**5, 5 * 10**5, 10**6):
        found = sensitivity.choose(rows, 10**7, 0, Aim(size=10**7 - need))
        best = min(sum(row.kl for row in one) for one in all_ if sum(row.saved for row in one) >= need)
        assert sum(row.kl for row in found) == pytest.approx(best)


def test_a_recipe_is_converted_and_measured_and_its_size_is_as_predicted(trials):
    rows = sensitivity.scan(trials, far, wanted(trials), Closeness(0, 1))
    made = sensitivity.meet(trials, far, rows, Closeness(0, 1), Aim(size=trials.size - 100_000))
    assert made.real_size <= trials.size - 100_000
    assert made.predicted_size == pytest.approx(made.real_size, abs=20)
    assert made.predicted_kl == pytest.approx(made.real.kl)  # of matrices, it does add up


def test_a_kl_that_is_missed_is_aimed_at_again_lower(trials):
    rows = sensitivity.scan(trials, far, wanted(trials, "layer"), Closeness(0, 1))
    aim = sum(row.kl for row in rows) / 2
    made = sensitivity.meet(
        trials, lambda folder: Closeness(far(folder).kl * 1.5, 1), rows, Closeness(0, 1), Aim(kl=aim)
    )
    assert made.predicted_kl < made.real.kl <= aim
    assert made.real_size < trials.size


def test_a_kl_below_the_references_own_cannot_be_met(trials):
    with pytest.raises(ConfigError, match=r"KL of 0\.01 cannot be met, the nearest found is 0\.0200"):
        sensitivity.meet(trials, lambda _: Closeness(0.02, 1), [], Closeness(0.02, 1), Aim(kl=0.01))


def test_a_recipe_reads_back_from_the_table():
    recipe = sensitivity.recipe_of(ROWS[:1], KEEP, 'says "so"')
    text = sensitivity.toml("mine", recipe) + "[models]\n"
    assert parse(text.encode()).recipe("mine") == recipe


def test_comments_and_empty_lines_are_no_prompts(tmp_path):
    (tmp_path / "p.txt").write_text("# of us\n\nA dog.\n北门有人。\n", encoding="utf-8")
    assert sensitivity.prompts(tmp_path / "p.txt") == "A dog.\n北门有人。"


def test_the_prompts_that_come_with_it_are_some_fifty_lines_in_two_languages():
    lines = sensitivity.prompts(sensitivity.PROMPTS).splitlines()
    assert 50 <= len(lines) <= 70
    assert 5 <= sum("\u3002" in line for line in lines) <= 12


def test_windows_lie_evenly_over_the_text_and_hold_as_many_positions_as_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.trials.ask", lambda *_, **__: {"ids": [list(range(1000))]})
    found = windows_of(tmp_path, "", 250)
    assert [(one[0], one[-1], len(one)) for one in found] == [(0, 127, 128), (479, 606, 128), (958, 999, 42)]
    assert sum(len(one) - UNCOUNTED for one in found) == 250
    with pytest.raises(ConfigError, match="the prompts have 1000 tokens, --positions 900 needs 1044"):
        windows_of(tmp_path, "", 900)


def test_closeness_is_that_of_all_positions_whatever_the_slices():
    one, other = np.random.default_rng(1).normal(size=(2, 70, 9)).astype(np.float32)
    found = closeness(one, other)
    likely = [np.exp(part) / np.exp(part).sum(1, keepdims=True) for part in (one.astype(float), other.astype(float))]
    assert found.kl == pytest.approx((likely[0] * np.log(likely[0] / likely[1])).sum(1).mean())
    assert found.same == pytest.approx((one.argmax(1) == other.argmax(1)).mean())


def test_the_first_positions_of_a_window_are_not_counted(tmp_path, monkeypatch):
    random = np.random.default_rng(1)
    one, other = random.normal(size=(2, 40, 9)).astype(np.float32)
    logits = iter([one, other])
    monkeypatch.setattr("tools.trials.ask", lambda _, **asked: np.save(asked["logits"], next(logits)))
    windows = [list(range(18)), list(range(22))]
    found = Yardstick(tmp_path, tmp_path, windows, tmp_path, exact=False)(tmp_path)
    counted = [16, 17, *range(34, 40)]
    assert found == closeness(one[counted], other[counted])


def test_a_yardstick_of_float32_needs_no_engine(tiny, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("tools.trials.ask", lambda *_, **more: asked.append(more) or {"loaded": True})
    Yardstick(tiny(), tmp_path, [[1, 2], [3]], tmp_path, exact=True)
    assert np.load(tmp_path / "wanted.npy").shape == (3, 320)
    assert asked == []


def test_an_engine_that_fails_is_an_error_with_a_remedy(tmp_path):
    def dies(*_, **__):
        raise RuntimeError("the engine's child ended with -11")

    with pytest.raises(ModelError, match=r"ended with -11; try fewer positions"):
        ask(tmp_path, dies)
    with pytest.raises(ModelError, match="cannot load"):
        ask(tmp_path, lambda *_, **__: {"loaded": False})


@pytest.mark.parametrize(("words", "text"), [
    (["--bits", "5"], "--bits 5: choose from 4, 8"),
    (["--block", "64,"], "--block 64,: choose from 32, 64, 128"),
    (["--positions", "3"], "--positions 3: at least 16"),
    (["--kl", "-1"], "--kl -1: give a number above 0"),
    (["--size-mb", "nan"], "--size-mb nan: give a number above 0"),
    (["--recipe-out", "r.toml"], "--recipe-out needs an aim"),
    (["--kl", "1", "--recipe-out", "no/r.toml"], "there is no such folder"),
    (["--kl", "1", "--name", "My recipe"], "--name My recipe: use small letters"),
    (["--prompts", "none.txt"], "--prompts none.txt cannot be read"),
])  # fmt: skip
def test_an_option_that_cannot_be_used_is_named_with_a_remedy(words, text, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sensitivity", "none.gguf", *words])
    with pytest.raises(SystemExit, match="2"):
        sensitivity.main()
    assert text in capsys.readouterr().err


def test_a_model_that_cannot_be_read_is_named(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sensitivity", "none.gguf"])
    with pytest.raises(SystemExit, match="1"):
        sensitivity.main()
    assert "cannot read model file none.gguf" in capsys.readouterr().err


def test_a_file_without_a_line_of_text_is_refused(tmp_path):
    (tmp_path / "p.txt").write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has no line of text"):
        sensitivity.prompts(tmp_path / "p.txt")
