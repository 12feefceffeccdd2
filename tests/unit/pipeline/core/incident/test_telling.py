from __future__ import annotations

import msgspec
import pytest

from pipeline.core.incident import telling
from pipeline.core.messages import CameraChanged, Priority
from tests.fakes import NOON_NS, NS, course, facts, frame, seen, with_seen

BOX = (0.4, 0.4, 0.5, 0.8)


def told(made, operation="start", ended_by=None):
    return telling.incident_event(made, operation, facts(), Priority.WARNING, "rtsp://gate", ended_by)


def lasting(**changes):
    return course(frame=frame(9, at_s=4, rotation=90), boxes=(BOX,), area_ratio=0.1, **changes)


def test_a_start_has_the_time_at_which_it_began():
    _, event = told(lasting())
    assert (event.pts_ns, event.utc_ns) == (0, NOON_NS)
    assert (event.kind, event.data.operation) == ("fieldwatch.incident.start.v1", "start")


@pytest.mark.parametrize(("operation", "ended_by"), [("update", None), ("end", "quiet")])
def test_an_update_and_an_end_have_the_time_of_the_last_picture(operation, ended_by):
    _, event = told(lasting(), operation, ended_by)
    assert (event.pts_ns, event.utc_ns) == (4 * NS, NOON_NS + 4 * NS)
    assert event.kind == f"fieldwatch.incident.{operation}.v1"


def test_every_event_of_an_incident_has_a_key_of_its_own():
    first, start = told(lasting())
    _, update = told(first, "update")
    assert (start.key, update.key) == (f"{first.id}/1", f"{first.id}/2")
    assert {start.subject, update.subject} == {first.id}


def test_the_same_event_told_again_is_the_same():
    assert told(lasting())[1] == told(lasting())[1]


def test_the_media_say_where_in_the_recording():
    media = told(lasting(), "end", "quiet")[1].data.media
    assert msgspec.to_builtins(media) == {
        "uri": "rtsp://gate",
        "pts_ms": 4000.0,
        "start_pts_ms": 0.0,
        "end_pts_ms": 4000.0,
        "frame": 8,
        "width": 64,
        "height": 48,
        "rotation": 90,
    }


def test_an_incident_that_goes_on_has_no_end_yet():
    data = told(lasting(), "update")[1].data
    assert data.media.end_pts_ms is data.ended_by is msgspec.UNSET
    assert data.motion.is_motion


def test_an_end_says_what_ended_it_and_that_nothing_moves():
    data = told(lasting(), "end", "camera_lost")[1].data
    assert data.ended_by == "camera_lost"
    assert not data.motion.is_motion


def test_the_scene_abstains_where_nothing_was_recognised():
    assert told(lasting())[1].data.scene.class_ is msgspec.UNSET


def test_the_scene_names_the_kind_and_every_candidate():
    made = with_seen(seen("truck", 0.8), seen("dog", 0.3))
    scene = told(made)[1].data.scene
    assert (scene.class_, scene.label, scene.likelihood) == ("vehicle", "truck", 0.8)
    assert [one.type for one in scene.candidates] == ["truck", "dog"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((), "ObjectDetection/Object"),
        (("motion",), "CellMotionDetector/Motion"),
        (("zone_entered", "loiter"), "LoiteringDetector/ObjectIsLoitering"),
        (("zone_entered",), "FieldDetector/ObjectsInside"),
    ],
)
def test_the_topic_is_that_of_the_most_telling_rule(rules, expected):
    assert told(lasting(rules=rules))[1].data.topic == f"tns1:RuleEngine/{expected}"


def test_the_best_view_is_told_of_once():
    made, start = told(lasting(best=frame(3, at_s=1)))
    made, update = told(made, "update")
    assert [one.ref for one in start.keyframes] == [f"evidence/{made.id}-1.jpg"]
    assert start.keyframes[0].pts_ms == 1000.0
    assert made.keyframes == start.keyframes == update.keyframes


def test_a_better_view_becomes_another_picture():
    made, _ = told(lasting(best=frame(3)))
    made, end = told(msgspec.structs.replace(made, best=frame(5)), "end", "quiet")
    assert [one.frame.sequence for one in made.keyframes] == [3, 5]
    assert [one.ref for one in end.keyframes] == [f"evidence/{made.id}-{number}.jpg" for number in (1, 2)]


def test_an_incident_without_a_picture_has_none():
    assert told(lasting())[1].keyframes == ()


@pytest.mark.parametrize(
    ("state", "priority", "operation"),
    [("lost", Priority.WARNING, "start"), ("found", Priority.ROUTINE, "end")],
)
def test_a_lost_camera_is_told_of_until_it_is_found(state, priority, operation):
    change = CameraChanged(camera="gate", state=state, reason="silent", pts_ns=1, utc_ns=2)
    event = telling.camera_event(change, 7, "rtsp://gate")
    assert (event.kind, event.key) == (f"fieldwatch.camera.{state}.v1", "camera-gate/7")
    assert (event.priority, event.data.operation) == (priority, operation)
    assert event.data.details == {"reason": "silent", "uri": "rtsp://gate"}


def test_an_event_of_the_device_belongs_to_no_camera():
    event = telling.device_event("system.disk_low", 3, Priority.WARNING, {"free_mb": 1}, 1, 2)
    assert (event.kind, event.key, event.camera) == ("fieldwatch.system.disk_low.v1", "device/3", None)
    assert (event.data.operation, event.data.details) == ("point", {"free_mb": 1})
