"""The event log: read once, in order, whatever is killed, full or damaged (long: a test a way to fail)."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.eventlog import cursor as cursors
from pipeline.eventlog import segments
from pipeline.eventlog.cursor import Cursor, LogPlace
from pipeline.eventlog.reader import LogReader, waiting
from pipeline.eventlog.segments import RecordKind
from pipeline.eventlog.writer import LogWriter, Sizes
from tests.paths import ROOT

KB = 1024
KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.eventlog.segments import RecordKind
from pipeline.eventlog.writer import LogWriter, Sizes
log = LogWriter(Path(sys.argv[1]), lambda _: Sizes(64 << 10, 1 << 20, 16 << 10), lambda: b"all")
list(log.recover()); log.begin()
for number in range(100):
    log.append(RecordKind.EVENT, str(number).encode() * 100, durable=False)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def open_log(log_folder):
    """Open the log, again if need be, as a new life of its author does."""
    lives = []

    def again(reserve=64 * KB, most=1024 * KB, segment=16 * KB, after=0):
        for life in lives:
            life.close()
        lives.append(LogWriter(log_folder, lambda _: Sizes(reserve, most, segment), lambda: b"snapshot"))
        list(lives[-1].recover())
        lives[-1].begin(after)
        return lives[-1]

    yield again
    for life in lives:
        life.close()


@pytest.fixture
def full_disk(monkeypatch):
    """No more room can be taken while the list is not empty."""
    full = [True]
    real = os.posix_fallocate

    def allocate(descriptor, offset, size):
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    return full


def events(folder, after=0):
    """The payloads of all events behind a position."""
    reader, found = LogReader(folder, after), []
    while (record := reader.next()) is not None:
        if record.kind is RecordKind.EVENT:
            found.append(record.payload)
    reader.close()
    return found


def write(log, count, size=1000):
    for number in range(count):
        log.append(RecordKind.EVENT, f"{number}".encode().ljust(size), durable=False)


def numbers(folder, after=0):
    return [int(payload) for payload in events(folder, after)]


def test_what_is_written_is_read_in_order_over_many_segments(open_log, log_folder):
    write(open_log(), 100)
    assert numbers(log_folder) == list(range(100))
    assert len(segments.segments(log_folder)) > 5


def test_a_reader_that_waits_gets_what_is_written_later(open_log, log_folder):
    log, reader = open_log(), LogReader(log_folder)
    assert reader.next() is None
    write(log, 40)
    found = [record.payload for record in iter(reader.next, None) if record.kind is RecordKind.EVENT]
    assert len(found) == 40
    assert reader.next() is None
    write(log, 1)
    assert reader.next().kind in (RecordKind.EVENT, RecordKind.SNAPSHOT)
    reader.close()


def test_a_new_life_goes_on_behind_the_last_record(open_log, log_folder):
    write(open_log(), 20)
    write(open_log(), 20)
    assert numbers(log_folder) == [*range(20), *range(20)]


def test_a_kill_loses_nothing_that_was_written(open_log, log_folder):
    killed = subprocess.run([sys.executable, "-c", KILLED, log_folder], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    open_log()
    assert len(events(log_folder)) == 100


def test_a_log_cut_anywhere_loses_its_last_record_only(open_log, log_folder):
    log = open_log()
    write(log, 5, size=40)
    log.close()
    (segment,) = segments.segments(log_folder)
    whole = segment.path.read_bytes()
    end = whole.rindex(b"4    ") + 40
    for cut in range(end - 60, end):
        segment.path.write_bytes(whole[:cut] + bytes(len(whole) - cut))
        open_log()
        assert numbers(log_folder) == [0, 1, 2, 3]


def test_a_damaged_record_does_not_hide_those_behind_it(open_log, log_folder):
    log = open_log()
    write(log, 30)
    first = segments.segments(log_folder)[0].path
    data = bytearray(first.read_bytes())
    at = data.index(b"5   ")
    data[at : at + 4] = b"oops"
    first.write_bytes(data)
    reader = LogReader(log_folder)
    found = [int(record.payload) for record in iter(reader.next, None) if record.kind is RecordKind.EVENT]
    assert found == [number for number in range(30) if number != 5]
    assert reader.missing == 1


def test_a_full_disk_takes_as_much_as_was_reserved(open_log, log_folder, full_disk):
    full_disk.clear()
    log = open_log(reserve=64 * KB)
    room = log.room()
    full_disk.append(True)
    written = 0
    with contextlib.suppress(OSError):
        while written < 1000:
            write(log, 1)
            written += 1
    assert 1000 > written >= (room - 4 * 2048) // 1032
    assert len(events(log_folder)) == written


def test_the_reserve_is_taken_again_when_there_is_room(open_log, full_disk):
    full_disk.clear()
    log = open_log()
    full_disk.append(True)
    write(log, 40)
    assert log.short
    before = log.room()
    full_disk.clear()
    log.replenish()
    assert log.short is None
    assert log.room() > before


def test_what_every_reader_has_is_given_up_and_its_room_used_again(open_log, log_folder, full_disk):
    full_disk.clear()
    log = open_log()
    full_disk.append(True)
    for _ in range(20):
        write(log, 20)
        log.release(log.position)
    assert len(segments.segments(log_folder)) <= 2
    assert len(events(log_folder)) <= 20


def test_a_file_used_again_does_not_give_its_old_records(open_log, log_folder):
    log = open_log()
    for _ in range(5):
        write(log, 40)
        log.release(log.position)
    after = log.position
    write(log, 3)
    assert numbers(log_folder, after) == [0, 1, 2]


def test_a_log_grows_no_larger_than_allowed(open_log, log_folder):
    log = open_log(reserve=64 * KB, most=128 * KB)
    with pytest.raises(OSError, match="too many"):
        write(log, 1000)
    assert sum(path.stat().st_size for path in log_folder.iterdir()) <= 224 * KB


def test_a_write_that_fails_is_tried_again_at_the_same_place(open_log, log_folder, monkeypatch):
    log = open_log()
    write(log, 1)
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, data, offset: real(descriptor, data[:30], offset))
    with pytest.raises(OSError, match="No space"):
        write(log, 1)
    monkeypatch.setattr(os, "pwrite", real)
    write(log, 1)
    assert numbers(log_folder) == [0, 0]


def test_a_flush_that_fails_is_told_and_undoes_nothing(open_log, log_folder, monkeypatch):
    log = open_log()

    def fails(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fails)
    log.append(RecordKind.EVENT, b"7", durable=True)
    assert log.unsynced.errno == errno.EIO
    assert numbers(log_folder) == [7]


def test_positions_do_not_go_back_behind_what_a_reader_has_seen(open_log):
    log = open_log(after=500)
    assert log.append(RecordKind.EVENT, b"x", durable=False) > 500


def folder(path):
    path.mkdir()


def garbage(path):
    path.write_bytes(os.urandom(5000))


@pytest.mark.parametrize("plant", [folder, os.mkfifo, garbage, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", ["0000000000000001.log", "9999999999999999.log", "spare-0"])
def test_what_lies_in_its_place_and_is_no_part_of_a_log_is_put_aside(open_log, log_folder, plant, name):
    log_folder.mkdir()
    plant(log_folder / name)
    log = open_log()
    write(log, 30)
    assert numbers(log_folder) == list(range(30))
    assert name in log.put_aside or name == "spare-0"


@pytest.mark.parametrize("plant", [os.mkfifo, garbage, lambda path: path.symlink_to("/tmp")])
def test_what_lies_in_the_place_of_its_folder_is_put_aside(open_log, log_folder, plant):
    plant(log_folder)
    log = open_log()
    write(log, 1)
    assert log.put_aside == ["eventlog"]


def test_a_folder_that_a_reader_makes_at_the_same_moment_is_taken(open_log, log_folder, monkeypatch):
    made = Path.mkdir

    def after_the_reader(path, *arguments, **options):
        if path == log_folder:
            monkeypatch.setattr(Path, "mkdir", made)
            cursors.Cursor(log_folder / "cursors" / "jsonl.cursor").close()
        made(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", after_the_reader)
    log = open_log()
    write(log, 1)
    assert numbers(log_folder) == [0]
    assert not log.put_aside


def damage(path, found):
    """Flip a bit where these bytes are."""
    data = bytearray(path.read_bytes())
    data[data.index(found)] ^= 1
    path.write_bytes(data)


def test_behind_damage_in_the_newest_segment_events_are_read_at_once(open_log, log_folder):
    log = open_log()
    write(log, 8)
    log.close()
    damage(segments.segments(log_folder)[-1].path, b"5   ")
    again = open_log()
    again.append(RecordKind.EVENT, b"99", durable=False)
    assert numbers(log_folder) == [0, 1, 2, 3, 4, 6, 7, 99]
    assert again.damaged == 1


def test_a_reader_passes_over_damage_at_the_end_of_the_log(open_log, log_folder):
    write(open_log(), 8)
    damage(segments.segments(log_folder)[-1].path, b"5   ")
    assert numbers(log_folder) == [0, 1, 2, 3, 4, 6, 7]
    assert waiting(log_folder, 0) == 7


@pytest.mark.parametrize(
    "change", [Path.unlink, lambda path: path.write_bytes(b""), lambda path: os.truncate(path, 99)]
)
def test_a_spare_file_that_is_deleted_or_cut_short_holds_up_nothing(open_log, log_folder, change):
    open_log().close()
    for path in log_folder.glob("spare-*"):
        change(path)
    write(open_log(), 60)
    assert len(numbers(log_folder)) == 60


def test_spare_files_that_are_deleted_while_it_is_written_hold_up_nothing(open_log, log_folder):
    log = open_log()
    for path in log_folder.glob("spare-*"):
        path.unlink()
    write(log, 60)
    assert len(numbers(log_folder)) == 60


def test_an_event_that_no_segment_can_take_costs_the_reserve_nothing(open_log, full_disk):
    full_disk.clear()
    log = open_log()
    full_disk.append(True)
    room = log.room()
    with pytest.raises(OSError, match="No space"):
        write(log, 1, size=40 * KB)
    assert log.room() == room
    write(log, 10)


def test_a_folder_that_is_deleted_while_it_is_written_is_begun_anew(open_log, log_folder):
    log = open_log()
    write(log, 5)
    shutil.rmtree(log_folder)
    log.replenish()
    write(log, 5)
    assert numbers(log_folder) == [0, 1, 2, 3, 4]


def test_a_reader_whose_segment_is_used_again_misses_nothing(open_log, log_folder, full_disk):
    full_disk.clear()
    log, reader = open_log(reserve=48 * KB), LogReader(log_folder)
    write(log, 14)
    full_disk.append(True)
    write(log, 1, size=4000)  # begins a segment
    second = segments.segments(log_folder)[1].first
    seen = [reader.next().position for _ in range(second - 1)]  # all of the first, which is still open
    log.release(reader.position)
    with contextlib.suppress(OSError):
        write(log, 1000)  # also into the file of the first
    seen += [record.position for record in iter(reader.next, None)]
    assert seen == list(range(1, log.position + 1))
    assert reader.missing == 0


def test_files_too_large_to_be_ours_are_put_aside(open_log, log_folder):
    open_log().close()
    (log_folder / "0000000000000777.log").touch()
    os.truncate(log_folder / "0000000000000777.log", 1 << 40)
    log = open_log()
    write(log, 3)
    assert log.put_aside == ["0000000000000777.log"]
    assert numbers(log_folder) == [0, 1, 2]


def test_a_length_that_goes_beyond_the_file_is_damage(open_log, log_folder):
    log = open_log()
    write(log, 4)
    log.close()
    path = segments.segments(log_folder)[0].path
    data = bytearray(path.read_bytes())
    at = data.index(b"2    ") - 24
    data[at + 4 : at + 8] = b"\xff" * 4
    path.write_bytes(data)
    assert numbers(log_folder) == [0, 1, 3]


def test_nobody_else_may_read_it(open_log, log_folder):
    write(open_log(), 30)
    assert not any(path.stat().st_mode & 0o077 for path in [log_folder, *log_folder.iterdir()])


def test_what_waits_for_a_reader_is_counted(open_log, log_folder):
    log = open_log()
    write(log, 30)
    assert waiting(log_folder, 0) == 30
    assert waiting(log_folder, log.position) == 0


def test_a_cursor_outlives_the_process(tmp_path):
    Cursor(tmp_path / "jsonl.cursor").move(LogPlace(7, 3))
    assert Cursor(tmp_path / "jsonl.cursor").place == LogPlace(7, 3)
    assert cursors.all_of(tmp_path) == {"jsonl": LogPlace(7, 3)}


def test_a_cursor_that_was_torn_is_at_its_place_before(tmp_path):
    path = tmp_path / "jsonl.cursor"
    cursor = Cursor(path)
    for position in (5, 6, 7):
        cursor.move(LogPlace(position))
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut] + bytes(len(whole) - cut))
        assert cursors.load(path)[1] in (LogPlace(), LogPlace(6), LogPlace(7))
    damaged = bytearray(whole)
    damaged[whole.index(bytes([7])) + 3] ^= 1
    path.write_bytes(damaged)
    assert cursors.load(path)[1] == LogPlace(6)


def test_a_cursor_goes_on_in_memory_where_the_disk_takes_none(tmp_path, full_disk):
    cursor = Cursor(tmp_path / "jsonl.cursor")
    cursor.move(LogPlace(4))
    assert (cursor.place, cursor.failing.errno) == (LogPlace(4), errno.ENOSPC)
    full_disk.clear()
    cursor.move(LogPlace(5))
    assert cursors.load(tmp_path / "jsonl.cursor")[1] == LogPlace(5)


@pytest.mark.parametrize("plant", [folder, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_stands_in_the_place_of_a_cursor_is_put_aside(tmp_path, plant):
    plant(tmp_path / "jsonl.cursor")
    Cursor(tmp_path / "jsonl.cursor").move(LogPlace(9))
    assert cursors.load(tmp_path / "jsonl.cursor")[1] == LogPlace(9)


def test_a_file_in_the_place_of_the_cursors_is_put_aside(tmp_path):
    (tmp_path / "cursors").write_text("x")
    Cursor(tmp_path / "cursors" / "jsonl.cursor").move(LogPlace(9))
    assert cursors.all_of(tmp_path / "cursors") == {"jsonl": LogPlace(9)}


@pytest.mark.parametrize("plant", [folder, os.mkfifo, garbage, lambda path: path.symlink_to("/dev/zero")])
def test_a_cursor_that_cannot_be_read_is_at_the_beginning(tmp_path, plant):
    plant(tmp_path / "jsonl.cursor")
    assert Cursor(tmp_path / "jsonl.cursor").place == LogPlace()
