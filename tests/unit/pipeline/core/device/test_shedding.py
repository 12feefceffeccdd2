from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.device.limits import CAUSES, EMERGENCY, LEVELS, RUNGS, Limits, Rung, pack, rung_of_level, unpack
from pipeline.core.device.shedding import Load, LoadState, step

BUSY = Load(spent=0.9)
CALM = Load()


def run(loads, state=None, least_mb=150.0):
    state, steps = state or LoadState(), []
    for load in loads:
        state, found = step(state, load, 1.0, least_mb)
        steps.append(found)
    return state, steps


def rungs(steps):
    return [one.rung for one in steps if one.reason]


def test_without_load_everything_is_done():
    assert rungs(run([CALM] * 300)[1]) == []


def test_a_long_queue_costs_sentences_first_and_then_the_language_model():
    _, steps = run([Load(spent=1.0, missed=2 * at) for at in range(60)])
    assert rungs(steps) == [Rung.VERDICTS, Rung.TEMPLATES]
    assert "1 of 1, where 0.8 is too much" in steps[0].reason


def test_a_rung_has_five_seconds_to_show_what_it_brings():
    _, steps = run([Load(encode_s=9.0)] * 10)
    assert [at for at, one in enumerate(steps) if one.reason] == [0, 5]


def test_a_classifier_that_cannot_follow_costs_everything_but_movement():
    _, steps = run([Load(unlooked=0.97)] * 60)
    assert rungs(steps)[-1] is Rung.MOTION


def test_what_does_not_help_is_not_given_up():
    _, steps = run([Load(encode_s=9.0)] * 60)
    assert rungs(steps)[-1] is Rung.CLASSES


def test_half_a_minute_of_calm_brings_one_rung_back():
    state, _ = run([Load(encode_s=9.0)] * 10)
    _, steps = run([CALM] * 61, state)
    assert [(at, one.rung) for at, one in enumerate(steps) if one.reason] == [(29, Rung.VERDICTS), (59, Rung.FULL)]


def test_between_calm_and_too_much_nothing_changes():
    state, _ = run([BUSY] * 10)
    assert rungs(run([Load(spent=0.5)] * 600, state)[1]) == []


def test_an_ordinary_load_of_another_kind_does_not_keep_a_rung_down():
    state, _ = run([BUSY] * 10)
    assert rungs(run([Load(unlooked=0.6, encode_s=1.3)] * 40, state)[1]) == [Rung.FULL]


def test_a_load_that_comes_and_goes_does_not_make_it_swing():
    _, steps = run(([BUSY] * 10 + [CALM] * 20) * 20)
    assert len(rungs(steps)) == 1


def test_missed_deadlines_cost_a_rung_and_old_ones_are_forgotten():
    state, steps = run([Load(missed=at) for at in range(4)])
    assert rungs(steps) == [Rung.VERDICTS]
    assert rungs(run([Load(missed=3)] * 120, state)[1]) == [Rung.FULL]


@pytest.mark.parametrize(("level", "rung"), [(2, Rung.FULL), (3, Rung.VERDICTS), (4, Rung.TEMPLATES)])
def test_heat_costs_rungs_at_once_and_gives_them_back_with_its_level(level, rung):
    state, steps = run([Load(level=level)])
    assert steps[-1].rung is rung
    assert run([CALM], state)[1][-1].rung is Rung.FULL


def test_a_board_too_hot_for_its_model_does_not_ask_it():
    _, steps = run([Load(paused=True)])
    assert steps[0].rung is Rung.TEMPLATES
    assert "too hot" in steps[0].reason


def test_want_of_memory_costs_the_model_until_there_is_half_as_much_again():
    state, steps = run([Load(memory_mb=100.0)])
    assert steps[0].rung is Rung.TEMPLATES
    assert steps[0].reason.startswith("memory: 100 MB")
    state, steps = run([Load(memory_mb=200.0)] * 5, state)
    assert steps[-1].rung is Rung.TEMPLATES
    assert run([Load(memory_mb=226.0)], state)[1][-1].rung is Rung.FULL


@given(
    st.lists(
        st.builds(
            Load,
            spent=st.floats(0, 1), encode_s=st.floats(0, 100), unlooked=st.floats(0, 1),
            level=st.integers(0, 4), paused=st.booleans(), memory_mb=st.none() | st.floats(0, 1000),
        ),
        max_size=80,
    )
)  # fmt: skip
def test_every_change_has_a_reason_and_nothing_else_has_one(loads):
    _, steps = run(loads)
    assert all(bool(one.reason) == (one.rung != one.was) for one in steps)


@given(
    st.builds(
        Limits,
        rung=st.sampled_from(Rung), level=st.integers(0, 4), paused=st.booleans(),
        duty=st.integers(1, 100).map(lambda percent: percent / 100), stride=st.integers(1, 255),
        observing=st.booleans(), temp_c=st.none() | st.integers(-400, 1500).map(lambda tenths: tenths / 10),
    )
)  # fmt: skip
def test_limits_come_out_of_their_word_as_they_went_in(limits):
    assert unpack(pack(limits)) == limits


def test_a_word_that_nobody_wrote_holds_nothing_back():
    assert unpack(0) == Limits()


def test_every_rung_has_a_row_in_the_order_of_the_ladder():
    assert list(RUNGS) == list(Rung)
    assert len({rung.meaning for rung in Rung}) == len(Rung)


def test_a_hotter_level_is_slower_looks_no_oftener_and_gives_up_no_less():
    rungs_of_levels = [rung_of_level(level) for level in range(len(LEVELS))]
    assert [level.speed for level in LEVELS] == sorted({level.speed for level in LEVELS}, reverse=True)
    assert [level.stride for level in LEVELS] == sorted(level.stride for level in LEVELS)
    assert rungs_of_levels == sorted(rungs_of_levels)
    assert rung_of_level(len(LEVELS) + 1) is rungs_of_levels[-1]


def test_in_an_emergency_the_language_model_is_silent():
    assert Limits(rung=EMERGENCY).silent
    assert all(cause.calm < cause.limit and cause.deepest > Rung.FULL for cause in CAUSES)
