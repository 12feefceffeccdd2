"""One thing keeps one number, whatever is seen of it in between."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.geometry import around, centre, overlap, shared
from pipeline.core.track.sight import Carried, Detection, Sight
from pipeline.core.track.tracker import Tracker, on_their_way, step
from pipeline.core.track.votes import find_best
from tests.fakes import NS, seen
from tests.sights import RULES, Camera, Passer, box, way

RED, BLUE = (90, 100, 200, 60, 120, 130), (120, 190, 90, 40, 130, 120)
WALKER = Passer(way(0.2, 0.8, to_s=8))


def touching_are_one(boxes):
    """Regions as the background gives them: what meets is one region."""
    found = []
    for one in boxes:
        meeting = [other for other in found if shared(one, other)]
        found = [other for other in found if other not in meeting] + [around((one, *meeting))]
    return found


def test_nothing_is_followed_where_nothing_is():
    assert Camera().watch(5).things == ()


def test_a_walker_keeps_the_number():
    one = Camera().watch(8, WALKER).only()
    assert (one.number, one.group) == (1, "person")
    assert overlap(one.box, WALKER.at(8)) > 0.6


def test_a_walker_keeps_the_number_with_one_look_a_second():
    assert Camera(look_every=10).watch(8, WALKER).numbers() == [1]


def test_a_walker_keeps_the_number_with_one_picture_a_second():
    slow = Passer(way(0.2, 0.8, to_s=12))
    assert Camera(per_s=1, look_every=1).watch(12, slow).numbers() == [1]


def test_a_walker_keeps_the_number_over_looks_that_miss():
    camera = Camera().watch(8, WALKER, missed=lambda at_s: 3 < at_s < 4)
    assert (camera.numbers(), camera.tracker.things_born) == ([1], 1)


def test_between_looks_a_thing_goes_on_with_what_moves():
    camera = Camera(look_every=10).watch(4.9, WALKER)
    assert centre(camera.only().box)[0] == pytest.approx(centre(WALKER.at(4.9))[0], abs=0.02)


def stood():
    """Somebody who moves where he stands, with nothing known of a way."""
    camera = Camera()
    for _ in range(4):
        camera.see(box(0.5), found=[seen(box=box(0.5))])
    return camera


def test_a_thing_is_not_carried_on_by_a_much_larger_region_that_holds_it():
    camera = Camera()
    for _ in range(4):
        camera.see((0.2, 0.2, 0.8, 0.9), found=[seen(box=box(0.5))])
    assert camera.see((0.25, 0.2, 0.85, 0.9)).only().box == box(0.5)


def test_a_thing_is_not_carried_on_by_a_region_that_took_in_something_else():
    camera = stood()
    assert camera.see((0.46, 0.48, 0.62, 0.72)).only().box == box(0.5)


def test_two_things_are_not_carried_on_by_a_region_that_holds_both():
    left, right, both = box(0.45), box(0.54), (0.41, 0.48, 0.58, 0.72)
    camera = Camera()
    for _ in range(4):
        camera.see(both, found=[seen(box=left), seen(box=right)])
    assert [one.box for one in camera.see((0.41, 0.48, 0.62, 0.72)).things] == [left, right]


def test_a_thing_is_carried_on_by_its_own_region_that_was_hidden_for_a_moment():
    camera = stood()
    camera.see().see()
    assert camera.see(box(0.562)).only().box == pytest.approx(box(0.562))


def test_two_apart_are_two():
    camera = Camera().watch(8, WALKER, Passer(way(0.8, 0.2, to_s=8, y=0.25, height=0.1, width=0.04)))
    assert camera.numbers() == [1, 2]


def test_two_who_go_in_one_moving_region_keep_their_numbers():
    pair = (Passer(way(0.2, 0.7, to_s=6)), Passer(way(0.26, 0.76, to_s=6)))
    camera = Camera().watch(6, *pair, merge=touching_are_one)
    assert camera.tracker.things_born == 2
    for one, passer in zip(camera.things, pair, strict=True):
        assert overlap(one.box, passer.at(6)) > 0.6


def test_two_of_other_colours_who_cross_keep_their_numbers():
    crossing = (
        Passer(way(0.2, 0.8, to_s=6), colours=RED),
        Passer(way(0.8, 0.2, to_s=6, y=0.62), colours=BLUE),
    )
    camera = Camera().watch(6, *crossing, merge=touching_are_one)
    assert [(one.number, one.colours) for one in camera.things] == [(1, RED), (2, BLUE)]
    assert camera.tracker.things_born == 2


def test_two_who_cross_keep_their_numbers_where_only_one_is_seen_for_a_while():
    left, right = way(0.2, 0.8, to_s=6), way(0.8, 0.2, to_s=6)
    hidden = Passer(lambda at_s: None if 2.7 < at_s < 3.3 else right(at_s), colours=BLUE)
    camera = Camera().watch(6, Passer(left, colours=RED), hidden, merge=touching_are_one)
    assert [(one.number, one.colours) for one in camera.things] == [(1, RED), (2, BLUE)]


def test_who_stops_for_twenty_seconds_keeps_the_number_with_one_look_a_second():
    walk, on = way(0.2, 0.5, to_s=4), way(0.5, 0.8, from_s=24, to_s=28)
    stops = Passer(lambda at_s: walk(at_s) if at_s < 24 else on(at_s))
    camera = Camera(look_every=10).watch(27, stops)
    assert (camera.numbers(), camera.tracker.things_born) == ([1], 1)


def test_who_stops_is_known_to_stand():
    stops = Passer(way(0.2, 0.5, to_s=4))
    camera = Camera(look_every=10).watch(14, stops)
    assert camera.only().rests(round(camera.at_s * NS), RULES)


def test_who_waits_stays_known():
    camera = Camera().watch(24, Passer(way(0.2, 0.5, to_s=4), likelihood=0.9))
    assert find_best(camera.only().votes).best == pytest.approx(0.9)
    assert camera.only().confirmed


def test_who_stands_and_moves_a_hand_keeps_the_number():
    walk = way(0.2, 0.5, to_s=4)
    camera = Camera().watch(4, Passer(walk))
    hand = (0.52, 0.55, 0.54, 0.58)
    for count in range(100):
        camera.see(*[hand] * (count % 3 == 0), found=[seen(box=walk(4))] if count % 5 == 0 else None)
    assert camera.numbers() == [1]


def test_a_car_that_drives_keeps_the_number():
    car = Passer(way(0.15, 0.75, to_s=3, y=0.6, width=0.2, height=0.14), label="car")
    assert Camera().watch(3, car).numbers() == [1]


def test_the_label_of_one_look_changes_nothing():
    camera = Camera()
    for count in range(40):
        place = box(0.2 + count / 100)
        found = seen("dog", 0.5, place) if count == 20 else seen(box=place)
        camera.see(place, found=[found] if count % 2 == 0 else None)
    assert [(one.number, one.group) for one in camera.things if one.confirmed] == [(1, "person")]


@pytest.mark.parametrize("hidden_s", [0.5, 1.0, 1.5])
def test_who_comes_from_behind_a_pillar_is_the_same_one(hidden_s):
    hidden = Passer(lambda at_s: None if 3 < at_s < 3 + hidden_s else WALKER.at(at_s))
    camera = Camera().watch(8, hidden)
    assert (camera.numbers(), camera.tracker.things_born) == ([1], 1)


def test_who_comes_a_minute_later_is_another_one():
    camera = Camera().watch(4, WALKER).watch(60)
    again = Passer(lambda at_s: way(0.2, 0.8, to_s=8)(at_s - 64))
    assert camera.watch(4, again).numbers() == [2]


def test_a_thing_found_by_what_it_looks_like_is_there():
    camera = Camera(look_every=10).watch(2, WALKER)
    there = box(0.42)
    camera.see(box(0.37), carried={1: Carried(there, 0.9)})
    assert camera.only().box == there


def test_a_thing_that_something_hardly_looks_like_is_not_there():
    camera = Camera(look_every=10).watch(2, WALKER)
    camera.see(box(0.36), carried={1: Carried(box(0.42), 0.5)})
    assert camera.only().box != box(0.42)


def test_patches_are_kept_of_what_is_on_its_way():
    camera = Camera().watch(2, WALKER)
    assert on_their_way(camera.tracker) == {1: camera.only().box}


def test_no_patches_are_kept_of_what_stands_or_has_no_name():
    standing = Camera().watch(8, Passer(way(0.2, 0.5, to_s=4)))
    unnamed = Camera()
    for count in range(30):
        unnamed.see(box(0.2 + count / 50, width=0.05, height=0.05), found=())
    assert unnamed.only().votes == ()
    assert (on_their_way(standing.tracker), on_their_way(unnamed.tracker)) == ({}, {})


def test_a_flash_does_not_lose_who_walks():
    camera = Camera().watch(3, WALKER)
    camera.see(global_change=True)
    camera.watch(3, WALKER)
    assert (camera.numbers(), camera.tracker.things_born) == ([1], 1)


def test_numbers_go_on_where_the_tracker_was_told_to_begin():
    camera = Camera()
    camera.tracker = Tracker(things_born=1_000_000)
    assert camera.watch(2, WALKER).numbers() == [1_000_001]


def test_little_is_remembered_however_long_it_runs():
    camera = Camera()
    for count in range(1000):
        flicker = [box((0.37 * count + 0.1 * k) % 0.9, (0.61 * count) % 0.9, 0.02, 0.02) for k in range(8)]
        camera.see(*flicker, found=[seen(box=flicker[0])] if count % 4 == 0 else None)
    assert len(camera.tracker.regions) < 100
    assert len(camera.things) < 30


places = st.tuples(st.floats(0, 0.8), st.floats(0, 0.8), st.floats(0.01, 0.2), st.floats(0.01, 0.2)).map(
    lambda one: (one[0], one[1], one[0] + one[2], one[1] + one[3])
)
colours = st.sampled_from([(), RED, BLUE])
kinds = st.sampled_from([("person", "person"), ("car", "vehicle"), ("bicycle", "vehicle"), ("dog", "animal"),
                         ("kite", "other")])  # fmt: skip
found = st.builds(
    lambda kind, likelihood, place, shade: Detection(*kind, likelihood, place, shade),
    kinds, st.floats(0.2, 1), places, colours,
)  # fmt: skip


@st.composite
def sights(draw):
    """Pictures at uneven distances in time, with anything in them."""
    at_ns, made = 0, []
    for _ in range(draw(st.integers(1, 15))):
        at_ns += draw(st.sampled_from([0, NS // 10, NS, 20 * NS]))
        moving = tuple(draw(st.lists(places, max_size=4)))
        look = draw(st.one_of(st.none(), st.lists(found, max_size=4)))
        carried = {number: Carried(draw(places), 0.9) for number in draw(st.sets(st.integers(1, 5), max_size=2))}
        looked_at = moving if look is not None else ()
        blurred = moving[:1] if draw(st.booleans()) else ()
        made.append(Sight(at_ns, moving, draw(st.integers(0, 9)) == 0, look, (), blurred, looked_at, carried))
    return made


@given(sights())
@settings(deadline=None, max_examples=60)
def test_whatever_is_seen_numbers_are_given_once_and_in_order(seen_):
    tracker, ever = Tracker(), set()
    for sight in seen_:
        before = {one.number for one in tracker.things}
        tracker = step(tracker, sight, RULES)
        numbers = [one.number for one in tracker.things]
        assert numbers == sorted(set(numbers))
        assert not (set(numbers) - before) & ever
        ever |= set(numbers)
        assert max((0, *numbers)) <= tracker.things_born


@given(sights())
@settings(deadline=None, max_examples=60)
def test_what_is_known_of_a_thing_fits_together(seen_):
    tracker = Tracker()
    for sight in seen_:
        tracker = step(tracker, sight, RULES)
        for one in tracker.things:
            assert one.born_ns <= one.seen_ns <= sight.at_ns
            assert one.moving_hits <= one.hits
            assert one.present <= one.proven
            assert not one.evident or one.seen_ns == sight.at_ns


@given(sights())
@settings(deadline=None, max_examples=60)
def test_the_same_sights_give_the_same_tracker(seen_):
    def followed():
        tracker = Tracker()
        for sight in seen_:
            tracker = step(tracker, sight, RULES)
        return tracker

    assert followed() == followed()
