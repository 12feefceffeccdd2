"""A model is measured in processes that may die, and what was measured is compared with what was before."""

from __future__ import annotations

import json
import os

import msgspec
import pytest
from click.testing import CliRunner

from models.store import ConversionOptions, Store
from pipeline import cli
from pipeline.app import bench
from pipeline.core.bench import baseline
from pipeline.core.bench.baseline import Baseline, BenchOptions, Device, Subject
from pipeline.core.errors import ConfigError
from pipeline.runtime import measuring

BOARD = Device("a board", 4, 8000, "Linux 6", "3.11", "MNN 3.6.1")
MODEL = Subject("tiny", "keep-1", "abc", "keep", 500_000_000)


def measured(**values):
    return Baseline(
        taken="2026-11-30T01:00:00Z",
        device=BOARD,
        model=MODEL,
        options=BenchOptions((1,), 3, 1024),
        rows=(baseline.MeasuredRow(1, values),),
    )


def test_a_row_holds_medians_and_the_share_of_the_bandwidth():
    answers = [{"decode_tok_s": 7.0}, {"decode_tok_s": 8.0}, {"decode_tok_s": 12.0}, {"bandwidth_gb_s": 10.0}]
    row = baseline.row(2, answers, ["died"], MODEL.bytes)
    assert row.values == {"decode_tok_s": 8.0, "bandwidth_gb_s": 10.0, "bandwidth_share": 0.4}
    assert (row.threads, row.failed) == (2, ("died",))


def test_changes_are_told_in_percent_for_what_was_measured_both_times():
    before, now = measured(decode_tok_s=8.0, peak_mb=1000.0), measured(decode_tok_s=10.0, load_made_s=3.0)
    assert baseline.changes(before, now) == {1: {"decode_tok_s": 25.0}}


def test_nothing_is_compared_with_nothing_or_with_other_weights():
    now = measured(decode_tok_s=10.0)
    other = msgspec.structs.replace(now, model=msgspec.structs.replace(MODEL, sha256="def"))
    assert baseline.changes(None, now) == {}
    assert baseline.changes(other, now) == {}


def test_a_new_kernel_or_engine_is_still_the_same_device():
    newer = msgspec.structs.replace(BOARD, kernel="Linux 7", python="3.13", engine="MNN 4")
    assert BOARD.same(newer)
    assert not BOARD.same(msgspec.structs.replace(BOARD, memory_mb=4000))


def test_what_is_written_is_found_again(tmp_path):
    now = measured(decode_tok_s=10.0)
    assert measuring.before(tmp_path / bench.JSON, BOARD, "abc") is None
    bench.save(now, {1: {"decode_tok_s": 25.04}}, tmp_path)
    assert measuring.before(tmp_path / bench.JSON, BOARD, "abc") == now
    assert "| steady decoding, tokens/s | 10.0 (+25 %) |" in (tmp_path / bench.MARKDOWN).read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == [bench.JSON, bench.MARKDOWN]


@pytest.mark.parametrize(("device", "sha256"), [(BOARD, "def"), (msgspec.structs.replace(BOARD, cpu="another"), "abc")])
def test_a_baseline_of_another_device_or_model_is_not_written_over(tmp_path, device, sha256):
    bench.save(measured(decode_tok_s=10.0), {}, tmp_path)
    with pytest.raises(ConfigError, match="choose another --out"):
        measuring.before(tmp_path / bench.JSON, device, sha256)


@pytest.mark.parametrize("text", ["", "{}", "[1]"])
def test_a_damaged_baseline_is_not_written_over(tmp_path, text):
    (tmp_path / bench.JSON).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="remove it"):
        measuring.before(tmp_path / bench.JSON, BOARD, "abc")


@pytest.fixture
def command(tmp_path, tiny, monkeypatch):
    """Run `pipeline bench llm` on a device of two cores with a tiny model that a stand-in measures."""
    monkeypatch.setattr(measuring, "_MODULE", "tests.measured")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    Store(tmp_path / "state").convert(tiny(), "tiny", ConversionOptions(), lambda *_: None)

    def run(*words):
        return CliRunner().invoke(cli.main, ["bench", "llm", *map(str, words), "--state-dir", str(tmp_path / "state")])

    return run


def test_a_process_that_dies_is_a_row_that_says_so(command):
    run = command("tiny", "--rounds", "2", "--json")
    assert run.exit_code == 0, run.output
    one, two = json.loads(run.stdout)["rows"]
    assert one["values"]["decode_tok_s"] == 8.0
    assert one["failed"] == []
    assert two["values"] == {"bandwidth_gb_s": 10.0}
    assert two["failed"] == ["answers: the process died: SIGSEGV"] * 2
    assert "died" in command("tiny").stdout


def test_the_baseline_lies_in_the_state_folder_and_is_compared_with_the_next_time(command, tmp_path):
    assert json.loads(command("tiny", "--json").stdout)["changes"] == {}
    again = json.loads(command("tiny", "--threads", "1", "--json").stdout)
    assert again["changes"]["1"]["decode_tok_s"] == 0
    assert {path.name for path in (tmp_path / "state/baselines/tiny").glob("*/*")} == {bench.JSON, bench.MARKDOWN}


def test_nothing_of_a_measurement_stays_with_the_model(command, tmp_path):
    model = Store(tmp_path / "state").find("tiny").path
    before = sorted(model.iterdir())
    (model / ".measuring-killed").mkdir()
    command("tiny", "--threads", "1")
    assert sorted(model.iterdir()) == before


def test_a_model_that_never_answers_is_an_error(command):
    run = command("tiny", "--threads", "2")
    assert run.exit_code == 1
    assert "cannot be measured: answers: the process died: SIGSEGV" in run.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "no language model is in use"),
        (("nope",), "nope is not installed"),
        (("tiny", "--threads", "3"), "this device has 2 cores"),
        (("tiny", "--threads", "one"), "write numbers between commas"),
        (("tiny", "--rounds", "0"), "0 is not in the range"),
    ],
)
def test_what_cannot_be_asked_for_is_told_with_a_remedy(command, words, told):
    run = command(*words)
    assert run.exit_code == 2
    assert told in run.stderr


def test_a_damaged_model_is_told_of(command, tmp_path):
    (Store(tmp_path / "state").find("tiny").path / "manifest.json").write_text("{", encoding="utf-8")
    run = command("tiny")
    assert run.exit_code == 1
    assert "convert or pull the model again" in run.stderr
