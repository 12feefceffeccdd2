"""What a thing learns of a look."""

from __future__ import annotations

import pytest

from tests.fakes import NS, seen
from tests.sights import Camera, Passer, box, way

HERE = (0.40, 0.40, 0.50, 0.70)
HEAD = (0.43, 0.40, 0.47, 0.48)
RED, BLUE = (90, 100, 200, 60, 120, 130), (120, 190, 90, 40, 130, 120)


def coloured(colours, place):
    one = seen(box=place)
    return type(one)(one.label, one.group, one.likelihood, one.box, colours)


def look(camera, *found):
    """A look at things that move where they are seen."""
    return camera.see(*(one.box for one in found), found=found)


def walked(steps=10, **changes):
    """A camera that saw somebody walk to `HERE`."""
    camera = Camera()
    for count in range(steps):
        left = 0.40 - 0.01 * (steps - 1 - count)
        look(camera, seen(box=(left, 0.4, left + 0.1, 0.7), **changes))
    return camera


def test_what_is_seen_where_something_moves_is_a_new_thing():
    one = look(Camera(), seen(box=HERE)).only()
    assert (one.number, one.box, one.first, one.hits, one.moving_hits) == (1, HERE, HERE, 1, 1)


@pytest.mark.parametrize("moving", [(), ((0.1, 0.1, 0.2, 0.2),), ((0.40, 0.40, 0.50, 0.48),)])
def test_what_is_seen_where_nothing_moves_is_no_thing(moving):
    assert Camera().see(*moving, found=[seen(box=HERE)]).things == ()


def test_what_is_seen_too_doubtfully_does_not_count():
    assert look(Camera(), seen(likelihood=0.34, box=HERE)).things == ()
    assert len(look(Camera(), seen(likelihood=0.35, box=HERE)).things) == 1


def test_furniture_counts_only_where_it_went_somewhere():
    still, moved = Camera(), Camera()
    for count in range(20):
        look(still, seen("kite", 0.8, HERE))
        look(moved, seen("kite", 0.8, (0.1 + 0.02 * count, 0.4, 0.4 + 0.02 * count, 0.7)))
    assert all(not one.votes for one in still.things)
    assert any(one.votes for one in moved.things)


def test_a_thing_came_with_the_region_in_which_it_moves():
    camera = Camera()
    for _ in range(10):
        camera.see(HERE)
    assert look(camera, seen(box=HERE)).only().born_ns == NS // 10


