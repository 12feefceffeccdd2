"""The simplest stand-ins for what surrounds a unit, and builders with defaults for what it is given."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from pipeline.core.events import EventData
from pipeline.core.facts import Facts, ObjectFact, TrackFact
from pipeline.core.frames import Planes
from pipeline.core.incident.areas import Area
from pipeline.core.incident.incidents import Course
from pipeline.core.incident.members import Member
from pipeline.core.messages import EventRaised, FrameRef, Priority
from pipeline.core.settings import Settings
from pipeline.core.stage import StageContext
from pipeline.core.track.sight import Detection
from pipeline.core.track.thing import ThingSeen
from pipeline.core.track.votes import Vote
from pipeline.eventlog import entries
from pipeline.eventlog.reader import LogReader
from pipeline.eventlog.segments import RecordKind

NS = 1_000_000_000
NOON_NS = 1795953600 * NS  # 2026-11-29, 12:00 in UTC
NOON = datetime.fromtimestamp(NOON_NS // NS, UTC)


def _folder():
    """A folder that is gone when the tests are over."""
    if not _FOLDERS:
        _FOLDERS.append(tempfile.TemporaryDirectory(prefix="fieldwatch-unit-"))
    return Path(tempfile.mkdtemp(dir=_FOLDERS[0].name))


_FOLDERS = []


class FakeClock:
    """A clock that goes on only when somebody sleeps."""

    def __init__(self, *, media=False):
        self.media = media
        self.at_ns = 0
        self.slept = []

    def recorded(self, utc_ns, pts_ns):
        return (utc_ns, pts_ns, "boot") if self.media else (NOON_NS + self.at_ns, self.at_ns, "boot")

    def state(self):
        return "media" if self.media else "synced"

    def now(self):
        return self.at_ns, NOON_NS + self.at_ns

    def monotonic_ns(self):
        return 0 if self.media else self.at_ns

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.at_ns += round(seconds * NS)


def settings(**tables):
    """Settings with one camera `gate`, changed by the given tables."""
    return msgspec.convert({"cameras": {"gate": {"source": "synthetic://"}}} | tables, Settings)


def context(ring, *, clock=None, camera="gate", source="synthetic://", state_dir=None, log_dir=None, lives=0, **tables):
    """A stage's surroundings with one camera `gate` and one ring for everything."""
    tables.setdefault("cameras", {"gate": {"source": source}})
    return StageContext(
        settings=settings(**tables),
        rings={"gate": ring},
        keyframes=ring,
        clock=clock or FakeClock(),
        camera=camera,
        state_dir=state_dir,
        log_dir=log_dir or (state_dir or _folder()) / "eventlog",
        lives=lives,
    )


def frame(sequence=1, *, at_s=0.0, camera="gate", size=(64, 48), **changes):
    """A frame of the camera `gate`, so many seconds after noon."""
    at_ns = round(at_s * NS)
    made = FrameRef(camera, sequence, sequence - 1, at_ns, NOON_NS + at_ns, *size)
    return msgspec.structs.replace(made, **changes)


def seen(label="person", likelihood=0.9, box=(0.4, 0.4, 0.5, 0.8), group=None):
    """A detection, by default of a person; the groups of usual labels are known."""
    groups = {"person": "person", "car": "vehicle", "truck": "vehicle", "dog": "animal"}
    return Detection(label, group or groups.get(label, "other"), likelihood, box)


def course(**changes):
    """An incident of the camera `gate` that has just begun."""
    began = {
        "id": "inc-20261129T120000Z-gate-0001",
        "camera": "gate",
        "area": "",
        "number": 1,
        "began_ns": 0,
        "began_utc_ns": NOON_NS,
        "frame": frame(),
    }
    return Course(**(began | changes))


def area(*, zone=False, restricted=False, open_hours="", loiter_s=60.0, crowd=8, priority=None):
    """An area called `the yard`."""
    return Area("yard", "the yard", zone, None, restricted, open_hours, loiter_s, crowd, priority)


