from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.track.regions import follow
from pipeline.core.track.sight import Sight, TrackRules
from tests.fakes import NS

RULES = TrackRules()


def square(left, top=0.4, size=0.1):
    return (left, top, left + size, top + size)


class Camera:
    """Follows the regions of pictures that come at even distances in time."""

    def __init__(self, interval_s=0.1, rules=RULES):
        self.interval_s, self.rules = interval_s, rules
        self.regions, self.at_ns, self.born = (), 0, 0

    def see(self, *boxes, blurred=(), interval_s=None):
        self.at_ns += round((interval_s or self.interval_s) * NS)
        self.regions = follow(self.regions, Sight(self.at_ns, boxes, blurred=blurred), self.rules, self.born)
        self.born = max((self.born, *(region.number for region in self.regions)))
        return self

    def numbers(self):
        return [region.number for region in self.regions]

    def only(self):
        (region,) = self.regions
        return region


def test_nothing_is_followed_where_nothing_moves():
    assert Camera().see().regions == ()


def test_regions_are_numbered_as_they_come():
    assert Camera().see(square(0.1), square(0.5)).see(square(0.1), square(0.5), square(0.8)).numbers() == [1, 2, 3]


def test_a_region_keeps_its_number_along_its_way():
    camera = Camera()
    for step in range(20):
        camera.see(square(0.1 + step / 50))
    assert camera.only().number == 1
    assert camera.only().box == square(0.48)
    assert camera.only().first == square(0.1)
    assert camera.only().travelled == pytest.approx(0.38)
    assert camera.only().age_s == pytest.approx(1.9)


def test_a_region_is_found_again_in_the_nearest_box():
    camera = Camera().see(square(0.3)).see(square(0.36), square(0.32))
    assert camera.regions[0].box == square(0.32)


def test_older_regions_choose_first():
    camera = Camera().see(square(0.3)).see(square(0.3), square(0.42)).see(square(0.35))
    assert camera.regions[0].box == square(0.35)
    assert (camera.regions[1].sightings, camera.regions[1].chances) == (1, 2)


def test_a_region_does_not_leap_to_something_far_away():
    camera = Camera().see(square(0.1)).see(square(0.8))
    assert camera.numbers() == [1, 2]
    assert camera.regions[0].box == square(0.1)


def test_a_longer_time_allows_a_longer_way():
    assert Camera(interval_s=1.0).see(square(0.1)).see(square(0.4)).numbers() == [1]
    assert Camera(interval_s=0.5).see(square(0.1)).see(square(0.4)).numbers() == [1, 2]


def test_a_way_is_not_longer_than_that_of_two_seconds_however_long_nobody_looked():
    assert Camera(interval_s=9.0).see(square(0.1)).see(square(0.69)).numbers() == [1]
    assert Camera(interval_s=9.0).see(square(0.1)).see(square(0.71)).numbers() == [1, 2]


def test_something_of_quite_another_size_is_another_region():
    assert Camera().see(square(0.4, size=0.4)).see(square(0.4, size=0.11)).numbers() == [1]
    assert Camera().see(square(0.4, size=0.4)).see(square(0.4, size=0.09)).numbers() == [1, 2]


def test_a_region_that_is_not_seen_is_remembered_for_a_while():
    camera = Camera().see(square(0.4)).see(square(0.4))
    for _ in range(9):
        camera.see()
    assert camera.see(square(0.4)).only().number == 1


def test_a_region_that_is_not_seen_for_long_is_gone():
    camera = Camera().see(square(0.4)).see(square(0.4))
    for _ in range(11):
        camera.see()
    assert camera.see(square(0.4)).only().number == 2


def test_a_slow_camera_may_miss_a_region_once():
    camera = Camera(interval_s=2.0).see(square(0.4)).see()
    assert camera.numbers() == [1]
    assert camera.see().numbers() == []


def test_numbers_are_not_given_again():
    camera = Camera(interval_s=2.0).see(square(0.4)).see().see().see(square(0.4))
    assert camera.numbers() == [2]


def test_it_is_counted_how_often_a_region_could_have_been_seen_and_was():
    region = Camera().see(square(0.4)).see().see(square(0.4)).see().only()
    assert (region.sightings, region.chances) == (2, 4)


def test_the_way_gone_is_longer_than_the_distance_got_where_it_sways():
    region = Camera().see(square(0.40)).see(square(0.42)).see(square(0.40)).see(square(0.41)).only()
    assert region.path == pytest.approx(0.05)
    assert region.travelled == pytest.approx(0.01)


def test_the_greatest_size_of_a_region_is_kept():
    assert Camera().see(square(0.4)).see(square(0.4, size=0.2)).see(square(0.4)).only().largest == pytest.approx(0.2)


def test_it_is_counted_how_often_a_region_was_out_of_focus():
    here = square(0.4)
    assert Camera().see(here, blurred=(here,)).see(here).see(here, blurred=(here,)).only().blurred == 2


def test_it_is_counted_how_often_a_region_stood_out():
    large = square(0.1, size=0.3)
    alone = Camera().see(large).see(large, square(0.8)).regions[0]
    beside = Camera().see(large, square(0.5, size=0.4)).see(large, square(0.5, size=0.4)).regions[0]
    assert (alone.prominent, beside.prominent) == (2, 0)


def test_none_of_many_regions_stands_out():
    many = [square(0.1, size=0.3), *(square(0.5 + k / 10, size=0.02) for k in range(4))]
    assert [region.prominent for region in Camera().see(*many).regions] == [0] * 5


edges = st.tuples(st.floats(0, 0.8), st.floats(0.01, 0.2))
boxes = st.tuples(edges, edges).map(lambda t: (t[0][0], t[1][0], t[0][0] + t[0][1], t[1][0] + t[1][1]))


@given(st.lists(st.lists(boxes, max_size=5), max_size=12))
def test_every_box_is_one_region_and_regions_are_oldest_first(pictures):
    camera = Camera()
    for picture in pictures:
        camera.see(*picture)
        assert camera.numbers() == sorted(set(camera.numbers()))
        shown = sorted(region.box for region in camera.regions if region.seen_ns == camera.at_ns)
        assert shown == sorted(picture)
        assert all(region.sightings <= region.chances for region in camera.regions)


def test_few_regions_are_remembered_however_long_it_flickers():
    camera = Camera()
    for count in range(1000):
        camera.see(*[square((0.37 * count + 0.1 * k) % 0.9, (0.61 * count) % 0.9, 0.02) for k in range(8)])
    assert len(camera.regions) < 100
