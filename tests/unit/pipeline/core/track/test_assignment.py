from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.track.assignment import IMPOSSIBLE, assign

costs = st.one_of(st.floats(-1, 10), st.just(IMPOSSIBLE))
tables = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda size: st.lists(st.lists(costs, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0])
)


def best(table, row=0, taken=frozenset()):
    """Fewest pairs left out and then the least cost, by trying everything."""
    if row == len(table):
        return 0, 0.0
    left_out, cost = best(table, row + 1, taken)
    found = [(left_out + 1, cost)]
    for column, price in enumerate(table[row]):
        if column not in taken and price != IMPOSSIBLE:
            left_out, cost = best(table, row + 1, taken | {column})
            found.append((left_out, cost + price))
    return min(found)


def test_nothing_is_given_to_nothing():
    assert assign([]) == []
    assert assign([[], []]) == []


def test_each_gets_what_is_cheapest_for_it():
    assert assign([[0.1, 5.0], [5.0, 0.1]]) == [(0, 0), (1, 1)]


def test_one_takes_the_second_best_where_that_is_cheaper_for_all():
    assert assign([[1.0, 2.0], [1.5, 9.0]]) == [(0, 1), (1, 0)]


def test_what_is_more_than_there_are_others_for_is_left_out():
    assert assign([[3.0], [1.0], [2.0]]) == [(1, 0)]
    assert assign([[3.0, 1.0, 2.0]]) == [(0, 1)]


def test_an_impossible_pair_is_not_made():
    assert assign([[IMPOSSIBLE, IMPOSSIBLE], [IMPOSSIBLE, 1.0]]) == [(1, 1)]


def test_two_dear_pairs_are_better_than_one_cheap_one():
    assert assign([[0.0, 99.0], [99.0, IMPOSSIBLE]]) == [(0, 1), (1, 0)]


@given(tables)
def test_as_many_pairs_as_can_be_are_made_at_the_least_cost(table):
    pairs = assign(table)
    left_out, cost = best(table)
    assert len(pairs) == len(table) - left_out
    assert sum(table[row][column] for row, column in pairs) == pytest.approx(cost, abs=1e-6)


@given(tables)
def test_each_is_in_one_pair_at_most_and_pairs_come_by_row(table):
    pairs = assign(table)
    assert pairs == sorted(pairs)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert all(table[row][column] != IMPOSSIBLE for row, column in pairs)
