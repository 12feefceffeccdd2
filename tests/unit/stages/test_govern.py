"""What the stage govern does with heat, load and memory (long: one stage, a test a behaviour)."""

from __future__ import annotations

import json
import threading

import pytest

from pipeline.core.device import sysfs
from pipeline.core.device.limits import FREE, Rung
from pipeline.core.messages import Ticked, Work
from stages import knobs
from stages.govern import Govern
from tests.fakes import NOON_NS, NS, FakeClock, context

MOST = 2_400_000


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="ascii")
    return path


class Board:
    """A made tree of a board with one zone and one frequency."""

    def __init__(self, root, *, trip_c=85.0, frequencies=True):
        self.root = root
        zone = root / "class/thermal/thermal_zone0"
        put(zone / "type", "soc-thermal")
        put(zone / "trip_point_0_type", "passive")
        put(zone / "trip_point_0_temp", round(trip_c * 1000))
        self.temp = put(zone / "temp", 50_000)
        self.frequency = None
        if frequencies:
            policy = root / "devices/system/cpu/cpufreq/policy4"
            put(policy / "cpuinfo_max_freq", MOST)
            put(policy / "cpuinfo_min_freq", 408_000)
            put(policy / "scaling_available_frequencies", "408000 1200000 1608000 2016000 2400000")
            self.frequency = put(policy / "scaling_max_freq", MOST)

    def khz(self):
        return int(self.frequency.read_text(encoding="ascii"))


