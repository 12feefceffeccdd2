"""A full disk: ends are always taken, then alarms, then the rest, and nothing that was taken is without its end."""

from __future__ import annotations

import errno
import os

import pytest

from stages.journal import Closed, Numbered, Opened, Weight
from tests.fakes import NOON_NS, course, logged, memory, raised

RECORDED = (NOON_NS, 0, "boot")


@pytest.fixture
def disk(monkeypatch):
    """A disk of which no more room can be taken, or that takes nothing at all."""
    state = {"full": False, "dead": False}
    allocate, write = os.posix_fallocate, os.pwrite

    def allocating(descriptor, offset, size):
        if state["full"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        allocate(descriptor, offset, size)

    def writing(descriptor, data, offset):
        if state["dead"]:
            raise OSError(errno.EIO, "Input/output error")
        return write(descriptor, data, offset)

    monkeypatch.setattr(os, "posix_fallocate", allocating)
    monkeypatch.setattr(os, "pwrite", writing)
    return state


def fill(life, weight, *remembered):
    """Write events of a weight until one is refused; return how many were taken."""
    for number in range(100_000):
        if not life.record(raised(f"{weight.name}/{number}", camera=None), RECORDED, weight, *remembered):
            return number
    raise AssertionError("the disk is not full")


def test_on_a_full_disk_updates_go_first_then_routine_starts_then_alarms_and_ends_never(open_journal, disk):
    life = open_journal()
    disk["full"] = True
    taken = [fill(life, weight) for weight in (Weight.UPDATE, Weight.ROUTINE, Weight.URGENT)]
    assert all(count > 100 for count in taken)
    assert life.record(raised(), RECORDED, Weight.END)


def test_there_is_room_for_the_end_of_every_incident_that_is_open(open_journal, disk, log_folder):
    life = open_journal()
    disk["full"] = True
    opened = []
    for number in range(10_000):
        incident = course(id=f"inc-{number}")
        if not life.record(raised(f"inc-{number}/1"), RECORDED, Weight.URGENT, Opened(incident)):
            break
        opened.append(incident)
    assert len(opened) > 20
    for incident in opened:
        end = raised(f"{incident.id}/2", data=raised().data)
        assert life.record(end, RECORDED, Weight.END, Closed(incident.id))
    assert life.courses == {}
    assert len(logged(log_folder)) == 2 * len(opened)


def test_what_is_refused_has_no_sequence_and_leaves_no_trace(open_journal, disk, log_folder):
    life = open_journal()
    disk["full"] = True
    fill(life, Weight.UPDATE)
    before = memory(life)
    assert not life.record(raised("x"), RECORDED, Weight.UPDATE, Numbered("gate", 9))
    assert memory(life) == before
    disk["full"] = False
    life.refill()
    assert life.record(raised("y"), RECORDED, Weight.UPDATE)
    gate = [one.sequence for one in logged(log_folder) if one.event.camera == "gate"]
    assert gate == list(range(1, len(gate) + 1))


def test_when_there_is_room_again_everything_is_taken_again(open_journal, disk):
    life = open_journal()
    disk["full"] = True
    fill(life, Weight.UPDATE)
    assert life.trouble
    disk["full"] = False
    life.refill()
    assert life.trouble == ""
    assert life.record(raised(), RECORDED, Weight.UPDATE)


def test_a_disk_that_takes_nothing_is_told_of_and_memory_goes_on(open_journal, disk):
    life = open_journal()
    life.remember(Numbered("gate", 1))
    disk["dead"] = True
    assert not life.record(raised(), RECORDED, Weight.END)
    life.remember(Numbered("gate", 2))
    assert life.numbers == {"gate": 2}
    assert life.trouble == "Input/output error"
    disk["dead"] = False
    assert life.record(raised(), RECORDED, Weight.END)
    assert life.trouble == ""


def test_a_disk_that_is_full_from_the_start_stops_nobody(open_journal, disk):
    disk["full"] = True
    life = open_journal()
    assert not life.record(raised(), RECORDED, Weight.END)
    disk["full"] = False
    life.refill()
    assert life.record(raised(), RECORDED, Weight.END)
