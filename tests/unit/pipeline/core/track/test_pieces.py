from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.track import pieces
from tests.fakes import seen

WHOLE = (0.40, 0.30, 0.50, 0.70)
HEAD = (0.43, 0.30, 0.47, 0.38)
TORSO = (0.40, 0.30, 0.50, 0.50)
LEGS = (0.41, 0.51, 0.49, 0.70)
BESIDE = (0.54, 0.30, 0.64, 0.70)
ELSEWHERE = (0.10, 0.10, 0.20, 0.30)

edges = st.tuples(st.floats(0, 0.8), st.floats(0.01, 0.2))
boxes = st.tuples(edges, edges).map(lambda t: (t[0][0], t[1][0], t[0][0] + t[0][1], t[1][0] + t[1][1]))
detections = st.builds(seen, st.sampled_from(["person", "car", "dog"]), st.floats(0.3, 1), boxes)


def boxes_of(*found, known=()):
    return [one.box for one in pieces.join(found, known)]


def test_what_two_looks_show_is_one_thing():
    twice = (seen(likelihood=0.9, box=WHOLE), seen(likelihood=0.6, box=(0.41, 0.31, 0.51, 0.71)))
    assert pieces.join(twice) == twice[:1]


def test_a_head_and_the_person_under_it_are_one_as_large_as_the_person():
    (one,) = pieces.join([seen(likelihood=0.9, box=HEAD), seen(likelihood=0.5, box=WHOLE)])
    assert (one.box, one.likelihood) == (WHOLE, 0.9)


def test_a_thing_that_the_edge_of_a_look_cuts_off_is_no_second_thing():
    half = (0.40, 0.30, 0.45, 0.70)
    assert boxes_of(seen(likelihood=0.6, box=half), seen(likelihood=0.9, box=WHOLE)) == [WHOLE]


def test_a_torso_and_the_legs_under_it_are_one_as_large_as_both():
    assert boxes_of(seen(box=TORSO), seen(likelihood=0.5, box=LEGS)) == [(0.40, 0.30, 0.50, 0.70)]


def test_a_piece_that_sticks_out_of_somebody_as_high_as_the_picture_does_not_widen_him():
    high, arm = (0.3, 0.0, 0.6, 1.0), (0.35, 0.1, 0.65, 0.3)
    assert boxes_of(seen(likelihood=0.5, box=high), seen(likelihood=0.9, box=arm)) == [high]


def test_three_pieces_are_one_whichever_is_likeliest():
    shares = ((0.40, 0.30, 0.50, 0.42), (0.40, 0.43, 0.50, 0.57), (0.40, 0.58, 0.50, 0.70))
    for likelihoods in ((0.9, 0.8, 0.7), (0.8, 0.7, 0.9), (0.7, 0.9, 0.8), (0.9, 0.7, 0.8)):
        found = [seen(likelihood=one, box=box) for one, box in zip(likelihoods, shares, strict=True)]
        assert boxes_of(*found) == [(0.40, 0.30, 0.50, 0.70)]


def test_a_whole_takes_the_class_of_its_likeliest_piece():
    (one,) = pieces.join([seen("truck", 0.8, HEAD), seen("car", 0.5, WHOLE)])
    assert one.label == "truck"


def test_two_who_stand_beside_one_another_are_two():
    assert len(boxes_of(seen(box=WHOLE), seen(box=BESIDE))) == 2


def test_two_who_are_apart_are_two():
    assert len(boxes_of(seen(box=WHOLE), seen(box=ELSEWHERE))) == 2


def test_one_who_lies_before_another_is_another():
    behind, before = (0.44, 0.30, 0.48, 0.60), (0.44, 0.61, 0.74, 0.70)
    assert len(boxes_of(seen(box=behind), seen(box=before))) == 2


def test_what_lies_far_above_another_piece_is_another_thing():
    assert len(boxes_of(seen(box=TORSO), seen(box=(0.41, 0.54, 0.49, 0.70)))) == 2


