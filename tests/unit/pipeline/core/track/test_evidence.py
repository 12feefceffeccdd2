"""When a thing is evidence, when it is certain, and when it is gone."""

from __future__ import annotations

import pytest

from tests.fakes import NS, seen
from tests.sights import RULES, Camera, Passer, box, way

HERE = (0.40, 0.40, 0.50, 0.70)
PARKED = (0.40, 0.50, 0.65, 0.70)


def evident(camera):
    return any(one.evident for one in camera.things)


def present(camera):
    return any(one.present for one in camera.things)


def look(camera, *found, **more):
    """A look at things that move where they are seen."""
    return camera.see(*(one.box for one in found), found=found, **more)


def test_a_clear_person_that_moves_is_evidence_at_once():
    assert evident(look(Camera(), seen(likelihood=0.7, box=HERE)))


def test_one_weak_sighting_is_no_evidence():
    assert not evident(look(Camera(), seen(likelihood=0.4, box=HERE)))


def test_two_weak_sightings_are_evidence():
    camera = Camera()
    for _ in range(2):
        look(camera, seen(likelihood=0.41, box=HERE))
    assert evident(camera)


def test_weak_sightings_far_apart_in_time_are_no_evidence():
    camera = Camera()
    for _ in range(5):
        look(camera, seen(likelihood=0.41, box=HERE))
        assert not evident(camera)
        camera.watch(8)


def test_a_person_where_nothing_moves_is_no_evidence():
    camera = Camera()
    for _ in range(20):
        camera.see((0.8, 0.8, 0.9, 0.9), found=[seen(box=HERE)])
        assert not evident(camera)


def test_a_blurred_person_that_is_recognised_is_evidence():
    assert evident(look(Camera(), seen(box=HERE), blurred=(HERE,)))


def test_furniture_that_stands_still_is_no_evidence():
    camera = Camera()
    for _ in range(20):
        look(camera, seen("kite", 0.8, HERE))
        assert not evident(camera)


def test_furniture_that_moved_is_evidence_without_a_name():
    camera = Camera()
    for count in range(12):
        look(camera, seen("kite", 0.8, (0.1 + 0.02 * count, 0.4, 0.4 + 0.02 * count, 0.7)))
    assert evident(camera)
    assert camera.only().group is None


def test_a_shadow_that_passes_over_a_parked_car_is_no_evidence_of_the_car():
    camera = Camera()
    for count in range(60):
        shadow = (0.2 + 0.01 * count, 0.52, 0.3 + 0.01 * count, 0.68)
        camera.see(shadow, found=[seen("car", 0.8, PARKED)] if count % 3 == 0 else None)
        assert not any(one.evident and one.group == "vehicle" for one in camera.things)


def test_a_shadow_that_passes_quickly_over_a_parked_car_is_no_evidence():
    camera = Camera()
    for count in range(9):
        shadow = (0.2 + 0.06 * count, 0.52, 0.3 + 0.06 * count, 0.68)
        camera.see(shadow, found=[seen("car", 0.8, PARKED)] if count % 3 == 0 else None)
        assert not evident(camera)


def test_a_car_that_stands_is_no_evidence():
    camera = Camera()
    for _ in range(60):
        assert camera.see(found=[seen("car", 0.8, PARKED)], looked_at=(PARKED,)).things == ()


def test_a_shadow_that_only_touches_a_parked_car_is_no_evidence():
    camera = Camera()
    for _ in range(20):
        camera.see((0.40, 0.50, 0.45, 0.55), found=[seen("car", 0.8, PARKED)])
        assert not evident(camera)


def test_light_that_flickers_on_a_parked_car_is_no_evidence():
    camera = Camera()
    for count in range(120):
        camera.see(*[PARKED] * (count % 4 == 0), found=[seen("car", 0.8, PARKED)] if count % 3 == 0 else None)
        assert not evident(camera)


def test_a_car_that_drives_is_evidence():
    car = Passer(way(0.15, 0.75, to_s=3, width=0.2, height=0.14), label="car")
    camera = Camera().watch(1.5, car)
    assert camera.only().evident
    assert camera.watch(1.5, car).only().confirmed


