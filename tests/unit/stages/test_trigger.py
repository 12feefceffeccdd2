"""The life of incidents, from the first sight to the acknowledged end (long: one stage, a test a behaviour)."""

import contextlib
from dataclasses import replace

import msgspec
import pytest

from pipeline.core import messages as m
from pipeline.core.device.limits import Limits, Rung
from pipeline.core.incident import areas
from pipeline.core.text import templates
from pipeline.core.track.sight import Sight, TrackRules
from pipeline.core.track.thing import report
from pipeline.core.track.tracker import Tracker, step
from stages import best_frames
from stages.journal import Journal, Weight
from stages.trigger import Trigger
from tests.fakes import NOON_NS, NS, FakeClock, context, frame, logged, picture, seen

RULES = TrackRules()
HERE = (0.4, 0.4, 0.5, 0.8)


class Camera:
    """A trigger whose questions are answered at once, as far as `answers` says."""

    def __init__(self, new_ring, *, answers=("features", "reports"), state_dir=None, media=False, **tables):
        self.ring = new_ring(slots=8)
        self.clock = FakeClock(media=media)
        self.answers = set(answers)
        self.context = context(self.ring, clock=self.clock, state_dir=state_dir, **tables)
        self.said = []
        self.tracker = Tracker()
        self.live()

    def live(self):
        """Begin a life of the stage."""
        self.trigger = Trigger(self.context)
        self.trigger.warm_up()
        self.follow(self.trigger.begin())

    def follow(self, outputs):
        """Let the other stages answer, as lockstep does."""
        waiting = list(outputs)
        while waiting:
            message = waiting.pop(0)
            self.said.append(message)
            for answer in self.answers_to(message):
                waiting += self.trigger.handle(answer)

    def answers_to(self, message):
        if isinstance(message, m.FeaturesWanted) and "features" in self.answers:
            yield m.FeaturesEncoded(incident=message.incident, tags=("backpack",), embedding=b"\x00<", model="x")
        if isinstance(message, m.DescriptionWanted) and "reports" in self.answers:
            analysis = templates.describe(message.facts, "no_model")
            yield m.IncidentDescribed(incident=message.incident, revision=message.revision, analysis=analysis)

    def see(self, at_s, *found, boxes=None, seen_in=None):
        """One picture; `found` is what the classifier saw, at boxes that move unless told otherwise."""
        self.clock.at_ns = round(at_s * NS)
        sequence = self.ring.copy(picture(90))
        boxes = tuple(one.box for one in found) if boxes is None else boxes
        self.tracker = step(self.tracker, Sight(self.clock.at_ns, boxes, detections=found or None), RULES)
        things = tuple(report(thing, self.clock.at_ns, RULES) for thing in self.tracker.things)
        scene = m.SceneClassified(
            frame=seen_in or frame(sequence, at_s=at_s), area_ratio=0.01, looked=bool(found), things=things
        )
        self.follow(self.trigger.handle(scene))

    def walk(self, seconds, *, start_s=0.0, label="person", step_s=0.25):
        """Somebody is seen all the time."""
        for count in range(round(seconds / step_s)):
            self.see(start_s + count * step_s, seen(label, box=HERE))

    def quiet(self, start_s, seconds=5):
        """Nothing moves."""
        for count in range(round(seconds / 0.25)):
            self.see(start_s + count * 0.25, boxes=())

    def tick(self, at_s, **changes):
        self.clock.at_ns = round(at_s * NS)
        at_ns = self.clock.at_ns
        self.follow(self.trigger.handle(m.Ticked(pts_ns=at_ns, utc_ns=NOON_NS + at_ns, **changes)))

    def events(self, what="incident"):
        return [one for one in self.said if isinstance(one, m.EventRaised) and f".{what}" in one.kind]

    def operations(self):
        return [event.data.operation for event in self.events()]


@pytest.fixture
def camera(new_ring):
    return lambda **options: Camera(new_ring, **options)


def test_somebody_who_comes_and_goes_is_one_incident_with_a_start_updates_and_an_end(camera):
    gate = camera()
    gate.walk(4)
    gate.quiet(4)
    operations = gate.operations()
    assert (operations[0], operations[-1]) == ("start", "end")
    assert set(operations[1:-1]) == {"update"}
    assert len({event.subject for event in gate.events()}) == 1


def test_the_start_goes_out_before_anything_is_asked(camera):
    gate = camera(answers=())
    gate.walk(2)
    kinds = [
        type(message) for message in gate.said if not isinstance(message, m.EventRaised) or "incident" in message.kind
    ]
    assert kinds[0] is m.EventRaised
    assert gate.events()[0].data.analysis.status == "pending"


