from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.geometry import area, covers
from pipeline.core.track import looking
from pipeline.core.track.sight import TrackRules
from pipeline.core.track.thing import Thing
from tests.fakes import NS

RULES = TrackRules()
HERE = (0.40, 0.40, 0.50, 0.70)
NEARBY = (0.41, 0.41, 0.51, 0.71)
ELSEWHERE = (0.10, 0.10, 0.20, 0.30)
FAR = (0.80, 0.10, 0.90, 0.25)
HEAD, LEGS = (0.43, 0.40, 0.47, 0.46), (0.42, 0.50, 0.48, 0.70)

edges = st.tuples(st.floats(0, 0.8), st.floats(0.01, 0.2))
boxes = st.tuples(edges, edges).map(lambda t: (t[0][0], t[1][0], t[0][0] + t[0][1], t[1][0] + t[1][1]))
regions = st.lists(boxes, max_size=8)


def known(*, hits=3, moved_s=0.0, rest_s=0.0, now_s=10.0, moving=()):
    """Whether a thing is looked for as one that stirs, and as one that stopped."""
    thing = Thing(1, HERE, HERE, 0, 0, hits=hits, moved_ns=round(moved_s * NS), rest_ns=round(rest_s * NS))
    stirring, stopped = looking.known([thing], moving, round(now_s * NS), RULES)
    assert {*stirring, *stopped} <= {HERE}
    return len(stirring), len(stopped)


def test_where_nothing_moves_there_is_no_look():
    assert looking.choose((), (), 2) == ()


def test_what_a_larger_look_shows_needs_no_look_of_its_own():
    assert looking.choose(((0.3, 0.3, 0.6, 0.8), HERE, NEARBY), (), 4) == ((0.3, 0.3, 0.6, 0.8),)


def test_what_is_apart_is_looked_at_one_by_one_largest_first():
    assert looking.choose((ELSEWHERE, HERE), (), 4) == (HERE, ELSEWHERE)


def test_head_and_legs_of_a_walker_are_looked_at_together():
    torso = (0.42, 0.45, 0.48, 0.52)
    assert looking.choose((HEAD, torso, LEGS), (), 4) == ((0.42, 0.40, 0.48, 0.70),)


def test_a_hand_that_moves_is_looked_at_with_the_one_whose_it_is():
    hand = (0.48, 0.50, 0.50, 0.54)
    assert looking.choose((hand,), (HERE,), 4) == (HERE,)


def test_what_is_known_is_looked_at_where_nothing_moves():
    assert looking.choose((), (HERE,), 4) == (HERE,)


def test_no_more_looks_come_than_asked_for_and_the_largest_stay():
    assert looking.choose((HERE, ELSEWHERE, FAR), (), 2) == (HERE, ELSEWHERE)


def test_where_there_is_no_time_for_each_what_is_close_is_looked_at_together():
    left, right = (0.10, 0.50, 0.20, 0.60), (0.21, 0.30, 0.31, 0.55)
    assert set(looking.choose((left, right, FAR), (), 3)) == {left, right, FAR}
    assert looking.choose((left, right, FAR), (), 2) == ((0.10, 0.30, 0.31, 0.60), FAR)


@given(regions, regions)
def test_every_region_is_shown_by_a_look_where_there_is_time(moving, known_boxes):
    looks = looking.choose(moving, known_boxes, 16)
    assert all(any(covers(look, box) > 0.8 for look in looks) for box in (*moving, *known_boxes))


@given(regions, st.integers(1, 3))
def test_looks_come_largest_first_each_once_and_no_more_than_asked_for(moving, most):
    looks = looking.choose(moving, (), most)
    assert len(looks) == min(most, len(looks))
    assert len(set(looks)) == len(looks)
    assert [area(one) for one in looks] == sorted((area(one) for one in looks), reverse=True)


@given(regions, st.integers(1, 3), st.randoms())
def test_the_order_of_regions_does_not_matter(moving, most, random):
    assert looking.choose(random.sample(moving, len(moving)), (), most) == looking.choose(moving, (), most)


def test_those_are_joined_first_that_grow_least():
    one, close, farther = (0.1, 0.1, 0.2, 0.3), (0.2, 0.1, 0.3, 0.3), (0.21, 0.31, 0.41, 0.51)
    assert looking.joined((one, close, farther), 4.0, 2) == [farther, (0.1, 0.1, 0.3, 0.3)]


def test_what_does_not_touch_is_not_joined_however_little_time_there_is():
    assert looking.joined((HERE, ELSEWHERE), 99.0) == [ELSEWHERE, HERE]


def test_what_would_be_seen_too_small_is_not_joined():
    across, down = (0.1, 0.1, 0.5, 0.12), (0.48, 0.1, 0.5, 0.5)
    assert len(looking.joined((across, down), 1.3)) == 2


def test_the_same_region_twice_is_one():
    assert looking.joined((HERE, HERE), 1.3) == [HERE]


def test_two_beside_one_another_have_a_region_as_large_as_both():
    assert looking.growth((0.1, 0.1, 0.2, 0.2), (0.2, 0.1, 0.3, 0.2)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ({"moved_s": 9.5}, (1, 0)),
        ({"moved_s": 8.0}, (0, 1)),
        ({"moved_s": 8.0, "moving": ((0.44, 0.5, 0.46, 0.55),)}, (1, 0)),
        ({"moved_s": 8.0, "moving": ((0.0, 0.0, 1.0, 1.0),)}, (0, 1)),
        ({"moved_s": 9.5, "hits": 1}, (0, 0)),
        ({"moved_s": 0.0, "now_s": 899.0}, (0, 1)),
        ({"moved_s": 0.0, "now_s": 901.0}, (0, 0)),
    ],
    ids=["moved of late", "stopped", "a hand moves", "all moves", "seen once", "stands long", "stands too long"],
)
def test_known_things_are_looked_for_by_how_they_moved(what, expected):
    assert known(**what) == expected
