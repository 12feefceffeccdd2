"""Encoders converted by the command, for the emulator of a real accelerator; killed, asked for twice, gone stale."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from models import catalog
from models.encoders import artefact, gate
from pipeline import cli
from pipeline.core.settings import EncodeSettings
from tests import npus
from tests.daemons import PATIENCE

pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'fieldwatch[convert]'")

pytestmark = pytest.mark.filterwarnings("ignore")  # of the quantiser's own
ROOT = Path(__file__).parents[2]
BUNDLED = "efficientnet-lite0-224-int8"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A vision transformer, and pictures that its ranges can be measured on."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "pictures").mkdir()
    for at, shown in enumerate(gate.make_probes((1, 3, npus.SIDE, npus.SIDE), 24)):
        picture = (shown[0].transpose(1, 2, 0)[:, :, ::-1] * 128 + 127).astype(np.uint8)
        cv2.imwrite(str(folder / "pictures" / f"{at}.png"), picture)
    return npus.saved(npus.vit(), folder, "vit.onnx"), folder / "pictures"


def words(model, out, *more, as_json=True):
    return ["models", "convert", str(model), "--out", str(out), *["--json"] * as_json, *map(str, more)]


def begun(model, out, *more, before="pass", as_json=True):
    """Start the command in a process of its own: what this one has open of native code bears no fork."""
    script = f"import os; {before}; from pipeline.cli import main; main()"
    command = [sys.executable, "-c", script, *words(model, out, *more, as_json=as_json)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    """Exit status, and what was said on both streams."""
    out, error = process.communicate(timeout=90)
    return process.returncode, out, error


def convert(model, out, *more):
    """Run the command; what it says as JSON."""
    status, said, error = ended(begun(model, out, *more))
    assert status == 0, error
    return json.loads(said)


@pytest.fixture(scope="module")
def generic(made, tmp_path_factory):
    """The transformer, converted for no accelerator in particular."""
    return convert(made[0], tmp_path_factory.mktemp("generic"), "--target", "generic")


def admitted(model, folder, **settings):
    asked = {"backend": "qnn", "options": npus.EMULATED, "on_fallback": "refuse", **settings}
    return gate.admit(Path(model), "made", EncodeSettings(artefact=str(folder), **asked), trace_s=0)


@pytest.mark.npu
def test_a_transformer_that_was_taken_in_pieces_is_taken_whole_once_it_is_converted(made, tmp_path):
    npus.needs("qnn")
    model, pictures = made
    before = admitted(npus.by_default(npus.vit(), tmp_path), "")
    assert (before.state, before.evidence.placement.verdict) == ("rejected", "partial")
    assert "pipeline models convert MODEL --target qnn" in before.details["reason"]

    found = convert(model, tmp_path / "out", "--target", "qnn", "--soc", 43, "--calibration", pictures)
    manifest = found["manifest"]
    assert found["made"]
    assert [one["name"] for one in manifest["passes"]] == ["prepare", "fuse", "quantise_qnn", "compile_qnn"]
    assert (manifest["verdict"], manifest["left"]) == ("full", [])
    assert manifest["facts"]["calibration"]["count"] == 24
    assert manifest["facts"]["tools"]["onnxruntime-qnn"] == artefact.installed_version("onnxruntime-qnn")

    after = admitted(model, found["path"])
    assert (after.state, after.evidence.placement.verdict) == ("loaded", "full")
    assert after.evidence.cosine >= 0.995


@pytest.mark.npu
def test_layers_that_a_scan_chooses_stay_in_higher_precision_and_on_the_accelerator(made, tmp_path):
    npus.needs("qnn")
    model, pictures = made
    found = convert(model, tmp_path, "--target", "qnn", "--soc", 43, "--calibration", pictures, "--scan", "--keep", 2)
    assert len(found["manifest"]["kept"]) >= 2
    _, said, noise = ended(
        begun(
            *(model, tmp_path, "--target", "qnn", "--soc", 43, "--calibration", pictures, "--scan", "--keep", 2),
            as_json=False,
        )
    )
    beside = len(found["manifest"]["kept"]) - 2
    assert not beside or f"2 layers and {beside} beside them that share their numbers: " in said
    assert "on 3 drawn pictures, as every layer is run with each; the 24 given were for ranges" in said
    assert noise == ""
    assert set(found["manifest"]["kept"]) <= {row["name"] for row in found["scan"]["rows"]}
    after = admitted(model, found["path"])
    assert (after.state, after.evidence.placement.verdict) == ("loaded", "full")


@pytest.mark.npu
def test_the_bundled_encoder_is_compiled_as_it_was_quantised(tmp_path):
    npus.needs("qnn")
    found = convert(BUNDLED, tmp_path, "--target", "qnn", "--soc", 43)
    assert found["manifest"]["facts"]["calibration"] is None
    after = admitted(catalog.verified_path(BUNDLED), found["path"])
    assert after.state == "loaded"
    assert after.evidence.cosine >= 0.995


@pytest.mark.npu
def test_a_chip_that_the_compiler_does_not_know_is_an_error_and_leaves_nothing(made, tmp_path):
    npus.needs("qnn")
    model, pictures = made
    status, _, error = ended(begun(model, tmp_path, "--target", "qnn", "--soc", "999", "--calibration", pictures))
    assert status == 1
    assert "took no node of it for soc_model 999: it may not know that chip: --soc is a number such as 43" in error
    assert "onnxruntime" not in error  # what the runtime itself wrote is kept back
    assert "LIBNATIVE" not in error
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_scan_alone_makes_nothing(made, tmp_path):
    found = convert(made[0], tmp_path, "--target", "generic", "--scan", "--calibration", "probes")
    assert found["scan"]["rows"][0]["alone"] > 0
    assert (found["manifest"], list(tmp_path.iterdir())) == (None, [])


def test_two_at_once_make_one(made, tmp_path):
    both = [begun(made[0], tmp_path, "--target", "generic") for _ in range(2)]
    found = [json.loads(ended(one)[1]) for one in both]
    assert sorted(one["made"] for one in found) == [False, True]
    assert found[0]["path"] == found[1]["path"]
    assert len(list(tmp_path.glob("vit-generic-*"))) == 1


def test_a_conversion_whose_process_is_killed_leaves_nothing(made, tmp_path):
    dying = "from models.deriving.passes import PASSES; PASSES['lift'] = lambda *_: os.kill(os.getpid(), 9)"
    status, _, error = ended(begun(made[0], tmp_path, "--target", "generic", before=dying))
    assert status == 1
    assert "was killed by SIGKILL: nothing was left behind" in error
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_what_a_killed_command_leaves_is_never_taken_for_an_artefact_and_is_swept(made, tmp_path):
    model, pictures = made
    more = ("--target", "generic", "--int8", "--calibration", pictures)
    killed = begun(model, tmp_path, *more)
    until = time.monotonic() + 30 * PATIENCE
    while not list(tmp_path.glob(".vit-generic-*.part")) and time.monotonic() < until:
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=30 * PATIENCE)
    assert list(tmp_path.glob("vit-generic-*")) == []
    assert len(list(tmp_path.glob(".vit-generic-*.part"))) == 1
    assert convert(model, tmp_path, *more)["made"]
    assert list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part")) == []


def test_the_same_is_not_made_twice_and_what_is_damaged_is_made_again(made, tmp_path):
    old = {"shape": 1}
    (tmp_path / "vit-generic-00000000").mkdir()
    (tmp_path / "vit-generic-00000000" / "manifest.json").write_text(json.dumps(old))
    once, again = (convert(made[0], tmp_path, "--target", "generic") for _ in range(2))
    assert (once["made"], again["made"]) == (True, False)
    assert once["manifest"] == again["manifest"]
    Path(once["path"], "model.onnx").write_bytes(b"x")
    mended = convert(made[0], tmp_path, "--target", "generic")
    assert mended["made"]
    assert list(mended["stale"]) == ["vit-generic-00000000"]  # what else lies there is told


def test_what_was_made_with_other_options_is_not_stale_and_what_is_no_longer_true_is(made, generic, tmp_path):
    model, pictures = made
    old = Path(generic["path"])
    new = convert(model, old.parent, "--target", "generic", "--int8", "--calibration", pictures)
    assert str(old) != new["path"]
    assert new["stale"] == {}
    manifest = artefact.read(old)
    facts = msgspec.structs.replace(manifest.facts, tools={**manifest.facts.tools, "onnx": "1.0"})
    name = artefact.folder_name("vit", facts)
    (old.parent / name).mkdir()
    artefact.write(old.parent / name, msgspec.structs.replace(manifest, facts=facts, digest=facts.digest))
    assert "onnx 1.0 made it" in " ".join(convert(model, old.parent, "--target", "generic")["stale"][name])


def test_what_is_printed_for_the_configuration_is_taken_by_check(made, tmp_path):
    _, said, _ = ended(begun(made[0], tmp_path, "--target", "generic", as_json=False))
    config = tmp_path / "site.toml"
    config.write_text(f'[cameras.gate]\nsource = "synthetic://"\n{said[said.index("[encode]") :]}')
    result = CliRunner().invoke(cli.main, ["check", str(config)])
    assert result.exit_code == 0, result.output


def test_pictures_that_are_not_needed_are_looked_at_and_said_not_to_be_used(made, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "a.jpg").write_bytes(b"cut off")
    more = ("--target", "generic", "--int8", "--calibration")
    status, _, error = ended(begun(BUNDLED, tmp_path / "out", *more, broken))
    assert status == 1
    assert "a.jpg is no picture that can be read" in error
    status, said, _ = ended(begun(BUNDLED, tmp_path / "out", *more, made[1], as_json=False))
    assert status == 0
    assert f"--calibration {made[1]} was not used: the model is quantised already" in said


def test_a_folder_that_cannot_be_written_into_is_named_with_what_to_choose(made, tmp_path):
    (tmp_path / "file").touch()
    for out, said in (
        (tmp_path / "file", "is a file: name a folder with --out"),
        ("/proc/nowhere", "with --out or --st"),
    ):
        status, _, error = ended(begun(made[0], out, "--target", "generic"))
        assert status
        assert said in error


@pytest.mark.parametrize("given", ["", "model.onnx"])
def test_check_refuses_what_was_made_of_another_model(made, generic, tmp_path, given):
    config = tmp_path / "site.toml"
    text = (
        f'[cameras.gate]\nsource = "synthetic://"\n[encode]\nbackend = "qnn"\nartefact = "{generic["path"]}/{given}"\n'
    )
    config.write_text(text)
    result = CliRunner().invoke(cli.main, ["check", str(config)])
    assert result.exit_code == 2
    assert "is stale: it was made of another file" in result.output
    assert f"{config}:5: encode.artefact: " in result.output
    assert "run `pipeline models convert efficientnet-lite0-224-int8 --target generic`" in result.output
    config.write_text(f'{text}model = "{made[0]}"\n')
    assert CliRunner().invoke(cli.main, ["check", str(config)]).exit_code == 0


WRONG = [
    (("model.onnx",), "name an encoder's accelerator: --target"),
    (("model.gguf", "--soc", "43"), "name an encoder's accelerator: --target"),
    (("model.gguf",), "no such file"),
    (("model.onnx", "--target", "generic", "--recipe", "keep"), "are for language models"),
    (("no-such-model", "--target", "generic"), "no model 'no-such-model'"),
]


@pytest.mark.parametrize(("more", "said"), WRONG)
def test_what_cannot_be_meant_is_said(more, said):
    result = CliRunner().invoke(cli.main, ["models", "convert", *more])
    assert result.exit_code in {1, 2}
    assert said in result.output


def test_how_pictures_are_read_comes_from_the_configuration(made, tmp_path):
    config = tmp_path / "site.toml"
    config.write_text("[encode]\nmean = [0.0, 0.0, 0.0]\ndeviation = [255.0, 255.0, 255.0]\n")
    found = convert(made[0], tmp_path, "--target", "generic", "--config", config, "--mean", 1, 2, 3)
    assert found["manifest"]["facts"]["mean"] == [1, 2, 3]
    assert found["manifest"]["facts"]["deviation"] == [255, 255, 255]
    assert found["manifest"]["command"].endswith("--mean 1 2 3 --deviation 255 255 255")