def test_the_start_waits_for_nobody(camera):
    gate = camera(answers=())
    gate.walk(2)
    assert gate.operations() == ["start"]


def test_tags_are_in_the_facts_of_the_description(camera):
    gate = camera()
    gate.walk(4)
    wanted = next(message for message in gate.said if isinstance(message, m.DescriptionWanted))
    assert wanted.facts.tags == ("backpack",)


def test_an_encoder_that_does_not_answer_is_not_waited_for(camera):
    gate = camera(answers=("reports",))
    gate.walk(4)
    wanted = next(message for message in gate.said if isinstance(message, m.DescriptionWanted))
    assert wanted.facts.tags == ()


def test_the_end_carries_the_last_description_and_the_time_it_was_last_seen(camera):
    gate = camera()
    gate.walk(4)
    gate.quiet(4)
    end = gate.events()[-1]
    assert end.data.ended_by == "quiet"
    assert end.data.analysis.summary.startswith("A person at gate for 4 s")
    assert end.data.media.end_pts_ms == pytest.approx(3750)


def test_a_description_that_does_not_come_is_waited_for_only_so_long(camera):
    gate = camera(answers=("features",))
    gate.walk(4)
    gate.quiet(4)
    assert "end" not in gate.operations()
    gate.tick(20)
    assert gate.events()[-1].data.ended_by == "quiet"
    assert gate.events()[-1].data.analysis.status == "timeout"


def test_an_answer_to_an_earlier_question_does_not_end_an_incident(camera):
    gate = camera(answers=("features",))
    gate.walk(4)
    asked = next(message for message in gate.said if isinstance(message, m.DescriptionWanted))
    gate.quiet(4)
    analysis = templates.describe(asked.facts, "no_model")
    late = m.IncidentDescribed(incident=asked.incident, revision=asked.revision, analysis=analysis)
    gate.follow(gate.trigger.handle(late))
    assert "end" not in gate.operations()


def test_a_camera_that_is_lost_ends_its_incidents_once(camera):
    gate = camera()
    gate.walk(2)
    lost = m.CameraChanged(camera="gate", state="lost", reason="no answer", pts_ns=2 * NS, utc_ns=NOON_NS)
    for _ in range(2):
        gate.follow(gate.trigger.handle(lost))
    assert gate.events()[-1].data.ended_by == "camera_lost"
    assert [event.kind for event in gate.events("camera.lost")] == ["fieldwatch.camera.lost.v1"]


def test_a_silent_camera_is_told_lost_and_found_again(camera):
    gate = camera()
    gate.see(0, boxes=())
    gate.tick(9)
    assert gate.events("camera") == []
    gate.tick(11)
    gate.see(12, boxes=())
    assert [event.kind.split(".")[2] for event in gate.events("camera")] == ["lost", "found"]


def change(state, at_s):
    return m.CameraChanged(camera="gate", state=state, reason="no answer", pts_ns=round(at_s * NS), utc_ns=NOON_NS)


def test_a_camera_that_comes_and_goes_is_told_of_a_few_times_and_then_summed_up(camera):
    gate = camera()
    for count in range(20):
        gate.follow(gate.trigger.handle(change("lost", 10 * count)))
        gate.follow(gate.trigger.handle(change("found", 10 * count + 5)))
        gate.see(10 * count + 5, boxes=())
    for at_s in range(200, 270):
        gate.see(at_s, boxes=())
        gate.tick(at_s)
    kinds = [event.kind.split(".")[2] for event in gate.events("camera")]
    assert kinds == ["lost", "found"] * 3 + ["flapping"]
    assert gate.events("camera.flapping")[0].data.details["losses"] == 17


def test_what_became_of_a_camera_that_came_and_went_is_told_in_the_end(camera):
    gate = camera(trigger={"lost_after_s": 1e6})
    for count in range(6):
        gate.follow(gate.trigger.handle(change("lost", 10 * count)))
        gate.follow(gate.trigger.handle(change("found", 10 * count + 5)))
    gate.follow(gate.trigger.handle(change("lost", 60)))
    gate.tick(121)
    assert [event.kind.split(".")[2] for event in gate.events("camera")][-2:] == ["flapping", "lost"]


def test_incidents_of_a_camera_that_comes_and_goes_end_with_it(camera):
    gate = camera()
    for count in range(6):
        gate.follow(gate.trigger.handle(change("lost", 10 * count)))
        gate.follow(gate.trigger.handle(change("found", 10 * count + 1)))
    gate.walk(3, start_s=62)
    gate.follow(gate.trigger.handle(change("lost", 65)))
    assert gate.events()[-1].data.ended_by == "camera_lost"


