"""A stay that an incident was too long for goes on in the next one."""

from __future__ import annotations

import msgspec
import pytest

from pipeline.core.incident import incidents, spots
from pipeline.core.incident.presence import Presence
from pipeline.core.incident.spots import Spot
from tests.fakes import NS, course, frame, member, with_members

GAP_S = 3.0
CUT = with_members(
    member(first_s=2, last_s=60), member(number=2, first_s=30, last_s=60), id="inc-1", frame=frame(at_s=60)
)


def begun(*members, at_s=61.0, **changes):
    return with_members(*members, id="inc-2", began_ns=round(at_s * NS), frame=frame(at_s=at_s), **changes)


def continued(new, cut=CUT):
    return spots.continued(Spot(cut=cut), new, GAP_S)


def came(made):
    return [one.first_ns / NS for one in made.members]


def test_where_nothing_was_cut_nothing_goes_on():
    new = begun(member(first_s=61))
    assert continued(new, cut=None) == new


def test_stays_go_on_by_number():
    made = continued(begun(member(number=2, first_s=61), member(first_s=61), member(number=3, first_s=61)))
    assert came(made) == [30, 2, 61]
    assert (made.continues, made.came_ns) == ("inc-1", 0)


def test_after_a_restart_of_the_tracker_the_first_takes_the_longest_stay():
    made = continued(begun(member(number=1_000_001, first_s=61), member(number=1_000_002, first_s=61)))
    assert came(made) == [2, 61]
    assert made.continues == "inc-1"


def test_a_stay_that_goes_on_is_as_long_as_all_of_it():
    made = continued(begun(member(first_s=61, last_s=70)))
    assert incidents.dwell_s(made) == 68


def test_a_stay_goes_on_over_more_than_one_cut():
    second = continued(begun(member(first_s=61, last_s=120), at_s=61))
    second = msgspec.structs.replace(second, frame=frame(at_s=120))
    third = continued(begun(member(first_s=121), at_s=121), cut=second)
    assert (came(third), third.came_ns, third.continues) == ([2], 0, "inc-2")


@pytest.mark.parametrize(("at_s", "goes_on"), [(63.0, True), (63.1, False)])
def test_a_stay_goes_on_only_within_the_gap(at_s, goes_on):
    made = continued(begun(member(first_s=at_s), at_s=at_s))
    assert (made.continues == "inc-1") is goes_on


def test_something_of_another_kind_does_not_go_on_with_a_stay():
    new = begun(member("car", number=9, first_s=61))
    assert continued(new) == new


def test_what_has_no_name_yet_goes_on_with_a_stay():
    nameless = begun(member(number=9, first_s=61, votes=(), confirmed=False))
    assert nameless.group is None
    assert came(continued(nameless)) == [2]


def test_a_stay_without_a_name_goes_on():
    cut = course(id="inc-1", frame=frame(at_s=60), members=(member(votes=(), first_s=5),))
    assert came(continued(begun(member(first_s=61)), cut=cut)) == [5]


def test_an_incident_of_nobody_yet_goes_on():
    new = course(id="inc-2", began_ns=61 * NS, frame=frame(at_s=61))
    made = continued(new)
    assert (made.continues, made.members) == ("inc-1", ())


def test_what_is_uncertain_does_not_lend_its_stay():
    cut = with_members(
        member(first_s=20), member(number=2, first_s=1, confirmed=False), id="inc-1", frame=frame(at_s=60)
    )
    assert came(continued(begun(member(number=9, first_s=61)), cut=cut)) == [20]


def test_what_was_cut_is_forgotten_when_the_next_one_began():
    assert spots.started(Spot(cut=CUT, refused_ns=NS), Presence(1, 2, 3)) == Spot(presence=Presence(1, 2, 3))


def test_what_is_refused_is_told_of_once_within_the_gap():
    spot, fresh = spots.refused(Spot(), 10 * NS, GAP_S)
    again, still = spots.refused(spot, 12 * NS, GAP_S)
    assert (fresh, still) == (True, False)
    assert spots.refused(again, 16 * NS, GAP_S)[1]


def test_things_of_an_incident_that_is_over_are_visits():
    spot = spots.over(Spot(presence=Presence(0, NS, 5 * NS)), CUT, "quiet", 2.0)
    assert [(visit.number, visit.group) for visit in spot.visits] == [(1, "person"), (2, "person")]
    assert (spot.blind_ns, spot.presence.last_ns) == (7 * NS, NS)


def test_a_thing_that_was_in_two_incidents_is_one_visit():
    spot = spots.over(Spot(), CUT, "quiet", 0.0)
    again = spots.over(spot, begun(member(number=2, first_s=70)), "quiet", 0.0)
    assert [visit.number for visit in again.visits] == [1, 2]


def test_an_incident_that_was_cut_is_no_visit_yet():
    assert spots.over(Spot(), CUT, "max_duration", 0.0).visits == ()


def test_an_incident_that_did_not_end_in_quiet_ends_with_what_was_seen_last():
    spot = spots.over(Spot(presence=Presence(0, NS, 5 * NS)), CUT, "camera_lost", 0.0)
    assert spot.presence == Presence(last_ns=5 * NS, at_ns=5 * NS)
