from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from stages import journal
from stages.journal import Closed, Delivered, Journal, Numbered, Opened
from tests.fakes import course, memory, raised

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
from stages.journal import Journal, Numbered
journal = Journal(Path(sys.argv[1]))
for number in range(1, 101):
    journal.write(Numbered("gate", number))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_is_open_is_there_in_the_next_life(open_journal):
    life = open_journal()
    life.write(Opened(course()), raised(), Numbered("gate", 7))
    again = open_journal()
    assert memory(again) == ({course().id: course()}, {"inc-1/1": raised().event}, {"gate": 7})
    assert again.skipped == 0


def test_what_is_over_is_forgotten(open_journal):
    life = open_journal()
    life.write(Opened(course()), raised(), Closed(course().id), Delivered("inc-1/1"))
    assert memory(open_journal()) == ({}, {}, {})


def test_what_is_over_twice_is_over(open_journal):
    open_journal().write(Closed("inc-9"), Delivered("inc-9/1"))
    assert memory(open_journal()) == ({}, {}, {})


def test_the_latest_state_of_an_incident_holds(open_journal):
    life = open_journal()
    life.write(Opened(course()))
    life.write(Opened(course(revision=3)))
    assert open_journal().courses == {course().id: course(revision=3)}


def test_without_a_path_it_only_remembers():
    life = Journal(None)
    life.write(Opened(course()), durable=True)
    assert life.courses
    assert life.failing is None
    life.close()


def test_a_journal_cut_anywhere_loses_its_last_entries_only(open_journal, journal_path):
    life = open_journal()
    for number in range(1, 6):
        life.write(Numbered("gate", number))
    whole = journal_path.read_bytes()
    for length in range(len(whole)):
        journal_path.write_bytes(whole[:length])
        again = open_journal()
        complete = max(whole[:length].count(b"\n"), whole[: length + 1].count(b"\n"))
        assert again.numbers == ({"gate": complete} if complete else {})
        assert again.skipped <= 1


def test_a_damaged_line_does_not_hide_those_behind_it(open_journal, journal_path):
    journal_path.write_bytes(b'{"type":"numbered","cam\n\xff\xfe\n{"type":"numbered","camera":"gate","number":4}\n')
    again = open_journal()
    assert (again.numbers, again.skipped) == ({"gate": 4}, 2)


def test_a_torn_line_is_gone_after_opening_so_that_the_next_entry_stands_alone(open_journal, journal_path):
    journal_path.write_bytes(b'{"type":"numbered","cam')
    open_journal().write(Numbered("gate", 5))
    again = open_journal()
    assert (again.numbers, again.skipped) == ({"gate": 5}, 0)


def test_a_kill_loses_nothing_that_was_written(open_journal, journal_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, journal_path], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert open_journal().numbers == {"gate": 100}


def test_a_kill_while_it_is_written_anew_loses_nothing(open_journal, journal_path):
    open_journal().write(Numbered("gate", 5))
    journal_path.with_suffix(".new").write_bytes(b'{"type":"numb')
    assert open_journal().numbers == {"gate": 5}


def test_it_stays_small_however_long_it_is_written(open_journal, journal_path, monkeypatch):
    monkeypatch.setattr(journal, "_COMPACT_BYTES", 2000)
    life = open_journal()
    life.write(Opened(course()))
    for number in range(500):
        life.write(Numbered("gate", number))
        life.write(raised(f"inc-1/{number}"))
        life.write(Delivered(f"inc-1/{number}"))
    assert journal_path.stat().st_size < 6000
    assert memory(open_journal()) == ({course().id: course()}, {}, {"gate": 499})


def test_only_durable_entries_are_flushed_to_the_disk(open_journal, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fdatasync", flushed.append)
    life = open_journal()
    flushed.clear()
    life.write(Numbered("gate", 1))
    assert flushed == []
    life.write(raised(), durable=True)
    assert len(flushed) == 1
