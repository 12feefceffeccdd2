from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from pipeline.core import messages as m
from pipeline.core.events import Analysis, EventData
from tests.fakes import NOON_NS, facts, frame, thing

BOX = (0.1, 0.2, 0.3, 0.4)
SAMPLES = [
    m.FrameCaptured(frame=frame(rotation=90, full_range=True)),
    m.CameraChanged(camera="gate", state="lost", reason="the stream ended", pts_ns=1, utc_ns=NOON_NS),
    m.MotionMeasured(frame=frame(), boxes=(BOX,), area_ratio=0.04, global_change=False),
    m.SceneClassified(frame=frame(), area_ratio=0.04, looked=True, things=(thing(), thing(detection=None))),
    m.FeaturesWanted(incident="inc-1", priority=m.Priority.ALARM, keyframe=frame(), box=BOX),
    m.FeaturesEncoded(incident="inc-1", tags=("forklift",), embedding=bytes(range(256)), model="small"),
    m.DescriptionWanted(
        incident="inc-1", revision=2, priority=m.Priority.ROUTINE, facts=facts(tags=("van",)), final=True
    ),
    m.IncidentDescribed(incident="inc-1", revision=2, analysis=Analysis(status="ok", title="A person")),
    m.ModelReported(state="rejected", details={"model": "small/1", "reason": "damaged"}, pts_ns=1, utc_ns=NOON_NS),
    m.EncoderReported(state="fallback", details={"model": "m", "verdict": "none"}, pts_ns=1, utc_ns=NOON_NS),
    m.EventRaised(
        key="inc-1/1",
        kind="fieldwatch.incident.start.v1",
        camera="gate",
        subject="inc-1",
        priority=m.Priority.WARNING,
        pts_ns=1,
        utc_ns=NOON_NS,
        data=EventData(operation="start", details={"a": 1, "b": None, "c": "ü"}),
        keyframes=(m.Keyframe(frame(), "evidence/inc-1-1.jpg", 0.5),),
    ),
    m.EventsDelivered(position=7),
    m.SinkReported(state="degraded", details={"sink": "jsonl"}, pts_ns=1, utc_ns=2),
    m.StageRestarted(stage="motion@gate", restarts=3, reason="killed", pts_ns=1, utc_ns=NOON_NS),
    m.Ticked(pts_ns=1, utc_ns=NOON_NS, work=m.Work(question_s=1.5, rss_mb={"encode": 90.5}, pieces={"encode": 3})),
    m.DeviceReported(what="thermal.level", details={"level": 1, "was": 0}, pts_ns=1, utc_ns=NOON_NS),
]


def test_there_is_a_sample_of_every_message():
    assert {type(sample) for sample in SAMPLES} == set(get_args(m.AnyMessage))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_a_message_arrives_as_it_was_sent(sample):
    arrived = m.decode(m.encode(sample))
    assert type(arrived) is type(sample)
    assert arrived == sample


def test_a_message_arrives_from_a_borrowed_buffer():
    assert m.decode(memoryview(m.encode(SAMPLES[0]))) == SAMPLES[0]


def test_hops_travel_with_a_message():
    sent = msgspec.structs.replace(SAMPLES[0], hops=(m.Hop("capture", 1, 2), m.Hop("motion", 3, 4)))
    assert m.decode(m.encode(sent)).hops == sent.hops


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "DoorOpened"},
        {},
        {"type": "Ticked", "pts_ns": "soon", "utc_ns": 1},
        {"type": "Ticked"},
        [1, 2],
    ],
    ids=["unknown tag", "no tag", "wrong type", "missing field", "no message at all"],
)
def test_what_is_no_message_is_refused(wrong):
    with pytest.raises(msgspec.ValidationError):
        m.decode(msgspec.msgpack.encode(wrong))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_a_cut_message_is_refused(sample):
    with pytest.raises(msgspec.DecodeError):
        m.decode(m.encode(sample)[:-1])


def test_the_descriptor_of_a_frame_is_small():
    assert len(m.encode(SAMPLES[0])) < 100


def test_only_messages_about_one_picture_have_a_camera_for_the_inbox():
    about = {type(sample) for sample in SAMPLES if m.camera_of(sample) == "gate"}
    assert about == {m.FrameCaptured, m.MotionMeasured, m.SceneClassified}


def test_an_alarm_is_more_urgent_than_a_warning_than_routine():
    assert m.Priority.ALARM < m.Priority.WARNING < m.Priority.ROUTINE


def test_nanoseconds_become_seconds():
    assert m.seconds(1_500_000_000) == pytest.approx(1.5)
