from __future__ import annotations

import math

import pytest

from pipeline.core.device import governor, heat
from pipeline.core.device.governor import Bands, HeatState, SensorReading, step
from pipeline.core.errors import ConfigError

BANDS = Bands.below(85.0)


def run(temps, *, busy=True, state=None, clock=float, bands=BANDS):
    """Feed a temperature a second; return the state and every step."""
    state, steps = state or HeatState(), []
    for at, temp in enumerate(temps):
        temps_c = temp if isinstance(temp, tuple) else (temp,)
        state, found = step(state, SensorReading(clock(at), temps_c, 1.0 if busy else 0.0), bands)
        steps.append(found)
    return state, steps


def changes(steps):
    return [(at, one.rule, one.level) for at, one in enumerate(steps) if one.rule]


def wavering(temp, seconds):
    """A sensor that is never quite still."""
    return [temp + 0.1 * (at % 2) for at in range(seconds)]


def test_a_cool_board_runs_at_full_speed():
    _, steps = run(wavering(60, 600))
    assert changes(steps) == []
    assert steps[-1].level == 0


def test_three_minutes_of_inference_on_a_warm_board_cost_one_level_at_exactly_180_seconds():
    _, steps = run(wavering(79, 240))
    assert changes(steps) == [(179, "sustained", 1)]
    assert "180 s of inference" in steps[179].reason


def test_a_cool_board_may_infer_for_ever():
    _, steps = run(wavering(77, 900))
    assert changes(steps) == []


def test_a_pause_of_more_than_five_seconds_begins_the_three_minutes_anew():
    state, first = run(wavering(79, 170))
    state, rest = run(wavering(79, 7), busy=False, state=state)
    _, again = run(wavering(79, 175), state=state)
    assert changes([*first, *rest, *again]) == []


def test_a_short_pause_does_not():
    state, _ = run(wavering(79, 170))
    state, _ = run(wavering(79, 4), busy=False, state=state)
    _, again = run(wavering(79, 10), state=state)
    assert [rule for _, rule, _ in changes(again)] == ["sustained"]


def test_a_board_about_to_protect_itself_goes_two_levels_down_and_below_the_floor():
    _, steps = run(wavering(84.5, 12))
    assert changes(steps)[:2] == [(0, "critical", 2), (3, "critical", 4)]


def test_one_reading_that_spikes_is_not_believed():
    _, steps = run([60, 60.1, 60, 95, 60, 60.1, 60])
    assert changes(steps) == []


def test_a_hot_board_steps_down_every_fifteen_seconds_until_it_cools():
    rising = [82.2 + 0.01 * at for at in range(40)]
    _, steps = run(rising)
    assert [(rule, level) for _, rule, level in changes(steps)] == [("hot", 1), ("hot", 2), ("hot", 3)]
    assert changes(steps)[1][0] - changes(steps)[0][0] == 15


def test_a_board_that_heats_fast_is_slowed_before_it_is_hot():
    _, steps = run([66 + 0.25 * at for at in range(40)])
    first = changes(steps)[0]
    assert first[1] == "forecast"
    assert 66 + 0.25 * first[0] < BANDS.hot


def test_a_cooled_board_steps_up_one_level_a_minute():
    state = HeatState(level=3)
    _, steps = run(wavering(60, 300), busy=False, state=state)
    assert [level for _, _, level in changes(steps)] == [2, 1, 0]
    assert changes(steps)[2][0] - changes(steps)[1][0] == 60


def test_a_step_up_that_had_to_be_taken_back_doubles_the_next_wait():
    state, _ = run(wavering(60, 61), state=HeatState(level=1, down_s=0.0))
    assert state.level == 0
    state, _ = run([82.5 + 0.01 * at for at in range(30)], state=state)
    assert state.level >= 1
    assert state.dwell_s == 120


def test_a_board_that_settles_just_below_warm_is_tried_a_level_higher_after_minutes():
    _, steps = run(wavering(75, 600), state=HeatState(level=2, down_s=0.0))
    assert changes(steps)[0] == (419, "recover", 1)
    assert steps[419].reason.endswith("C: settled below 78 C")


@pytest.mark.parametrize("value", [None, math.nan, 255.0, -40.0])
def test_a_sensor_that_does_not_tell_is_taken_for_hot_down_to_the_floor_and_never_up(value):
    state, _ = run(wavering(60, 60))
    state, steps = run([value] * 600, state=state)
    assert [rule for _, rule, _ in changes(steps)] == ["blind"] * governor.FLOOR
    assert steps[-1].level == governor.FLOOR
    assert steps[-1].blind
    _, after = run(wavering(60, 300), state=state)
    assert after[-1].level == 0


def test_a_sensor_that_fails_for_a_moment_is_asked_again():
    state, _ = run(wavering(60, 60))
    state, steps = run([None, math.nan, 60.0, 60.1, None, 60.0], state=state)
    assert changes(steps) == []
    assert [one.blind for one in steps] == [""] * 6
    assert [round(one.temp_c) for one in steps] == [60] * 6


def test_a_sensor_that_stands_still_for_two_minutes_of_work_is_taken_for_stuck():
    state, _ = run(wavering(60, 60))
    _, steps = run([60.0] * 130, state=state)
    assert changes(steps)[0][:2] == (120, "blind")
    assert "has said 60 C for" in steps[120].reason


