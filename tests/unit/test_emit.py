"""From the event log to sinks: whole lines, holeless sequences, once each (long: a test a way to fail)."""

import contextlib
import errno
import json
import os
from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest

from pipeline.core import messages as m
from pipeline.core.errors import SinkUnavailableError
from pipeline.eventlog.cursor import LogPlace
from pipeline.eventlog.reader import waiting
from stages import appending, evidence
from stages.sinks import jsonl
from tests.emitting import LATER, TICK, Sinks, event
from tests.fakes import NOON_NS, NS, FakeClock, frame, picture


@pytest.fixture
def sinks(ring, tmp_path):
    return lambda **emit: Sinks(ring, tmp_path / "out", **emit)


def sequences(lines):
    return [int(line["sequence"]) for line in lines]


def test_an_event_is_a_line(sinks):
    out = sinks()
    out.tell(event())
    (line,) = out.lines()
    assert (line["type"], line["severitytext"], line["sequence"]) == (
        "fieldwatch.incident.start.v1",
        "WARN",
        "000000000001",
    )


def test_how_far_the_sinks_are_is_told(sinks):
    out = sinks()
    (told,) = [one for one in out.tell(event()) if isinstance(one, m.EventsDelivered)]
    assert waiting(out.log_dir, told.position) == 0


def test_an_event_that_is_told_of_twice_is_written_once(sinks):
    out = sinks()
    out.tell(event(), event())
    assert len(out.lines()) == 1


def test_events_that_nobody_told_of_are_written_with_the_next_tick(sinks):
    out = sinks()
    out.log(event(1))
    out.log(event(2))
    out.tell(TICK)
    assert sequences(out.lines()) == [1, 2]


def test_a_new_life_goes_on_where_the_last_one_ended(sinks):
    out = sinks()
    out.tell(event(1), event(2))
    out.log(event(3))
    out.live()
    out.tell(TICK)
    assert sequences(out.lines()) == [1, 2, 3]


def test_a_kill_between_a_line_and_its_cursor_does_not_double_the_line(sinks):
    out = sinks()
    out.tell(event(1), event(2))
    out.stage._sinks[0]._cursor.move(LogPlace(0))
    out.live()
    out.tell(event(3))
    assert sequences(out.lines()) == [1, 2, 3]


def test_a_kill_before_the_file_was_put_away_does_not_double_the_line(sinks):
    out = sinks(rotate_mb=0.0001)
    out.tell(event(1))
    out.stage._sinks[0]._cursor.move(LogPlace(0))
    out.live()
    out.tell(TICK)
    lines = [line for path in out.folder.glob("events*.jsonl") for line in path.read_text().splitlines()]
    assert sequences(map(json.loads, lines)) == [1]


def test_a_cursor_that_is_no_place_of_the_log_begins_anew(sinks):
    out = sinks()
    out.tell(event(1))
    for outlet in (out.stage._kept, *out.stage._sinks):
        outlet._cursor.move(LogPlace(1 << 60))
    out.live()
    out.tell(event(2))
    assert sequences(out.lines()) == [1, 2]


def test_a_record_that_nobody_can_read_is_counted_and_holds_up_nothing(sinks):
    out = sinks()
    out.journal._log.append(1, b"\xc1", durable=False)
    out.tell(event())
    assert len(out.lines()) == 1
    assert out.stage._sinks[0].lost == 1


def test_each_source_has_a_sequence_of_its_own(sinks):
    out = sinks()
    out.tell(event(1), event(2, camera="yard"), event(3), event(4, camera=None))
    assert [(line["source"][18:], line["sequence"][-1]) for line in out.lines()] == [
        ("device/camera/gate", "1"),
        ("device/camera/yard", "1"),
        ("device/camera/gate", "2"),
        ("device", "1"),
    ]


def test_a_torn_last_line_is_cut_when_the_file_is_opened_again(sinks):
    out = sinks()
    out.tell(event(1))
    with (out.folder / "events.jsonl").open("ab") as file:
        file.write(b'{"id":"torn')
    out.live()
    out.tell(event(2))
    assert [line["sequence"][-1] for line in out.lines()] == ["1", "2"]


@pytest.fixture
def full_disk(monkeypatch):
    """Lines cannot be written as long as the list is not empty."""
    full = [True]

    def write(descriptor, data):
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    real = jsonl.append_whole
    monkeypatch.setattr(jsonl, "append_whole", write)
    return full


