"""What is read of heat, clocks and power, from made trees."""

import os
import threading
import time

import pytest

from pipeline.core.device import sysfs
from tests import trees
from tests.daemons import PATIENCE


def test_zones_come_by_their_numbers_with_their_first_passive_trip(tmp_path):
    found = sysfs.zones(trees.rk3588(tmp_path))
    assert [(zone.name, zone.type, zone.temp_c, zone.passive_trip_c) for zone in found] == [
        ("thermal_zone0", "soc-thermal", 47.23, 85.0),
        ("thermal_zone1", "bigcore0-thermal", 48.1, 75.0),
        ("thermal_zone10", "npu-thermal", 46.3, None),
    ]


def test_a_zone_that_cannot_be_read_now_has_no_temperature(tmp_path):
    trees.write(tmp_path, trees.zone(0, "cpu", "") | trees.zone(1, "gpu", "hot"))
    (tmp_path / "class/thermal/thermal_zone0/temp").unlink()
    assert [zone.temp_c for zone in sysfs.zones(tmp_path)] == [None, None]


def test_a_trip_that_is_switched_off_is_none(tmp_path):
    trees.write(tmp_path, trees.zone(0, "x86_pkg_temp", 40000, ("passive", 0), ("passive", -274000)))
    assert [zone.passive_trip_c for zone in sysfs.zones(tmp_path)] == [None]


def test_knobs_name_devices_first_with_their_steps_in_order(tmp_path):
    npu, little, big = sysfs.knobs(trees.rk3588(tmp_path))
    assert (npu.kind, npu.name, npu.now, npu.least, npu.most) == ("devfreq", "fdab0000.npu", 10**9, 3 * 10**8, 10**9)
    assert npu.steps == tuple(mhz * 10**6 for mhz in trees.RK3588_NPU_STEPS)
    assert npu.path == tmp_path / "class/devfreq/fdab0000.npu/max_freq"
    assert (little.kind, little.name, little.most) == ("cpufreq", "policy0", 1800000)
    assert big.steps == (408000, 1608000, 2256000)
    assert npu.writable


def test_a_clock_without_steps_still_has_its_ends(tmp_path):
    (knob,) = sysfs.knobs(trees.pi4(tmp_path))
    assert (knob.steps, knob.least, knob.now, knob.most) == ((), 600000, 1800000, 1800000)


def test_a_knob_that_is_not_there_is_not_writable(tmp_path):
    trees.pi4(tmp_path)
    (tmp_path / "devices/system/cpu/cpufreq/policy0/scaling_max_freq").unlink()
    (knob,) = sysfs.knobs(tmp_path)
    assert (knob.now, knob.writable) == (None, False)


def test_a_counter_of_energy_tells_where_it_begins_anew(tmp_path):
    (package,) = sysfs.energy(trees.hybrid(tmp_path))
    assert (package.kind, package.name, package.unit, package.readable) == ("rapl", "package-0", "uj", True)
    assert package.wraps_at == 262143328850


def test_a_chip_on_the_supply_has_currents_with_their_voltages(tmp_path):
    (rail,) = sysfs.energy(trees.jetson(tmp_path))
    assert (rail.kind, rail.name, rail.unit, rail.now) == ("ina", "VDD_IN", "ma", 1304)
    assert rail.volts == tmp_path / "class/hwmon/hwmon3/in1_input"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"class/hwmon/hwmon0/name": "fan", "class/hwmon/hwmon0/power1_input": 4200000},
            ("hwmon", "fan power1", "uw", 4200000),
        ),
        (
            {"class/hwmon/hwmon0/name": "amd_energy", "class/hwmon/hwmon0/energy1_input": 7},
            ("hwmon", "amd_energy energy1", "uj", 7),
        ),
        (
            {"class/hwmon/hwmon0/name": "ina226", "class/hwmon/hwmon0/power1_input": 5},
            ("ina", "ina226 power1", "uw", 5),
        ),
        (
            {
                "bus/i2c/drivers/ina3221x/6-0040/iio:device0/rail_name_0": "POM_5V_IN",
                "bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_power0_input": 2100,
            },
            ("ina", "POM_5V_IN", "mw", 2100),
        ),
    ],
)
def test_other_sensors_of_power_are_found(tmp_path, files, told):
    (found,) = sysfs.energy(trees.write(tmp_path, files))
    assert (found.kind, found.name, found.unit, found.now) == told


def test_a_counter_that_may_not_be_read_is_named_all_the_same(tmp_path):
    trees.hybrid(tmp_path)
    counter = tmp_path / "class/powercap/intel-rapl:0/energy_uj"
    counter.unlink()
    counter.mkdir()  # as root may read every file: a folder is refused to root too
    (package,) = sysfs.energy(tmp_path)
    assert (package.name, package.readable) == ("package-0", False)


def test_nothing_at_all_is_nothing(tmp_path):
    assert (sysfs.zones(tmp_path), sysfs.knobs(tmp_path), sysfs.energy(tmp_path)) == ([], [], [])


def test_a_pipe_in_the_place_of_a_sensor_is_not_waited_for(tmp_path):
    trees.write(tmp_path, trees.zone(0, "cpu", 40000))
    (tmp_path / "class/thermal/thermal_zone0/temp").unlink()
    os.mkfifo(tmp_path / "class/thermal/thermal_zone0/temp")
    assert [zone.temp_c for zone in sysfs.zones(tmp_path)] == [None]


def test_a_driver_that_does_not_answer_is_left_after_a_moment_and_heard_when_it_does(tmp_path, monkeypatch):
    answers = threading.Event()
    monkeypatch.setattr(sysfs, "text", lambda _: answers.wait(30 * PATIENCE) and "42")
    assert [sysfs.answer(tmp_path / "temp"), sysfs.answer(tmp_path / "temp")] == [None, None]
    answers.set()
    eventually = time.monotonic() + 10 * PATIENCE
    while (found := sysfs.answer(tmp_path / "temp")) is None and time.monotonic() < eventually:
        pass
    assert found == 42