def member(label="person", likelihood=0.9, *, number=1, first_s=0.0, last_s=0.0, group=None, **changes):
    """A thing of an incident, seen once and certain."""
    one = seen(label, likelihood, group=group)
    made = Member(
        number=number,
        first_ns=round(first_s * NS),
        last_ns=round(last_s * NS),
        votes=(Vote(one.label, one.group, one.likelihood, one.likelihood),),
        confirmed=True,
    )
    return msgspec.structs.replace(made, **changes)


def with_members(*members, group=None, **changes):
    """An incident of some things; it is about the group of the first unless told otherwise."""
    return course(**({"members": members, "group": group or members[0].group} | changes))


def with_seen(*detections, group=None, last_s=0.0, **changes):
    """An incident of one thing for each detection."""
    members = (
        member(one.label, one.likelihood, number=number, group=one.group, last_s=last_s)
        for number, one in enumerate(detections, 1)
    )
    return with_members(*members, group=group, **changes)


def stayed(dwell_s, *detections, **changes):
    """An incident whose things stay so long."""
    return with_seen(*detections, last_s=dwell_s, frame=frame(at_s=dwell_s), **changes)


def thing(label="person", likelihood=0.9, *, number=1, box=(0.4, 0.4, 0.5, 0.8), at_s=0.0, born_s=0.0, **changes):
    """A thing as classify reports it: a person who is there, and certain, unless told otherwise."""
    one = seen(label, likelihood, box)
    made = ThingSeen(
        number=number,
        box=box,
        born_ns=round(born_s * NS),
        seen_ns=round(at_s * NS),
        evident=True,
        present=True,
        stirs=True,
        confirmed=True,
        votes=(Vote(one.label, one.group, one.likelihood, one.likelihood),),
        detection=one,
    )
    return msgspec.structs.replace(made, **changes)


def facts(label="person", *, count=1, dwell_s=36, direction="none", speed="still", visits=1, **changes):
    """Facts of somebody at the gate, by default one person who stands there."""
    made = Facts(
        camera="gate",
        zone="gate",
        local_time="12:00",
        weekday="Sunday",
        light="day",
        object=ObjectFact(class_=label, likelihood=0.9, count=count),
        tags=(),
        track=TrackFact(dwell_s=dwell_s, direction=direction, speed=speed, visits_last_hour=visits),
        rules_hit=(),
    )
    return msgspec.structs.replace(made, **changes)


def picture(value, size=(64, 48)):
    """Planes of one brightness."""
    half = ((size[1] + 1) // 2, (size[0] + 1) // 2)
    return Planes(*(np.full(shape, value, np.uint8) for shape in (size[::-1], half, half)))


def values(planes):
    """Every value that occurs in any of the planes."""
    return set(np.unique(np.concatenate([plane.ravel() for plane in planes[:3]])).tolist())


def blocks(pool):
    """Bytes of memory behind a ring."""
    return os.fstat(pool.descriptor).st_blocks * 512


def raised(key="inc-1/1", **changes):
    """An event as trigger raises it: the start of an incident of the camera `gate`."""
    event = EventRaised(
        key=key,
        kind="fieldwatch.incident.start.v1",
        camera="gate",
        subject="inc-1",
        priority=Priority.WARNING,
        pts_ns=1,
        utc_ns=2,
        data=EventData(operation="start"),
    )
    return msgspec.structs.replace(event, **changes)


def logged(folder, after=0):
    """The events of a log behind a position, oldest first."""
    reader, found = LogReader(folder, after), []
    while (record := reader.next()) is not None:
        if record.kind is RecordKind.EVENT:
            found.append(entries.decode(record.payload))
    reader.close()
    return found


def memory(life):
    """What a journal remembers of incidents and counts."""
    return life.courses, life.numbers