def test_a_camera_that_never_comes_is_told_lost(camera):
    gate = camera()
    gate.tick(11)
    assert [event.kind.split(".")[2] for event in gate.events("camera")] == ["lost"]


def test_a_recording_that_ended_is_not_lost(camera):
    gate = camera()
    gate.see(0, boxes=())
    gate.follow(
        gate.trigger.handle(m.CameraChanged(camera="gate", state="ended", reason="eof", pts_ns=0, utc_ns=NOON_NS))
    )
    gate.tick(60)
    assert gate.events("camera") == []


@pytest.mark.parametrize(("media", "reason"), [(True, "eof"), (False, "shutdown")])
def test_what_is_open_ends_when_the_stage_does(camera, media, reason):
    gate = camera(media=media)
    gate.walk(2)
    gate.follow(gate.trigger.finish())
    assert gate.events()[-1].data.ended_by == reason
    assert not gate.trigger.waiting()


def test_an_incident_that_lasts_too_long_is_ended_and_begun_anew(camera):
    gate = camera(trigger={"max_s": 3.0})
    gate.walk(8)
    reasons = [event.data.ended_by for event in gate.events() if event.data.operation == "end"]
    assert reasons[0] == "max_duration"
    assert gate.operations().count("start") >= 2


def test_a_blind_zone_starts_nothing_for_a_while(camera):
    gate = camera(trigger={"blind_s": 30.0})
    gate.walk(2)
    gate.quiet(2)
    gate.walk(2, start_s=10)
    assert gate.operations().count("start") == 1
    gate.walk(2, start_s=40)
    assert gate.operations().count("start") == 2


def test_who_stops_is_still_there_while_the_classifier_sees_him(camera):
    gate = camera()
    gate.walk(2)
    for second in range(2, 30):
        gate.see(second, seen(box=HERE), boxes=())
    assert "end" not in gate.operations()
    gate.quiet(30)
    assert gate.events()[-1].data.facts.track.dwell_s >= 28


def test_what_stands_still_starts_nothing(camera):
    gate = camera()
    for second in range(10):
        gate.see(second, seen(box=HERE), boxes=())
    assert gate.operations() == []


def test_a_rule_that_is_hit_later_is_told(camera):
    gate = camera(cameras={"gate": {"source": "synthetic://", "loiter_s": 5.0}})
    gate.walk(8)
    hit = [event.data.facts.rules_hit for event in gate.events()]
    assert hit[0] == ()
    assert hit[-1] == ("loiter",)
    assert gate.events()[-1].data.topic == "tns1:RuleEngine/LoiteringDetector/ObjectIsLoitering"


def test_two_zones_have_incidents_of_their_own(camera):
    zones = {
        "left": {"polygon": ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0))},
        "right": {"polygon": ((0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)), "restricted": True},
    }
    gate = camera(cameras={"gate": {"source": "synthetic://", "zones": zones}})
    for count in range(12):
        left = 0.8 - count * 0.02
        gate.see(count / 4, seen(box=(0.2, 0.4, 0.3, 0.8)), seen("truck", box=(left, 0.4, left + 0.1, 0.8)))
    starts = [event.data for event in gate.events() if event.data.operation == "start"]
    assert {(one.facts.zone, one.facts.object.class_, one.priority) for one in starts} == {
        ("left", "person", "warning"),
        ("right", "truck", "alarm"),
    }


def test_a_cyclist_is_a_person_who_came_on_a_bicycle(camera):
    gate = camera()
    for count in range(12):
        gate.see(count / 4, seen(likelihood=0.5, box=HERE), seen("bicycle", 0.8, (0.4, 0.6, 0.5, 0.85), "vehicle"))
    last = gate.events()[-1].data.facts
    assert (last.object.class_, last.tags[0]) == ("person", "bicycle")


def test_visits_of_one_kind_are_counted_within_the_hour(camera):
    gate = camera()
    for start_s in (0, 20, 40):
        gate.walk(2, start_s=start_s)
        gate.quiet(start_s + 2)
    ends = [event.data.facts.track.visits_last_hour for event in gate.events() if event.data.operation == "end"]
    assert ends == [1, 2, 3]


def test_after_a_kill_open_incidents_end_with_crash_recovery(camera, tmp_path):
    gate = camera(state_dir=tmp_path)
    gate.walk(3)
    (incident,) = {event.subject for event in gate.events()}
    gate.said.clear()
    gate.live()
    assert [(event.subject, event.data.ended_by) for event in gate.events()] == [(incident, "crash_recovery")]
    gate.said.clear()
    gate.live()
    assert gate.events() == []


