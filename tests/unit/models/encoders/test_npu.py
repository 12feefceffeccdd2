"""Real runtimes of accelerators, and the five ways in which they fail. Nothing is said of an emulator's speed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from models import catalog
from models.encoders import gate
from pipeline.core.settings import EncodeSettings
from tests import npus
from tests.paths import ROOT

pytestmark = [pytest.mark.npu, pytest.mark.filterwarnings("ignore")]  # of the quantiser's own

BUNDLED = "efficientnet-lite0-224-int8"


@pytest.fixture
def qnn():
    npus.needs("qnn")

    def admitted(model, *, options=npus.EMULATED, **settings):
        return gate.admit(model, "made", EncodeSettings(backend="qnn", options=options, **settings), trace_s=200.0)

    return admitted


UNNAMED = """
import json, sys
from pathlib import Path
from models.encoders import gate
from pipeline.core.settings import EncodeSettings

admission = gate.admit(Path(sys.argv[1]), "made", EncodeSettings(backend="qnn"), trace_s=200.0)
told = [admission.state, str(admission.evidence.placement), admission.details["reason"]]
Path(sys.argv[2]).write_text(json.dumps([*told, admission.encoder.placement().verdict]))
"""


def test_a_chip_that_is_not_named_is_a_failure_to_compile(tmp_path):
    npus.needs("qnn")
    model = npus.saved(npus.vit(), tmp_path)
    # In a process of its own: the runtime remembers the chip that another test named.
    told = tmp_path / "told.json"  # as native code prints whenever it likes
    subprocess.run([sys.executable, "-c", UNNAMED, model, told], cwd=ROOT, capture_output=True, timeout=200, check=True)
    state, placement, reason, verdict = json.loads(told.read_text())
    assert (state, placement, verdict) == ("fallback", "None", "cpu_baseline")
    assert "soc_model" in reason


def test_a_dynamic_batch_is_refused_before_the_runtime_quietly_takes_nothing(qnn, tmp_path):
    admission = qnn(npus.saved(npus.cnn("batch"), tmp_path))
    assert "image[0]=batch" in admission.details["reason"]
    assert admission.details["runs_on"] == "cpu"


def test_the_runtime_lists_a_provider_that_took_nothing(qnn, tmp_path):
    from models.encoders.bound import read_placement  # noqa: PLC0415  # native code that a skipped test does not need
    from models.encoders.plugin_ep import load_provider, open_plugin_session  # noqa: PLC0415  # the same

    options = {**npus.EMULATED, "backend_type": "htp"}
    session = open_plugin_session(load_provider("onnxruntime_qnn"), npus.saved(npus.cnn("batch"), tmp_path), options)
    assert session.get_providers()[0] == "QNNExecutionProvider"
    assert read_placement(session, "QNNExecutionProvider", frozenset()).verdict == "none"


def test_a_default_quantisation_is_cut_and_wrong_and_its_first_wrong_node_is_named(qnn, tmp_path):
    admission = qnn(npus.by_default(npus.vit(), tmp_path))
    found = admission.evidence
    assert found.placement.verdict == "partial"
    assert found.placement.partitions > 1
    assert {"Erf", "LayerNormalization"} <= {node.op for node in found.placement.left}
    assert found.cosine < 0.95
    assert found.wrong is not None
    assert "fuse it into Gelu" in admission.details["reason"]
    assert admission.details["runs_on"] == "cpu"


def test_a_quantisation_for_the_device_is_taken_whole(qnn, tmp_path):
    admission = qnn(npus.for_qnn(npus.vit(), tmp_path))
    assert admission.state == "loaded"
    assert admission.evidence.placement.verdict == "full"
    assert admission.evidence.placement.partitions == 1
    assert len(admission.evidence.placement.casts) == 2
    assert admission.evidence.cosine > 0.995


@pytest.mark.parametrize("policy", ["refuse", "degrade", "warn"])
def test_a_device_that_takes_everything_and_answers_nonsense_is_never_used(qnn, tmp_path, monkeypatch, policy):
    monkeypatch.chdir(tmp_path)  # it writes what it was given, where it stands
    options = {**npus.EMULATED, "backend_type": "saver"}
    admission = qnn(npus.for_qnn(npus.cnn(), tmp_path), options=options, on_fallback=policy)
    assert admission.evidence.placement.verdict == "full"
    assert admission.evidence.cosine < 0.5
    assert admission.details["runs_on"] == ("nothing" if policy == "refuse" else "cpu")
    assert admission.encoder is None or admission.encoder.placement().verdict == "cpu_baseline"


@pytest.mark.parametrize(("backend", "options"), [("qnn", npus.EMULATED), ("openvino", {})])
def test_the_bundled_encoder_runs_whole(backend, options):
    npus.needs(backend)
    settings = EncodeSettings(backend=backend, options=options, on_fallback="refuse")
    admission = gate.admit(catalog.verified_path(BUNDLED), BUNDLED, settings)
    assert admission.state == "loaded", admission.details
    assert admission.encoder.placement().verdict == "full"
    assert admission.details["cosine"] > 0.99
