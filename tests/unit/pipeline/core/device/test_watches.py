from __future__ import annotations

import random

from pipeline.core.device.watches import InferencePace, MemoryWatch, watch_memory, watch_pace
from pipeline.core.incident.storm import Storm, answered, passed, started


def watched(samples, leak=30.0, recycle=300.0):
    memory, found = MemoryWatch(), []
    for mb in samples:
        memory, growth = watch_memory(memory, mb, leak, recycle)
        found.append(growth)
    return found


def test_a_process_that_grows_steadily_is_told_of_once():
    found = watched([100.0 + 1.0 * minute for minute in range(90)])
    assert [one.report for one in found].count(True) == 1
    assert 55 < next(one for one in found if one.report).mb_per_h < 65


def test_one_that_wavers_is_not():
    noise = random.Random(1)
    assert not any(one.report for one in watched([100.0 + noise.uniform(-8, 8) for _ in range(300)]))


def test_a_model_that_was_loaded_is_no_leak():
    assert not any(one.report for one in watched([100.0] * 40 + [180.0] * 120))


def test_one_that_gave_memory_back_is_looked_at_anew():
    saw = [100.0 + 20 * (minute % 10) for minute in range(200)]
    assert not any(one.report for one in watched(saw))


def test_warming_up_is_no_leak():
    assert not any(one.report for one in watched([50.0 * minute for minute in range(10)] + [500.0] * 60))


def test_what_has_gathered_too_much_is_to_be_replaced():
    found = watched([100.0 + 6.0 * minute for minute in range(120)])
    first = next(one for one in found if one.recycle)
    assert 300 < first.gathered_mb < 310


def test_a_leak_that_stopped_gets_nobody_replaced():
    found = watched([100.0 + 8.0 * min(minute, 35) for minute in range(200)])
    assert not any(one.recycle for one in found[-60:])


def timed(means, slowed=()):
    pace, total, found = InferencePace(), 0.0, []
    for at, mean in enumerate(means):
        total += 20 * mean
        pace, drift = watch_pace(pace, 20 * (at + 1), total, 1.5, slowed=at in slowed)
        found.append(drift)
    return found


def test_inference_that_grows_slow_is_told_of_once_with_both_times():
    drifts = [one for one in timed([600.0] * 20 + [950.0] * 40) if one]
    assert len(drifts) == 1
    assert (drifts[0].was_ms, drifts[0].is_ms) == (600.0, 950.0)


def test_a_slow_minute_is_no_drift():
    assert not any(timed([600.0] * 20 + [2000.0] * 3 + [600.0] * 20))


def test_what_heat_slows_down_is_no_drift():
    assert not any(timed([600.0] * 20 + [950.0] * 40, slowed=range(20, 60)))


def test_a_new_process_is_timed_anew():
    pace, _ = watch_pace(InferencePace(100, 5000.0), 3, 90.0, 1.5, slowed=False)
    assert pace == InferencePace(3, 90.0)


def test_too_few_runs_are_no_sample():
    pace, _ = watch_pace(InferencePace(), 5, 90.0, 1.5, slowed=False)
    assert pace == InferencePace()


def stormed(count, least=30):
    storm = Storm()
    for number in range(count):
        storm = started(storm, f"inc-{number}", "alarm" if number % 10 == 0 else "routine", number * 0.05, least)
    return storm


def test_a_few_incidents_are_no_storm():
    storm, told = passed(stormed(29), 2.0, 30)
    assert told is None
    assert storm.began_s is None


def test_a_storm_is_summed_up_once_when_it_is_over_and_everything_is_answered():
    storm = stormed(200)
    counted = len(storm.open)
    for number in range(200):
        storm = answered(storm, f"inc-{number}", "ok" if number % 4 == 0 else "skipped")
    storm, early = passed(storm, 10.5, 30)
    storm, told = passed(storm, 21.0, 30)
    storm, again = passed(storm, 60.0, 30)
    assert (early, again) == (None, None)
    assert told["incidents"] == counted == 200 - 29
    assert told["described"] + told["skipped"] == counted
    assert told["alarm"] + told["routine"] == counted
    assert (told["unanswered"], told["over"]) == (0, True)


def test_a_storm_whose_answers_do_not_come_is_summed_up_all_the_same():
    _, told = passed(passed(stormed(200), 21.0, 30)[0], 60.0, 30)
    assert told["unanswered"] == 171


def test_a_storm_that_does_not_end_is_summed_up_every_ten_minutes():
    storm, told = Storm(), []
    for second in range(1300):
        for number in range(5):
            storm = started(storm, f"inc-{second}-{number}", "routine", float(second), 30)
            storm = answered(storm, f"inc-{second}-{number}", "skipped")
        storm, said = passed(storm, float(second), 30)
        told += [said] if said else []
    assert [one["over"] for one in told] == [False, False]
    assert [one["incidents"] for one in told] == [3001, 6001]
    assert all(one["described"] + one["skipped"] + one["unanswered"] == one["incidents"] for one in told)
