"""Who computes where: from made machines to plans."""

import pytest

from pipeline.core.device import placing
from pipeline.core.device.placing import Core, Machine, Want
from pipeline.core.settings import PlacementSettings

WANTS = {
    "capture": Want("light", -5, realtime=True),
    "motion": Want("light", 0),
    "encode": Want("heavy", 5),
    "describe": Want("heavy", 5),
}
RK3588 = tuple(Core(number, 414 if number < 4 else 1024, 1800000) for number in range(8))


def equal(count):
    return tuple(Core(number, 1024) for number in range(count))


def planned(cores, *, quota=None, least_nice=-20, may_realtime=False, asked=0, **rules):
    machine = Machine(cores, quota, least_nice, may_realtime)
    return placing.plan(machine, WANTS, PlacementSettings(**rules), asked)


def decision(found, about):
    return next(one for one in found.decisions if one.about == about)


def test_big_cores_are_told_by_what_they_can_do():
    assert planned(RK3588)[:2] == ((4, 5, 6, 7), (0, 1, 2, 3))


def test_big_cores_are_told_by_their_clocks_where_the_kernel_knows_no_capacity():
    cores = tuple(Core(number, None, khz) for number, khz in enumerate((4700000,) * 4 + (3300000,) * 4))
    assert planned(cores)[:2] == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_a_capacity_that_is_the_same_for_all_does_not_outweigh_clocks():
    cores = tuple(Core(number, 1024, khz) for number, khz in enumerate((1400000,) * 2 + (2000000,) * 2))
    assert planned(cores)[:2] == ((2, 3), (0, 1))


def test_cores_that_are_nearly_as_large_are_big_too():
    cores = tuple(Core(number, capacity) for number, capacity in enumerate((1024, 1003, 830, 414)))
    assert planned(cores)[:2] == ((0, 1, 2), (3,))


def test_cores_of_which_nothing_is_known_are_alike():
    assert planned((Core(0), Core(1), Core(2, 1024)))[:2] == ((0, 1, 2), ())


def test_cameras_take_the_little_cores_and_the_spare_big_one_and_heavy_stages_the_other_big_ones():
    places = planned(RK3588).places
    assert places["encode"].cores == places["describe"].cores == (5, 6, 7)
    assert places["capture"].cores == places["motion"].cores == (0, 1, 2, 3, 4)


def test_on_equal_cores_cameras_may_go_anywhere_and_one_core_is_left_to_the_system():
    places = planned(equal(4)).places
    assert places["describe"].cores == (1, 2, 3)
    assert places["capture"].cores == ()


@pytest.mark.parametrize("cores", [equal(1), equal(2), RK3588[3:5]])
def test_with_one_or_two_cores_nobody_is_pinned_and_the_plan_says_so(cores):
    found = planned(cores)
    assert {place.cores for place in found.places.values()} == {()}
    assert found.threads == 1
    assert "there is nothing to share out" in decision(found, "pinning").reason


def test_the_operator_may_forbid_pinning():
    found = planned(RK3588, pin=False)
    assert {place.cores for place in found.places.values()} == {()}
    assert decision(found, "pinning").reason == "placement.pin = false"
    assert found.threads == 3


@pytest.mark.parametrize(
    ("cores", "quota", "spare", "threads"),
    [
        (RK3588, None, 1, 3),
        (RK3588, None, 0, 4),  # the little ones are left to the system
        (RK3588, None, 3, 1),
        (RK3588, None, 9, 1),
        (RK3588[:4], None, 1, 3),  # a container on little cores alone: the largest there are
        (equal(4), None, 1, 3),
        (equal(4), None, 0, 3),  # one is left in any case
        (equal(1), None, 0, 1),
        (equal(3), 1.5, 1, 1),
        (equal(8), 4.0, 1, 3),
        (equal(8), 4.0, 0, 4),
        (equal(8), 0.5, 1, 1),
        (equal(4), 64.0, 1, 3),
    ],
)
def test_a_language_model_gets_big_cores_but_the_spare_ones_and_no_more_than_is_granted(cores, quota, spare, threads):
    assert planned(cores, quota=quota, spare_cores=spare).threads == threads


def test_a_quota_that_decides_is_named():
    assert "grants 1.5 cores' time" in decision(planned(equal(3), quota=1.5), "language model").reason


def test_where_more_threads_are_asked_for_than_there_are_cores_for_them_nobody_is_pinned():
    found = planned(RK3588, asked=6)
    assert found.threads == 6
    assert {place.cores for place in found.places.values()} == {()}
    assert "describe.threads = 6 is more than the 3 cores" in decision(found, "pinning").reason
    assert planned(RK3588, asked=2).places["describe"].cores == (5, 6, 7)


def test_cameras_are_not_set_apart_on_a_single_core():
    places = planned(RK3588[3:], spare_cores=0).places
    assert places["describe"].cores == (4, 5, 6, 7)
    assert places["capture"].cores == ()


def test_no_plan_leaves_the_system_without_a_core():
    for cores in (RK3588, RK3588[2:], equal(3), equal(16)):
        for spare in (0, 1, 2):
            found = planned(cores, spare_cores=spare)
            assert len(found.places["describe"].cores) < len(cores)
            assert found.threads < len(cores)


def test_real_time_is_given_only_where_it_is_asked_for_and_permitted():
    for asked, may, given in [(False, True, False), (True, False, False), (True, True, True)]:
        found = planned(RK3588, realtime=asked, may_realtime=may)
        assert found.places["capture"].realtime == given
        assert not found.places["motion"].realtime
        assert bool(decision(found, "real-time priority").remedy) == (asked and not may)


def test_a_nice_value_that_is_not_permitted_has_a_remedy():
    assert decision(planned(RK3588, least_nice=-20), "nice").remedy == ""
    refused = decision(planned(RK3588, least_nice=0), "nice")
    assert "capture would be -5" in refused.reason
    assert "LimitNICE=-5" in refused.remedy


def test_every_decision_has_a_reason():
    for cores in (RK3588, equal(1), equal(4)):
        assert all(one.choice and one.reason for one in planned(cores).decisions)


def test_numbers_are_written_as_the_kernel_writes_them():
    assert placing.format_ranges({7, 0, 1, 2, 5}) == "0-2,5,7"
    assert placing.format_ranges(()) == ""