def test_a_car_that_drives_off_is_evidence():
    leaving = Passer(way(0.3, 0.8, from_s=5, to_s=8, width=0.2, height=0.14), label="car")
    camera = Camera().watch(7, leaving)
    assert any(one.evident and one.group == "vehicle" for one in camera.things)


def test_what_travels_is_a_thing_without_a_name():
    camera = Camera()
    for count in range(15):
        camera.see(box(0.2 + count / 50, width=0.1, height=0.1), found=())
    one = camera.only()
    assert (one.number, one.group, one.evident, one.present, one.confirmed) == (1, None, True, True, False)
    assert one.born_ns == NS // 10


def test_what_lingers_without_a_name_began_when_it_was_noticed():
    camera = Camera()
    for _ in range(90):
        camera.see(box(0.5, width=0.1, height=0.1), found=())
    assert camera.only().born_ns == pytest.approx(8.1 * NS)


def test_what_travels_without_a_name_gets_one_when_it_is_recognised():
    camera = Camera()
    for count in range(30):
        place = box(0.2 + count / 50)
        camera.see(place, found=[seen(box=place)] if count > 20 else ())
    assert (camera.only().number, camera.only().group) == (1, "person")


def test_what_moves_in_somebody_known_is_no_second_thing():
    camera = Camera().watch(4, Passer(way(0.3, 0.5, to_s=4)))
    for count in range(200):
        camera.see((0.5, 0.55, 0.54, 0.6), found=[seen(box=box(0.5))] if count % 3 == 0 else None)
    assert camera.numbers() == [1]


def test_a_known_thing_is_there_between_two_looks():
    camera = look(Camera(), seen(box=HERE))
    for _ in range(45):
        camera.see(HERE)
        assert present(camera)


def test_what_moves_is_not_known_for_ever_without_a_look():
    camera = look(Camera(), seen(box=HERE))
    for _ in range(60):
        camera.see(HERE)
    assert not present(camera)


def test_leaves_that_move_on_do_not_keep_somebody_there():
    camera = Camera()
    leaves = [(0.1 * k, 0.75, 0.1 * k + 0.05, 0.8) for k in range(6)]
    camera.see(HERE, *leaves, found=[seen(box=HERE)])
    for _ in range(50):
        camera.see(*leaves, found=())
    assert not present(camera)


def test_who_stands_and_is_seen_is_there_but_no_evidence():
    stops = Passer(way(0.3, 0.5, to_s=4))
    camera = Camera(look_every=1).watch(20, stops)
    for _ in range(11):
        camera.watch(0.1, stops)
        assert camera.only().present == (camera.only().now is not None)
        assert not camera.only().evident


def test_who_stands_for_very_long_belongs_to_the_picture():
    rules = RULES._replace(max_still_s=30.0)
    camera = Camera(look_every=1, rules=rules).watch(28, Passer(way(0.3, 0.5, to_s=4)))
    assert camera.see(found=[seen(box=box(0.5))]).only().present
    camera.pictures += 80
    assert not any(one.present for one in camera.see(found=[seen(box=box(0.5))]).things)


def test_nothing_is_there_that_never_was_evidence():
    camera = look(Camera(), seen(likelihood=0.4, box=HERE))
    assert not camera.only().present
    assert not camera.only().proven


def test_what_was_seen_once_is_not_certain():
    assert not look(Camera(), seen(likelihood=0.99, box=HERE)).only().confirmed


def test_who_walks_by_more_than_his_size_is_certain_after_two_looks():
    camera = Camera(per_s=1, look_every=1)
    look(camera, seen(box=box(0.2)))
    look(camera, seen(box=box(0.45)))
    assert (camera.only().hits, camera.only().confirmed) == (2, True)


def test_who_comes_a_little_is_certain_after_three_looks():
    camera = Camera(per_s=2, look_every=1)
    certain = [look(camera, seen(box=box(0.2 + 0.05 * count))).only().confirmed for count in range(3)]
    assert certain == [False, False, True]


