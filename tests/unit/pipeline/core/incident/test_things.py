"""What is known of a thing is known wherever it goes: no area knows less of it than the whole picture."""

import pytest

from pipeline.core.incident import things
from pipeline.core.incident.presence import Presence, step
from pipeline.core.incident.sight import PresenceRules, Sight
from tests.fakes import NS, seen

RULES = PresenceRules()
LEFT, RIGHT = "left", "right"


def place(box):
    return LEFT if (box[0] + box[2]) / 2 < 0.5 else RIGHT


def at(left, top=0.4, size=0.1):
    return (left, top, left + size, top + size)


class Camera:
    """A picture of two halves, looked at four times a second."""

    def __init__(self):
        self.known = things.Known()
        self.members = {LEFT: {}, RIGHT: {}}
        self.states = {LEFT: Presence(), RIGHT: Presence()}
        self.tallies = {LEFT: {}, RIGHT: {}}
        self.quarters = 0

    def see(self, *detections, boxes=None, standing=(), areas=(LEFT, RIGHT)):
        self.quarters += 1
        boxes = tuple(one.box for one in detections) if boxes is None else boxes
        sight = Sight(self.quarters * NS // 4, boxes, 0.01, detections=(*detections, *standing))
        where = {box: place(box) for box in (*boxes, *(one.box for one in sight.detections))}
        self.known = things.watch(self.known, sight, where, RULES, standing)
        for area in areas:
            self.look(area, sight, where)

    def look(self, area, sight, where):
        own = sight._replace(
            boxes=tuple(box for box in sight.boxes if where[box] == area),
            detections=tuple(one for one in sight.detections if where[one.box] == area),
        )
        active = self.states[area].active
        share = things.lend(self.known, self.members[area], area, own, RULES, active=active)
        self.members[area], self.tallies[area] = share.members, share.tallies
        lent = own._replace(boxes=own.boxes + share.boxes, lent=share.lent)
        self.states[area], _ = step(self.states[area], lent, RULES)

    def drive(self, *lefts, likelihood=0.45):
        for left in lefts:
            self.see(seen("car", likelihood, at(left)))

    def label(self, area):
        return self.states[area].label(RULES)


@pytest.fixture
def camera():
    return Camera()


def test_what_was_named_before_it_came_is_named_at_once(camera):
    camera.drive(0.2, 0.25, 0.3, 0.35, 0.4, 0.46)
    assert camera.label(RIGHT) == "vehicle"
    assert camera.states[RIGHT].active


def test_what_was_too_doubtful_is_named_by_what_is_seen_of_it_afterwards(camera):
    for step_ in range(16):
        camera.see(boxes=(at(0.1 + step_ / 50),))
    camera.drive(0.42, likelihood=0.4)
    assert (camera.label(LEFT), camera.states[LEFT].active) == (None, True)
    camera.drive(0.46, likelihood=0.4)
    assert camera.label(LEFT) == "vehicle"


def test_what_was_seen_of_it_elsewhere_is_in_its_tallies(camera):
    camera.drive(0.3, 0.4, likelihood=0.9)
    camera.see(seen("car", 0.4, at(0.46)))
    assert camera.tallies[RIGHT]["car"].best == pytest.approx(0.9)


def test_what_a_thing_is_known_as_is_lent_once(camera):
    camera.drive(0.3, 0.4, 0.46)
    assert camera.tallies[RIGHT]
    camera.drive(0.48)
    assert not camera.tallies[RIGHT]


def test_a_thing_that_the_classifier_no_longer_sees_is_known_by_what_moves(camera):
    camera.drive(0.3, 0.35, 0.4, likelihood=0.9)
    for left in (0.46, 0.5, 0.55, 0.6, 0.65, 0.7):
        camera.see(boxes=(at(left),))
    assert (camera.label(RIGHT), camera.states[RIGHT].active) == ("vehicle", True)


def test_a_thing_whose_movement_lies_in_the_next_area_is_seen_where_it_stands(camera):
    for _ in range(3):
        camera.see(seen("person", 0.9, at(0.44)), boxes=((0.4, 0.4, 0.9, 0.6),))
    assert (camera.label(LEFT), camera.states[LEFT].active) == ("person", True)


def test_two_things_are_told_apart(camera):
    for shift in (0.0, 0.01, 0.02):
        camera.see(seen("car", 0.9, at(0.2 + shift)), seen("dog", 0.9, at(0.7 + shift)))
    assert (camera.label(LEFT), camera.label(RIGHT)) == ("vehicle", "animal")


def test_a_thing_that_left_names_an_area_no_longer(camera):
    camera.drive(0.3, 0.4, 0.46, likelihood=0.9)
    before = camera.states[LEFT].sums
    for step_ in range(20):
        camera.drive(0.5 + step_ / 100, likelihood=0.9)
    votes = (camera.states[LEFT].sums[1] - before[1]) / 0.9
    assert votes <= RULES.quiet_gap_s * 4 + 1


def test_a_thing_that_waits_stays_known(camera):
    camera.drive(0.3, 0.35, 0.4, likelihood=0.9)
    parked = seen("car", 0.9, at(0.4))
    for _ in range(40):
        camera.see(boxes=(), standing=(parked,))
    camera.see(seen("car", 0.36, at(0.46)))
    assert camera.tallies[RIGHT]["car"].best == pytest.approx(0.9)


def test_what_waits_starts_nothing(camera):
    for _ in range(40):
        camera.see(boxes=(), standing=(seen("car", 0.9, at(0.4)),))
    assert not camera.states[LEFT].active


def test_what_is_gone_is_forgotten(camera):
    camera.drive(0.3, 0.4, likelihood=0.9)
    for _ in range(40):
        camera.see(boxes=())
    assert camera.known.things == ()


def test_an_area_that_did_not_look_for_a_while_is_lent_all_of_it_later(camera):
    for left in (0.2, 0.3, 0.4, 0.46, 0.5):
        camera.see(seen("car", 0.4, at(left)), areas=(LEFT,))
    camera.drive(0.52, likelihood=0.36)
    assert camera.label(RIGHT) == "vehicle"
