"""From what was found on a device to ok, note or trouble."""

from pathlib import Path

import pytest

from pipeline.core.device import diagnosis, placing
from pipeline.core.device.diagnosis import Finding, MemoryFound, Need
from pipeline.core.device.placing import Core, Machine, Want
from pipeline.core.device.sysfs import Energy, Knob, Zone
from pipeline.core.settings import PlacementSettings

NEED = Need(cameras=2, rings_mb=100, model_mb=100, threads=3)


def knob(name="policy0", *, now=1800000, most=1800000, writable=True):
    return Knob(Path(name), "cpufreq", name, now, most, 408000, (), writable)


def zone(temp_c, trip_c=85.0):
    return Zone("thermal_zone0", "soc", Path("thermal_zone0"), temp_c, trip_c)


def meter(name, now):
    return Energy(Path(name), "rapl", name, "uj", now)


def states(findings):
    return [one.state for one in findings]


def test_every_decision_of_placement_is_a_line_with_its_reason():
    machine = Machine(tuple(Core(number) for number in range(4)), least_nice=0)
    plan = placing.plan(machine, {"capture": Want("light", -5), "encode": Want("heavy", 5)}, PlacementSettings())
    lines = {one.name: one for one in diagnosis.placement(plan)}
    assert len(lines) == len(plan.decisions)
    assert lines["encode"].found == "cores 1-3: the equal ones, all but 0, left to cameras and the system"
    assert (lines["encode"].state, lines["nice"].state) == ("ok", "note")


@pytest.mark.parametrize(("granted", "state"), [(None, "ok"), (8.0, "ok"), (1.5, "note"), (0.5, "trouble")])
def test_a_quota_below_one_core_is_trouble(granted, state):
    found = diagnosis.quota(granted, 3)
    assert (found.state, bool(found.remedy)) == (state, state != "ok")


@pytest.mark.parametrize(
    ("available", "granted", "state"), [(3000, None, "ok"), (600, None, "note"), (3000, 300, "trouble")]
)
def test_memory_is_what_is_free_or_granted_against_what_is_needed(available, granted, state):
    first, _ = diagnosis.memory(MemoryFound(4000, available, 1000, granted), NEED)
    assert (first.state, "460 MB needed" in first.found) == (state, True)


def test_a_small_board_without_swap_is_a_note_and_a_large_machine_is_not():
    assert states(diagnosis.memory(MemoryFound(4000, 3000, 0, None), NEED)) == ["ok", "note"]
    assert states(diagnosis.memory(MemoryFound(32000, 3000, 0, None), NEED)) == ["ok", "ok"]


def test_memory_that_nobody_tells_of_is_a_note():
    assert states(diagnosis.memory(MemoryFound(None, None, None, None), NEED)) == ["note"]


def test_pictures_that_would_take_half_of_memory_are_trouble():
    assert diagnosis.rings(NEED, 150, "").state == "trouble"
    assert diagnosis.rings(NEED, 1000, "").state == "ok"
    assert diagnosis.rings(NEED, 1000, "Operation not permitted").state == "trouble"


@pytest.mark.parametrize(
    ("most", "there", "state"), [(None, None, "ok"), (4096, 10, "ok"), (170, 10, "note"), (100, 50, "trouble")]
)
def test_too_few_processes_and_threads_are_trouble_before_one_cannot_be_started(most, there, state):
    assert diagnosis.tasks(most, there, NEED).state == state


@pytest.mark.parametrize(("most", "state"), [(-1, "ok"), (1024, "ok"), (512, "note"), (64, "trouble")])
def test_open_files_are_counted(most, state):
    assert diagnosis.files(most).state == state


def test_a_full_disk_is_trouble_and_a_small_one_a_note():
    assert diagnosis.disk("/s", 5000, 2000, writable=True).state == "ok"
    assert diagnosis.disk("/s", 500, 2000, writable=True).state == "note"
    assert diagnosis.disk("/s", 50, 2000, writable=True).state == "trouble"
    assert diagnosis.disk("/s", 5000, 2000, writable=False).state == "trouble"


def test_heat_is_measured_against_the_first_passive_trip():
    assert states(diagnosis.heat([zone(50.0), zone(76.0), zone(86.0), zone(None)])) == ["ok", "note", "trouble", "note"]
    assert states(diagnosis.heat([zone(76.0, 95.0), zone(80.0, None)])) == ["ok", "note"]
    assert states(diagnosis.heat([])) == ["note"]


def test_bounds_of_frequencies_that_are_alike_are_one_line():
    (line,) = diagnosis.clocks([knob(f"policy{number}") for number in range(16)])
    assert line == Finding("ok", "frequency: policy0 and 15 like it", "up to 1800 MHz, the bound may be set")


def test_a_clock_that_is_held_down_is_a_note():
    (line,) = diagnosis.clocks([knob(now=1200000)])
    assert (line.state, "held below its 1800 MHz" in line.found) == ("note", True)


def test_a_bound_that_may_not_be_set_says_what_is_done_instead():
    (line,) = diagnosis.clocks([knob(writable=False)])
    assert "pauses alone" in line.found
    assert "udev rule" in line.remedy
    assert states(diagnosis.clocks([])) == ["note"]


def test_meters_that_may_not_be_read_have_a_remedy():
    readable, closed = diagnosis.energy([meter("package-0", 5), meter("core", 6), meter("psys", None)])
    assert (readable.state, readable.found) == ("ok", "package-0, core: readable")
    assert (closed.state, bool(closed.remedy)) == ("note", True)
    assert states(diagnosis.energy([])) == ["note"]


def test_a_clock_that_was_never_set_is_trouble():
    assert diagnosis.clock(0.0, synchronised=False).state == "trouble"
    assert diagnosis.clock(1.8e9, synchronised=False).state == "note"
    assert diagnosis.clock(1.8e9, synchronised=True).state == "ok"


def test_memory_bounds_the_tokens_of_a_model():
    found = diagnosis.bandwidth(12.5, 3, 1000)
    assert found == Finding(
        "ok", "memory bandwidth", "12.5 GB/s read and written by 3 threads; 12 tokens/s at most with 1000 MB of weights"
    )
    assert diagnosis.bandwidth(4.0, 1, 1000).state == "note"
    assert "with 1 GB of weights" in diagnosis.bandwidth(12.5, 3, 0).found
    assert diagnosis.bandwidth(None, 3, 0).state == "note"


def test_an_encoder_that_is_not_where_it_was_asked_for_is_trouble():
    assert diagnosis.encoder("cpu", "cpu_baseline", "cpu", ()).state == "ok"
    assert diagnosis.encoder("qnn", "full", "accelerator", ()).state == "ok"
    fallen = diagnosis.encoder("qnn", "none", "cpu", ["it took no node"])
    assert (fallen.state, "it took no node" in fallen.found) == ("trouble", True)
    assert diagnosis.encoder("rknn", "untold", "accelerator", ["it keeps no record"]).state == "note"


def test_a_zone_that_is_off_is_left_out_beside_one_that_tells_and_trouble_alone():
    off, there = zone(-256.0), zone(48.0)
    assert [one.state for one in diagnosis.heat([off, there])] == ["note", "ok"]
    assert [one.state for one in diagnosis.heat([off])] == ["trouble"]