def test_a_coarse_sensor_may_stand_still_for_longer_but_not_for_ever():
    state, _ = run([60.0] * 10 + [61.0] * 10 + [60.0] * 10)
    state, steps = run([60.0] * 500, state=state)
    assert changes(steps) == []
    assert next(rule for _, rule, _ in changes(run([60.0] * 120, state=state)[1])) == "blind"


def test_a_cooler_sensor_may_stand_still_for_ever():
    state, steps = run([(58.0 + 0.1 * (at % 2), 45.0) for at in range(2000)])
    assert changes(steps) == []
    _, steps = run([(58.0 + 0.1 * (at % 2), 45.0) for at in range(120)], state=state._replace(level=1))
    assert [rule for _, rule, _ in changes(steps)] == ["recover"]


def test_a_sensor_may_stand_still_as_long_as_nobody_works():
    _, steps = run([40.0] * 600, busy=False)
    assert changes(steps) == []


def test_no_sensor_at_all_is_as_blind_as_a_lost_one():
    _, steps = run([()] * 60)
    assert steps[0].blind == "no sensor"
    assert steps[-1].level == governor.FLOOR


def test_the_hottest_of_several_sensors_counts():
    _, steps = run([(50.0 + 0.1 * (at % 2), 84.5) for at in range(3)])
    assert steps[0].rule == "critical"


def test_in_an_emergency_the_model_pauses_until_the_board_is_no_longer_warm():
    state, steps = run([91.0, 91.1, 91.2, 91.3])
    assert [one.paused for one in steps] == [False, False, True, True]
    state, steps = run(wavering(82, 30), state=state)
    assert steps[-1].paused
    _, steps = run(wavering(70, 30), state=state)
    assert not steps[-1].paused


@pytest.mark.parametrize("jump", [600, -600, -3600, 86400])
def test_setting_the_clock_changes_nothing(jump):
    temps = [*wavering(79, 200), *wavering(70, 200)]
    _, plain = run(temps)
    _, jumped = run(temps, clock=lambda at: at + (jump if at > 100 else 0))
    assert [one.level for one in jumped] == [one.level for one in plain]


def test_ten_minutes_below_the_promised_rate_are_told():
    _, steps = run(wavering(84.5, 700))
    assert not steps[500].short
    assert steps[-1].short


def test_bands_follow_the_trip_of_the_board():
    assert Bands.below(95.0) == Bands(82.0, 88.0, 92.0, 94.0, 100.0)


def test_a_simulated_board_settles_where_power_and_resistance_say():
    body = heat.BODIES["rk3588"]
    watts = heat.power_w(body, 1.0, 1.0)
    warmth = heat.warm(body, heat.Warmth(35.0, 35.0), 35.0, watts, 7200.0)
    assert watts == pytest.approx(11.5)
    assert warmth.chip_c == pytest.approx(35 + 11.5 * (1.2 + 5.0), abs=0.1)
    assert warmth == pytest.approx(heat.settle(body, 35.0, watts), abs=0.1)


def test_a_slower_clock_takes_less_power_and_costs_less_speed_than_it_saves():
    body = heat.BODIES["rk3588"]
    assert heat.power_w(body, 1.0, 0.55) / heat.power_w(body, 1.0, 1.0) < heat.speed(0.55)
    assert heat.speed(1.0) == 1.0


def test_a_board_is_named_with_the_air_around_it():
    assert heat.place("phone@-5").ambient_c == -5.0
    assert heat.place("rpi5").ambient_c == 25.0


@pytest.mark.parametrize("text", ["toaster", "rk3588@warm", "rk3588@", "rk3588@71", "rk3588@300", "rk3588@35C"])
def test_a_board_that_is_none_is_refused_with_what_there_is(text):
    with pytest.raises(ConfigError, match="rk3588"):
        heat.place(text)


@pytest.mark.parametrize("value", [-256.0, -273.15, 255.0, 1e6])
def test_a_sensor_that_says_what_no_chip_can_be_beside_one_that_tells_is_left_out(value):
    _, steps = run([(temp, value) for temp in wavering(60, 300)])
    assert changes(steps) == []
    assert steps[-1].blind == ""
    assert steps[-1].temp_c == pytest.approx(60, abs=0.2)
    assert steps[-1].off == (("sensor 1", value),)


def test_a_sensor_that_told_and_then_says_what_no_chip_can_be_is_left_out_as_others_tell_the_heat():
    state, _ = run([(temp, 61.0 + 0.1 * (at % 2)) for at, temp in enumerate(wavering(60, 60))])
    _, steps = run([(temp, -256.0) for temp in wavering(60, 300)], state=state)
    assert changes(steps) == []


def test_a_board_steps_up_again_beside_a_sensor_that_is_off():
    _, steps = run([(temp, -256.0) for temp in wavering(60, 300)], busy=False, state=HeatState(level=2))
    assert [level for _, _, level in changes(steps)] == [1, 0]


def test_sensors_that_all_say_what_no_chip_can_be_are_taken_for_hot():
    state, _ = run([(temp, -256.0) for temp in wavering(60, 60)])
    _, steps = run([(-256.0, 255.0)] * 60, state=state)
    assert {rule for _, rule, _ in changes(steps)} == {"blind"}


def test_a_sensor_that_cannot_be_read_beside_one_that_tells_is_still_taken_for_hot():
    state, _ = run([(temp, 61.0 + 0.1 * (at % 2)) for at, temp in enumerate(wavering(60, 60))])
    _, steps = run([(temp, None) for temp in wavering(60, 60)], state=state)
    assert {rule for _, rule, _ in changes(steps)} == {"blind"}