def test_a_thing_did_not_come_with_a_region_of_another_one():
    camera = walked()
    beside = (0.50, 0.40, 0.60, 0.70)
    camera.see((0.40, 0.40, 0.60, 0.70), found=[seen(box=HERE), seen(box=beside)])
    assert [one.born_ns for one in camera.things] == [NS // 10, 11 * NS // 10]


@pytest.mark.parametrize(
    "part",
    [
        (0.40, 0.40, 0.50, 0.56),
        (0.42, 0.40, 0.48, 0.56),
        HEAD,
    ],
    ids=["upper half", "torso", "head"],
)
def test_a_part_seen_after_the_whole_person_does_not_shrink_the_box(part):
    camera = walked()
    camera.see(HERE, found=[seen(box=part)])
    assert (camera.only().box, camera.only().pieces) == (HERE, 1)


def test_who_is_seen_in_part_again_and_again_is_small():
    camera = walked()
    for _ in range(3):
        camera.see(HERE, found=[seen(box=(0.42, 0.40, 0.48, 0.60))])
    assert camera.only().box == HERE
    camera.see(HERE, found=[seen(box=(0.42, 0.40, 0.48, 0.60))])
    assert (camera.only().number, camera.only().box, camera.only().pieces) == (1, (0.42, 0.40, 0.48, 0.60), 0)


def test_the_whole_person_seen_after_the_head_is_the_same_thing():
    camera = look(Camera(), seen(box=(0.42, 0.40, 0.48, 0.60)))
    camera.see(HERE, found=[seen(box=HERE)])
    assert (camera.only().number, camera.only().box) == (1, HERE)


def test_something_of_quite_another_size_is_another_thing():
    camera = walked()
    large = (0.45, 0.10, 0.85, 0.90)
    camera.see(large, found=[seen(box=large)])
    assert len(camera.things) == 2


def test_something_small_beside_it_is_another_thing():
    camera = walked()
    small = (0.51, 0.50, 0.61, 0.61)
    camera.see(HERE, small, found=[seen(box=small)])
    assert camera.numbers() == [1, 2]


def test_one_that_was_seen_often_is_preferred_to_one_that_was_seen_once():
    beside, between = (0.46, 0.40, 0.56, 0.70), (0.434, 0.40, 0.534, 0.70)
    both = (0.40, 0.40, 0.56, 0.70)
    camera = Camera()
    for _ in range(10):
        camera.see(both, found=[seen(box=HERE)])
    camera.see(both, found=[seen(box=HERE), seen(box=beside)])
    camera.see(both, found=[seen(box=between)])
    assert [(one.number, one.now is not None) for one in camera.things] == [(1, True)]


def test_what_is_far_away_is_another_thing():
    camera = walked()
    look(camera, seen(box=(0.80, 0.40, 0.90, 0.70)))
    assert camera.numbers() == [1, 2]


def test_two_looks_far_apart_in_time_may_show_a_thing_farther_away():
    there = (0.55, 0.40, 0.65, 0.70)
    assert look(look(Camera(per_s=1), seen(box=HERE)), seen(box=there)).numbers() == [1]


def test_of_two_who_are_as_near_that_of_like_colours_is_the_one():
    camera = Camera()
    look(camera, coloured(RED, HERE))
    left, right = (0.37, 0.40, 0.47, 0.70), (0.43, 0.40, 0.53, 0.70)
    camera.see((0.37, 0.40, 0.53, 0.70), found=[coloured(BLUE, left), coloured(RED, right)])
    assert [(one.number, one.now.box) for one in camera.things] == [(1, right), (2, left)]


def test_colours_change_slowly():
    camera = look(Camera(), coloured((100,) * 6, HERE))
    look(camera, coloured((110,) * 6, HERE))
    assert camera.only().colours == (103,) * 6
    look(camera, seen(box=HERE))
    assert camera.only().colours == (103,) * 6


def test_every_look_votes_what_it_is():
    camera = Camera()
    for label, likelihood in (("car", 0.5), ("truck", 0.9), ("car", 0.6)):
        look(camera, seen(label, likelihood, HERE))
    assert [(vote.label, pytest.approx(vote.evidence), vote.best) for vote in camera.only().votes] == [
        ("car", 1.1, 0.6),
        ("truck", 0.9, 0.9),
    ]


def test_first_looks_may_err_what_it_is():
    camera = look(Camera(), seen("dog", 0.5, HERE))
    for _ in range(3):
        look(camera, seen(box=HERE))
    assert (camera.only().number, camera.only().group) == (1, "person")


def test_a_dog_that_comes_to_somebody_well_known_is_another_thing():
    camera = walked()
    look(camera, seen(box=HERE), seen("dog", box=(0.45, 0.55, 0.58, 0.70)))
    assert [one.group for one in camera.things] == ["person", "animal"]


def test_a_look_that_does_not_show_it_is_a_miss():
    camera = walked()
    assert camera.see(HERE, found=[]).only().misses == 1
    assert camera.see(HERE, found=[]).only().misses == 2
    assert look(camera, seen(box=HERE)).only().misses == 0


def test_a_look_elsewhere_is_no_miss():
    assert walked().see(found=[], looked_at=((0.8, 0.1, 0.9, 0.3),)).only().misses == 0


def test_the_way_of_a_thing_is_measured_in_its_own_sizes():
    one = Camera(look_every=1).watch(8, Passer(way(0.2, 0.8, to_s=8))).only()
    assert one.path == pytest.approx(0.6 / 0.24, rel=0.1)
    assert one.path_s == pytest.approx(8, abs=0.5)
    assert one.velocity == pytest.approx((0.6 / 8, 0), abs=0.01)
    assert one.speed == "slow"


def test_a_box_that_trembles_goes_no_way():
    camera = Camera()
    for count in range(100):
        look(camera, seen(box=box(0.5 + 0.004 * (count % 2))))
    assert camera.only().path < 0.5
    assert camera.only().rest_ns == NS // 10
    assert camera.only().direction == "none"


def test_the_farthest_that_it_got_is_kept_though_it_came_back():
    camera = Camera(look_every=1).watch(4, Passer(way(0.3, 0.7, to_s=4)))
    back = way(0.7, 0.3, from_s=4, to_s=8)
    assert camera.watch(4, Passer(back)).only().travelled == pytest.approx(0.4 / 0.24, rel=0.1)


RIDER, CYCLE = (0.40, 0.30, 0.50, 0.60), (0.36, 0.45, 0.54, 0.70)


def ride(camera, left, *, cycle=True, rider=True):
    found = [seen(box=(left, 0.30, left + 0.10, 0.60))] * rider
    found += [seen("bicycle", box=(left - 0.04, 0.45, left + 0.14, 0.70), group="vehicle")] * cycle
    return camera.see((left - 0.04, 0.30, left + 0.14, 0.70), found=found)


def test_a_cycle_and_its_rider_are_one_thing_that_says_what_it_rides():
    camera = Camera()
    for count in range(10):
        ride(camera, 0.2 + 0.03 * count)
    assert (camera.numbers(), camera.only().group, camera.only().rides) == ([1], "person", "bicycle")


def test_what_was_ridden_once_is_known_where_only_the_rider_is_seen():
    camera = ride(Camera(), 0.2)
    assert ride(camera, 0.22, cycle=False).only().rides == "bicycle"


def test_a_cycle_without_a_rider_is_a_vehicle():
    camera = ride(Camera(), 0.2, rider=False)
    assert (camera.only().group, camera.only().rides) == ("vehicle", "")


def test_who_passes_a_parked_cycle_rides_nothing():
    camera = Camera()
    parked = seen("bicycle", box=(0.60, 0.50, 0.75, 0.70), group="vehicle")
    for count in range(10):
        place = box(0.3 + 0.02 * count)
        camera.see(place, found=[seen(box=place), parked])
    assert camera.only().rides == ""
