"""Who was there, how long, and how many at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.incident import members
from pipeline.core.incident.members import MOST
from pipeline.core.incident.whereabouts import Place, ZoneStay
from pipeline.core.track.votes import Vote
from tests.fakes import NS, member, thing


def place(since_s=0.0, area=""):
    return Place(area, (ZoneStay(area, round(since_s * NS), round(since_s * NS)),))


def joined(so_far, *things, at_s=0.0, since_s=0.0):
    where = {one.number: place(since_s) for one in things}
    return members.joined(so_far, things, where, round(at_s * NS))


def test_what_is_seen_is_a_member_from_when_it_was_born():
    (one,) = joined((), thing(born_s=1.0), at_s=4.0)
    assert (one.number, one.first_ns, one.last_ns) == (1, NS, 4 * NS)
    assert (one.group, one.confirmed, one.stay_s) == ("person", True, 3.0)


def test_who_comes_from_another_area_is_a_member_from_when_it_came_in():
    (one,) = joined((), thing(born_s=1.0), at_s=4.0, since_s=3.0)
    assert one.first_ns == 3 * NS


def test_a_stay_is_put_back_no_farther_than_an_incident():
    (one,) = joined((), thing(born_s=1.0), at_s=30.0)
    assert one.first_ns == 20 * NS


def test_nobody_came_after_he_was_seen():
    (one,) = joined((), thing(born_s=1.0), at_s=4.0, since_s=5.0)
    assert one.first_ns == 4 * NS


def test_a_member_that_is_seen_again_stays_longer():
    (one,) = joined(joined((), thing(born_s=1.0), at_s=2.0), thing(born_s=1.0), at_s=9.0, since_s=8.0)
    assert (one.first_ns, one.last_ns) == (NS, 9 * NS)


def test_a_member_that_is_not_seen_stays_as_it_was():
    before = joined((), thing(), at_s=2.0)
    assert joined(before, at_s=9.0) == before


def test_members_are_in_the_order_in_which_they_came():
    before = joined((), thing(number=3), at_s=1.0)
    assert [one.number for one in joined(before, thing(number=2), thing(number=3), at_s=2.0)] == [3, 2]


def test_the_longest_rest_and_what_was_ridden_are_kept():
    before = joined((), thing(rested_s=7.0, rides="bicycle"), at_s=1.0)
    (one,) = joined(before, thing(rested_s=2.0), at_s=2.0)
    assert (one.rested_s, one.rides) == (7.0, "bicycle")


def test_what_is_known_of_it_now_is_what_the_tracker_says():
    before = joined((), thing(confirmed=False, direction="in", speed="slow"), at_s=1.0)
    (one,) = joined(before, thing("car", direction="out", speed="fast"), at_s=2.0)
    assert (one.group, one.confirmed, one.direction, one.speed) == ("vehicle", True, "out", "fast")


def test_no_more_members_than_so_many_are_remembered():
    crowd = joined((), *(thing(number=number) for number in range(1, MOST + 1)), at_s=1.0)
    later = joined(crowd, thing(number=MOST), thing(number=MOST + 1), at_s=5.0)
    assert len(later) == MOST
    assert later[-1].last_ns == 5 * NS


def test_of_what_was_never_recognised_nobody_knows_what_it_is():
    assert (member(votes=()).group, member(votes=()).vote) == (None, None)


def test_a_member_is_of_the_class_with_most_evidence_in_its_group():
    votes = (Vote("dog", "animal", 1.0, 0.9), Vote("car", "vehicle", 0.8, 0.8), Vote("truck", "vehicle", 0.9, 0.5))
    assert member(votes=votes).group == "vehicle"
    assert member(votes=votes).vote.label == "truck"


def test_evidence_is_summed_up_by_group():
    kite = member("kite", number=3)
    assert members.evidence((member(), member(number=2), kite)) == {
        "person": pytest.approx(1.8), "vehicle": 0.0, "animal": 0.0,
    }  # fmt: skip


def test_only_the_certain_ones_count_where_there_are_some():
    certain, doubtful = member(), member(number=2, confirmed=False)
    assert members.of_group((certain, doubtful, member("dog", number=3)), "person") == [certain]
    assert members.of_group((doubtful,), "person") == [doubtful]


@pytest.mark.parametrize(
    ("stays", "expected"),
    [
        ((), 0),
        (((0, 4),), 1),
        (((0, 4), (2, 6)), 2),
        (((0, 4), (5, 9)), 1),
        (((0, 4), (4, 9)), 1),
        (((0, 4), (3.8, 9)), 1),
        (((0, 4), (3.5, 9)), 2),
        (((0, 9), (1, 3), (2, 4), (5, 6)), 3),
        (((2, 2), (2, 2)), 2),
    ],
)
def test_it_is_told_how_many_were_there_at_one_moment(stays, expected):
    own = [member(number=number, first_s=first, last_s=last) for number, (first, last) in enumerate(stays, 1)]
    assert members.at_once(own) == expected


stays = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted), max_size=8)


@given(stays, st.randoms())
def test_at_once_there_are_no_more_than_in_all_and_the_order_does_not_matter(found, random):
    own = [member(number=number, first_s=first, last_s=last) for number, (first, last) in enumerate(found, 1)]
    most = members.at_once(own)
    assert bool(own) <= most <= len(own)
    assert members.at_once(random.sample(own, len(own))) == most


def rows(*own, group):
    return [(row.group, row.class_, row.count, row.total) for row in members.objects(own, group)]


def test_what_an_incident_is_about_comes_first():
    own = (member(), member("car", number=2), member("dog", number=3))
    assert [row[0] for row in rows(*own, group="animal")] == ["animal", "person", "vehicle"]


def test_a_row_says_how_many_how_many_at_once_and_how_long():
    own = (member(last_s=4), member(number=2, first_s=6, last_s=12.34))
    (row,) = members.objects(own, "person")
    assert (row.class_, row.count, row.total, row.stay_s) == ("person", 1, 2, 6.3)


def test_what_is_uncertain_is_no_row_but_for_what_the_incident_is_about():
    own = (member(confirmed=False), member("dog", number=2, confirmed=False))
    assert rows(*own, group="person") == [("person", "person", 1, 1)]


def test_what_is_uncertain_is_not_counted_with_what_is_certain():
    own = (member(), member(number=2, confirmed=False))
    assert rows(*own, group="person") == [("person", "person", 1, 1)]


def test_what_has_no_name_is_no_row():
    assert rows(member(votes=()), group=None) == []


def test_a_cycle_and_its_rider_are_said_as_both():
    assert rows(member(rides="bicycle"), group="person") == [
        ("person", "person", 1, 1),
        ("vehicle", "bicycle", 1, 1),
    ]


def test_two_cycles_that_are_ridden_are_two():
    own = (member(rides="bicycle", last_s=2), member(number=2, rides="bicycle", last_s=2))
    assert rows(*own, group="person")[1] == ("vehicle", "bicycle", 2, 2)


def test_a_cycle_under_a_doubtful_rider_is_not_said():
    assert rows(member(rides="bicycle", confirmed=False), group="person") == [("person", "person", 1, 1)]


def test_the_common_label_is_that_with_most_evidence_of_all():
    votes = (Vote("car", "vehicle", 0.9, 0.9), Vote("truck", "vehicle", 0.6, 0.6))
    own = (member(votes=votes), member("truck", 0.5, number=2))
    assert members.common_label(own) == "truck"
    assert members.common_label(()) == "none"


def test_votes_for_what_a_member_is_not_do_not_name_it():
    votes = (Vote("person", "person", 2.0, 0.9), Vote("dog", "animal", 1.9, 0.9))
    assert members.common_label((member(votes=votes), member("dog", 0.3, number=2))) == "person"
