"""When an incident starts, when it ends, and when another one begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.incident.presence import RUN_UP_NS, Presence, View, step
from tests.fakes import NS, thing

GAP_S = 3.0
MIDDLE, EDGE = (0.4, 0.4, 0.5, 0.8), (0.0, 0.4, 0.1, 0.8)


class Area:
    """An area that is seen ten times a second; what is seen there while an incident goes on is of the incident."""

    def __init__(self):
        self.state, self.members, self.tenths = Presence(), None, 0
        self.decisions = []

    @property
    def at_s(self):
        return self.tenths / 10

    def see(self, *things, followed=None, since_s=None):
        """One picture. Things are there since they were born unless told otherwise."""
        self.tenths += 1
        here = [(one, one.born_ns if since_s is None else round(since_s * NS)) for one in things]
        view = View(round(self.at_s * NS), here, things if followed is None else followed)
        self.state, decision = step(self.state, view, self.members, GAP_S)
        if decision in {"start", "next"}:
            self.members = set()
        if decision == "stop":
            self.members = None
        if self.members is not None:
            self.members |= {one.number for one in things if one.present}
        if decision:
            self.decisions.append((decision, self.at_s))
        return self

    def stay(self, seconds, **what):
        for _ in range(round(seconds * 10)):
            self.see(thing(at_s=self.at_s + 0.1, **what))
        return self

    def quiet(self, seconds, *followed):
        for _ in range(round(seconds * 10)):
            self.see(followed=followed)
        return self


def test_nothing_starts_nothing():
    assert Area().quiet(60).decisions == []


def test_a_thing_that_is_evidence_starts_an_incident():
    assert Area().stay(0.1).decisions == [("start", 0.1)]


def test_a_thing_that_is_no_evidence_starts_nothing():
    assert Area().stay(5, evident=False).decisions == []


def test_the_start_is_put_back_to_when_the_thing_came():
    area = Area().quiet(5)
    area.see(thing(at_s=5.1, born_s=3.0))
    assert area.state.began_ns == 3 * NS


def test_the_start_is_put_back_to_the_first_of_those_that_come_together():
    area = Area().quiet(5)
    area.see(thing(at_s=5.1, born_s=4.0), thing(number=2, at_s=5.1, born_s=2.0))
    assert area.state.began_ns == 2 * NS


def test_the_start_is_put_back_by_the_run_up_at_most():
    area = Area().quiet(30)
    area.see(thing(at_s=30.1, born_s=1.0))
    assert area.state.began_ns == round(30.1 * NS) - RUN_UP_NS


def test_the_start_is_not_put_back_into_the_incident_before():
    area = Area().stay(2).quiet(4)
    area.see(thing(number=2, at_s=6.1, born_s=0.5))
    assert area.state.began_ns == 2 * NS


def test_an_incident_ends_after_the_gap():
    area = Area().stay(2).quiet(5)
    assert area.decisions == [("start", 0.1), ("stop", 2 + GAP_S)]


def test_the_end_is_the_last_evidence_and_not_the_end_of_the_gap():
    assert Area().stay(2).quiet(5).state.last_ns == 2 * NS


def test_who_is_hidden_for_less_than_the_gap_makes_one_incident():
    area = Area()
    for _ in range(3):
        area.stay(2).quiet(2)
    assert [decision for decision, _ in area.quiet(5).decisions] == ["start", "stop"]


def test_what_is_there_keeps_an_incident_open_though_it_is_no_evidence_now():
    assert Area().stay(1).stay(60, evident=False).decisions == [("start", 0.1)]


def test_what_is_followed_but_not_seen_to_be_there_keeps_nothing_open():
    area = Area().stay(1).stay(5, evident=False, present=False, stirs=False)
    assert [decision for decision, _ in area.decisions] == ["start", "stop"]


def test_a_second_visit_is_a_second_incident_that_starts_after_the_first():
    area = Area().stay(2).quiet(5)
    area.see(thing(number=2, at_s=7.1, born_s=6.5))
    assert [decision for decision, _ in area.decisions] == ["start", "stop", "start"]
    assert area.state.began_ns == round(6.5 * NS)


def left(at_s, number=1):
    """A thing that was seen last at the picture's edge."""
    return thing(number=number, box=EDGE, at_s=at_s, present=False, evident=False)