def test_after_a_kill_every_event_is_in_the_log_once(camera, tmp_path):
    gate = camera(state_dir=tmp_path)
    gate.walk(1)
    gate.live()
    keys = [one.event.key for one in logged(gate.context.log_dir)]
    assert keys == [event.key for event in gate.said if isinstance(event, m.EventRaised)]
    assert len(set(keys)) == len(keys)


def test_numbers_go_on_after_a_kill(camera, tmp_path):
    gate = camera(state_dir=tmp_path)
    gate.walk(3)
    gate.live()
    gate.walk(3, start_s=20)
    numbers = {event.subject[-4:] for event in gate.events()}
    assert numbers == {"0001", "0002"}


def test_an_incident_of_a_camera_that_is_configured_no_more_still_ends(camera, tmp_path):
    gate = camera(state_dir=tmp_path)
    gate.walk(3)
    gate.context = context(
        gate.ring, clock=gate.clock, state_dir=tmp_path, cameras={"yard": {"source": "synthetic://"}}
    )
    gate.said.clear()
    gate.live()
    assert [event.data.ended_by for event in gate.events()] == ["crash_recovery"]


def test_a_restart_is_told(camera):
    gate = camera()
    gate.follow(
        gate.trigger.handle(
            m.StageRestarted(stage="motion@gate", restarts=1, reason="signal 9", pts_ns=0, utc_ns=NOON_NS)
        )
    )
    (event,) = gate.events("system.stage_restarted")
    assert event.data.details == {"stage": "motion@gate", "restarts": 1, "reason": "signal 9"}


def test_what_was_dropped_is_in_the_events(camera):
    gate = camera()
    gate.tick(0, drops={"classify": 3})
    gate.walk(2, start_s=1)
    assert gate.events()[0].data.drops == {"classify": 3}


def test_a_frame_that_the_ring_has_moved_past_costs_the_picture_not_the_incident(camera):
    gate = camera()
    for count in range(8):
        at_s = count / 4
        late = frame(1, at_s=at_s)
        gate.ring.copy(picture(90))
        gate.see(at_s, seen(box=HERE), seen_in=msgspec.structs.replace(late, sequence=gate.ring.begun - 7))
    assert gate.operations()[0] == "start"


def test_a_camera_that_was_lost_before_a_kill_is_told_found_and_not_lost_again(camera, tmp_path):
    gate = camera(state_dir=tmp_path)
    lost = m.CameraChanged(camera="gate", state="lost", reason="no answer", pts_ns=0, utc_ns=NOON_NS)
    gate.follow(gate.trigger.handle(lost))
    gate.live()
    gate.follow(gate.trigger.handle(lost))
    gate.follow(gate.trigger.handle(msgspec.structs.replace(lost, state="found", reason="opened")))
    assert [event.kind.split(".")[2] for event in gate.events("camera")] == ["lost", "found"]


@pytest.mark.parametrize(("utc_ns", "hit"), [(NOON_NS, ("after_hours",)), (0, ())])
def test_opening_hours_hold_only_where_the_clock_is_set(camera, utc_ns, hit):
    gate = camera(cameras={"gate": {"source": "synthetic://", "open_hours": "07:00-09:00"}})
    for count in range(12):
        made = frame(gate.ring.copy(picture(90)) + 1, at_s=count / 4)
        gate.see(count / 4, seen(box=HERE), seen_in=msgspec.structs.replace(made, utc_ns=utc_ns + made.pts_ns))
    assert gate.events()[-1].data.facts.rules_hit == hit


def test_an_incident_of_a_recording_that_ended_is_ended_though_other_cameras_go_on(camera):
    gate = camera()
    gate.walk(2)
    ended = m.CameraChanged(camera="gate", state="ended", reason="eof", pts_ns=2 * NS, utc_ns=NOON_NS + 2 * NS)
    gate.follow(gate.trigger.handle(ended))
    gate.tick(3)
    assert gate.operations()[-1] == "update"
    gate.tick(6)
    assert gate.events()[-1].data.ended_by == "eof"


@pytest.mark.parametrize("outside", ["watch", "ignore"])
def test_a_zone_knows_what_was_seen_of_a_thing_before_it_came(camera, outside):
    zones = {"yard": {"polygon": [[0.5, 0], [1, 0], [1, 1], [0.5, 1]], "restricted": True}}
    gate = camera(cameras={"gate": {"source": "x", "zones": zones, "outside_zones": outside}})
    for count, left in enumerate((0.30, 0.34, 0.38, 0.42)):
        gate.see(count / 4, seen(likelihood=0.9, box=(left, 0.4, left + 0.1, 0.8)))
    for count, left in enumerate((0.46, 0.5), 4):
        gate.see(count / 4, seen(likelihood=0.36, box=(left, 0.4, left + 0.1, 0.8)))
    start = next(event for event in gate.events() if event.data.facts.zone == "yard")
    assert (start.data.facts.object.class_, start.data.facts.object.likelihood) == ("person", 0.9)
    assert "restricted_zone" in start.data.facts.rules_hit


