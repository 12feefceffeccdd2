"""When an incident starts, when it ends and what it is called."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from pipeline.core.incident.presence import Presence, step
from pipeline.core.incident.sight import PresenceRules, Sight

RULES = PresenceRules()
SECOND = 1_000_000_000


class Found(NamedTuple):
    group: str
    likelihood: float
    box: tuple[float, float, float, float]


def square(left, top, size=0.1):
    return (left, top, left + size, top + size)


class Camera:
    """Feeds observations at ten a second and keeps the decisions with their times in seconds."""

    def __init__(self, rules=RULES):
        self.rules = rules
        self.state = Presence()
        self.seconds = 0.0
        self.decisions = []

    def see(self, *boxes, interval_s=0.1, **more):
        self.seconds += interval_s
        sight = Sight(round(self.seconds * SECOND), tuple(boxes), **more)
        self.state, decision = step(self.state, sight, self.rules)
        if decision:
            self.decisions.append((decision, round(self.seconds, 1)))

    def see_nothing(self, seconds=5.0):
        for _ in range(round(seconds * 10)):
            self.see()

    def see_at_rest(self, box, seconds, **more):
        for _ in range(round(seconds * 10)):
            self.see(box, **more)

    def see_travel(self, seconds=3.0, size=0.1, **more):
        for step_ in range(round(seconds * 10)):
            self.see(square(0.1 + 0.01 * step_, 0.4, size), **more)

    @property
    def names(self):
        return [decision for decision, _ in self.decisions]

    @property
    def label(self):
        return self.state.label(self.rules)


def person(box, likelihood=0.7):
    return (Found("person", likelihood, box),)


def test_nothing_starts_nothing():
    camera = Camera()
    camera.see_nothing(60)
    assert camera.decisions == []


def test_a_clear_person_that_moves_starts_at_once():
    camera = Camera()
    camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4)))
    assert camera.decisions == [("start", 0.1)]


def test_one_weak_sighting_starts_nothing():
    camera = Camera()
    camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4), 0.4))
    assert camera.decisions == []


def test_two_weak_sightings_start():
    camera = Camera()
    for _ in range(2):
        camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4), 0.41))
    assert camera.names == ["start"]


def test_weak_sightings_far_apart_in_time_start_nothing():
    camera = Camera()
    for _ in range(5):
        camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4), 0.41))
        camera.see_nothing(8)
    assert camera.decisions == []


def test_a_person_where_nothing_moves_starts_nothing():
    camera = Camera()
    for _ in range(20):
        camera.see(square(0.8, 0.8), detections=person(square(0.1, 0.1)))
    assert camera.decisions == []


def test_a_shadow_that_touches_a_parked_car_starts_nothing():
    camera = Camera()
    for _ in range(20):
        camera.see(square(0.4, 0.4, 0.05), detections=(Found("vehicle", 0.8, square(0.4, 0.4, 0.2)),))
    assert camera.decisions == []


def test_a_region_that_travels_starts_without_being_recognised():
    camera = Camera()
    camera.see_travel(detections=())
    assert camera.names == ["start"]


def test_the_start_is_put_back_to_the_first_movement():
    camera = Camera()
    camera.see_nothing(5)
    camera.see_travel(detections=())
    assert camera.state.began_ns == pytest.approx(5.1 * SECOND)


def test_the_start_is_put_back_by_the_run_up_at_most():
    camera = Camera()
    for _ in range(300):
        camera.see(
            square(0.1, 0.1, 0.3),
            square(0.8, 0.8),
            *[square(0.1 * k, 0.6, 0.05) for k in range(4)],
            detections=(),
        )
    camera.see(square(0.1, 0.1, 0.3), detections=person(square(0.1, 0.1, 0.3)))
    assert camera.names == ["start"]
    assert camera.state.began_ns == pytest.approx((30.1 - RULES.run_up_s) * SECOND)


def test_a_branch_that_sways_starts_nothing():
    camera = Camera()
    for count in range(70):
        camera.see(square(0.4 + 0.05 * (count % 4 - 1.5), 0.4), detections=())
    assert camera.decisions == []


def test_flicker_all_over_the_picture_starts_nothing():
    camera = Camera()
    for count in range(300):
        boxes = [square((0.37 * count + 0.13 * k * k) % 0.9, (0.61 * count + 0.29 * k) % 0.9, 0.03) for k in range(8)]
        camera.see(*boxes, detections=() if count % 3 == 0 else None)
    assert camera.decisions == []


def test_a_region_that_comes_and_goes_starts_nothing():
    camera = Camera()
    for count in range(300):
        camera.see(*[square(0.4, 0.4)] * (count % 4 == 0), detections=())
    assert camera.decisions == []


def test_a_small_region_that_stays_starts_after_the_linger_time():
    camera = Camera()
    camera.see_at_rest(square(0.4, 0.4), 9, detections=())
    assert camera.decisions == [("start", pytest.approx(RULES.linger_s + 0.1))]


def test_a_large_region_that_nobody_recognises_starts_late():
    camera = Camera()
    camera.see_at_rest(square(0.2, 0.2, 0.4), 11, detections=())
    assert camera.decisions == [("start", pytest.approx(RULES.unrecognised_s + 0.1))]


def test_in_a_thumbnail_a_large_share_that_travels_starts_unrecognised():
    camera = Camera(RULES.for_height(60))
    camera.see_travel(seconds=5, size=0.3, detections=())
    assert camera.names == ["start"]


def test_a_large_region_that_travels_starts_though_nobody_recognises_it():
    camera = Camera(RULES.for_height(1080))
    camera.see_travel(seconds=5, size=0.3, detections=())
    assert camera.names == ["start"]


def test_without_a_classifier_a_large_region_that_travels_starts_soon():
    camera = Camera()
    camera.see_travel(seconds=5, size=0.3)
    assert camera.names == ["start"]


def test_a_blurred_region_starts_nothing_on_its_own():
    camera = Camera()
    for count in range(80):
        box = square(0.01 * count, 0.4)
        camera.see(box, blurred=(box,), detections=())
    assert camera.decisions == []


def test_a_blurred_person_that_is_recognised_starts():
    camera = Camera()
    camera.see(square(0.4, 0.4), blurred=(square(0.4, 0.4),), detections=person(square(0.4, 0.4)))
    assert camera.names == ["start"]


def test_a_global_change_starts_nothing():
    camera = Camera()
    for _ in range(100):
        camera.see(square(0, 0, 1), global_change=True)
    assert camera.decisions == []


def test_motion_alone_waits_until_the_exposure_has_settled():
    camera = Camera()
    camera.see(global_change=True)
    camera.see_travel(seconds=0.9, detections=())
    assert camera.decisions == []


def test_a_flash_does_not_lose_who_moves():
    camera = Camera()
    camera.see_at_rest(square(0.4, 0.4), 5, detections=())
    camera.see(global_change=True)
    camera.see_at_rest(square(0.4, 0.4), 5, detections=())
    assert camera.names == ["start"]
    assert camera.state.began_ns == pytest.approx(0.1 * SECOND)


def test_fruit_that_stands_still_is_no_proof():
    camera = Camera()
    for _ in range(20):
        camera.see(square(0.4, 0.4), detections=(Found("other", 0.8, square(0.4, 0.4)),))
    assert camera.decisions == []


def test_an_unnamed_object_that_has_moved_is_proof():
    camera = Camera()
    for count in range(8):
        box = square(0.1 + 0.02 * count, 0.4, 0.3)
        camera.see(box, detections=(Found("other", 0.8, box),))
    assert camera.names == ["start"]
    assert camera.label is None


def test_an_incident_ends_after_the_quiet_gap():
    camera = Camera()
    camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4)))
    camera.see_nothing(5)
    assert camera.decisions == [("start", 0.1), ("stop", pytest.approx(0.1 + RULES.quiet_gap_s))]


def test_the_end_is_the_last_evidence_and_not_the_end_of_the_gap():
    camera = Camera()
    camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4)))
    camera.see_nothing(5)
    assert camera.state.last_ns == pytest.approx(0.1 * SECOND)


def test_someone_who_is_hidden_for_two_seconds_makes_one_incident():
    camera = Camera()
    for _ in range(3):
        camera.see_at_rest(square(0.4, 0.4), 2, detections=person(square(0.4, 0.4)))
        camera.see_nothing(2)
    camera.see_nothing(5)
    assert camera.names == ["start", "stop"]


def test_a_recognised_region_goes_on_between_two_looks():
    camera = Camera()
    camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4)))
    camera.see_at_rest(square(0.4, 0.4), 4.5)
    assert camera.state.last_ns == camera.state.at_ns


def test_leaves_that_move_on_do_not_keep_an_incident_open():
    camera = Camera()
    leaves = [square(0.1 * k, 0.7, 0.05) for k in range(6)]
    camera.see(square(0.4, 0.3), *leaves, detections=person(square(0.4, 0.3)))
    for _ in range(50):
        camera.see(*leaves, detections=())
    assert camera.names == ["start", "stop"]


def test_a_second_visit_is_a_second_incident_that_starts_after_the_first():
    camera = Camera()
    camera.see_travel(detections=())
    camera.see_nothing(5)
    first_end_ns = camera.state.last_ns
    camera.see_travel(detections=())
    assert camera.names == ["start", "stop", "start"]
    assert camera.state.began_ns > first_end_ns


def test_a_slow_camera_starts_after_four_sightings():
    camera = Camera()
    for count in range(4):
        camera.see(square(0.1 + 0.1 * count, 0.4, 0.08), interval_s=1.0, detections=())
    assert camera.decisions == [("start", 4.0)]


def test_the_label_is_the_group_with_the_largest_sum():
    camera = Camera()
    box = square(0.4, 0.4)
    camera.see(box, detections=(Found("animal", 0.6, box), Found("person", 0.5, box)))
    for _ in range(4):
        camera.see(box, detections=person(box))
    assert camera.label == "person"


def test_a_tie_has_no_label():
    camera = Camera()
    box = square(0.4, 0.4)
    for _ in range(3):
        camera.see(box, detections=(Found("animal", 0.6, box), Found("person", 0.6, box)))
    assert camera.label is None


def test_motion_alone_has_no_label():
    camera = Camera()
    camera.see_travel(detections=())
    assert camera.label is None


def test_the_label_can_be_read_at_the_stop():
    camera = Camera()
    box = square(0.4, 0.4)
    camera.see(box, detections=person(box))
    camera.see_nothing(RULES.quiet_gap_s)
    assert camera.names == ["start", "stop"]
    assert camera.label == "person"


def test_the_label_of_an_incident_does_not_come_from_the_one_before():
    camera = Camera()
    camera.see(square(0.4, 0.4), detections=person(square(0.4, 0.4)))
    camera.see_nothing(5)
    camera.see_travel(detections=())
    assert camera.names == ["start", "stop", "start"]
    assert camera.label is None


def test_it_remembers_little_however_long_it_runs():
    camera = Camera()
    for count in range(3000):
        camera.see(*[square((0.37 * count + 0.1 * k) % 0.9, (0.61 * count) % 0.9, 0.02) for k in range(8)])
    assert len(camera.state.regions) < 100


def test_strong_evidence_of_two_kinds_is_named_after_the_stronger():
    assert Presence(sums=(3.0, 2.6, 0.0)).label(RULES) == "person"


def test_little_evidence_of_two_kinds_is_not_named():
    assert Presence(sums=(0.9, 0.8, 0.0)).label(RULES) is None


def test_an_incident_keeps_its_name_until_another_leads_clearly():
    assert Presence(sums=(3.0, 2.6, 0.0)).label(RULES, "vehicle") == "vehicle"
    assert Presence(sums=(3.6, 2.6, 0.0)).label(RULES, "vehicle") == "person"