def test_only_people_stand_in_columns():
    assert len(boxes_of(seen("car", box=TORSO), seen("car", box=LEGS))) == 2


def test_nobody_is_as_high_as_the_picture():
    assert len(boxes_of(seen(box=(0.3, 0.0, 0.6, 0.5)), seen(box=(0.3, 0.5, 0.6, 1.0)))) == 2


def test_a_driver_and_the_car_around_him_are_two():
    assert len(boxes_of(seen(box=WHOLE), seen("car", box=WHOLE))) == 2


def test_two_that_are_followed_are_not_joined_where_they_cross():
    left, right = (0.40, 0.30, 0.50, 0.70), (0.44, 0.30, 0.54, 0.70)
    crossing = (seen(box=left), seen(likelihood=0.8, box=right))
    assert len(boxes_of(*crossing)) == 1
    assert boxes_of(*crossing, known=(left, right)) == [left, right]


def test_two_that_are_almost_the_same_are_one_whatever_is_followed():
    left, right = (0.40, 0.30, 0.50, 0.70), (0.42, 0.30, 0.52, 0.70)
    assert boxes_of(seen(box=left), seen(likelihood=0.8, box=right), known=(left, right)) == [left]


def test_a_piece_of_one_that_is_followed_is_joined_to_it():
    assert boxes_of(seen(box=HEAD), seen(box=WHOLE), known=(WHOLE,)) == [WHOLE]


def test_who_is_followed_has_no_second_torso_on_the_head():
    above, below = (0.40, 0.20, 0.50, 0.40), (0.40, 0.41, 0.50, 0.61)
    assert len(boxes_of(seen(box=above), seen(likelihood=0.8, box=below))) == 1
    assert boxes_of(seen(box=above), seen(likelihood=0.8, box=below), known=(below,)) == [above, below]


@given(st.lists(detections, max_size=6, unique_by=lambda one: (one.likelihood, one.box)), st.randoms())
def test_the_order_in_which_pieces_are_found_does_not_matter(found, random):
    shuffled = random.sample(found, len(found))
    assert pieces.join(shuffled) == pieces.join(found)


@given(st.lists(detections, max_size=6), st.lists(boxes, max_size=3))
def test_joining_makes_nothing_up(found, known):
    joined = pieces.join(found, known)
    assert len(joined) <= len(found)
    assert {one.group for one in joined} == {one.group for one in found}
    assert list(joined) == sorted(joined, key=lambda one: (-one.likelihood, one.box))


@pytest.mark.parametrize(
    ("box", "expected"),
    [(HEAD, True), (TORSO, True), ((0.40, 0.30, 0.50, 0.60), False), (WHOLE, False), (ELSEWHERE, False)],
    ids=["a head", "half", "most", "all", "elsewhere"],
)
def test_a_piece_lies_in_the_whole_and_is_much_smaller(box, expected):
    assert pieces.is_piece(box, WHOLE) is expected


def test_the_whole_is_no_piece_of_its_head():
    assert not pieces.is_piece(WHOLE, HEAD)


RIDER, CYCLE = (0.40, 0.30, 0.50, 0.60), (0.36, 0.45, 0.54, 0.70)


@pytest.mark.parametrize("label", ["bicycle", "motorcycle"])
def test_a_cycle_under_a_person_is_ridden(label):
    cycle = seen(label, box=CYCLE, group="vehicle")
    assert pieces.ridden([cycle, seen(box=RIDER)]) == (cycle,)


def test_a_cycle_beside_a_person_is_not_ridden():
    assert pieces.ridden([seen("bicycle", box=(0.48, 0.45, 0.66, 0.70), group="vehicle"), seen(box=RIDER)]) == ()


def test_a_cycle_without_anybody_is_not_ridden():
    assert pieces.ridden([seen("bicycle", box=CYCLE, group="vehicle"), seen("dog", box=RIDER)]) == ()


def test_nobody_rides_a_car():
    assert pieces.ridden([seen("car", box=CYCLE), seen(box=RIDER)]) == ()