def test_another_one_who_comes_when_all_left_the_picture_makes_the_next_incident():
    area = Area().stay(2, box=EDGE).quiet(1.5, left(2.0))
    area.see(thing(number=2, at_s=3.6, born_s=3.4), followed=(left(2.0), thing(number=2, at_s=3.6)))
    assert area.decisions[-1] == ("next", 3.6)
    assert area.state.began_ns == round(3.4 * NS)


def test_who_is_followed_no_more_has_left():
    area = Area().stay(2, box=EDGE).quiet(1.5)
    assert area.see(thing(number=2, at_s=3.6, born_s=3.4)).decisions[-1] == ("next", 3.6)


def test_who_comes_as_another_one_leaves_is_of_the_same_incident():
    area = Area().stay(2, box=EDGE).quiet(1.5)
    area.see(thing(number=2, at_s=3.6, born_s=2.9))
    assert area.decisions == [("start", 0.1)]


def test_who_comes_while_another_one_is_there_is_of_the_same_incident():
    area = Area().stay(2)
    area.see(thing(at_s=2.1), thing(number=2, at_s=2.1, born_s=2.1))
    assert (area.decisions, area.members) == ([("start", 0.1)], {1, 2})


def test_who_was_lost_in_the_middle_of_the_picture_has_not_left():
    area = Area().stay(2).quiet(1.5, thing(at_s=2.0, present=False))
    lost = thing(at_s=2.0, present=False, evident=False)
    area.see(thing(number=2, at_s=3.6, born_s=3.4), followed=(lost, thing(number=2, at_s=3.6)))
    assert area.decisions == [("start", 0.1)]


def test_who_was_seen_at_the_edge_a_moment_ago_has_not_left():
    area = Area().stay(2, box=EDGE)
    area.see(thing(number=2, at_s=2.1, born_s=2.1), followed=(left(2.0), thing(number=2, at_s=2.1)))
    assert area.decisions == [("start", 0.1)]


def test_what_has_no_name_makes_no_next_incident():
    area = Area().stay(2, box=EDGE).quiet(1.5)
    area.see(thing(number=2, at_s=3.6, born_s=3.4, votes=()))
    assert area.decisions == [("start", 0.1)]


def test_an_incident_of_nothing_yet_has_no_next_one():
    area = Area()
    area.see(thing(at_s=0.1, present=False))
    area.quiet(1.5)
    area.see(thing(number=2, at_s=1.7, born_s=1.7))
    assert area.decisions == [("start", 0.1)]


def test_who_comes_from_the_next_area_is_there_since_then():
    area = Area().quiet(5)
    area.see(thing(at_s=5.1, born_s=1.0), since_s=5.0)
    assert area.state.began_ns == 5 * NS


pictures = st.lists(
    st.lists(
        st.tuples(st.integers(1, 4), st.booleans(), st.booleans(), st.sampled_from([MIDDLE, EDGE]), st.floats(0, 3)),
        max_size=3, unique_by=lambda one: one[0],
    ),
    max_size=60,
)  # fmt: skip


@given(pictures)
def test_starts_and_stops_take_turns_and_no_start_lies_in_the_incident_before(found):
    area, going, ended_ns = Area(), False, 0
    for picture in found:
        now_s, last_ns = area.at_s + 0.1, area.state.last_ns
        before = len(area.decisions)
        area.see(
            *(
                thing(number=number, evident=evident, present=present, box=box, at_s=now_s, born_s=max(0, now_s - ago))
                for number, evident, present, box, ago in picture
            )
        )
        for decision, _ in area.decisions[before:]:
            assert (decision == "start") != going
            going = decision != "stop"
            ended_ns = last_ns
        assert area.state.began_ns >= ended_ns or not area.decisions
        assert area.state.began_ns <= area.state.at_ns


@pytest.mark.parametrize("gap_s", [1.0, 10.0])
def test_the_gap_is_as_long_as_told(gap_s):
    state, _ = step(Presence(), View(NS, [(thing(at_s=1.0), NS)], []), None, gap_s)
    before, after = (NS + round((gap_s + late) * NS) for late in (-0.1, 0.0))
    assert step(state, View(before, [], []), {1}, gap_s)[1] is None
    assert step(state, View(after, [], []), {1}, gap_s)[1] == "stop"
