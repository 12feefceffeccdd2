from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.times import Backoff, Pace
from tests.fakes import NS


def taken(pace, times):
    return [at_ns for at_ns in times if pace.due(at_ns)]


def test_the_first_is_always_taken():
    assert Pace(1).due(12345)


@pytest.mark.parametrize(
    ("arriving", "wanted", "expected"),
    [(30, 10, 100), (25, 10, 100), (15, 10, 100), (10, 10, 100), (5, 10, 50)],
)
def test_a_faster_stream_is_thinned_to_the_rate_and_a_slower_one_kept(arriving, wanted, expected):
    times = [round(number * NS / arriving) for number in range(10 * arriving)]
    assert len(taken(Pace(wanted), times)) == pytest.approx(expected, abs=1)


def test_a_stream_of_the_rate_with_jitter_is_kept_whole():
    times = [number * NS // 10 + (number % 2) * NS // 100 for number in range(100)]
    assert len(taken(Pace(10), times)) >= 99


def test_what_is_taken_lies_at_even_distances():
    times = [round(number * NS / 30) for number in range(300)]
    kept = taken(Pace(10), times)
    assert {later - earlier for earlier, later in pairwise(kept)} == {NS // 10}


@given(st.lists(st.integers(0, NS), max_size=80), st.sampled_from([1.0, 3.0, 10.0]))
def test_no_second_holds_more_than_the_rate_and_one(steps, per_s):
    times = [sum(steps[: number + 1]) for number in range(len(steps))]
    kept = taken(Pace(per_s), times)
    assert all(sum(start <= at_ns < start + NS for at_ns in kept) <= per_s + 1 for start in kept)


def test_after_a_gap_it_does_not_catch_up():
    pace = Pace(10)
    pace.due(0)
    burst = [100 * NS + number for number in range(1000)]
    assert len(taken(pace, burst)) <= 2


def test_pauses_double_up_to_the_most():
    pause = Backoff(0.5, 30)
    assert [pause.next_s() for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_pauses_begin_anew_after_a_success():
    pause = Backoff(0.5, 30)
    for _ in range(5):
        pause.next_s()
    pause.reset()
    assert [pause.next_s(), pause.next_s()] == [0.5, 1]
