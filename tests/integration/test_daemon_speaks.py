"""A daemon with the boot model: sentences, and engines that die at their work."""

from __future__ import annotations

import json
import signal

import pytest

from pipeline.runtime.board import Word
from tests.daemons import PATIENCE, WALKER, Daemon, eventually
from tests.llms import boot_state

_CRASH_ONCE = """
import pathlib
from models.llm import mnn
forward = mnn.MnnEngine.forward
def crashes(self, numbers):
    marker = pathlib.Path({marker!r})
    if self.held > 170 and not marker.exists():
        marker.touch()
        {crash}
    return forward(self, numbers)
mnn.MnnEngine.forward = crashes
"""
CRASHES = {
    "a number below zero": "self._model.forward([-1])",
    "no number at all": "self._model.forward([])",
    "abort": "__import__('os').abort()",
}
_SICK = """
from models.llm import mnn
def crashes(self, *_):
    __import__('os').kill(__import__('os').getpid(), 11)
mnn.MnnEngine.__init__ = crashes
"""
_HANGS = """
import time
from pipeline import topology
topology.STAGES['describe'] = topology.STAGES['describe']._replace(stalled_after_s=6)
"""
_SLOW = """
import time
from models.llm import mnn
forward = mnn.MnnEngine.forward
def slow(self, numbers):
    time.sleep(0.02)
    return forward(self, numbers)
mnn.MnnEngine.forward = slow
"""
SOURCE = WALKER.replace("pause_s=2", "pause_s=3")
WAITS = "\n[runtime]\nstop_s = 8.0\n"


@pytest.fixture(scope="module")
def models():
    return boot_state() / "models"


@pytest.fixture
def daemon(tmp_path, models):
    made = Daemon(tmp_path, SOURCE, WAITS)
    made.config.write_text(made.config.read_text().replace("report_wait_s = 1.0", "report_wait_s = 5.0"))
    made.state.mkdir()
    (made.state / "models").symlink_to(models)
    yield made
    made.close()


def analyses(daemon, kind):
    return [event["data"]["analysis"] for event in daemon.events(f"incident.{kind}")]


def spoken(daemon, kind="end", count=1):
    """Wait for incidents with a sentence."""

    def found():
        done = [one for one in analyses(daemon, kind) if one["status"] == "ok"]
        return done if len(done) >= count else None

    return eventually(found, 40, f"{count} sentences, see {daemon.log_file}")


def died_once(daemon):
    events = [event["data"]["details"] for event in daemon.events("stage_restarted")]
    return [event["stage"] for event in events] == ["describe"]


def assert_nothing_was_lost(daemon):
    started, ended = daemon.starts_and_ends()
    assert set(started.values()) == set(ended.values()) == {1}
    assert started == ended


def test_incidents_are_told_in_sentences_and_which_model_speaks_is_an_event(daemon):
    daemon.start()
    told = spoken(daemon)[0]
    (loaded,) = daemon.events("model.loaded")
    assert loaded["data"]["details"]["model"] == f"{told['model']['name']}/{told['model']['version']}"
    assert told["grounded"]
    assert told["tokens"]["cached"] > 100
    assert told["ttft_ms"] > 0
    assert daemon.board("describe", Word.REREAD) == 0
    daemon.stop()
    assert_nothing_was_lost(daemon)


def test_the_start_of_an_incident_waits_for_no_sentence(daemon):
    daemon.start(_SLOW)
    daemon.await_incident()
    assert analyses(daemon, "start")[0]["status"] == "pending"
    assert analyses(daemon, "end") == []


def test_an_engine_that_is_killed_at_its_work_costs_one_restart_and_no_incident(daemon):
    daemon.start(_SLOW)
    eventually(lambda: [one for one in analyses(daemon, "update") if one["status"] == "pending"], 15, "a promise")
    daemon.kill("describe")
    spoken(daemon, count=2)
    daemon.stop()
    assert died_once(daemon)
    assert_nothing_was_lost(daemon)


@pytest.mark.parametrize("crash", CRASHES.values(), ids=CRASHES)
def test_an_engine_that_crashes_costs_one_restart_and_no_incident(daemon, tmp_path, crash):
    daemon.start(_CRASH_ONCE.format(marker=str(tmp_path / "crashed"), crash=crash))
    spoken(daemon)
    daemon.stop()
    assert (tmp_path / "crashed").exists()
    assert died_once(daemon)
    assert_nothing_was_lost(daemon)


def test_an_engine_that_hangs_is_replaced_and_costs_no_incident(daemon, tmp_path):
    hang = _CRASH_ONCE.format(marker=str(tmp_path / "hung"), crash="time.sleep(600)")
    daemon.start(_HANGS + hang)
    spoken(daemon)
    daemon.stop()
    assert died_once(daemon)
    assert_nothing_was_lost(daemon)


def test_an_engine_that_crashes_whenever_it_loads_is_left_alone_and_the_templates_speak(daemon):
    daemon.start(_SICK)
    rejected = daemon.await_event("model.rejected", 15)
    assert "ended 3 times before it gave an answer" in rejected["data"]["details"]["reason"]
    after = len(analyses(daemon, "end"))
    told = eventually(lambda: analyses(daemon, "end")[after:], 15, "an incident that ends")[-1]
    assert told["status"] == "failed"
    assert " at gate for " in told["summary"]
    daemon.stop()
    assert len(daemon.events("stage_restarted")) == 3
    assert_nothing_was_lost(daemon)


def test_a_damaged_model_is_an_event_and_the_templates_speak(daemon, models, tmp_path):
    (daemon.state / "models").unlink()
    version = next(path for path in models.glob("*/*") if path.is_dir())
    damaged = daemon.state / "models" / version.parent.name / version.name
    damaged.mkdir(parents=True)
    for file in version.iterdir():
        if file.is_file():
            (damaged / file.name).write_bytes(file.read_bytes()[: 50_000 if file.suffix == ".weight" else None])
    active = {"name": version.parent.name, "version": version.name}
    (daemon.state / "models" / "active.json").write_text(json.dumps(active))
    daemon.start()
    rejected = daemon.await_event("model.rejected", 10)
    assert "llm.mnn.weight: 50000 bytes" in rejected["data"]["details"]["reason"]
    assert "pull or convert it again" in rejected["data"]["details"]["reason"]
    told = eventually(lambda: analyses(daemon, "end"), 15, "an incident that ends")[0]
    assert told["status"] == "failed"
    daemon.stop()
    assert daemon.events("stage_restarted") == []
    assert_nothing_was_lost(daemon)


def test_a_daemon_that_is_stopped_in_the_middle_of_a_sentence_ends_every_incident(daemon):
    daemon.start(_SLOW)
    eventually(lambda: [one for one in analyses(daemon, "update") if one["status"] == "pending"], 15, "a promise")
    status, seconds = daemon.stop(signal.SIGTERM, seconds=15)
    assert status == 0
    assert seconds < 9 * PATIENCE
    assert_nothing_was_lost(daemon)
