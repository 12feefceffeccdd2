"""The stage around the encoder: what it says of its accelerator, and what it does without one."""

from __future__ import annotations

import shutil

import pytest

from models import catalog
from models.encoders import backends, gate
from models.encoders.watched import StateFile
from pipeline.core import messages as m
from stages.encode import Encode
from tests.fakes import FakeClock, context, frame

BOX = (0.2, 0.2, 0.8, 0.8)
WANTED = m.FeaturesWanted(incident="inc-1", priority=m.Priority.ALARM, keyframe=frame(at_s=2.0), box=BOX)


@pytest.fixture
def stage(monkeypatch):
    """A stage whose gate came to the given end; no keyframe is read unless there is an encoder."""

    def made(state, *, media=False, backend="qnn"):
        monkeypatch.setattr(gate, "admit", lambda *_: gate.Admission(None, state, {"verdict": "none"}, None))
        found = Encode(context(None, clock=FakeClock(media=media), encode={"backend": backend}))
        found.warm_up()
        return found

    return made


@pytest.mark.parametrize(("left", "reason"), [("running", "a process ended or hung in it"), ("abandoned", "it failed")])
def test_an_accelerator_that_took_a_process_with_it_is_not_opened_again(tmp_path, monkeypatch, left, reason):
    StateFile(tmp_path / "encode.mark", 0).set(left)
    monkeypatch.setattr(gate, "admit", lambda *_: pytest.fail("it was opened"))
    encode = Encode(context(None, state_dir=tmp_path, lives=1, encode={"backend": "qnn"}))
    encode.warm_up()
    (report,) = encode.begin()
    assert (report.state, report.details["runs_on"]) == ("fallback", "cpu")
    assert reason in report.details["reason"]
    assert StateFile(tmp_path / "encode.mark", 1).state() == "abandoned"


@pytest.mark.parametrize("state", ["loaded", "fallback", "rejected"])
def test_what_came_of_the_accelerator_is_told_once_before_anything_else(stage, state):
    encode = stage(state)
    (report,) = encode.begin()
    assert (report.state, report.details) == (state, {"verdict": "none"})
    assert [type(message) for message in encode.handle(WANTED)] == [m.FeaturesEncoded]


def test_a_replay_tells_a_fallback_at_its_first_keyframe(stage):
    encode = stage("fallback", media=True)
    assert list(encode.begin()) == []
    report, _ = encode.handle(WANTED)
    assert isinstance(report, m.EncoderReported)
    assert report.pts_ns == WANTED.keyframe.pts_ns
    assert [type(message) for message in encode.handle(WANTED)] == [m.FeaturesEncoded]


def test_a_replay_does_not_tell_what_is_in_order(stage):
    encode = stage("loaded", media=True)
    assert [type(message) for message in encode.handle(WANTED)] == [m.FeaturesEncoded]


def test_of_the_processor_nothing_is_told(stage):
    assert list(stage("loaded", backend="cpu").begin()) == []


def test_without_an_encoder_incidents_are_answered_without_tags(stage):
    encode = stage("rejected")
    list(encode.begin())
    (features,) = encode.handle(WANTED)
    assert (features.tags, features.embedding) == ((), b"")


@pytest.mark.parametrize("error", [Exception("the device is gone"), SystemError("boom"), KeyError("x"), MemoryError()])
@pytest.mark.parametrize(
    ("policy", "state", "runs_on"), [("degrade", "fallback", "cpu"), ("refuse", "rejected", "nothing")]
)
def test_whatever_a_library_raises_at_the_start_is_told_and_the_stage_goes_on(
    monkeypatch, error, policy, state, runs_on
):
    def broken(*_):
        raise error

    monkeypatch.setattr(backends, "open_encoder", broken)
    encode = Encode(context(None, encode={"backend": "mnn", "on_fallback": policy}))
    encode.warm_up()
    (report,) = encode.begin()
    assert (report.state, report.details["runs_on"]) == (state, runs_on)
    assert (str(error).strip("'") or "MemoryError") in report.details["reason"]


@pytest.mark.parametrize("content", [b"", bytes(5000), b"MNN\0" * 500])
def test_a_damaged_artefact_is_rejected_and_the_processor_does_it(tmp_path, content):
    (tmp_path / "model.mnn").write_bytes(content)
    encode = Encode(context(None, encode={"backend": "mnn", "artefact": str(tmp_path / "model.mnn")}))
    encode.warm_up()
    (report,) = encode.begin()
    assert (report.state, report.details["runs_on"]) == ("fallback", "cpu")
    assert "model.mnn" in report.details["reason"]


def test_a_model_of_ones_own_that_ended_a_process_is_not_opened_again(tmp_path, monkeypatch):
    own = shutil.copy(catalog.model_path("efficientnet-lite0-224-int8"), tmp_path / "mine.onnx")
    StateFile(tmp_path / "encode.mark", 0).set("running")
    monkeypatch.setattr(gate, "open_cpu_encoder", lambda *_: pytest.fail("it was opened"))
    encode = Encode(context(None, state_dir=tmp_path, lives=1, encode={"model": str(own)}))
    encode.warm_up()
    (report,) = encode.begin()
    assert (report.state, report.details["runs_on"]) == ("rejected", "nothing")
    assert "a process ended as it opened this model" in report.details["reason"]
