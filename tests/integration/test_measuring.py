"""The boot model is measured as the stage describe uses it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from models.asking import measuring
from models.store import ConversionOptions, Store
from pipeline.core.bench import baseline
from pipeline.core.errors import ModelError
from tests import boot
from tests.daemons import PATIENCE


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A state folder with the boot model in use."""
    folder = tmp_path_factory.mktemp("state")
    try:
        Store(folder).convert(boot.gguf(), boot.NAME, ConversionOptions(), lambda *_: None)
    except ModelError as error:
        pytest.skip(f"the boot model cannot be had: {error}")
    Store(folder).use(boot.NAME)
    return folder


def test_all_measures_of_the_model_in_use_are_taken(state):
    words = ["bench", "llm", "--state-dir", state, "--threads", "1", "--rounds", "1", "--json"]
    run = subprocess.run(
        [sys.executable, "-m", "pipeline", *map(str, words)],
        cwd=boot.ROOT, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    (row,) = json.loads(run.stdout)["rows"]
    values = row["values"]
    assert row["failed"] == []
    assert set(values) == set(baseline.MEASURES)
    assert values["ttft_cached_ms"] < values["ttft_warm_ms"]
    assert values["load_mapped_s"] < values["load_made_s"]
    assert values["anon_mb"] + values["file_mb"] == pytest.approx(values["steady_mb"], abs=1)
    assert 0 < values["bandwidth_share"] < 1.5


def test_a_task_that_cannot_be_done_is_answered_with_the_reason(tmp_path):
    task = {"what": "answers", "model": str(tmp_path), "threads": 1, "context_tokens": 1024}
    run = subprocess.run(
        [sys.executable, "-m", measuring.__name__],
        cwd=boot.ROOT, input=json.dumps(task), capture_output=True, text=True, timeout=60 * PATIENCE, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "manifest.json cannot be read" in json.loads(run.stdout)["error"]


def test_memory_is_read_faster_than_a_disk_and_slower_than_a_cache():
    assert 0.2 < measuring.measure_bandwidth(1, 32 << 20) < 2000
