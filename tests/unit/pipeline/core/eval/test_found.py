"""What events tell of recordings is put on the timeline of each."""

from __future__ import annotations

from pipeline.core.decoding import convert
from pipeline.core.eval.found import FoundIncident, FoundThing, collect_incidents, join_things, propose_truth
from pipeline.core.eval.truth import TrueThing
from pipeline.core.incident.eventlines import EventLine


def event(operation="end", subject="inc-1", sequence="000000000003", source="/site/s/device/d/camera/a.mp4", **data):
    return convert(
        {
            "type": f"fieldwatch.incident.{operation}.v1",
            "time": "2026-11-29T12:00:00Z",
            "subject": subject,
            "source": source,
            "sequence": sequence,
            "data": data,
        },
        EventLine,
    )


def media(start=4000.0, end=9000.0, uri="a.mp4"):
    return {"uri": uri, "pts_ms": 9000.0, "start_pts_ms": start} | ({"end_pts_ms": end} if end else {})


def thing(number, from_s, to_s, group="person"):
    return FoundThing(number, group, "man" if group else "none", from_s, to_s)


def test_an_incident_has_the_times_things_and_pictures_of_its_newest_event():
    member = {"id": 7, "group": "person", "class": "person", "first_pts_ms": 4100.0, "last_pts_ms": 8000.0}
    end = event(
        media=media(),
        scene={"class": "person"},
        members=[member],
        facts={"objects": [{"group": "person", "class": "person", "count": 1, "total": 2, "stay_s": 3.9}]},
        evidence=[{"ref": "evidence/one.jpg"}, {"ref": "evidence/two.jpg"}],
    )
    start = event("start", sequence="000000000001", media=media(end=None))
    assert collect_incidents([end, start]) == {
        "a.mp4": [
            FoundIncident(
                id="inc-1",
                from_s=4.0,
                to_s=9.0,
                group="person",
                things=(FoundThing(7, "person", "person", 4.1, 8.0),),
                counts={"person": (1, 2)},
                pictures=("evidence/one.jpg", "evidence/two.jpg"),
            )
        ]
    }


def test_an_incident_without_an_end_lasts_until_its_newest_event():
    (found,) = collect_incidents([event("update", media=media(end=None))])["a.mp4"]
    assert (found.from_s, found.to_s, found.group) == (4.0, 9.0, "")


def test_events_that_are_of_no_incident_are_passed_over():
    other = convert(
        {"type": "fieldwatch.camera.lost.v1", "time": "2026-11-29T12:00:00Z", "subject": "", "source": "", "data": {}},
        EventLine,
    )
    assert collect_incidents([other]) == {}


def test_incidents_without_the_name_of_a_recording_are_those_of_the_camera():
    assert list(collect_incidents([event(source="/site/s/device/d/camera/gate")])) == ["gate"]


def test_incidents_are_in_the_order_in_which_they_began():
    events = [event(subject="late", media=media(8000.0)), event(subject="early", media=media(1000.0))]
    assert [one.id for one in collect_incidents(events)["a.mp4"]] == ["early", "late"]


def test_a_thing_of_two_incidents_is_one():
    incidents = [FoundIncident("a", 0, 5, things=(thing(1, 1, 4),)), FoundIncident("b", 5, 9, things=(thing(1, 5, 8),))]
    assert join_things(incidents) == [thing(1, 1, 8)]


def test_what_was_found_is_proposed_without_what_nobody_could_name():
    incident = FoundIncident("a", 0, 5, things=(thing(1, 1.234, 4), thing(2, 2, 3, "")))
    truth, left_out = propose_truth([incident])
    assert truth.things == (TrueThing("person", 1.23, 4, "man"),)
    assert left_out == 1
