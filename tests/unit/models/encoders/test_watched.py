"""An accelerator that fails in mid-run is given up, and nothing that it was to encode is lost."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from models.encoders import watched
from models.encoders.watched import StateFile, WatchedEncoder


class Device:
    """Doubles what it is shown; `way`, after `good` runs: how it fails."""

    zero_copy = True

    def __init__(self, way="", good=3):
        self.input = np.zeros((1, 3, 8, 8), np.float32)
        self.logits = np.zeros(4, np.float32)
        self.way, self.good, self.runs = way, good, 0

    @property
    def output(self):
        return self.logits

    @property
    def outputs(self):
        return {"logits": self.logits}

    def placement(self):
        return self.way

    def run(self):
        self.runs += 1
        right = self.input.reshape(4, -1).sum(axis=1)
        if self.runs <= self.good or not self.way:
            self.logits = right
        elif self.way == "raises":
            raise RuntimeError("the device was lost")
        elif self.way == "drifts":
            self.logits = right[::-1].copy()
        elif self.way == "nan":
            self.logits = np.full(4, np.nan, np.float32)


def shown(encoder, value):
    """Encode one picture; return the answer."""
    encoder.input[...] = np.arange(192, dtype=np.float32).reshape(1, 3, 8, 8) * value
    encoder.run()
    return encoder.logits.copy()


@pytest.fixture
def mark(tmp_path):
    return StateFile(tmp_path / "mark", 0)


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("raises", "it failed in mid-run: the device was lost"),
        ("nan", "it answered what is no number"),
        ("stuck", "it answers the same whatever it is shown"),
        ("drifts", "its answers drifted from the CPU's in mid-run"),
    ],
)
def test_a_device_that_fails_is_given_up_and_the_picture_is_encoded_on_the_processor(monkeypatch, mark, way, reason):
    monkeypatch.setattr(watched, "_PROBE_INTERVAL", 5)
    encoder, truth = WatchedEncoder(Device(way), Device, 0.99, mark), Device()
    for value in range(1, 9):
        found, right = shown(encoder, value), shown(truth, value)
        if encoder.fault or way != "drifts":
            assert found.tolist() == right.tolist()
    assert reason in encoder.fault
    assert mark.state() == "abandoned"
    assert encoder.placement() == ""


def test_a_device_that_works_is_kept(monkeypatch, mark):
    monkeypatch.setattr(watched, "_PROBE_INTERVAL", 2)
    encoder = WatchedEncoder(Device(), Device, 0.99, mark)
    answers = [shown(encoder, value).tolist() for value in (1, 2, 2, 3)]
    assert answers[1] == answers[2] != answers[3]
    assert (encoder.fault, mark.state()) == ("", "idle")


def test_the_next_process_knows_that_one_ended_in_a_run(tmp_path):
    first = StateFile(tmp_path / "mark", 0)
    first.set("running")
    assert StateFile(tmp_path / "mark", 1).state() == "running"
    assert StateFile(tmp_path / "mark", 0).state() == "idle"


def test_what_was_given_up_stays_so_until_the_daemon_starts_anew(tmp_path):
    StateFile(tmp_path / "mark", 0).set("abandoned")
    second = StateFile(tmp_path / "mark", 1)
    second.set("idle")
    assert second.state() == "abandoned"
    assert StateFile(tmp_path / "mark", 0).state() == "idle"


@pytest.mark.parametrize("content", [b"", b"\xff", b"xyz"])
def test_a_damaged_mark_is_as_good_as_none(tmp_path, content):
    (tmp_path / "mark").write_bytes(content)
    assert StateFile(tmp_path / "mark", 1).state() == "idle"


def test_a_full_disk_costs_the_mark_alone(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    mark = StateFile(tmp_path / "mark", 0)
    mark.set("running")
    assert mark.state() == "idle"


def test_a_folder_that_cannot_be_written_costs_the_mark_alone(tmp_path):
    mark = StateFile(tmp_path / "missing" / "mark", 0)
    mark.set("running")
    assert mark.state() == "idle"
    assert StateFile(None, 1).state() == "idle"