def test_on_a_full_disk_events_wait_and_are_written_once_there_is_room(sinks, full_disk):
    out = sinks()
    out.tell(event(1), event(2))
    assert not out.delivered()
    full_disk.clear()
    out.tell(TICK)
    assert sequences(out.lines()) == [1, 2]
    assert out.delivered()


def test_trouble_with_a_sink_is_told_once_when_it_begins_and_once_when_it_is_over(sinks, full_disk):
    out = sinks()
    assert out.reported(event(1), TICK, TICK) == ["degraded"]
    full_disk.clear()
    assert out.reported(TICK, TICK) == []
    assert out.reported(LATER, LATER) == ["recovered"]


def test_a_new_life_says_how_its_sinks_are(sinks, full_disk):
    out = sinks()
    out.tell(event(1))
    full_disk.clear()
    out.live()
    assert out.reported(TICK, TICK) == ["recovered"]


def test_pictures_that_went_for_events_are_told_of(sinks, full_disk, monkeypatch):
    out = sinks()
    (out.folder / "evidence").mkdir(parents=True)
    for number in range(10):
        (out.folder / f"evidence/{number}.jpg").write_bytes(bytes(1000))
    monkeypatch.setattr(evidence, "room", lambda *_: False)
    out.tell(event(), TICK)
    full_disk.clear()
    (told,) = [one for one in out.tell(LATER) if isinstance(one, m.SinkReported)]
    assert told.details["pictures_deleted"] == 10 - len(list((out.folder / "evidence").iterdir()))


def test_a_sink_that_fails_again_and_again_is_told_of_once(sinks, full_disk):
    out = sinks()
    told = out.reported(event(1))
    for number in range(2, 20):
        full_disk[:] = [True] * (number % 2)
        told += out.reported(event(number))
    assert told == ["degraded"]


def test_a_replay_whose_events_find_no_room_fails(sinks, full_disk):
    out = sinks()
    (out.folder).mkdir()
    out.live(clock=FakeClock(media=True))
    out.tell(msgspec.structs.replace(event(1), hops=(m.Hop("trigger", 1, 2),)))
    with pytest.raises(SinkUnavailableError, match="No space"):
        list(out.stage.finish())


def test_nothing_is_kept_in_memory_of_what_waits(sinks, full_disk):
    out = sinks()
    for number in range(1, 3000):
        out.log(event(number))
    out.tell(TICK)
    assert len(msgspec.msgpack.encode(out.stage._sinks[0]._next)) < 10_000
    full_disk.clear()
    out.tell(TICK)
    assert sequences(out.lines()) == list(range(1, 3000))


def test_a_short_write_leaves_no_half_line(sinks, monkeypatch):
    out = sinks()
    real = os.write
    monkeypatch.setattr(appending.os, "write", lambda descriptor, data: real(descriptor, data[:20]))
    out.tell(event(1))
    assert out.lines() == []


def test_a_line_that_was_written_and_not_flushed_is_told_of_and_not_written_again(sinks, monkeypatch):
    out = sinks(fsync="always")
    real = os.fdatasync

    def fails(_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fails)
        assert out.reported(event(1), TICK, TICK) == ["degraded"]
    assert os.fdatasync is real
    assert out.reported(event(2), LATER) == ["recovered"]
    assert sequences(out.lines()) == [1, 2]


@pytest.mark.parametrize("goes", ["moved", "deleted", "replaced"])
def test_a_file_that_is_moved_or_deleted_is_begun_anew(sinks, goes):
    out = sinks()
    out.tell(event(1))
    path = out.folder / "events.jsonl"
    if goes == "deleted":
        path.unlink()
    else:
        path.rename(out.folder / "events.jsonl.1")
    if goes == "replaced":
        path.write_text("")
    out.tell(event(2))
    assert sequences(out.lines()) == [2]


