"""What one picture shows of one area, and what an incident learns of it."""

from __future__ import annotations

import pytest

from pipeline.core.incident import incidents, seeing
from pipeline.core.incident.presence import Presence
from pipeline.core.incident.spots import Spot
from pipeline.core.incident.whereabouts import Place, ZoneStay
from pipeline.core.messages import SceneClassified
from pipeline.core.track.votes import Vote
from tests.fakes import NS, course, frame, member, thing, with_members

HERE, THERE = (0.4, 0.4, 0.5, 0.8), (0.7, 0.4, 0.8, 0.8)


def place(area, since_s=0.0):
    return Place(area, (ZoneStay(area, round(since_s * NS), round(since_s * NS)),))


def see(*things, areas=None, going=None, spot=None, at_s=4.0):
    """What the area `yard` sees of a picture; all things are there unless told otherwise."""
    where = areas or {one.number: place("yard") for one in things}
    scene = SceneClassified(frame=frame(at_s=at_s), area_ratio=0.02, looked=True, things=things)
    return seeing.see(spot or Spot(), scene, where, going, key="yard", gap_s=3.0)


def test_what_is_in_the_area_and_present_is_seen():
    absent = thing(number=2, present=False)
    seen, decision = see(thing(), absent, thing(number=3), areas={1: place("yard"), 2: place("yard"), 3: place("")})
    assert ([one.number for one in seen.things], decision) == ([1], "start")


def test_what_is_elsewhere_starts_nothing_here():
    assert see(thing(), areas={1: place("")})[1] is None


def test_an_incident_begins_when_the_thing_came_into_the_area():
    seen, _ = see(thing(born_s=1.0), areas={1: place("yard", 3.0)})
    assert seen.presence.began_ns == 3 * NS


def test_of_an_area_where_nothing_is_nothing_moves():
    assert see()[0].area_ratio == 0
    assert see(thing())[0].area_ratio == pytest.approx(0.02)


def test_the_area_is_as_it_was_until_the_decision_is_acted_on():
    spot = Spot()
    seen, _ = see(thing(), spot=spot)
    assert (spot.presence, seen.presence.last_ns) == (Presence(), 4 * NS)


def test_things_of_the_incident_that_goes_on_start_none():
    spot = Spot(presence=Presence(0, 3 * NS, 3 * NS))
    assert see(thing(), spot=spot, going=with_members(member()))[1] is None


def test_who_went_to_the_next_area_has_not_left_the_picture():
    spot = Spot(presence=Presence(0, 2 * NS, 3 * NS))
    things = (thing(at_s=4.0), thing(number=2, at_s=4.0))
    areas = {1: place("", 3.0), 2: place("yard", 3.9)}
    assert see(*things, areas=areas, spot=spot, going=with_members(member()))[1] is None


def test_who_comes_when_all_left_the_picture_makes_the_next_incident():
    spot = Spot(presence=Presence(0, 2 * NS, 3 * NS))
    new = thing(number=2, at_s=4.0, born_s=3.8)
    assert see(new, spot=spot, going=with_members(member()))[1] == "next"


def noted(before, *things, at_s=4.0):
    return seeing.note(before, see(*things, at_s=at_s)[0])


def test_an_incident_learns_who_is_there():
    made = noted(course(), thing(), thing("car", number=2, box=THERE))
    assert [one.number for one in made.members] == [1, 2]
    assert (made.frame.pts_ns, made.boxes, made.area_ratio) == (4 * NS, (HERE, THERE), 0.02)


def test_an_incident_is_named_by_who_is_there():
    assert noted(course(), thing("dog")).group == "animal"
    assert noted(course(), thing(votes=(), confirmed=False)).group is None


def test_what_was_named_before_it_came_is_named_at_once():
    votes = (Vote("truck", "vehicle", 3.0, 0.95),)
    made = noted(course(), thing(votes=votes, detection=None))
    assert (made.group, incidents.recognition(made)) == ("vehicle", ("truck", "vehicle", 0.95, 1))


def test_where_nobody_is_seen_the_last_picture_and_boxes_are_kept():
    made = noted(noted(course(), thing()), at_s=5.0)
    assert (made.boxes, made.frame.pts_ns, made.members[0].last_ns) == ((HERE,), 4 * NS, 4 * NS)


def test_the_most_that_moved_is_kept():
    assert noted(course(area_ratio=0.5), thing()).area_ratio == 0.5
