"""What a command sees of a site: each file is read once, and what was given goes before what is configured."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from pipeline.app.site import Site
from pipeline.cli import main
from pipeline.core import files, settings
from pipeline.core.errors import ConfigError, RunDirectoryError
from tests.paths import ROOT

CONFIG = """
[cameras.gate]
source = "synthetic://"
[describe]
model = "tiny"
[runtime]
state_dir = "/nowhere"
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("check", "CONFIG"),
        ("notes", "add", "Nobody may be on the roof.", "--yes", "--config", "CONFIG", "--state-dir", "STATE"),
        ("notes", "check", "EVENTS", "--no-encoder", "--model", "none", "--config", "CONFIG", "--state-dir", "STATE"),
        ("digest", "EVENTS", "--model", "none", "--config", "CONFIG"),
    ],
    ids=" ".join,
)
def test_a_configuration_is_read_once_a_command(config, tmp_path, monkeypatch, command):
    read = []
    real = files.read_bounded

    def looked(path, *most, **how):
        if path == config:
            read.append(path)
        return real(path, *most, **how)

    monkeypatch.setattr(files, "read_bounded", looked)
    (tmp_path / "events.jsonl").write_text("", encoding="utf-8")
    names = {"CONFIG": config, "EVENTS": tmp_path / "events.jsonl", "STATE": tmp_path / "state"}
    CliRunner().invoke(main, [str(names.get(word, word)) for word in command])
    assert read == [config]


def test_what_is_given_goes_before_what_is_configured(config, tmp_path):
    assert Site(config, None).settings.describe.model == "tiny"
    given = Site(config, tmp_path, model="none").settings
    assert (given.describe.model, given.runtime.state_dir) == ("none", str(tmp_path))


def test_a_site_without_a_file_has_no_cameras_and_refuses_none():
    site = Site(None, None)
    site.check_camera("gate")
    assert site.settings == settings.Settings()
    assert site.find_exposure() is None


def test_a_camera_that_the_file_has_not_is_refused(config):
    Site(config, None).check_camera("gate")
    with pytest.raises(ConfigError, match=r"no camera `yard` in .*: there are gate"):
        Site(config, None).check_camera("yard")


def test_models_are_written_into_no_folder_that_others_may_write_into(tmp_path):
    state = tmp_path / "state"
    assert Site(None, state).writable_models().root == state / "models"
    assert not state.exists()
    state.mkdir()
    state.chmod(0o777)
    with pytest.raises(RunDirectoryError, match="others may write into it"):
        Site(None, state).writable_models()


def test_help_answers_without_what_takes_long_to_import():
    heavy = ("numpy", "rich", "zmq", "cv2", "onnxruntime", "MNN", "av")
    code = f"import sys, pipeline.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