@pytest.mark.parametrize("plant", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_what_is_no_file_takes_no_events_and_holds_up_nobody(sinks, plant):
    out = sinks()
    out.folder.mkdir()
    path = out.folder / "events.jsonl"
    plant(path)
    assert out.reported(event(1), TICK) == ["degraded"]
    path.rmdir() if path.is_dir() else path.unlink()
    out.tell(TICK)
    assert sequences(out.lines()) == [1]


@pytest.mark.parametrize("name", ["events-1\u00b2-x.jsonl", "events-999999-x.jsonl", "events-x-y.jsonl"])
@pytest.mark.parametrize("plant", [Path.mkdir, Path.touch, os.mkfifo])
def test_odd_names_beside_the_file_hold_up_nothing(sinks, name, plant):
    out = sinks(rotate_mb=0.0001)
    out.folder.mkdir()
    plant(out.folder / name)
    out.tell(event(1), event(2))
    assert out.delivered()


def test_a_file_without_end_is_begun_anew_at_once(sinks):
    out = sinks()
    out.folder.mkdir()
    (out.folder / "events.jsonl").touch()
    os.truncate(out.folder / "events.jsonl", 1 << 40)
    out.tell(event(1))
    assert sequences(out.lines()) == [1]


def test_events_that_cannot_be_read_in_the_log_are_told_of(sinks):
    out = sinks()
    out.journal._log.append(1, b"\xc1", durable=False)
    assert out.reported(event()) == ["degraded"]
    assert out.reported(LATER) == ["recovered"]


def test_a_cursor_that_cannot_be_kept_is_told_of(sinks, monkeypatch):
    out = sinks()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert out.stage._sinks[0]._cursor.move(LogPlace(1)) is None
    assert out.reported(TICK) == ["degraded"]


def test_a_cursor_that_was_lost_doubles_no_line_of_the_files_put_away(sinks):
    out = sinks(rotate_mb=0.0001)
    out.tell(*(event(number) for number in range(1, 8)))
    out.stage._sinks[0]._cursor.move(LogPlace(0))
    out.live()
    out.tell(event(8))
    lines = [line for path in out.folder.glob("events*.jsonl") for line in path.read_text().splitlines()]
    assert sorted(sequences(map(json.loads, lines))) == list(range(1, 9))


def test_a_picture_is_kept_beside_the_events_with_its_hash(sinks, ring):
    out = sinks()
    keyframe = m.Keyframe(frame(ring.copy(picture(120))), "evidence/inc-1-1.jpg", 1000.0)
    out.tell(event(keyframes=(keyframe,)))
    (kept,) = out.lines()[0]["data"]["evidence"]
    assert kept["ref"] == "evidence/inc-1-1.jpg"
    assert (out.folder / kept["ref"]).read_bytes().startswith(b"\xff\xd8")


def test_a_picture_that_the_ring_has_moved_past_costs_the_picture_not_the_event(sinks, ring):
    out = sinks()
    keyframe = m.Keyframe(frame(ring.copy(picture(120))), "evidence/inc-1-1.jpg", 1000.0)
    for _ in range(4):
        ring.copy(picture(9))
    out.tell(event(keyframes=(keyframe,)))
    assert "evidence" not in out.lines()[0]["data"]
    assert out.stage.dropped == 1


def test_a_full_file_is_put_away_and_the_sequence_goes_on(sinks):
    out = sinks(rotate_mb=0.0005)
    out.tell(event(1), event(2))
    out.live()
    out.tell(event(3))
    files = sorted(out.folder.glob("events*.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert sorted(line["sequence"][-1] for line in lines) == ["1", "2", "3"]


def test_only_so_many_old_files_are_kept(sinks):
    out = sinks(rotate_mb=0.0001, max_files=2)
    out.tell(*(event(number) for number in range(1, 7)))
    assert len(list(out.folder.glob("events-*.jsonl"))) == 2


@pytest.fixture
def printing(ring, tmp_path):
    """An emit stage that prints, and the two ends of the pipe it prints into."""
    reader, writer = os.pipe()
    out = Sinks(ring, tmp_path / "out", sinks=["stdout", "jsonl"])
    out.live(stdout=writer)
    yield out, reader, writer
    for descriptor in (reader, writer):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def test_standard_output_gets_the_same_lines(printing):
    out, reader, _ = printing
    out.tell(event())
    assert os.read(reader, 1 << 16) == (out.folder / "events.jsonl").read_bytes()


def test_nobody_reading_standard_output_holds_up_nothing(printing):
    out, reader, _ = printing
    os.close(reader)
    out.tell(event())
    assert len(out.lines()) == 1


def test_standard_output_goes_on_after_a_kill_where_it_was_in_the_middle_of_a_line(printing):
    out, reader, writer = printing
    os.set_blocking(reader, False)
    text = {"details": {"text": "x" * 30_000}}
    for number in range(1, 5):
        one = event(number)
        out.log(msgspec.structs.replace(one, data=msgspec.structs.replace(one.data, **text)))
    out.tell(TICK)
    got = os.read(reader, 50_000)
    out.live(stdout=writer)
    for _ in range(20):
        out.tell(TICK)
        with contextlib.suppress(BlockingIOError):
            got += os.read(reader, 1 << 16)
    assert got == (out.folder / "events.jsonl").read_bytes()
    assert sequences(map(json.loads, got.splitlines())) == [1, 2, 3, 4]


def test_who_does_not_read_standard_output_for_long_loses_events_and_is_told(printing):
    out, reader, _ = printing
    os.close(reader)
    out.stage._rows = msgspec.structs.replace(out.stage._rows, max_waiting_mb=0.5)
    for number in range(1, 1500):
        out.log(event(number))
    out.tell(TICK)
    assert len(out.lines()) == 1499
    assert out.stage._sinks[0].lost > 500


def test_what_is_left_of_a_disk_is_for_events_and_not_for_pictures(sinks, ring, monkeypatch):
    told = sinks(evidence=True)
    monkeypatch.setattr(evidence, "room", lambda *_: False)
    sequence = ring.copy(picture(90))
    told.tell(event(keyframes=(m.Keyframe(frame(sequence), "evidence/inc-1-1.jpg", 0.5),)))
    assert "evidence" not in told.lines()[0]["data"]
    assert not (told.folder / "evidence/inc-1-1.jpg").exists()
    assert told.stage.dropped == 1


def test_pictures_go_where_events_wait_for_room(sinks, full_disk, monkeypatch):
    told = sinks()
    (told.folder / "evidence").mkdir(parents=True)
    for number in range(10):
        (told.folder / f"evidence/{number}.jpg").write_bytes(bytes(1000))
    told.tell(event())
    monkeypatch.setattr(evidence, "room", lambda *_: False)
    told.tell(TICK)
    assert len(list((told.folder / "evidence").iterdir())) == 8


def test_there_is_room_for_a_picture_where_a_disk_is_not_nearly_full(tmp_path):
    disk = os.statvfs(tmp_path)
    assert evidence.room(tmp_path, 1000)
    assert not evidence.room(tmp_path, disk.f_bavail * disk.f_frsize)


def test_the_oldest_pictures_go_first(tmp_path):
    for age in range(4):
        path = tmp_path / f"{age}.jpg"
        path.write_bytes(b"x" * 100)
        os.utime(path, ns=(age * NS, age * NS))
    assert evidence.prune(tmp_path, 250) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.jpg", "3.jpg"]


@pytest.mark.parametrize("size", [(64, 48), (63, 47), (1, 1), (2, 1)])
def test_any_picture_can_be_kept(size):
    assert evidence.jpeg(picture(90, size), 0, 85).startswith(b"\xff\xd8")


def test_a_picture_is_kept_upright():
    data = evidence.jpeg(picture(90, (64, 48)), 90, 85)
    assert cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape == (64, 48, 3)


def test_a_file_that_could_only_be_read_at_first_is_gone_on_with_where_it_ended(sinks, monkeypatch):
    out = sinks()
    out.tell(event(1), event(2))
    opening = os.open

    def read_only(path, flags, *mode, **given):
        if str(path).endswith("events.jsonl") and flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opening(path, flags, *mode, **given)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        out.live()
        assert out.reported(event(3)) == ["degraded"]
    out.tell(TICK)
    assert sequences(out.lines()) == [1, 2, 3]


def test_files_put_away_while_the_clock_was_wrong_are_not_the_first_to_go(sinks):
    out = sinks(rotate_mb=0.0001, max_files=2)
    for number in range(1, 6):
        one = event(number)
        out.tell(msgspec.structs.replace(one, utc_ns=NOON_NS - number * 3600 * NS))  # backwards
    kept = [json.loads(path.read_text())["sequence"][-1] for path in out.folder.glob("events-*.jsonl")]
    assert sorted(kept) == ["4", "5"]


def test_pictures_are_nobody_elses_business(tmp_path):
    path = tmp_path / "evidence" / "1.jpg"
    evidence.write(path, b"x")
    assert not (path.stat().st_mode | path.parent.stat().st_mode) & 0o007


def test_a_folder_among_the_pictures_is_left_alone(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "1.jpg").write_bytes(b"x" * 100)
    assert evidence.prune(tmp_path, 0) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