class Run:
    """A governor that is told of a second after the other."""

    def __init__(self, board, state_dir=None, lives=0, held=None, **governor):
        self.board, self.at_s, self.work = board, 0, Work(available_mb=2000.0)
        table = {"sysfs": str(board.root)} | governor
        self.stage = Govern(context(None, clock=FakeClock(), state_dir=state_dir, lives=lives, governor=table))
        self.stage.context.limits.set(held or FREE)
        self.stage.warm_up()
        list(self.stage.begin())

    @property
    def limits(self):
        return self.stage.context.limits.get()

    def pass_s(self, seconds, temp_c=None, *, each_s=1, **work):
        told = []
        for at in range(seconds // each_s):
            if temp_c is not None:
                put(self.board.temp, round((temp_c + 0.1 * (at % 2)) * 1000))
            self.at_s += each_s
            changes = {"inferring_s": self.at_s * 1.0, "available_mb": 2000.0} | work
            self.work = Work(**changes)
            tick = Ticked(pts_ns=self.at_s * NS, utc_ns=NOON_NS, work=self.work)
            told += list(self.stage.handle(tick))
        return told


def kinds(told):
    return [one.what for one in told]


def test_a_cool_board_is_left_alone(tmp_path):
    run = Run(Board(tmp_path))
    assert run.pass_s(400, 60.0) == []
    assert run.board.khz() == MOST
    assert run.limits._replace(temp_c=None) == FREE
    assert run.limits.temp_c == pytest.approx(60.0, abs=0.2)


def test_three_minutes_of_inference_on_a_warm_board_lower_its_frequency_and_say_why(tmp_path):
    run = Run(Board(tmp_path))
    told = run.pass_s(200, 79.0)
    assert kinds(told) == ["thermal.level"]
    assert told[0].details["rule"] == "sustained"
    assert told[0].details["acts_by"] == "the frequencies of policy4"
    assert run.board.khz() == 2_016_000
    assert (run.limits.level, run.limits.duty) == (1, 1.0)


def test_a_cooled_board_gets_its_frequency_back(tmp_path):
    run = Run(Board(tmp_path))
    run.pass_s(200, 79.0)
    run.pass_s(100, 60.0)
    assert run.board.khz() == MOST
    assert run.limits.level == 0


def test_without_a_frequency_that_may_be_set_inference_rests(tmp_path):
    run = Run(Board(tmp_path, frequencies=False))
    told = run.pass_s(200, 79.0)
    assert told[0].details["acts_by"].startswith("rest")
    assert run.limits.duty == 0.85


def test_a_hot_board_looks_at_fewer_pictures_and_writes_no_sentences(tmp_path):
    run = Run(Board(tmp_path))
    told = run.pass_s(60, 82.5)
    assert (run.limits.level, run.limits.stride, run.limits.rung) == (4, 2, Rung.TEMPLATES)
    assert "system.overload" in kinds(told)


def test_the_originals_are_written_back_at_the_end(tmp_path):
    run = Run(Board(tmp_path / "sys"), state_dir=tmp_path)
    run.pass_s(200, 79.0)
    run.stage.close()
    assert run.board.khz() == MOST
    assert not (tmp_path / "frequencies.json").exists()


def test_the_originals_are_written_back_after_a_crash(tmp_path):
    board = Board(tmp_path / "sys")
    put(board.frequency, 2_016_000)  # somebody else's bound
    Run(board, state_dir=tmp_path).pass_s(60, 82.5)
    assert board.khz() < 2_016_000
    Run(board, state_dir=tmp_path)  # nothing was closed
    assert board.khz() == 2_016_000


def test_a_governor_that_is_killed_and_replaced_knows_the_originals(tmp_path):
    board = Board(tmp_path / "sys")
    Run(board, state_dir=tmp_path).pass_s(60, 82.5)
    assert board.khz() < MOST
    again = Run(board, state_dir=tmp_path)
    again.pass_s(60, 82.5)
    assert board.khz() < MOST
    again.stage.close()
    assert board.khz() == MOST


def test_what_somebody_else_writes_meanwhile_is_what_they_get_back(tmp_path):
    board = Board(tmp_path / "sys")
    run = Run(board, state_dir=tmp_path)
    run.pass_s(200, 79.0)
    put(board.frequency, 1_608_000)
    run.pass_s(200, 79.0)
    assert board.khz() == 1_608_000
    run.stage.close()
    assert board.khz() == 1_608_000


def test_a_bound_that_somebody_has_raised_after_a_crash_stays(tmp_path):
    board = Board(tmp_path / "sys")
    put(board.frequency, 1_608_000)
    Run(board, state_dir=tmp_path).pass_s(60, 82.5)
    put(board.frequency, 2_016_000)
    Run(board, state_dir=tmp_path)
    assert board.khz() == 2_016_000


def test_originals_are_written_to_no_file_but_a_frequency(tmp_path):
    victim = put(tmp_path / "victim", 7)
    (tmp_path / "frequencies.json").write_text(json.dumps({str(victim): 1}), encoding="utf-8")
    Run(Board(tmp_path / "sys"), state_dir=tmp_path)
    assert victim.read_text(encoding="ascii") == "7\n"


def test_damaged_originals_are_no_reason_not_to_start(tmp_path):
    (tmp_path / "frequencies.json").write_text("{", encoding="utf-8")
    Run(Board(tmp_path / "sys"), state_dir=tmp_path).pass_s(5, 60.0)


def test_a_bound_of_somebody_else_is_never_raised(tmp_path):
    board = Board(tmp_path)
    put(board.frequency, 1_200_000)
    run = Run(board)
    run.pass_s(200, 79.0)
    assert board.khz() == 1_200_000
    run.pass_s(100, 60.0)
    assert board.khz() == 1_200_000


def test_an_observer_says_what_it_would_do_and_does_nothing(tmp_path):
    run = Run(Board(tmp_path), mode="observe")
    told = run.pass_s(60, 82.5)
    assert told[0].details["acts_by"] == "nothing: it only observes"
    assert run.board.khz() == MOST
    assert run.limits.observing
    assert run.limits._replace(temp_c=None, level=0, observing=False) == FREE


def test_switched_off_it_does_not_look(tmp_path):
    run = Run(Board(tmp_path), mode="off")
    assert run.pass_s(60, 99.0, spent=1.0) == []
    assert run.limits == FREE


def test_a_lost_sensor_is_taken_for_hot_and_told_of_once_each_way(tmp_path):
    run = Run(Board(tmp_path))
    run.pass_s(10, 60.0)
    run.board.temp.unlink()
    lost = run.pass_s(120)
    assert kinds(lost).count("thermal.sensor_lost") == 1
    assert lost[0].details["reason"] == "soc-thermal cannot be read: taken for hot"
    assert run.limits.level == 3
    back = run.pass_s(300, 60.0)
    assert kinds(back).count("thermal.sensor_lost") == 1
    assert run.limits.level == 0


def test_a_board_without_sensors_is_left_alone(tmp_path):
    board = Board(tmp_path)
    board.temp.unlink()
    run = Run(board)
    assert run.pass_s(60) == []
    assert run.limits.level == 0


def test_a_sensor_that_was_asked_for_and_is_not_there_is_a_lost_one(tmp_path):
    run = Run(Board(tmp_path), zones=["soc-thermal", "npu-thermal"])
    told = run.pass_s(5, 60.0)
    assert "thermal.sensor_lost" in kinds(told)


def test_an_emergency_stands_the_model_still_and_is_an_alarm(tmp_path):
    run = Run(Board(tmp_path))
    told = run.pass_s(5, 91.0)
    assert run.limits.paused
    assert [one.priority.name for one in told if one.what == "thermal.critical"] == ["ALARM"]


def test_the_trip_of_the_board_decides(tmp_path):
    run = Run(Board(tmp_path, trip_c=95.0))
    assert run.pass_s(200, 79.0) == []


def test_a_trip_in_the_configuration_goes_before(tmp_path):
    run = Run(Board(tmp_path, trip_c=95.0), trip_c=85.0)
    assert kinds(run.pass_s(200, 79.0)) == ["thermal.level"]


def test_a_long_queue_is_an_event_with_the_reason_and_what_is_given_up(tmp_path):
    run = Run(Board(tmp_path))
    told = run.pass_s(3, 60.0, spent=0.9)
    assert kinds(told) == ["system.overload"]
    assert told[0].details["rung"] == "verdicts"
    assert told[0].details["means"] == "no sentences are written but for alarms"
    assert run.limits.rung is Rung.VERDICTS


def test_whoever_does_not_want_it_sheds_nothing(tmp_path):
    run = Run(Board(tmp_path), shed=False)
    run.pass_s(60, 60.0, spent=0.9)
    assert run.limits.rung is Rung.FULL


def test_a_process_that_grows_is_told_of_and_replaced_when_it_is_too_much(tmp_path):
    run, asked = Run(Board(tmp_path)), []
    run.stage.context.limits.recycle = asked.append
    told = []
    for minute in range(120):
        told += run.pass_s(60, 60.0, each_s=20, rss_mb={"encode": 100.0 + 6 * minute, "emit": 50.0})
    assert {one.details["stage"] for one in told if one.what == "system.memory_slope"} == {"encode"}
    assert asked[0] == "encode"


def test_inference_that_grows_slow_is_told_of(tmp_path):
    run, told, total = Run(Board(tmp_path)), [], 0.0
    for minute in range(60):
        total += 30 * (600.0 if minute < 20 else 950.0)
        told += run.pass_s(60, 60.0, each_s=20, pieces={"describe": 30 * (minute + 1)}, pieces_ms={"describe": total})
    assert [one.details["was_ms"] for one in told if one.what == "system.latency_drift"] == [600.0]


def test_when_it_ends_nothing_is_held_back(tmp_path):
    run = Run(Board(tmp_path))
    run.pass_s(60, 82.5)
    run.stage.close()
    assert run.limits == FREE


def test_a_zone_that_is_switched_on_later_counts_from_then_on(tmp_path):
    board = Board(tmp_path)
    board.temp.unlink()
    run = Run(board)
    assert run.pass_s(30) == []
    told = run.pass_s(10, 84.5)
    assert "thermal.level" in kinds(told)


def test_a_sensor_that_comes_and_goes_is_told_of_once(tmp_path):
    run = Run(Board(tmp_path))
    run.pass_s(10, 60.0)
    told = []
    for _ in range(30):
        run.board.temp.unlink()
        told += run.pass_s(4)
        told += run.pass_s(6, 60.0)
    assert kinds(told).count("thermal.sensor_lost") == 1


def test_what_cannot_be_written_down_is_not_touched_and_inference_rests_instead(tmp_path):
    (tmp_path / "state").write_text("", encoding="ascii")  # a file where a folder should be
    run = Run(Board(tmp_path / "sys"), state_dir=tmp_path / "state")
    run.pass_s(200, 79.0)
    assert run.board.khz() == MOST
    assert run.limits.duty == 0.85


def test_a_frequency_that_could_not_be_written_is_tried_again(tmp_path, monkeypatch):
    run = Run(Board(tmp_path))
    monkeypatch.setattr(knobs, "_written", lambda *_: False)
    run.pass_s(200, 79.0)
    assert run.limits.duty == 0.85
    monkeypatch.undo()
    run.pass_s(2, 79.0)
    assert (run.board.khz(), run.limits.duty) == (2_016_000, 1.0)


def test_originals_of_a_frequency_that_is_away_are_kept_for_when_it_is_back(tmp_path):
    board = Board(tmp_path / "sys")
    Run(board, state_dir=tmp_path).pass_s(60, 82.5)
    away = board.frequency.with_name("away")
    board.frequency.rename(away)
    Run(board, state_dir=tmp_path).pass_s(5, 50.0)
    away.rename(board.frequency)
    Run(board, state_dir=tmp_path)
    assert board.khz() == MOST


def test_a_bound_that_is_raised_by_hand_on_a_hot_board_is_lowered_again(tmp_path):
    run = Run(Board(tmp_path))
    run.pass_s(60, 82.5)
    put(run.board.frequency, MOST)
    run.pass_s(2, 82.5)
    assert run.board.khz() < MOST


def test_a_life_that_follows_another_goes_on_at_its_level(tmp_path):
    board = Board(tmp_path / "sys")
    first = Run(board, state_dir=tmp_path)
    first.pass_s(60, 82.5)
    second = Run(board, state_dir=tmp_path, lives=1, held=first.limits)
    assert second.limits == first.limits
    assert board.khz() < MOST
    second.pass_s(600, 50.0)
    assert (second.limits.level, board.khz()) == (0, MOST)


@pytest.mark.parametrize("text", ["9" * 400, "", "warm", "\u00b2\u00b3", "-" * 9, "1e5"])
def test_odd_files_of_the_kernel_tell_nothing_and_break_nothing(tmp_path, text):
    board = Board(tmp_path)
    policy = board.frequency.parent
    for path in (board.temp, policy / "scaling_available_frequencies", policy / "cpuinfo_max_freq"):
        path.write_text(text, encoding="utf-8")
    meter = tmp_path / "class/powercap/intel-rapl:0"
    put(meter / "name", "package-0")
    (meter / "energy_uj").write_text(text, encoding="utf-8")
    run = Run(board, zones=["soc-thermal"])
    run.pass_s(30)
    assert run.limits.level > 0


def test_a_zone_of_the_firmware_that_never_changes_is_no_sensor(tmp_path):
    board = Board(tmp_path)
    put(tmp_path / "class/thermal/thermal_zone0/type", "acpitz")
    put(board.temp, 27_800)
    run = Run(board)
    assert run.pass_s(1500) == []
    assert run.limits == FREE


def test_a_block_that_is_off_is_told_of_once_and_costs_nothing(tmp_path):
    board = Board(tmp_path)
    off = put(tmp_path / "class/thermal/thermal_zone1/temp", -256_000)
    put(tmp_path / "class/thermal/thermal_zone1/type", "gpu-thermal")
    run = Run(board)
    told = run.pass_s(200, 60.0)
    put(off, 50_000)
    told += run.pass_s(10, 60.0)
    put(off, -256_000)
    told += run.pass_s(200, 60.0)
    assert [(one.what, one.details["reason"]) for one in told] == [
        ("system.sensor_off", "gpu-thermal says -256 C: switched off or broken, left out")
    ]
    assert run.board.khz() == MOST


def test_a_lone_sensor_that_says_what_no_chip_can_be_is_told_of(tmp_path):
    run = Run(Board(tmp_path))
    assert "thermal.sensor_lost" in kinds(run.pass_s(10, -256.0))


def test_a_sensor_that_never_answers_does_not_keep_the_governor_from_the_others(tmp_path, monkeypatch):
    board, read = Board(tmp_path), sysfs.text
    silent = put(tmp_path / "class/thermal/thermal_zone1/temp", 50_000)
    put(tmp_path / "class/thermal/thermal_zone1/type", "gpu-thermal")
    answered, asked = threading.Event(), []

    def slow(path):
        if path == silent:
            asked.append(path)
            answered.wait(30)
        return read(path)

    monkeypatch.setattr(sysfs, "text", slow)
    run = Run(board)
    assert run.pass_s(20, 60.0) == []
    assert run.limits.temp_c == pytest.approx(60, abs=0.2)
    assert len(asked) == 1
    answered.set()
