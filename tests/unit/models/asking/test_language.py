"""Which model speaks, and what becomes of one that ends the process."""

from __future__ import annotations

import dataclasses

import pytest

from models.asking import language
from models.asking.language import Trial
from models.store import Installed
from pipeline.core.errors import ModelError
from tests.fakes import FakeClock, context


class TestTrial:
    def test_a_new_daemon_begins_anew(self, tmp_path):
        for _ in range(5):
            assert Trial(tmp_path / "attempts").begin(lives=0) == 0

    def test_lives_without_an_answer_are_counted(self, tmp_path):
        assert [Trial(tmp_path / "attempts").begin(lives) for lives in range(4)] == [0, 1, 2, 3]

    def test_an_answer_ends_the_row(self, tmp_path):
        Trial(tmp_path / "attempts").begin(0)
        life = Trial(tmp_path / "attempts")
        life.begin(1)
        life.record_answer()
        assert Trial(tmp_path / "attempts").begin(2) == 0

    def test_a_damaged_count_is_none(self, tmp_path):
        (tmp_path / "attempts").write_text("x")
        assert Trial(tmp_path / "attempts").begin(1) == 0

    def test_a_folder_that_cannot_be_written_to_is_no_reason_to_fail(self, tmp_path):
        assert Trial(tmp_path / "none" / "attempts").begin(1) == 0


@pytest.fixture
def voice(ring, tmp_path, monkeypatch):
    def opened(*, lives=0, model="", found=None, load=None):
        stage_context = context(ring, state_dir=tmp_path, describe={"model": model})
        object.__setattr__(stage_context, "models_dir", tmp_path)
        object.__setattr__(stage_context, "lives", lives)
        if found:
            monkeypatch.setattr(language.Store, "active", lambda _: found)
            monkeypatch.setattr(language, "_load", load)
        return language.open_chosen_model(stage_context)

    return opened


def test_without_a_model_in_use_the_templates_speak(voice):
    found = voice()
    assert (found.model, found.reason, found.status, found.report) == (None, "no_model", "skipped", None)


def test_a_configured_model_that_is_not_installed_is_told_of(voice):
    found = voice(model="small")
    assert found.status == "failed"
    assert found.report.state == "rejected"
    assert "small is not installed" in found.report.details["reason"]


def test_none_is_no_model_even_if_one_is_in_use(voice, tmp_path):
    assert voice(model="none", found=Installed("a", "1", tmp_path, None, True), load=None).report is None


def test_a_model_that_cannot_be_loaded_is_told_of_and_the_templates_speak(voice, tmp_path):
    def load(*_, **__):
        raise ModelError("a/1 is damaged")

    found = voice(found=Installed("a", "1", tmp_path, None, True), load=load)
    assert (found.model, found.status) == (None, "failed")
    assert found.report.details == {"model": "a/1", "reason": "a/1 is damaged"}


def test_a_model_that_ended_the_process_three_times_in_a_row_is_left_alone(voice, tmp_path):
    tries = []

    def load(first, *_, **__):
        tries.append(1)
        return first

    for lives in range(6):
        found = voice(lives=lives, found=Installed("a", "1", tmp_path, None, True), load=load)
    assert len(tries) == 3
    assert "ended 5 times before it gave an answer" in found.report.details["reason"]


@pytest.fixture
def threads(ring, tmp_path, monkeypatch):
    """Open a model where the plan has three threads for it; returns with how many it was."""

    def opened(*, media, configured):
        given = context(ring, clock=FakeClock(media=media), state_dir=tmp_path, describe={"threads": configured})
        seen = []
        monkeypatch.setattr(language.Store, "active", lambda _: Installed("a", "1", tmp_path, None, True))
        monkeypatch.setattr(language, "_load", lambda *arguments: seen.append(arguments[-1]))
        language.open_chosen_model(dataclasses.replace(given, models_dir=tmp_path, threads=3))
        return seen[0]

    return opened


def test_a_model_computes_with_the_threads_that_the_plan_has_for_it_or_as_configured(threads):
    assert threads(media=False, configured=0) == 3
    assert threads(media=False, configured=2) == 2


def test_a_replay_computes_with_one_thread_as_every_worker_has_one_core(threads):
    assert threads(media=True, configured=2) == 1


def test_a_model_in_use_that_is_gone_is_told_of(voice, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "active.json").write_text('{"name": "a", "version": "1"}')
    found = voice()
    assert found.status == "failed"
    assert "names a/1, which is not installed" in found.report.details["reason"]
