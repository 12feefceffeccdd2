from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.device.energy import choose_meters, measure_joules
from pipeline.core.device.sysfs import Energy


def meter(name="package-0", kind="rapl", unit="uj", now=1, wraps_at=None):
    return Energy(Path("/sys/x"), kind, name, unit, now, wraps_at=wraps_at)


def test_packages_are_counted_and_their_parts_are_not():
    found = [meter(), meter("core"), meter("dram"), meter("package-1"), meter("psys")]
    assert [one.name for one in choose_meters(found)] == ["package-0", "package-1"]


def test_a_board_is_counted_by_the_rail_that_feeds_it():
    found = [meter("VDD_CPU", "ina", "uw"), meter("VDD_IN", "ina", "uw"), meter("VDD_GPU", "ina", "uw")]
    assert [one.name for one in choose_meters(found)] == ["VDD_IN"]


def test_several_rails_none_of_which_is_all_count_nothing():
    assert choose_meters([meter("VDD_CPU", "ina", "uw"), meter("VDD_GPU", "ina", "uw")]) == []


def test_a_meter_that_may_not_be_read_counts_nothing():
    assert choose_meters([meter(now=None)]) == []


def test_a_counter_that_began_anew_is_counted_over_its_end():
    assert measure_joules(meter(wraps_at=10_000_000), 9_000_000, 500_000, 1.0) == pytest.approx(1.5)
    assert measure_joules(meter(), 9_000_000, 500_000, 1.0) is None


@pytest.mark.parametrize(("unit", "value", "volts"), [("uw", 5_000_000, None), ("mw", 5000, None), ("ma", 1000, 5000)])
def test_power_is_energy_over_time(unit, value, volts):
    assert measure_joules(meter("VDD_IN", "ina", unit), 0, value, 2.0, volts) == pytest.approx(10.0)
