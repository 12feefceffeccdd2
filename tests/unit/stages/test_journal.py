from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from pipeline.core.errors import EventLogError
from pipeline.eventlog import entries
from pipeline.eventlog.cursor import Cursor, LogPlace
from pipeline.eventlog.segments import segments
from stages.journal import Closed, FilesContent, Journal, Missed, Numbered, Opened, Reserve, Weight
from tests.fakes import NOON_NS, course, logged, memory, raised
from tests.paths import ROOT

RECORDED = (NOON_NS, 0, "boot")
KILLED = """
import os, signal, sys
from pathlib import Path
from stages.journal import Journal, Numbered, Reserve
journal = Journal(Path(sys.argv[1]), Reserve(1e6, 4e6))
for number in range(1, 101):
    journal.remember(Numbered("gate", number))
os.kill(os.getpid(), signal.SIGKILL)
"""


def record(life, number=1, *remembered, weight=Weight.URGENT, **changes):
    return life.record(raised(f"inc-1/{number}", **changes), RECORDED, weight, *remembered)


def test_what_is_open_is_there_in_the_next_life(open_journal):
    life = open_journal()
    assert record(life, 1, Opened(course()), Numbered("gate", 7))
    life.remember(Missed("yard", "silent"))
    again = open_journal()
    assert memory(again) == ({course().id: course()}, {"gate": 7})
    assert (again.missed, again.damaged) == ({"yard": "silent"}, 0)


def test_what_is_over_is_forgotten(open_journal):
    life = open_journal()
    record(life, 1, Opened(course()))
    record(life, 2, Closed(course().id))
    assert memory(open_journal()) == ({}, {})


def test_what_is_over_twice_is_over(open_journal):
    open_journal().remember(Closed("inc-9"))
    assert memory(open_journal()) == ({}, {})


def test_the_latest_state_of_an_incident_holds(open_journal):
    life = open_journal()
    record(life, 1, Opened(course()))
    record(life, 2, Opened(course(revision=3)))
    assert open_journal().courses == {course().id: course(revision=3)}


def test_every_source_has_a_sequence_of_its_own_that_goes_on_after_a_kill(open_journal, log_folder):
    record(open_journal(), 1)
    life = open_journal()
    record(life, 2)
    record(life, 3, camera=None)
    assert [(one.event.camera, one.sequence) for one in logged(log_folder)] == [("gate", 1), ("gate", 2), (None, 1)]


def test_all_of_it_is_there_after_many_segments_were_given_up(open_journal, log_folder):
    life = open_journal(reserve_mb=0.3)
    record(life, 1, Opened(course()), Numbered("gate", 4))
    life.remember(Missed("yard", "ended"))
    for number in range(2000):
        record(life, number, camera=None)
        life.delivered(number)
    again = open_journal()
    assert memory(again) == ({course().id: course()}, {"gate": 4})
    assert again.missed == {"yard": "ended"}
    record(again, 2)
    assert logged(log_folder)[-1].sequence == 2


def test_where_no_log_is_left_sequences_are_taken_from_elsewhere(log_folder):
    life = Journal(log_folder, Reserve(1e6, 4e6), lambda: FilesContent({"gate": 41}, frozenset()))
    record(life)
    life.close()
    assert logged(log_folder)[0].sequence == 42


def test_a_snapshot_that_cannot_be_read_is_replaced_by_the_one_before(open_journal, log_folder):
    life = open_journal(reserve_mb=0.3)
    number = 0
    while len(segments(log_folder)) < 3:
        number += 1
        record(life, number, Numbered("gate", number), camera=None)
    life.close()
    newest = segments(log_folder)[-1].path
    data = bytearray(newest.read_bytes())
    data[30] ^= 0xFF
    newest.write_bytes(data)
    again = open_journal()
    assert again.numbers == {"gate": number}
    record(again, number + 1, camera=None)
    assert logged(log_folder)[-1].sequence == number + 1


def test_what_is_behind_the_only_snapshot_is_remembered_though_that_is_damaged(open_journal, log_folder):
    life = open_journal()
    record(life, 1, Opened(course()), Numbered("gate", 7))
    life.close()
    (segment,) = segments(log_folder)
    data = bytearray(segment.path.read_bytes())
    data[26] ^= 0xFF
    segment.path.write_bytes(data)
    again = open_journal()
    assert memory(again) == ({course().id: course()}, {"gate": 7})
    assert again.damaged
    record(again, 2)
    assert logged(log_folder)[-1].sequence == 2


def test_a_log_that_is_older_than_its_readers_doubles_nothing(log_folder):
    life = Journal(log_folder, Reserve(1e6, 4e6))
    record(life, 1, Opened(course()))
    life.close()
    Cursor(entries.cursors(log_folder) / "jsonl.cursor").move(LogPlace(30))
    again = Journal(log_folder, Reserve(1e6, 4e6), lambda: FilesContent({"gate": 9}, frozenset({course().id})))
    assert again.courses == {}
    record(again, 2)
    again.close()
    assert logged(log_folder)[-1].sequence == 10


def test_a_payload_that_nobody_can_read_is_counted_and_left_out(open_journal):
    life = open_journal()
    life.remember(Numbered("gate", 1))
    life._log.append(2, b"\x91" * 100_000, durable=False)
    life._log.append(1, b"\xc1", durable=False)
    life.remember(Numbered("gate", 2))
    again = open_journal()
    assert (again.numbers, again.damaged) == ({"gate": 2}, 2)


def test_a_kill_loses_nothing_that_was_written(open_journal, log_folder):
    killed = subprocess.run([sys.executable, "-c", KILLED, log_folder], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert open_journal().numbers == {"gate": 100}


def test_only_durable_events_are_flushed_to_the_disk(open_journal, monkeypatch):
    flushed = []
    life = open_journal()
    record(life)
    monkeypatch.setattr(os, "fdatasync", flushed.append)
    record(life, 2)
    assert flushed == []
    life.record(raised("inc-1/3"), RECORDED, Weight.URGENT, durable=True)
    assert len(flushed) == 1


def test_events_are_behind_what_a_reader_had_when_power_failed(open_journal, log_folder):
    open_journal().close()
    cursor = Cursor(entries.cursors(log_folder) / "jsonl.cursor")
    cursor.move(LogPlace(300))
    record(open_journal())
    assert logged(log_folder, after=300)


def test_a_folder_that_cannot_be_made_is_refused_with_its_name(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(EventLogError, match="file/eventlog"):
        Journal(tmp_path / "file" / "eventlog", Reserve(1e6, 4e6))
