"""What is installed is enough: a wheel outside the checkout, with configuration, schema and models."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.make_footage import make

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run([sys.executable, *build], check=True, timeout=240)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_models_configuration_schema_and_licences_are_in_it(unpacked):
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert {
        "models/bundled/nanodet_g_160_int8.onnx",
        "models/bundled/efficientnet_lite0_224_int8.onnx",
        "models/bundled/conse.npz",
        "models/bundled/NOTICE",
        "models/bundled/llm/smollm2-135m.mnn.xz",
        "pipeline/config/models.toml",
        "pipeline/config/pipeline.toml",
        "pipeline/config/event.schema.json",
    } <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_it_replays_a_clip_from_anywhere(unpacked, tmp_path):
    make(tmp_path / "clip.mp4", width=160, height=120, seconds=2)
    command = [sys.executable, "-P", "-m", "pipeline", "replay", "clip.mp4", "--out", "out", "--quiet"]
    environment = {"PYTHONPATH": str(unpacked), "PATH": ""}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "events.jsonl").exists()
