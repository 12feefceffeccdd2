"""Boards that are played: in a replay, and beside real processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import psutil
import pytest

from pipeline.core.device import heat, sysfs
from pipeline.runtime.played import PlayedBoard
from pipeline.view import heatplot
from tests.daemons import PATIENCE, eventually
from tools import thermal_twin
from tools.make_footage import make
from tools.thermal_twin import Stops, Twin, limiter, of_session

ROOT = Path(__file__).parents[2]
BUSY = [sys.executable, "-c", "while True: pass"]


def clip(folder):
    return make(folder / "walks.mp4", width=320, height=180, fps=10, seconds=30, walks=6, bitrate=300_000)


def replayed(folder, name, source, *more):
    command = [sys.executable, "-m", "pipeline", "replay", source, "--out", folder / name, "--quiet", *more]
    run = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return folder / name


def test_a_replay_on_a_board_that_warms_up_gives_the_same_bytes_and_says_how_hot_it_was(tmp_path):
    source = clip(tmp_path)
    first, second = (replayed(tmp_path, name, source, "--heat", "rpi5@70", "--model", "none") for name in ("a", "b"))
    for name in ("events.jsonl", "heat.jsonl"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    rows = [json.loads(line) for line in (first / "heat.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["at_s"] for row in rows] == list(range(1, len(rows) + 1))
    events = [json.loads(line) for line in (first / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    hot = [event["data"]["thermal"]["temp_c"] for event in events if "thermal" in event["data"]]
    assert min(hot) >= 70  # warm from work
    assert any(event["type"] == "fieldwatch.thermal.level.v1" for event in events)


def test_without_a_board_a_replay_says_nothing_of_heat(tmp_path):
    plain = replayed(tmp_path, "plain", clip(tmp_path), "--model", "none")
    assert "thermal" not in (plain / "events.jsonl").read_text(encoding="utf-8")
    assert not (plain / "heat.jsonl").exists()


def test_a_board_that_is_none_is_refused(tmp_path):
    command = [sys.executable, "-m", "pipeline", "replay", str(clip(tmp_path)), "--heat", "toaster"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    assert run.returncode == 2
    assert "fanless_cam, rpi5, rk3588, phone" in run.stderr


def test_rows_of_a_replay_are_drawn(tmp_path):
    rows = replayed(tmp_path, "a", clip(tmp_path), "--heat", "rk3588@35", "--model", "none") / "heat.jsonl"
    command = [sys.executable, "-m", "tools.thermal_twin", "--draw", str(rows), "--report", str(tmp_path / "a.svg")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    assert run.returncode == 0, run.stderr
    drawn = ET.fromstring((tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert "temperature, C" in "".join(drawn.itertext())


def test_a_played_board_is_never_cooler_than_without_work(tmp_path):
    place = heat.place("fanless_cam@70")
    for load in (0.0, 1.0):
        idle = heat.settle(place.body, 70.0, place.body.idle_w).chip_c
        assert PlayedBoard(place, tmp_path, load).moment.temp_c == pytest.approx(idle, abs=0.1)


def test_a_played_board_throttles_at_its_trip_until_it_has_cooled(tmp_path):
    board = PlayedBoard(heat.place("rk3588@35"), tmp_path)
    frequencies = [board.pass_s(1.0, 1.0) for _ in range(1200)]
    first = next(at for at, one in enumerate(frequencies) if one.firmware)
    assert frequencies[first].temp_c >= 85
    assert frequencies[first].frequency == 0.4
    freed = next(one for one in frequencies[first:] if not one.firmware)
    assert freed.temp_c <= 70


def test_a_played_board_obeys_what_is_written_to_its_frequency(tmp_path):
    board = PlayedBoard(heat.place("rk3588@25"), tmp_path)
    knob = sysfs.knobs(tmp_path)[0]
    assert (knob.writable, knob.now, knob.steps[-1]) == (True, 2_400_000, 2_400_000)
    knob.path.write_text("1320000\n", encoding="ascii")
    assert board.pass_s(1.0, 1.0).frequency == 0.55


@pytest.mark.parametrize("way", ["best", "stops"])
def test_processes_on_a_slow_board_are_really_slow(tmp_path, monkeypatch, way):
    if way == "stops":
        monkeypatch.setattr(thermal_twin, "limiter", lambda session, _: Stops(session))
    twin = Twin(heat.place("rk3588@-20"), tmp_path, BUSY, cores=1.0, warm=0.0, run_dir=None)
    try:
        twin.run(2.0)
        full = thermal_twin.cpu_s(twin.process.pid)
        sysfs.knobs(tmp_path)[0].path.write_text("960000\n", encoding="ascii")
        began = time.monotonic()
        twin._limiter = thermal_twin.limiter(twin.process.pid, 1.0)
        twin.run(3.0)
        slow = (thermal_twin.cpu_s(twin.process.pid) - full) / (time.monotonic() - began)
    finally:
        twin.process.kill()
        twin.process.wait()
    assert 0 < slow < 0.75  # of a core; others may take what is left of it
    assert twin.rows[-1]["frequency"] == 0.4


def test_whoever_is_limited_is_let_go_when_the_board_ends(tmp_path):
    twin = Twin(heat.place("rk3588@-20"), tmp_path, BUSY, cores=1.0, warm=0.0, run_dir=None)
    try:
        twin.run(0.5)
        before = thermal_twin.cpu_s(twin.process.pid)
        time.sleep(0.5)
        assert thermal_twin.cpu_s(twin.process.pid) > before
        assert of_session(twin.process.pid) == [twin.process.pid]
    finally:
        twin.process.kill()
        twin.process.wait()


def test_a_limiter_can_always_be_had(tmp_path):
    process = subprocess.Popen(BUSY, start_new_session=True)
    try:
        one = limiter(process.pid, 1.0)
        one.hold(0.5, 0.2)
        one.close()
    finally:
        process.kill()
        process.wait()


def twin(*words, **more):
    command = [sys.executable, "-m", "tools.thermal_twin", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 * PATIENCE, check=False, **more)


def test_a_command_runs_on_a_board_as_the_help_says(tmp_path):
    run = twin("rk3588@35", "--root", tmp_path / "board", "--report", tmp_path / "a.svg", "--", "sleep", "2")
    assert run.returncode == 0, run.stderr
    assert f'sysfs = "{tmp_path}/board"' in run.stderr
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_exit_status_of_a_board_is_its_commands(tmp_path):
    run = twin("rk3588@35", "--root", tmp_path, "--", sys.executable, "-c", "raise SystemExit(7)")
    assert run.returncode == 7


def test_a_board_that_is_ended_ends_its_command_and_leaves_no_group_behind(tmp_path):
    command = [sys.executable, "-m", "tools.thermal_twin", "rk3588@35", "--root", str(tmp_path), "--", *BUSY]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    told = process.stderr.readline()
    child = eventually(lambda: psutil.Process(process.pid).children(), 10, "started")[0]
    process.terminate()
    assert process.wait(60 * PATIENCE) == 128 + 15
    process.stderr.close()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    if "quota of " in told:
        assert not Path(told.partition("quota of ")[2].strip()).exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "no rows"), ('{"type": "x"}\n', "line 1 is no row"), ("hello\n", "line 1 is no row")],
)
def test_what_are_no_rows_is_not_drawn(tmp_path, text, reason):
    (tmp_path / "rows").write_text(text, encoding="utf-8")
    run = twin("--draw", tmp_path / "rows", "--report", tmp_path / "a.svg")
    assert run.returncode == 1
    assert reason in run.stderr
    assert "Traceback" not in run.stderr


def test_several_recordings_are_drawn_one_after_the_other(tmp_path):
    row = {"temp_c": 50.0, "frequency": 1.0, "rung": "full", "queue_s": 0.0, "served_s": 0.0}
    lines = [{"recording": name, "at_s": at, **row} for name in ("a", "b") for at in (1, 2, 3)]
    (tmp_path / "rows").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [row["at_s"] for row in heatplot.read(tmp_path / "rows")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "options", [("--warm", "7"), ("--cores", "0"), ("--seconds", "-1"), ("--report", "/nope/a.svg")]
)
def test_nonsense_is_refused_before_anything_runs(tmp_path, options):
    run = twin("rk3588", "--root", tmp_path, *options, "--", "touch", tmp_path / "ran")
    assert run.returncode == 2
    assert not (tmp_path / "ran").exists()