def test_every_thing_is_placed_once_however_many_zones_there_are(camera, monkeypatch):
    placed = []
    monkeypatch.setattr(areas, "area_of", lambda box, _: placed.append(box))
    square = [[0, 0], [1, 0], [1, 1]]
    zones = {name: {"polygon": square} for name in "abcdefgh"}
    camera(cameras={"gate": {"source": "x", "zones": zones}}).see(1, seen(box=HERE), boxes=(HERE,))
    assert placed == [HERE]


def test_records_of_the_log_that_are_damaged_and_what_was_put_aside_are_told_of(camera, tmp_path):
    gate = camera(state_dir=tmp_path)
    gate.trigger._journal._log.append(2, b"\xc1", durable=False)
    gate.trigger.close()
    (tmp_path / "eventlog" / "spare-99").mkdir()
    gate.live()
    started = gate.events("system.started")[-1].data.details
    assert (started["log_records_damaged"], started["log_put_aside"]) == (1, "spare-99")


@pytest.fixture
def full(monkeypatch):
    """What the log refuses: events of these weights."""
    refused = set()
    real = Journal.record

    def record(journal, event, recorded, weight, *remembered, durable=False):
        return weight not in refused and real(journal, event, recorded, weight, *remembered, durable=durable)

    monkeypatch.setattr(Journal, "record", record)
    monkeypatch.setattr(Journal, "trouble", property(lambda _: "No space left on device" if refused else ""))
    return refused


def test_an_incident_that_there_is_no_room_for_begins_when_there_is(camera, full):
    gate = camera()
    full.update((Weight.URGENT, Weight.ROUTINE))
    gate.walk(4)
    assert gate.operations() == []
    full.clear()
    gate.walk(4, start_s=4)
    gate.quiet(8)
    assert (gate.operations()[0], gate.operations()[-1]) == ("start", "end")
    assert gate.events()[0].data.media.start_pts_ms < 4000


def test_an_end_that_there_is_no_room_for_waits_for_some(camera, full):
    gate = camera()
    gate.walk(4)
    full.update(Weight)
    gate.quiet(4)
    assert "end" not in gate.operations()
    assert gate.trigger.waiting()
    full.clear()
    gate.tick(10)
    assert gate.operations().count("end") == 1
    assert not gate.trigger.waiting()


def test_what_an_earlier_life_left_open_and_there_is_no_room_for_is_ended_later(camera, full, tmp_path):
    gate = camera(state_dir=tmp_path)
    gate.walk(3)
    full.update(Weight)
    gate.live()
    full.clear()
    gate.tick(5)
    gate.tick(6)
    assert [event.data.ended_by for event in gate.events() if event.data.operation == "end"] == ["crash_recovery"]


def test_what_was_given_up_is_counted_and_told_when_there_is_room(camera, full):
    gate = camera()
    full.update((Weight.UPDATE, Weight.ROUTINE))
    gate.walk(4)
    gate.walk(4, start_s=4, label="dog")
    gate.tick(8)
    full.clear()
    gate.tick(9)
    gate.tick(20)
    low, well = (event.data.details for event in gate.events("system.disk_low"))
    assert low["error"] == "No space left on device"
    assert low["updates_given_up"] >= 1
    assert well["error"] == "there is room again"


def test_an_incident_is_given_up_once_however_often_it_was_tried(camera, full):
    gate = camera()
    full.add(Weight.URGENT)
    gate.walk(6)
    full.clear()
    gate.quiet(6, 20)
    gate.follow(gate.trigger.finish())
    stopping = gate.events("system.stopping")[0].data.details
    assert stopping == {"starts_given_up": 1}


def test_a_failure_in_the_middle_of_a_start_does_not_lose_the_incident(camera, monkeypatch):
    gate = camera()
    calls = []
    real = best_frames.keep_best_frame

    def fails_once(*given):
        calls.append(given)
        if len(calls) == 1:
            raise OSError(24, "Too many open files")
        return real(*given)

    monkeypatch.setattr(best_frames, "keep_best_frame", fails_once)
    for count in range(12):
        with contextlib.suppress(OSError):
            gate.see(count / 4, seen(box=HERE))
    assert gate.operations()[0] == "start"
    gate.quiet(4)
    assert gate.operations()[-1] == "end"


