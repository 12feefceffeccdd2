from __future__ import annotations

import pytest

from pipeline.core.track import thing
from pipeline.core.track.sight import TrackRules
from pipeline.core.track.thing import Thing, report
from pipeline.core.track.votes import Vote, find_best
from tests.fakes import NS, seen

RULES = TrackRules()
HERE = (0.4, 0.4, 0.5, 0.6)
PERSON, CAR, TRUCK, DOG, KITE = (
    Vote("person", "person", 1.0, 0.9),
    Vote("car", "vehicle", 0.8, 0.8),
    Vote("truck", "vehicle", 0.7, 0.4),
    Vote("dog", "animal", 0.5, 0.5),
    Vote("kite", "other", 9.0, 0.9),
)


def box(x, y=0.5, width=0.1, height=0.2):
    """A box around a centre."""
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def one(**changes):
    return Thing(1, HERE, HERE, 0, 0)._replace(**changes)


def test_of_what_was_never_recognised_nobody_knows_what_it_is():
    assert (one().group, find_best(one().votes)) == (None, None)


def test_what_is_only_furniture_has_no_group():
    assert one(votes=(KITE,)).group is None


def test_a_thing_is_of_the_group_with_most_evidence():
    assert one(votes=(PERSON, DOG)).group == "person"
    assert one(votes=(PERSON, CAR, TRUCK)).group == "vehicle"


def test_a_thing_is_of_the_class_with_most_evidence_in_its_group():
    assert find_best((KITE, PERSON, CAR, TRUCK)) == CAR


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ((box(0.5), box(0.51)), "none"),
        ((box(0.3), box(0.7)), "along"),
        ((box(0.05), box(0.3)), "in"),
        ((box(0.7), box(0.95)), "out"),
        ((box(0.5, 0.3), box(0.5, 0.6, 0.2, 0.4)), "toward"),
        ((box(0.5, 0.6, 0.2, 0.4), box(0.5, 0.3)), "away"),
        ((box(0.05), box(0.95)), "along"),
    ],
)
def test_a_direction_is_told_from_the_ends_of_the_way(boxes, expected):
    first, last = boxes
    assert one(first=first, box=last).direction == expected


@pytest.mark.parametrize(
    ("vote", "metres_per_s", "expected"),
    [
        (PERSON, 0.05, "still"),
        (PERSON, 0.4, "slow"),
        (PERSON, 1.4, "walk"),
        (PERSON, 4.0, "run"),
        (CAR, 0.2, "still"),
        (CAR, 5.0, "medium"),
        (CAR, 14.0, "fast"),
        (DOG, 1.0, "walk"),
    ],
)
def test_a_speed_is_told_over_the_ground_by_the_size_of_its_kind(vote, metres_per_s, expected):
    metres = {"person": 1.7, "vehicle": 4.5, "animal": 0.8}[vote.group]
    assert one(votes=(vote,), hits=3, path=10 * metres_per_s / metres, path_s=10.0).speed == expected


@pytest.mark.parametrize("changes", [{"hits": 2}, {"path_s": 0.0}, {"votes": ()}])
def test_of_what_was_seen_too_seldom_no_speed_is_told(changes):
    assert one(**({"votes": (PERSON,), "hits": 3, "path": 1.0, "path_s": 1.0} | changes)).speed is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, True), ({"hits": 1}, False), ({"rest_ns": 4 * NS}, False), ({"moved_ns": 5 * NS}, False)],
    ids=["it stands", "seen once", "came to rest just now", "moves now"],
)
def test_what_does_not_move_from_its_place_rests(changes, expected):
    assert one(**({"hits": 2, "rest_ns": NS, "moved_ns": NS} | changes)).rests(5 * NS, RULES) is expected


def test_what_is_told_of_a_thing_is_what_is_known_of_it():
    now = seen(box=HERE)
    told = report(
        one(
            number=7, born_ns=3, seen_ns=4, evident=True, present=True, confirmed=True, votes=(PERSON,),
            rides="bicycle", now=now, hits=3, path=10.0, path_s=10.0, first=box(0.7),
        ),
        5 * NS,
        RULES,
    )  # fmt: skip
    assert (told.number, told.born_ns, told.seen_ns) == (7, 3, 4)
    assert (told.evident, told.present, told.confirmed) == (True, True, True)
    assert (told.votes, told.rides, told.detection) == ((PERSON,), "bicycle", now)
    assert (told.speed, told.direction) == ("walk", "along")


def test_a_box_is_told_within_the_picture():
    assert report(one(box=(-0.1, 0.12345678, 0.5, 1.2)), NS, RULES).box == (0.0, 0.1235, 0.5, 1.0)


def test_it_is_told_since_when_a_thing_stands():
    assert report(one(hits=2, rest_ns=NS), round(4.25 * NS), RULES).rested_s == pytest.approx(3.2)
    assert report(one(hits=2, rest_ns=NS), 2 * NS, RULES).rested_s == 0


def test_what_was_last_seen_in_part_is_not_told_to_be_whole():
    assert report(one(), NS, RULES).whole
    assert not report(one(pieces=1), NS, RULES).whole


def test_a_way_is_measured_in_sizes_of_the_thing():
    assert thing.distance(box(0.3), box(0.5)) == pytest.approx(1.0)
    assert thing.distance(HERE, HERE) == 0


def test_growing_is_half_as_much_of_a_change_as_going():
    assert thing.change(HERE, HERE) == 0
    assert thing.change(box(0.5, height=0.2), box(0.5, height=0.3)) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("place", "expected"),
    [(HERE, False), ((0.03, 0.4, 0.1, 0.6), True), ((0.9, 0.4, 0.97, 0.6), True), ((0.4, 0.03, 0.5, 0.2), True),
     ((0.4, 0.8, 0.5, 0.97), True)],
)  # fmt: skip
def test_what_touches_the_border_is_at_the_edge(place, expected):
    assert thing.at_edge(place) is expected
