"""Events to sinks: whole lines, holeless sequences, once each, with their pictures."""

import errno
import json
import os

import cv2
import msgspec
import numpy as np
import pytest

from pipeline.core import messages as m
from pipeline.core.events import EventData, Media
from stages import appending, evidence
from stages.emit import Emit
from tests.fakes import NOON_NS, NS, FakeClock, context, frame, picture


def event(number=1, *, operation="start", priority=m.Priority.WARNING, camera="gate", keyframes=()):
    return m.EventRaised(
        key=f"inc-1/{number}",
        kind=f"fieldwatch.incident.{operation}.v1",
        camera=camera,
        subject="inc-1",
        priority=priority,
        pts_ns=number * NS,
        utc_ns=NOON_NS + number * NS,
        data=EventData(operation=operation, media=Media(pts_ms=1000.0 * number, frame=number)),
        keyframes=keyframes,
    )


TICK = m.Ticked(pts_ns=0, utc_ns=NOON_NS)


class Sinks:
    """An emit stage that writes below a folder."""

    def __init__(self, ring, folder, **emit):
        self.ring, self.folder, self.tables = ring, folder, {"folder": str(folder), "fsync": "never"} | emit
        self.live()

    def live(self):
        self.stage = Emit(context(self.ring, clock=FakeClock(), emit=self.tables))
        self.stage.warm_up()

    def tell(self, *messages):
        return [answer.key for message in messages for answer in self.stage.handle(message)]

    def lines(self):
        text = (self.folder / "events.jsonl").read_text(encoding="utf-8")
        assert text.endswith("\n") or not text
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def sinks(ring, tmp_path):
    return lambda **emit: Sinks(ring, tmp_path / "out", **emit)


def test_an_event_is_a_line_and_is_acknowledged(sinks):
    out = sinks()
    assert out.tell(event()) == ["inc-1/1"]
    (line,) = out.lines()
    assert (line["type"], line["severitytext"], line["sequence"]) == (
        "fieldwatch.incident.start.v1",
        "WARN",
        "000000000001",
    )


def test_an_event_that_comes_again_is_acknowledged_and_not_written_again(sinks):
    out = sinks()
    assert out.tell(event(), event()) == ["inc-1/1"] * 2
    assert len(out.lines()) == 1


def test_an_event_that_comes_again_after_a_kill_is_not_written_again(sinks):
    out = sinks()
    out.tell(event(1), event(2))
    out.live()
    assert out.tell(event(2), event(3)) == ["inc-1/2", "inc-1/3"]
    assert [line["sequence"] for line in out.lines()] == ["000000000001", "000000000002", "000000000003"]


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
    """Writes fail as long as the list is not empty."""
    full = [True]

    def write(descriptor, data):
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    real = os.write
    monkeypatch.setattr(appending.os, "write", write)
    return full


def test_on_a_full_disk_nothing_is_acknowledged_and_nothing_lost(sinks, full_disk):
    out = sinks()
    assert out.tell(event(1), event(2)) == []
    full_disk.clear()
    assert out.tell(TICK) == ["inc-1/1", "inc-1/2"]
    kinds = [line["type"] for line in out.lines()]
    assert kinds.count("fieldwatch.incident.start.v1") == 2


def test_trouble_with_a_sink_is_told_once_when_it_begins_and_once_when_it_is_over(sinks, full_disk):
    out = sinks()
    out.tell(event(1), TICK, TICK)
    full_disk.clear()
    out.tell(TICK, TICK)
    told = [line["type"] for line in out.lines() if ".sink." in line["type"]]
    assert told == ["fieldwatch.sink.degraded.v1", "fieldwatch.sink.recovered.v1"]


def test_sequences_have_no_hole_after_a_full_disk(sinks, full_disk):
    out = sinks()
    out.tell(event(1), event(2))
    full_disk.clear()
    out.tell(event(3))
    numbers = [line["sequence"] for line in out.lines() if "/camera/" in line["source"]]
    assert numbers == sorted(numbers)
    assert len(numbers) == 3


def test_a_short_write_leaves_no_half_line(sinks, monkeypatch):
    out = sinks()
    real = os.write
    monkeypatch.setattr(appending.os, "write", lambda descriptor, data: real(descriptor, data[:20]))
    out.tell(event(1))
    assert out.lines() == []


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
    assert out.tell(event(keyframes=(keyframe,))) == ["inc-1/1"]
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
    out = sinks(rotate_mb=0.0001, keep_files=2)
    out.tell(*(event(number) for number in range(1, 7)))
    assert len(list(out.folder.glob("events-*.jsonl"))) == 2


def test_standard_output_gets_the_same_lines(ring, tmp_path):
    reader, writer = os.pipe()
    made = context(ring, emit={"folder": str(tmp_path), "sinks": ["jsonl", "stdout"]})
    stage = Emit(type(made)(**{**vars(made), "stdout": writer}))
    stage.warm_up()
    list(stage.handle(event()))
    assert os.read(reader, 1 << 16) == (tmp_path / "events.jsonl").read_bytes()


def test_nobody_reading_standard_output_holds_up_nothing(ring, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    made = context(ring, emit={"folder": str(tmp_path), "sinks": ["stdout", "jsonl"]})
    stage = Emit(type(made)(**{**vars(made), "stdout": writer}))
    stage.warm_up()
    assert [answer.key for answer in stage.handle(event())] == ["inc-1/1"]


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
        if str(path).endswith("events.jsonl") and flags & os.O_WRONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opening(path, flags, *mode, **given)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        out.live()
        assert out.tell(event(2), event(3)) == ["inc-1/2"]
    assert out.tell(TICK) == ["inc-1/3"]
    assert [line["sequence"][-1] for line in out.lines() if "incident" in line["type"]] == ["1", "2", "3"]


def test_an_event_that_comes_again_after_its_file_was_put_away_is_not_written_again(sinks):
    out = sinks(rotate_mb=0.0001)
    out.tell(event(1))
    out.live()
    out.tell(event(1))
    lines = [line for path in out.folder.glob("events*.jsonl") for line in path.read_text().splitlines()]
    assert [json.loads(line)["sequence"][-1] for line in lines] == ["1"]


def test_files_put_away_while_the_clock_was_wrong_are_not_the_first_to_go(sinks):
    out = sinks(rotate_mb=0.0001, keep_files=2)
    for number in range(1, 6):
        one = event(number)
        out.tell(msgspec.structs.replace(one, utc_ns=NOON_NS - number * 3600 * NS))  # backwards
    kept = [json.loads(path.read_text())["sequence"][-1] for path in out.folder.glob("events-*.jsonl")]
    assert sorted(kept) == ["4", "5"]


def test_only_the_newest_ids_are_remembered(sinks, monkeypatch):
    monkeypatch.setattr("stages.emit.RECENT", 3)
    out = sinks()
    out.tell(*(event(number) for number in range(1, 9)))
    assert len(out.stage._recent) == 3
    out.tell(event(8))
    assert len(out.lines()) == 8


def test_pictures_are_nobody_elses_business(tmp_path):
    path = tmp_path / "evidence" / "1.jpg"
    evidence.write(path, b"x")
    assert not (path.stat().st_mode | path.parent.stat().st_mode) & 0o007


def test_a_folder_among_the_pictures_is_left_alone(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "1.jpg").write_bytes(b"x" * 100)
    assert evidence.prune(tmp_path, 0) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
