from __future__ import annotations

import errno
import os

import pytest

from stages import journal
from stages.journal import Numbered, Opened
from tests.fakes import course, memory, raised


@pytest.fixture
def disk(monkeypatch):
    """A disk that can be full: entries are written in part or not at all, and a new file cannot be finished."""
    state = {"full": None}
    write, flush = os.write, os.fdatasync

    def writing(descriptor, data):
        if state["full"] == "short":
            return write(descriptor, data[: len(data) // 2])
        if state["full"] == "none":
            raise OSError(errno.ENOSPC, "no space")
        return write(descriptor, data)

    def flushing(descriptor):
        if state["full"]:
            raise OSError(errno.ENOSPC, "no space")
        flush(descriptor)

    monkeypatch.setattr(journal.os, "write", writing)
    monkeypatch.setattr(journal.os, "fdatasync", flushing)
    return state


@pytest.mark.parametrize("full", ["short", "none"])
def test_a_full_disk_is_told_of_and_memory_goes_on(open_journal, journal_path, disk, full):
    life = open_journal()
    life.write(Numbered("gate", 1))
    before = journal_path.read_bytes()
    disk["full"] = full
    life.write(Opened(course()))
    life.write(raised(), durable=True)
    assert life.failing.errno == errno.ENOSPC
    assert life.courses
    assert life.outbox
    assert journal_path.read_bytes() == before


@pytest.mark.parametrize("full", ["short", "none"])
def test_when_the_disk_has_room_again_all_that_is_open_is_written_anew(open_journal, disk, full):
    life = open_journal()
    disk["full"] = full
    life.write(Opened(course()))
    life.write(raised())
    disk["full"] = None
    life.write(Numbered("gate", 2))
    assert life.failing is None
    assert memory(open_journal()) == ({course().id: course()}, {"inc-1/1": raised().event}, {"gate": 2})
