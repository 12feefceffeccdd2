"""The developers' tools, with the boot model and the engine."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from models.table import parse
from pipeline.core.errors import ModelError
from tests import boot


@pytest.fixture(scope="module")
def source():
    try:
        return boot.gguf()
    except ModelError as error:
        pytest.skip(f"the boot model cannot be had: {error}")


def test_a_scan_finds_which_matrices_bear_four_bits_and_a_recipe_that_is_as_good_as_predicted(source, tmp_path):
    words = ["--bits", "4", "--positions", "64", "--size-mb", "97", "--recipe-out", tmp_path / "r.toml", "--json"]
    command = [sys.executable, "-m", "tools.sensitivity", *map(str, [source, *words])]
    done = subprocess.run(command, cwd=boot.ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    names = [group["name"] for group in found["groups"]]
    assert names.index("q_proj") < names.index("down_proj") < names.index("v_proj")
    made = found["recipe"]
    assert made["measured"]["bytes"] == pytest.approx(made["predicted"]["bytes"], abs=20)
    assert made["measured"]["bytes"] <= 97e6
    assert made["measured"]["kl"] == pytest.approx(made["predicted"]["kl"], rel=0.5)
    assert parse((tmp_path / "r.toml").read_bytes() + b"[models]\n").recipe("chosen").rules[-1].keep
