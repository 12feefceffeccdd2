"""The scores of followed things are those of cases that can be counted by hand."""

from __future__ import annotations

import pytest

from tests.bench.identities import Moment, scored
from tools.draw_scenes import Shown

LEFT, RIGHT = (0.1, 0.1, 0.2, 0.5), (0.7, 0.1, 0.8, 0.5)
LOOKS = {1: 3, 2: 3}


def shown(number, box, visible=1.0):
    return Shown(number, "person", box, box, visible)


def score(*moments, looks=LOOKS, last_ns=None, true=2):
    made = [
        Moment(place, tuple(shown(*one) for one in truth), looks, {"own": said})
        for place, (truth, said) in enumerate(moments)
    ]
    numbers = {number for _, said in moments for number in said}
    return scored(made, "own", last_ns or dict.fromkeys(numbers, len(made)), true, 1.0)


BOTH = [(1, LEFT), (2, RIGHT)]


def test_all_right_is_one():
    found = score(*[(BOTH, {7: LEFT, 8: RIGHT})] * 4)
    assert (found.idf1, found.switches, found.wrong_count) == (1, 0, 0)


def test_two_that_change_places_half_way_are_right_for_half_of_the_time():
    found = score(*[(BOTH, {7: LEFT, 8: RIGHT})] * 4, *[(BOTH, {8: LEFT, 7: RIGHT})] * 4)
    assert found.idf1 == pytest.approx(0.5)
    assert found.switches == 2


def test_one_of_two_that_nobody_follows_is_missed():
    found = score(*[(BOTH, {7: LEFT})] * 4)
    assert found.idf1 == pytest.approx(2 * 4 / (8 + 4))
    assert found.wrong_count == 1


def test_who_is_hidden_or_was_hardly_looked_at_counts_neither_for_nor_against():
    found = score(*[([(1, LEFT), (2, RIGHT, 0.2)], {7: LEFT, 8: RIGHT})] * 4)
    assert found.idf1 == 1
    assert score(*[(BOTH, {7: LEFT})] * 4, looks={1: 3, 2: 2}).idf1 == 1


def test_what_is_said_after_the_last_sign_does_not_count():
    found = score(*[([(1, LEFT)], {7: LEFT})] * 4, ([], {7: LEFT}), last_ns={7: 3}, true=1)
    assert found.idf1 == 1
