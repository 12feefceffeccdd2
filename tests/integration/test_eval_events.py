"""Drawn recordings, of which it is known when somebody walks, are compared with what is told of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.boot import ROOT
from tools.make_footage import make

SCENE = {"width": 320, "height": 180, "fps": 10, "pause_s": 4, "walk_s": 4}
WALKS = [(4, 8), (12, 16)]


def pipeline(*arguments):
    command = [sys.executable, "-m", "pipeline", "eval", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=200)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Two walks; and one walk of which the truth says nothing."""
    folder = tmp_path_factory.mktemp("clips")
    make(folder / "two.mp4", **SCENE, seconds=24, walks=2)
    make(folder / "one.mp4", **SCENE, seconds=12, walks=1)
    return folder


def test_drawn_walks_are_hit_and_what_the_truth_does_not_know_is_false(clips, tmp_path):
    truth, page = tmp_path / "truth.json", tmp_path / "page.html"
    walks = [{"group": "person", "from_s": first, "to_s": last} for first, last in WALKS]
    rows = {"two.mp4": {"things": walks}, "one.mp4": {"things": [], "nuisance": ["rain"]}}
    truth.write_text(json.dumps({"clips": rows}))
    run = pipeline("events", "--truth", truth, clips, "--json", "--html", page)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    two, one, rain = found["clips"]["two.mp4"], found["clips"]["one.mp4"], found["nuisance"]["rain"]
    assert [two[name] for name in ("visits", "hits", "false", "merged", "split")] == [2, 2, 0, 0, 0]
    assert two["start_error_s"] == pytest.approx(0, abs=1)
    assert two["end_error_s"] == pytest.approx(0, abs=1)
    assert two["empty_s"] == pytest.approx(16, abs=0.2)
    assert (one["visits"], one["false"]) == (0, 1)
    assert rain["false_per_hour"] == pytest.approx(3600 / 12, rel=0.02)
    text = page.read_text()
    assert (text.count("<svg"), text.count('src="data:image/jpeg;base64,/9j/')) == (2, 1)


def test_what_was_found_in_drawn_walks_is_written_for_every_clip(clips, tmp_path):
    run = pipeline("label", clips, "--out", tmp_path / "truth.json")
    assert run.returncode == 0, run.stderr
    assert sorted(json.loads((tmp_path / "truth.json").read_text())["clips"]) == ["one.mp4", "two.mp4"]
