"""A recording that is replayed and told, by templates and by the boot model."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.boot import ROOT
from tests.llms import boot_state
from tools.make_footage import make

WALKS = {"width": 320, "height": 180, "fps": 10, "seconds": 24, "pause_s": 4, "walk_s": 4, "walks": 2}


def pipeline(*arguments):
    command = [sys.executable, "-m", "pipeline", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=200)


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """A night with two walks, of which a standing note speaks."""
    folder = tmp_path_factory.mktemp("night")
    make(folder / "gate.mp4", **WALKS)
    note = "Report anybody at the yard after 20:00."
    (folder / "site.toml").write_text('[cameras.gate]\nsource = "gate.mp4"\nplace = "yard"\n')
    where = ("--config", folder / "site.toml", "--state-dir", folder / "state")
    assert pipeline("notes", "add", note, "--yes", *where).returncode == 0
    began = ("--began", "2026-11-29T22:30:00Z", "--camera", "gate", "--out", folder / "out")
    assert pipeline("replay", folder / "gate.mp4", *where, *began, "--quiet").returncode == 0
    return folder / "out" / "events.jsonl"


def subjects(path):
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return sorted({row["subject"] for row in rows if ".incident." in row["type"]})


def digest(*arguments):
    done = pipeline("digest", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_incident_of_a_replayed_night_is_behind_a_sentence(events, tmp_path):
    found = digest(events, "--since", "22:00", "--model", "none", "--state-dir", tmp_path)
    assert found["since"] == "2026-11-29T22:00:00Z"
    behind = [name for one in found["sentences"][1:] for name in one["incidents"]]
    assert sorted(dict.fromkeys(behind)) == subjects(events)
    assert all(one["grounded"] for one in found["sentences"])


def test_before_anything_began_nothing_happened(events, tmp_path):
    found = digest(events, "--since", "20:00", "--until", "22:00", "--model", "none", "--state-dir", tmp_path)
    assert [one["text"] for one in found["sentences"]] == ["Nothing happened."]


def test_the_boot_model_words_every_group_and_says_nothing_but_counts(events):
    state = boot_state()
    found = digest(events, "--since", "22:00", "--state-dir", state)
    groups = [one for one in found["sentences"] if one["about"] == "group"]
    assert groups
    assert {one["by"] for one in groups} == {"model"}
    assert found["dropped"] == {}
    assert found == digest(events, "--since", "22:00", "--state-dir", state)
