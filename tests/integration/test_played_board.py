"""Boards that are played: in a replay, and beside real processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pipeline.core import heat, sysfs
from pipeline.runtime.played import PlayedBoard
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
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 2
    assert "fanless_cam, rpi5, rk3588, phone" in run.stderr


def test_rows_of_a_replay_are_drawn(tmp_path):
    rows = replayed(tmp_path, "a", clip(tmp_path), "--heat", "rk3588@35", "--model", "none") / "heat.jsonl"
    command = [sys.executable, "-m", "tools.thermal_twin", "--draw", str(rows), "--report", str(tmp_path / "a.svg")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    drawn = ET.fromstring((tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert "temperature, C" in "".join(drawn.itertext())


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
