"""In which area a thing is, though its foot point trembles over an edge."""

from __future__ import annotations

import pytest

from pipeline.core.incident import whereabouts
from tests.fakes import NS, area, thing

YARD = area(zone=True)._replace(key="yard", polygon=((0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)))
PLACES = {"yard": YARD, "": area()._replace(key="")}


def at(left, bottom=0.8):
    """A box of a tenth across whose foot point is in its middle."""
    return (left - 0.05, bottom - 0.4, left + 0.05, bottom)


OUTSIDE, INSIDE, EDGE_OUT, EDGE_IN = at(0.3), at(0.7), at(0.495), at(0.505)


class Camera:
    """A thing that is seen ten times a second."""

    def __init__(self, places=PLACES):
        self.places, self.where, self.seconds = places, {}, 0.0

    def see(self, box, *, times=1, **changes):
        for _ in range(times):
            self.seconds += 0.1
            seen = thing(box=box, at_s=self.seconds, **changes)
            self.where = whereabouts.step(self.where, [seen], self.places, round(self.seconds * NS))
        return self

    @property
    def area(self):
        return self.where[1].area

    def stays(self):
        return [(stay.area, round(stay.first_ns / NS, 1), round(stay.last_ns / NS, 1)) for stay in self.where[1].stays]


def test_a_thing_is_where_its_foot_point_is():
    assert Camera().see(OUTSIDE).area == ""
    assert Camera().see(INSIDE).area == "yard"


def test_where_the_rest_of_the_picture_is_ignored_a_thing_outside_is_nowhere():
    camera = Camera({"yard": YARD}).see(OUTSIDE)
    assert (camera.area, camera.stays()) == (None, [])
    assert camera.see(INSIDE).area == "yard"


def test_a_clear_entry_counts_at_once():
    camera = Camera().see(OUTSIDE, times=10).see(INSIDE)
    assert camera.area == "yard"
    assert camera.stays() == [("", 0.0, 1.0), ("yard", 1.1, 1.1)]


def test_a_thing_that_trembles_over_an_edge_stays_where_it_was():
    camera = Camera().see(EDGE_OUT)
    for _ in range(20):
        camera.see(EDGE_IN).see(EDGE_OUT)
    assert (camera.area, len(camera.stays())) == ("", 1)


def test_a_thing_that_stays_just_behind_an_edge_is_there_after_a_while():
    camera = Camera().see(EDGE_OUT, times=5)
    assert camera.see(EDGE_IN, times=4).area == ""
    assert camera.see(EDGE_IN).area == "yard"


def test_a_thing_that_comes_first_at_an_edge_is_on_the_side_that_it_is_on():
    assert Camera().see(EDGE_IN).area == "yard"


def test_another_area_begins_anew_to_be_sure():
    middle = area(zone=True)._replace(key="middle", polygon=((0.5, 0.0), (0.51, 0.0), (0.51, 1.0), (0.5, 1.0)))
    camera = Camera({"middle": middle, **PLACES}).see(EDGE_OUT)
    camera.see(at(0.505), times=3)
    assert camera.see(at(0.515), times=4).area == ""
    assert camera.see(at(0.515)).area == "yard"


def test_a_thing_of_which_the_lower_edge_is_not_seen_stays_where_it_was():
    camera = Camera().see(OUTSIDE, times=5)
    assert camera.see(INSIDE, times=20, whole=False).area == ""
    assert camera.see(INSIDE).area == "yard"


def test_a_thing_that_comes_first_in_part_is_somewhere():
    assert Camera().see(INSIDE, whole=False).area == "yard"


def test_stays_are_in_order_and_the_first_begins_with_the_thing():
    camera = Camera().see(OUTSIDE, times=5, born_s=0.0).see(INSIDE, times=5).see(OUTSIDE, times=5)
    assert camera.stays() == [("", 0.0, 0.5), ("yard", 0.6, 1.0), ("", 1.1, 1.5)]
    assert camera.where[1].entered_ns == pytest.approx(1.1 * NS)


def test_what_is_not_seen_to_be_there_stays_nowhere():
    camera = Camera().see(OUTSIDE, times=5, present=False)
    assert (camera.area, camera.stays(), camera.where[1].entered_ns) == ("", [], 0)


def test_a_stay_lasts_as_long_as_it_is_seen_there():
    camera = Camera().see(INSIDE, times=5).see(INSIDE, times=5, present=False)
    assert camera.stays() == [("yard", 0.0, 0.5)]
    assert camera.where[1].stays[0].stay_s == pytest.approx(0.5)


def test_only_the_last_stays_are_remembered():
    camera = Camera()
    for _ in range(20):
        camera.see(OUTSIDE).see(INSIDE)
    assert len(camera.stays()) == 16
    assert camera.stays()[-1][0] == "yard"


def test_what_is_followed_no_longer_is_forgotten():
    where = Camera().see(INSIDE).where
    assert whereabouts.step(where, [], PLACES, NS) == {}