def test_a_failure_in_the_middle_of_an_end_does_not_lose_it(camera, monkeypatch):
    gate = camera()
    gate.walk(3)
    calls = []
    real = Trigger._wanted

    def fails_once(*given, **named):
        calls.append(given)
        if len(calls) == 1:
            raise OSError(24, "Too many open files")
        return real(*given, **named)

    monkeypatch.setattr(Trigger, "_wanted", fails_once)
    for count in range(24):
        with contextlib.suppress(OSError):
            gate.see(3 + count / 4, boxes=())
    assert gate.operations().count("end") == 1


def test_trouble_with_a_sink_is_an_event(camera):
    gate = camera()
    told = {"sink": "jsonl", "reason": "No space left on device", "lost": 0}
    gate.follow(gate.trigger.handle(m.SinkReported(state="degraded", details=told, pts_ns=1, utc_ns=NOON_NS)))
    (event,) = gate.events("sink.degraded")
    assert event.data.details == told


def test_a_sink_is_told_of_when_it_is_otherwise_than_was_told_also_across_a_kill(camera, tmp_path):
    gate = camera(state_dir=tmp_path)

    def report(state):
        told = {"sink": "jsonl", "reason": "x", "lost": 0}
        gate.follow(gate.trigger.handle(m.SinkReported(state=state, details=told, pts_ns=1, utc_ns=NOON_NS)))

    report("recovered")
    report("degraded")
    gate.live()
    report("degraded")
    report("recovered")
    assert [event.kind.split(".")[2] for event in gate.events("sink")] == ["degraded", "recovered"]


def test_what_describe_took_with_it_is_asked_again_once(camera):
    gate = camera(answers=("features",))
    gate.walk(2)
    asked = [message for message in gate.said if isinstance(message, m.DescriptionWanted)]
    for restarts in (1, 2):
        died = m.StageRestarted(stage="describe", restarts=restarts, reason="signal 11", pts_ns=1, utc_ns=NOON_NS)
        gate.follow(gate.trigger.handle(died))
    again = [message for message in gate.said if isinstance(message, m.DescriptionWanted)][len(asked) :]
    assert again == [asked[-1]]


def test_what_describe_has_answered_is_not_asked_again(camera):
    gate = camera()
    gate.walk(2)
    before = len([message for message in gate.said if isinstance(message, m.DescriptionWanted)])
    died = m.StageRestarted(stage="describe", restarts=1, reason="signal 11", pts_ns=1, utc_ns=NOON_NS)
    gate.follow(gate.trigger.handle(died))
    assert len([message for message in gate.said if isinstance(message, m.DescriptionWanted)]) == before


@pytest.mark.parametrize(("state", "severity"), [("loaded", m.Priority.ROUTINE), ("rejected", m.Priority.WARNING)])
def test_what_describe_says_of_its_model_is_an_event(camera, state, severity):
    gate = camera()
    gate.follow(gate.trigger.handle(m.ModelReported(state=state, details={"model": "a/1"}, pts_ns=1, utc_ns=NOON_NS)))
    (event,) = gate.events(f"model.{state}")
    assert event.priority == severity
    assert event.data.details == {"model": "a/1"}


@pytest.mark.parametrize(
    ("state", "severity"),
    [("loaded", m.Priority.ROUTINE), ("fallback", m.Priority.WARNING), ("rejected", m.Priority.WARNING)],
)
def test_what_encode_says_of_its_accelerator_is_an_event(camera, state, severity):
    gate = camera()
    told = {"backend": "qnn", "verdict": "partial"}
    gate.follow(gate.trigger.handle(m.EncoderReported(state=state, details=told, pts_ns=1, utc_ns=NOON_NS)))
    (event,) = gate.events(f"model.{state}")
    assert event.priority == severity
    assert event.data.details == told


def test_the_last_description_is_asked_for_within_what_is_waited_and_sooner_when_the_daemon_ends(camera):
    tables = {"trigger": {"report_wait_s": 5.0}, "runtime": {"stop_s": 5.0}}
    over, ending, replayed = camera(**tables), camera(**tables), camera(media=True, **tables)
    for gate in (over, ending, replayed):
        gate.walk(4)
    over.quiet(4)
    ending.follow(ending.trigger.finish())
    replayed.follow(replayed.trigger.finish())

    def within(gate):
        asked = [message for message in gate.said if isinstance(message, m.DescriptionWanted)]
        return [message.within_s for message in asked if not message.final], asked[-1].within_s

    assert [within(gate)[1] for gate in (over, ending, replayed)] == [4.0, 1.5, None]
    assert set(within(over)[0]) == {None}


