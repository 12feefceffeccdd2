from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.geometry import area, covers
from pipeline.core.incident import standing
from pipeline.core.incident.standing import Standing
from tests.fakes import NS, seen

HERE = (0.4, 0.4, 0.5, 0.7)
NEARBY = (0.41, 0.41, 0.51, 0.71)
ELSEWHERE = (0.1, 0.1, 0.2, 0.3)

edges = st.tuples(st.floats(0, 0.8), st.floats(0.01, 0.2))
boxes = st.tuples(edges, edges).map(lambda t: (t[0][0], t[1][0], t[0][0] + t[0][1], t[1][0] + t[1][1]))
largest_first = st.lists(boxes, max_size=8).map(lambda found: tuple(sorted(found, key=area, reverse=True)))


def test_what_a_larger_look_shows_needs_no_look_of_its_own():
    assert standing.crops(((0.3, 0.3, 0.6, 0.8), HERE, NEARBY), 4) == ((0.3, 0.3, 0.6, 0.8),)


def test_regions_apart_are_looked_at_one_by_one_largest_first():
    assert standing.crops((HERE, ELSEWHERE), 4) == (HERE, ELSEWHERE)


def test_no_more_looks_come_than_asked_for():
    assert standing.crops((HERE, ELSEWHERE), 1) == (HERE,)


def test_nothing_moves_so_there_is_no_look():
    assert standing.crops((), 2) == ()


@given(largest_first)
def test_every_region_is_shown_by_a_look(regions):
    looks = standing.crops(regions, len(regions))
    assert all(any(look == box or covers(look, box) > 0.8 for look in looks) for box in regions)


@given(largest_first, st.integers(1, 3))
def test_where_only_some_can_be_looked_at_the_smallest_are_left_out(regions, most):
    assert standing.crops(regions, most) == standing.crops(regions, len(regions))[:most]


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        (HERE, True),
        (NEARBY, True),
        (ELSEWHERE, False),
        ((0.43, 0.45, 0.47, 0.55), True),
        ((0.0, 0.0, 1.0, 0.42), False),
    ],
    ids=["it moves", "nearly it", "beside", "a part within it", "a strip at its edge"],
)
def test_what_was_seen_is_what_moved_or_not(box, expected):
    assert standing.moved(seen(box=HERE), (box,)) is expected


def test_what_comes_is_noted_with_its_time():
    (one,) = standing.noted((), [seen(box=HERE)], (HERE,), (HERE,), 5 * NS)
    assert one == Standing(seen(box=HERE), 5 * NS, 5 * NS)


def test_what_stood_there_all_the_time_is_not_noted():
    assert standing.noted((), [seen(box=HERE)], (ELSEWHERE,), (ELSEWHERE,), NS) == ()


def test_what_nobody_can_name_is_not_noted():
    assert standing.noted((), [seen("kite", box=HERE)], (HERE,), (HERE,), NS) == ()


def test_what_is_seen_again_keeps_the_time_it_came():
    before = (Standing(seen(box=HERE), NS, NS),)
    (one,) = standing.noted(before, [seen(box=NEARBY)], (), (HERE,), 4 * NS)
    assert (one.came_ns, one.seen_ns, one.detection.box) == (NS, 4 * NS, NEARBY)


def test_another_kind_of_thing_at_the_same_place_has_just_come():
    before = (Standing(seen("car", box=HERE), NS, NS),)
    (one,) = standing.noted(before, [seen("person", box=HERE)], (HERE,), (HERE,), 9 * NS)
    assert one.came_ns == 9 * NS


def test_what_was_looked_for_and_not_seen_is_forgotten():
    assert standing.noted((Standing(seen(box=HERE), NS, NS),), [], (), (HERE,), 2 * NS) == ()


def test_what_was_not_looked_for_is_still_believed_to_be_there():
    one = Standing(seen(box=HERE), NS, NS)
    assert standing.noted((one,), [], (), (ELSEWHERE,), 2 * NS) == (one,)


def test_what_nobody_saw_for_long_is_forgotten():
    assert standing.noted((Standing(seen(box=HERE), NS, NS),), [], (), (ELSEWHERE,), 7 * NS) == ()


def test_what_stopped_is_still_there():
    one = Standing(seen(box=HERE), 0, 0)
    assert standing.still_there((one,), (ELSEWHERE,), 60 * NS, 900) == (one,)


def test_what_something_moves_at_is_not_standing():
    assert standing.still_there((Standing(seen(box=HERE), 0, 0),), (NEARBY,), NS, 900) == ()


def test_what_stood_too_long_belongs_to_the_picture():
    one = Standing(seen(box=HERE), 0, 0)
    assert standing.still_there((one,), (), 899 * NS, 900) == (one,)
    assert standing.still_there((one,), (), 900 * NS, 900) == ()


def test_a_thing_that_two_looks_show_is_one_thing():
    twice = (seen(likelihood=0.9, box=HERE), seen(likelihood=0.6, box=NEARBY))
    assert standing.apart(twice) == twice[:1]


def test_a_thing_that_the_edge_of_a_look_cuts_off_is_no_second_thing():
    left, top, right, bottom = HERE
    half = seen(likelihood=0.6, box=(left, top, (left + right) / 2, bottom))
    assert standing.apart([half, seen(likelihood=0.9, box=HERE)]) == (seen(likelihood=0.9, box=HERE),)


def test_two_things_beside_one_another_are_two():
    assert len(standing.apart([seen(box=HERE), seen(box=ELSEWHERE)])) == 2


def test_a_driver_and_the_car_around_him_are_two():
    assert len(standing.apart([seen(box=HERE), seen("car", box=HERE)])) == 2