def test_who_moves_in_one_place_is_certain_after_some_looks():
    camera = Camera(per_s=3, look_every=1)
    certain = [look(camera, seen(box=HERE)).only().confirmed for _ in range(6)]
    assert certain == [False] * 5 + [True]


def test_a_parked_car_at_which_light_moves_is_never_certain():
    camera = Camera(per_s=3, look_every=1)
    for count in range(60):
        shade = (0.36 + 0.002 * count, 0.45, 0.60 + 0.002 * count, 0.75)
        camera.see(shade, found=[seen("car", box=PARKED)])
    assert not any(one.confirmed for one in camera.things)


def test_what_is_certain_stays_certain():
    camera = Camera().watch(4, Passer(way(0.2, 0.5, to_s=4)))
    assert camera.only().confirmed
    assert camera.watch(1.5).only().confirmed


def after(camera, misses, place, *, moving=()):
    """What is followed after looks at a place that did not show it."""
    for _ in range(misses):
        camera.see(*moving, found=[], looked_at=(place,))
    return camera.numbers()


@pytest.mark.parametrize(("misses", "numbers"), [(1, [1]), (2, [])])
def test_a_thing_that_goes_out_of_the_picture_is_forgotten_after_two_misses(misses, numbers):
    camera = Camera().watch(3, Passer(way(0.5, 0.08, to_s=3)))
    assert after(camera, misses, camera.only().box) == numbers


@pytest.mark.parametrize(("misses", "numbers"), [(5, [1]), (6, [])])
def test_a_thing_on_its_way_is_forgotten_after_six_misses(misses, numbers):
    camera = Camera().watch(3, Passer(way(0.2, 0.5, to_s=3)))
    assert after(camera, misses, camera.only().box) == numbers


@pytest.mark.parametrize(("misses", "numbers"), [(3, [1]), (4, [])])
def test_a_thing_that_stands_is_forgotten_after_four_misses(misses, numbers):
    camera = Camera(look_every=1).watch(10, Passer(way(0.3, 0.5, to_s=4)))
    camera.see(found=[seen(box=box(0.5))])
    assert after(camera, misses, box(0.5)) == numbers


@pytest.mark.parametrize(("misses", "numbers"), [(5, [1]), (6, [])])
def test_who_moves_a_hand_where_he_stands_is_forgotten_after_six_misses(misses, numbers):
    camera = Camera(look_every=1).watch(10, Passer(way(0.3, 0.5, to_s=4)))
    camera.see(found=[seen(box=box(0.5))])
    assert after(camera, misses, box(0.5), moving=(box(0.5),))[:1] == numbers


def without_looks(camera, seconds):
    """What is followed after so long without a look and without anything that moves."""
    for _ in range(round(seconds * camera.per_s)):
        camera.see()
    return camera.numbers()


@pytest.mark.parametrize(("seconds", "numbers"), [(14.8, [1]), (15.2, [])])
def test_a_thing_that_stands_is_forgotten_after_a_while_without_a_look(seconds, numbers):
    camera = Camera(look_every=1).watch(10, Passer(way(0.3, 0.5, to_s=4)))
    camera.see(found=[seen(box=box(0.5))])
    assert without_looks(camera, seconds) == numbers


@pytest.mark.parametrize(("misses", "numbers"), [(1, [1]), (2, [])])
def test_what_never_was_evidence_is_forgotten_after_two_misses(misses, numbers):
    assert after(look(Camera(), seen(likelihood=0.4, box=HERE)), misses, HERE) == numbers


@pytest.mark.parametrize(("seconds", "numbers"), [(2.9, [1]), (3.2, [])])
def test_what_was_evidence_is_forgotten_later(seconds, numbers):
    assert without_looks(look(Camera(), seen(box=HERE)), seconds) == numbers


@pytest.mark.parametrize(("seconds", "numbers"), [(0.8, [1]), (1.0, [])])
def test_what_has_no_name_is_forgotten_after_a_second(seconds, numbers):
    camera = Camera()
    for count in range(15):
        camera.see(box(0.2 + count / 50, width=0.1, height=0.1), found=())
    assert without_looks(camera, seconds) == numbers