def test_a_stay_goes_on_where_an_incident_was_too_long(camera):
    gate = camera(trigger={"max_s": 10.0})
    gate.walk(25)
    first, second = list(dict.fromkeys(event.subject for event in gate.events()))[:2]
    later = [event for event in gate.events() if event.subject == second]
    assert later[0].data.continues == first
    assert later[-1].data.facts.track.dwell_s >= 19
    assert later[-1].data.facts.track.visits_last_hour == 1


def test_a_stay_ends_with_a_pause(camera):
    gate = camera(trigger={"max_s": 10.0})
    gate.walk(10.5)
    gate.quiet(10.5, 20)
    gate.walk(4, start_s=31)
    last = gate.events()[-1].data
    assert last.continues is msgspec.UNSET
    assert last.facts.track.dwell_s < 10


def test_an_incident_that_looks_like_an_earlier_one_names_it(camera):
    gate = camera()
    gate.walk(4)
    gate.quiet(4)
    gate.walk(4, start_s=20)
    gate.quiet(24)
    first, second = dict.fromkeys(event.subject for event in gate.events())
    ends = {event.subject: event.data for event in gate.events() if event.data.operation == "end"}
    assert ends[first].similar_to is msgspec.UNSET
    assert ends[second].similar_to == (first,)
    assert ends[second].features.model == "x"


def test_features_come_once_with_the_end(camera):
    gate = camera()
    gate.walk(4)
    gate.quiet(4)
    assert [event.data.operation for event in gate.events() if event.data.features] == ["end"]


class Limit(Camera):
    """Whoever stays longer than seven seconds is to be told of."""

    def answers_to(self, message):
        if not isinstance(message, m.DescriptionWanted):
            yield from super().answers_to(message)
            return
        stay_s = message.facts.track.dwell_s
        action = "alarm" if stay_s > 7 else "log"
        told = message.previous_verdict and message.previous_verdict["action"] == action
        analysis = msgspec.structs.replace(templates.describe(message.facts, "no_model"), fields={"action": action})
        yield m.IncidentDescribed(
            incident=message.incident,
            revision=message.revision,
            analysis=None if told else analysis,
            holds_s=max(0, 8 - stay_s),
        )


def test_an_incident_is_judged_again_when_its_verdict_may_be_another(new_ring):
    gate = Limit(new_ring)
    gate.walk(12)
    loud = [event for event in gate.events()[1:] if event.data.analysis.fields["action"] == "alarm"]
    assert len(loud) == 1
    assert 7 < loud[0].data.facts.track.dwell_s <= 9


def test_an_event_is_as_severe_as_its_verdict(new_ring):
    gate = Limit(new_ring)
    gate.walk(12)
    assert gate.events()[0].severity is None
    severities = {event.data.analysis.fields["action"]: event.severity for event in gate.events()[1:]}
    assert severities == {"log": m.Priority.ROUTINE, "alarm": m.Priority.ALARM}


def test_a_verdict_that_holds_is_not_told_again(new_ring):
    gate = Limit(new_ring)
    gate.walk(6)
    told = len(gate.events())
    gate.follow(gate.trigger.handle(m.IncidentDescribed(
        incident=gate.events()[0].subject, revision=0, analysis=None, holds_s=0
    )))  # fmt: skip
    assert len(gate.events()) == told


def test_a_stay_goes_on_where_a_process_was_killed_and_its_verdict_still_holds(new_ring, tmp_path):
    gate = Limit(new_ring, state_dir=tmp_path)
    gate.walk(10)
    first = gate.events()[0].subject
    gate.context = replace(gate.context, lives=1)
    gate.live()
    gate.walk(5, start_s=12)
    ended = next(event for event in gate.events() if event.subject == first and event.data.operation == "end")
    assert (ended.data.ended_by, ended.severity) == ("crash_recovery", m.Priority.ALARM)
    later = [event for event in gate.events() if event.subject != first]
    assert later[-1].data.continues == first
    assert later[-1].data.facts.track.dwell_s >= 12


def test_something_else_does_not_go_on_with_a_stay(camera):
    gate = camera(trigger={"max_s": 10.0})
    gate.walk(10.25)
    for count in range(16):
        gate.see(15 + count / 4, seen("car", box=(0.02 * count, 0.1, 0.02 * count + 0.1, 0.2)))
    assert "vehicle" in {event.data.scene.class_ for event in gate.events()}
    assert gate.events()[-1].data.continues is msgspec.UNSET


