"""Stages on the cores that the plan has for them, and the doctor on this very machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import psutil
import pytest

from pipeline.core.settings import Settings
from pipeline.runtime import cores
from pipeline.runtime.board import Word
from tests.daemons import PATIENCE, ROOT, Daemon, eventually

CORES = sorted(os.sched_getaffinity(0))
MADE = """
from pipeline.core.device import placing
from pipeline.core.device.placing import Core, Machine
from pipeline.runtime import cores
placing._FEW = 1
cores.read = lambda: Machine(({made}), least_nice=-20, may_realtime=True)
"""  # a machine that this one is not


@pytest.fixture
def daemon(tmp_path):
    """A daemon with a placement of its own."""
    made = []

    def started(before="", **rules):
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in rules.items())
        made.append(Daemon(tmp_path, more=f"[placement]\n{lines}\n"))
        return made[-1].start(before)

    yield started
    for one in made:
        one.close()


def places(daemon, stage):
    """The cores of every thread of a stage's process."""
    threads = psutil.Process(daemon.board(stage, Word.PID)).threads()
    return {frozenset(os.sched_getaffinity(thread.id)) for thread in threads}


def test_on_this_machine_every_thread_of_every_stage_is_where_the_plan_has_it(daemon):
    plan = cores.planned(Settings())
    if not plan.places["describe"].cores:
        pytest.skip(f"nobody is pinned on {len(CORES)} cores: this needs three")
    running = daemon()
    for stage in ("encode", "describe", "classify"):
        assert places(running, stage) == {frozenset(plan.places[stage].cores or CORES)}


def test_with_one_or_two_cores_every_stage_may_go_everywhere(daemon):
    if len(CORES) > 2:
        pytest.skip(f"there are {len(CORES)} cores here")
    running = daemon()
    assert places(running, "describe") == places(running, "classify") == {frozenset(CORES)}
    assert "there is nothing to share out" in running.log()


def test_heavy_stages_and_their_threads_keep_to_the_big_cores_also_when_they_are_replaced(daemon):
    if len(CORES) < 2:
        pytest.skip("there is one core here: nothing can be told apart")
    made = f"Core({CORES[0]}, 414), Core({CORES[1]}, 1024)"
    running = daemon(MADE.format(made=made), spare_cores=0)
    big = {frozenset({CORES[1]})}
    assert places(running, "encode") == places(running, "describe") == big
    assert places(running, "classify") == {frozenset(CORES)}
    first = running.board("encode", Word.PID)
    running.kill("encode")
    running.await_event("system.stage_restarted", 8)
    assert running.board("encode", Word.PID) != first
    eventually(lambda: places(running, "encode") == big, 5, "the next one in the same place")


def test_cores_that_were_switched_off_are_a_line_in_the_log_and_no_more(daemon):
    gone = f"Core({CORES[0]}, 414), Core(1000, 1024), Core(1001, 1024)"
    running = daemon(MADE.format(made=gone))
    assert places(running, "describe") == {frozenset(CORES)}
    refused = [json.loads(line) for line in running.log().splitlines() if "place_refused" in line]
    assert {"encode", "describe"} <= {line["stage"] for line in refused}
    assert refused[0]["reason"] == "cores 1001: Invalid argument"
    running.await_incident()


def test_real_time_priority_is_given_where_it_is_asked_for(daemon):
    if not cores.read().may_realtime:
        pytest.skip("SCHED_RR is not permitted to this user")
    running = daemon(realtime=True)
    policies = {
        stage: os.sched_getscheduler(running.board(stage, Word.PID))
        for stage in ("capture@gate", "trigger", "motion@gate")
    }
    if "place_refused" in running.log():
        pytest.skip("SCHED_RR is refused by this kernel or container")
    assert policies == {"capture@gate": os.SCHED_RR, "trigger": os.SCHED_RR, "motion@gate": os.SCHED_OTHER}
    running.await_incident()


def test_the_doctor_examines_this_machine(tmp_path):
    words = [sys.executable, "-m", "pipeline", "doctor", "--json", "--state-dir", tmp_path / "state"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    told = json.loads(done.stdout)
    troubles = [one for one in told["findings"] if one["state"] == "trouble"]
    assert (told["troubles"], done.returncode) == (len(troubles), 4 if troubles else 0)
    names = {one["name"] for one in told["findings"]}
    assert {"cores", "language model", "nice", "memory", "swap", "shared memory", "open files", "clock"} <= names
    assert {"board", "kernel", "state folder", "processor quota", "memory bandwidth", "encoder"} <= names
    bandwidth = next(one["found"] for one in told["findings"] if one["name"] == "memory bandwidth")
    assert float(bandwidth.split()[0]) > 0.1
    assert not (tmp_path / "state").exists()