def test_without_features_to_be_had_nobody_waits_for_them(new_ring):
    camera = Camera(new_ring, answers=("reports",))
    camera.context.limits.set(Limits(rung=Rung.CLASSES))
    camera.walk(0.5)
    assert not [one for one in camera.said if isinstance(one, m.FeaturesWanted)]
    assert [one for one in camera.said if isinstance(one, m.DescriptionWanted)]


def test_every_event_says_how_hot_the_board_is_where_that_is_known(new_ring):
    camera = Camera(new_ring)
    camera.context.limits.set(Limits(level=2, temp_c=79.5))
    camera.walk(0.5)
    start = camera.events("incident.start")[0]
    assert (start.data.thermal.level, start.data.thermal.temp_c) == (2, 79.5)


def test_what_concerns_the_device_is_told_as_it_comes(new_ring):
    camera = Camera(new_ring)
    details = {"level": 1, "was": 0}
    camera.follow(
        camera.trigger.handle(m.DeviceReported(what="thermal.level", details=details, pts_ns=1, utc_ns=NOON_NS))
    )
    told = [one for one in camera.said if isinstance(one, m.EventRaised)][-1]
    assert (told.kind, told.data.details) == ("fieldwatch.thermal.level.v1", details)


def test_an_incident_says_how_many_joules_the_device_took_for_it(new_ring):
    camera = Camera(new_ring)
    tick = lambda at_s, energy_j: m.Ticked(pts_ns=round(at_s * NS), utc_ns=NOON_NS, energy_j=energy_j)  # noqa: E731  # a name for what follows
    camera.follow(camera.trigger.handle(tick(0, 100.0)))
    camera.walk(1.0)
    camera.follow(camera.trigger.handle(tick(1, 107.5)))
    camera.quiet(1.0)
    assert camera.events("incident.end")[0].data.energy_j == 7.5


def test_where_nothing_measures_it_no_energy_is_told_of(new_ring):
    camera = Camera(new_ring)
    camera.walk(1.0)
    camera.follow(camera.trigger.handle(m.Ticked(pts_ns=NS, utc_ns=NOON_NS)))
    camera.quiet(1.0)
    assert isinstance(camera.events("incident.end")[0].data.energy_j, msgspec.UnsetType)


def test_many_incidents_at_once_are_summed_up_in_one_event_beside_their_own(new_ring):
    zones = {
        f"z{at}": {"polygon": [[at / 10, 0.0], [at / 10 + 0.1, 0.0], [at / 10 + 0.1, 1.0], [at / 10, 1.0]]}
        for at in range(10)
    }
    tables = {"cameras": {"gate": {"source": "synthetic://", "zones": zones}}, "trigger": {"storm_incidents": 5}}
    camera = Camera(new_ring, **tables)
    for at in range(10):
        camera.see(at * 0.2, *(seen(box=(one / 10 + 0.02, 0.4, one / 10 + 0.08, 0.8)) for one in range(at + 1)))
    assert len(camera.events("incident.start")) == 10
    for at_s in (3, 8, 14, 20):
        camera.see(at_s, boxes=())
        camera.follow(camera.trigger.handle(m.Ticked(pts_ns=at_s * NS, utc_ns=NOON_NS)))
    storms = [one for one in camera.said if isinstance(one, m.EventRaised) and one.kind == "fieldwatch.system.storm.v1"]
    assert len(storms) == 1
    details = storms[0].data.details
    assert (details["incidents"], details["skipped"], details["unanswered"], details["over"]) == (6, 6, 0, True)


def test_how_many_incidents_are_open_and_ended_is_known(new_ring):
    camera = Camera(new_ring)
    camera.walk(1.0)
    assert (camera.trigger.open, camera.trigger.ended) == (1, 0)
    camera.quiet(1.0)
    assert (camera.trigger.open, camera.trigger.ended) == (0, 1)


def test_an_answer_to_an_earlier_question_does_not_answer_the_last(new_ring):
    camera = Camera(new_ring, answers=("features",))
    camera.walk(1.0)
    asked = [one for one in camera.said if isinstance(one, m.DescriptionWanted)]
    camera.quiet(1.0)
    final = [one for one in camera.said if isinstance(one, m.DescriptionWanted)][-1]
    assert final.final
    early = templates.describe(asked[0].facts, "late")
    camera.follow(
        camera.trigger.handle(
            m.IncidentDescribed(incident=asked[0].incident, revision=asked[0].revision, analysis=early)
        )
    )
    restarted = m.StageRestarted(stage="describe", restarts=1, reason="killed", pts_ns=NS, utc_ns=NOON_NS)
    again = [one for one in camera.trigger.handle(restarted) if isinstance(one, m.DescriptionWanted)]
    assert [one.final for one in again] == [True]
