from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

import pytest

from pipeline.core.device import heat, sysfs
from pipeline.runtime.board import Board, StageState, Word
from pipeline.runtime.played import PlayedBoard
from tests.daemons import PATIENCE, ROOT, STAGES, WALKER, Daemon, alive, eventually, free_port

STALLED_AFTER = (
    "from pipeline import topology; topology.STAGES['{0}'] = topology.STAGES['{0}']._replace(stalled_after_s={1})"
)


@pytest.fixture
def new_daemon(tmp_path):
    """Make daemons that leave nothing behind."""
    made = []

    def new(*arguments, **more):
        made.append(Daemon(tmp_path, *arguments, **more))
        return made[-1]

    yield new
    for one in made:
        one.close()


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 64 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def assert_each_ended_once(daemon):
    started, ended = daemon.starts_and_ends()
    assert started
    assert set(started.values()) == {1}
    assert ended == started


def test_every_stage_that_is_killed_is_replaced_and_every_incident_ends_once(new_daemon):
    daemon = new_daemon(WALKER.replace("pause_s=2", "pause_s=1")).start()
    for number, stage in enumerate(STAGES):
        daemon.await_incident()
        daemon.kill(stage)
        event = daemon.await_event("system.stage_restarted", 8, after=number)
        assert event["data"]["details"] == {"stage": stage, "restarts": 1, "reason": "signal 9"}
        eventually(lambda stage=stage: daemon.board(stage, Word.HANDLED), 8, f"{stage} works again")
    daemon.await_incident()
    assert daemon.stop()[0] == 0
    assert_each_ended_once(daemon)
    ids = [event["id"] for event in daemon.events()]
    assert len(ids) == len(set(ids))


def test_an_incident_that_trigger_died_in_is_ended_by_its_successor(new_daemon):
    daemon = new_daemon().start()
    name = daemon.await_incident()
    daemon.kill("trigger")
    end = daemon.await_event("incident.end", 5)
    assert (end["subject"], end["data"]["ended_by"]) == (name, "crash_recovery")


def test_a_trigger_that_was_replaced_does_not_tell_of_a_start_again(new_daemon):
    daemon = new_daemon().start()
    daemon.await_event("system.started", 5)
    for lives in (1, 2, 3):
        daemon.kill("trigger")
        eventually(lambda lives=lives: daemon.board("trigger", Word.RESTARTS) == lives, 10, "trigger is replaced")
        eventually(lambda: daemon.board("trigger", Word.STATE) == StageState.RUNNING, 10, "trigger runs again")
    daemon.stop()
    assert len(daemon.events("system.started")) == 1


def test_after_kill_9_of_the_supervisor_nothing_runs_and_the_next_start_clears_up(new_daemon):
    daemon = new_daemon().start()
    name = daemon.await_incident()
    children = daemon.children()
    assert len(children) == len(STAGES)
    daemon.stop(signal.SIGKILL)
    eventually(lambda: not alive(children), 3, "no stage outlives its supervisor")
    left = daemon.run_dir / "motion@yard.in"  # of a camera that is in the configuration no more
    left.touch()
    assert {"lock", "board", "motion@gate.in"} <= {path.name for path in daemon.run_dir.iterdir()}
    daemon.start()
    assert not left.exists()
    end = daemon.await_event("incident.end", 5)
    assert (end["subject"], end["data"]["ended_by"]) == (name, "crash_recovery")
    assert daemon.stop()[0] == 0
    assert not list(daemon.run_dir.iterdir())
    assert_each_ended_once(daemon)


def test_a_second_daemon_in_the_same_folder_is_refused_and_says_who_holds_it(new_daemon):
    daemon = new_daemon("synthetic://?width=64&height=48&seconds=600&walks=0").start()
    second = daemon.command("run", daemon.config, *daemon.folders())
    assert second.returncode == 2
    assert f"held by another daemon (pid {daemon.process.pid})" in second.stderr
    assert "Traceback" not in second.stderr
    assert alive(daemon.children()) == set(daemon.children())
    assert daemon.stop()[0] == 0


def test_sigterm_ends_an_incident_and_then_every_process(new_daemon):
    daemon = new_daemon().start()
    name = daemon.await_incident()
    children = daemon.children()
    status, seconds = daemon.stop()
    assert status == 0
    assert seconds < 6 * PATIENCE
    end = daemon.events("incident.end")[-1]
    assert (end["subject"], end["data"]["ended_by"]) == (name, "shutdown")
    assert not alive(children)
    assert not list(daemon.run_dir.iterdir())
    assert_each_ended_once(daemon)
    assert "stage_killed" not in daemon.log()


def test_sigterm_to_all_processes_at_once_as_a_service_manager_sends_it_ends_an_incident_too(new_daemon):
    daemon = new_daemon().start()
    name = daemon.await_incident()
    os.killpg(daemon.process.pid, signal.SIGTERM)
    assert daemon.process.wait(60 * PATIENCE) == 0
    end = daemon.events("incident.end")[-1]
    assert (end["subject"], end["data"]["ended_by"]) == (name, "shutdown")
    assert "stage_killed" not in daemon.log()


def test_a_stage_that_stands_still_is_replaced(new_daemon):
    daemon = new_daemon().start(STALLED_AFTER.format("motion", 1.0))
    stopped = daemon.board("motion@gate", Word.PID)
    daemon.kill("motion@gate", signal.SIGSTOP)
    event = daemon.await_event("system.stage_restarted", 5)
    assert event["data"]["details"] == {"stage": "motion@gate", "restarts": 1, "reason": "signal 9"}
    assert not alive([stopped])
    eventually(lambda: daemon.board("motion@gate", Word.HANDLED), 5, "motion works again")


def test_a_capture_that_waits_for_its_camera_does_not_stand_still(new_daemon):
    pauses = "[capture]\nmin_reconnect_s = 2.0\nmax_reconnect_s = 2.0\n"
    daemon = new_daemon(f"rtsp://127.0.0.1:{free_port()}/test", pauses).start(STALLED_AFTER.format("capture", 1.0))
    eventually(lambda: daemon.board("capture@gate", Word.HANDLED) >= 2, 6, "a second attempt in the same life")
    assert daemon.board("capture@gate", Word.RESTARTS) == 0


def test_tap_shows_what_passes_on_a_link(new_daemon):
    daemon = new_daemon().start()
    tap = daemon.command("tap", "frames", "--run-dir", daemon.run_dir, "--count", "3", "--timeout", "5")
    assert tap.returncode == 0, tap.stderr
    messages = [json.loads(line) for line in tap.stdout.splitlines()]
    assert [message["type"] for message in messages] == ["FrameCaptured"] * 3
    sequences = [message["frame"][1] for message in messages]
    assert sequences == list(range(sequences[0], sequences[0] + 3))


def test_a_process_that_has_gathered_too_much_is_replaced_between_incidents_and_told_of(new_daemon):
    daemon = new_daemon(source="synthetic://?width=320&height=180&seconds=600&walks=0").start()
    before = daemon.board("encode", Word.PID)
    Board.open(daemon.run_dir / "board").limits().recycle("encode")
    eventually(lambda: daemon.board("encode", Word.RESTARTS), 10, "replaced")
    eventually(lambda: daemon.board("encode", Word.STATE) == StageState.RUNNING, 10, "running again")
    assert daemon.board("encode", Word.PID) != before
    assert "gathered" in daemon.await_event("system.stage_restarted", 10)["data"]["details"]["reason"]
    assert daemon.stop()[0] == 0


def test_a_hot_board_is_an_event_and_its_frequency_is_given_back_when_the_daemon_ends(new_daemon, tmp_path):
    board = PlayedBoard(heat.place("rk3588@35"), tmp_path / "sys")
    knob = sysfs.knobs(tmp_path / "sys")[0].path
    daemon = new_daemon(more=f'[governor]\nsysfs = "{tmp_path}/sys"\n').start()
    (tmp_path / "sys/class/thermal/thermal_zone0/temp").write_text("84500\n", encoding="ascii")
    eventually(lambda: sysfs.number(knob) < 2_400_000, 10, "slower")
    assert daemon.await_event("thermal.level", 10)["data"]["details"]["rule"] == "critical"
    status = json.loads(daemon.command("status", "--json", "--run-dir", daemon.run_dir).stdout)["device"]
    assert status["level"] > 0
    assert status["temp_c"] > 80
    assert daemon.stop()[0] == 0
    assert sysfs.number(knob) == 2_400_000
    assert board.moment.frequency == 1.0


def test_after_kill_9_of_everything_the_next_start_gives_the_frequency_back(new_daemon, tmp_path):
    PlayedBoard(heat.place("rk3588@35"), tmp_path / "sys")
    knob = sysfs.knobs(tmp_path / "sys")[0].path
    daemon = new_daemon(more=f'[governor]\nsysfs = "{tmp_path}/sys"\n').start()
    temp = tmp_path / "sys/class/thermal/thermal_zone0/temp"
    temp.write_text("84500\n", encoding="ascii")
    eventually(lambda: sysfs.number(knob) < 2_400_000, 10, "slower")
    daemon.process.kill()
    daemon.process.wait()
    temp.write_text("50000\n", encoding="ascii")
    daemon.start()
    eventually(lambda: sysfs.number(knob) == 2_400_000, 5, "the frequency that was there before")
    assert daemon.stop()[0] == 0


def test_status_tells_of_every_process_and_of_a_daemon_that_is_not_there(new_daemon):
    daemon = new_daemon().start()
    status = daemon.command("status", "--json", "--run-dir", daemon.run_dir)
    assert status.returncode == 0, status.stderr
    told = json.loads(status.stdout)
    rows, device = told["processes"], told["device"]
    assert (device["rung"], device["level"], device["paused"]) == ("full", 0, False)
    assert device["available_mb"] > 0
    assert [row["process"] for row in rows] == list(STAGES)
    assert {row["state"] for row in rows} == {"running"}
    assert {row["pid"] for row in rows} == set(daemon.children())
    assert daemon.stop()[0] == 0
    gone = daemon.command("status", "--run-dir", daemon.run_dir)
    assert gone.returncode == 2
    assert "no daemon runs here" in gone.stderr


def test_events_that_a_full_disk_did_not_take_are_delivered_when_it_does(new_daemon, full_disk):
    daemon = new_daemon(more="evidence = false\n", events=full_disk)
    page = os.statvfs(full_disk).f_frsize
    daemon.events_file.write_text('{"type": "none"}'.ljust(page - 1) + "\n")  # the next line needs another page
    space = os.statvfs(full_disk)
    ballast = full_disk / "ballast"
    ballast.write_bytes(bytes(space.f_bavail * space.f_frsize))
    daemon.start()
    daemon.kill("describe")  # an event that is certain to come
    eventually(lambda: daemon.board("describe", Word.REPORTED), 5, "it was told of")
    handled = daemon.board("emit", Word.HANDLED)
    eventually(lambda: daemon.board("emit", Word.HANDLED) > handled + 2, 5, "emit has tried")
    assert not daemon.events("fieldwatch")
    ballast.unlink()
    daemon.await_event("sink.recovered", 8)
    assert daemon.stop()[0] == 0
    (degraded,) = daemon.events("sink.degraded")
    assert "No space left" in degraded["data"]["details"]["reason"]
    assert len(daemon.events("system.stage_restarted")) == 1
    ids = [event["id"] for event in daemon.events("fieldwatch")]
    assert len(ids) == len(set(ids))


def test_who_does_not_read_standard_output_keeps_no_event_from_the_file(new_daemon):
    reader, writer = os.pipe()
    try:
        os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)))
        daemon = new_daemon(more='[emit]\nsinks = ["stdout", "jsonl"]\nevidence = false\n', stdout=writer).start()
        daemon.await_event("incident.end", 9)
        assert daemon.stop()[0] == 0
        assert_each_ended_once(daemon)
    finally:
        os.close(reader)
        os.close(writer)


def test_a_daemon_that_was_killed_is_not_taken_for_one_that_runs(new_daemon):
    daemon = new_daemon().start()
    daemon.stop(signal.SIGKILL)
    status = daemon.command("status", "--run-dir", daemon.run_dir)
    assert status.returncode == 2
    assert "no daemon runs here" in status.stderr


def test_a_terminal_that_closes_ends_incidents_in_order(new_daemon):
    daemon = new_daemon().start()
    name = daemon.await_incident()
    os.killpg(daemon.process.pid, signal.SIGHUP)
    assert daemon.process.wait(60 * PATIENCE) == 0
    end = daemon.events("incident.end")[-1]
    assert (end["subject"], end["data"]["ended_by"]) == (name, "shutdown")
    assert not list(daemon.run_dir.iterdir())


def test_cameras_that_do_not_answer_take_no_time_from_the_end_of_incidents(new_daemon):
    with socket.create_server(("127.0.0.1", 0), backlog=16) as silent:  # it accepts, and says nothing
        address = f"rtsp://127.0.0.1:{silent.getsockname()[1]}/x"
        silent_cameras = "".join(f'[cameras.c{number}]\nsource = "{address}"\n' for number in range(6))
        patient = "[capture]\nopen_timeout_s = 60.0\nread_timeout_s = 60.0\n"
        daemon = new_daemon(more=patient + silent_cameras).start()
        name = daemon.await_incident()
        assert daemon.stop()[0] == 0
    end = daemon.events("incident.end")[-1]
    assert (end["subject"], end["data"]["ended_by"]) == (name, "shutdown")


def test_a_stage_that_stands_still_takes_no_time_from_the_end_of_incidents(new_daemon):
    daemon = new_daemon().start()
    name = daemon.await_incident()
    daemon.kill("classify", signal.SIGSTOP)
    assert daemon.stop()[0] == 0
    end = daemon.events("incident.end")[-1]
    assert (end["subject"], end["data"]["ended_by"]) == (name, "shutdown")


def test_a_second_daemon_with_the_same_state_folder_is_refused(new_daemon, tmp_path):
    daemon = new_daemon("synthetic://?width=64&height=48&seconds=600&walks=0").start()
    other = tmp_path / "other"
    second = daemon.command("run", daemon.config, "--run-dir", other, "--state-dir", daemon.state)
    assert second.returncode == 2
    assert "another process of ours writes into it" in second.stderr
    assert alive(daemon.children()) == set(daemon.children())
    assert daemon.stop()[0] == 0


@pytest.mark.parametrize("source", ["/nowhere/gate.mp4", "synthetic://?widht=3"])
def test_a_camera_that_there_is_not_is_told_of(new_daemon, source):
    daemon = new_daemon(source)
    done = daemon.command("run", daemon.config, *daemon.folders())
    assert done.returncode == 1
    (lost,) = daemon.events("camera.lost")
    assert lost["data"]["details"]["reason"].partition(": ")[2].startswith(("No such file", "no field `widht`"))


def test_tap_ends_with_the_daemon(new_daemon):
    daemon = new_daemon().start()
    command = [sys.executable, "-m", "pipeline", "tap", "frames", "--run-dir", daemon.run_dir]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tap:
        tap.stdout.readline()
        daemon.stop(signal.SIGKILL)
        _, said = tap.communicate(timeout=30 * PATIENCE)
    assert tap.returncode == 2
    assert b"the daemon has ended" in said


@pytest.mark.parametrize(("sources", "status"), [(("nofile.mp4",), 1), (("nofile.mp4", "synthetic://?seconds=2"), 3)])
def test_cameras_that_never_gave_a_picture_are_in_the_exit_status(tmp_path, sources, status):
    config = tmp_path / "site.toml"
    tables = (f'[cameras.c{number}]\nsource = "{source}"\n' for number, source in enumerate(sources))
    config.write_text("".join(tables), encoding="utf-8")
    with tempfile.TemporaryDirectory() as run_dir:
        folders = ("--run-dir", f"{run_dir}/r", "--state-dir", tmp_path)
        command = [sys.executable, "-m", "pipeline", "run", config, *folders]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert done.returncode == status, done.stderr
    assert [event["data"]["details"]["reason"] for event in events if ".camera.lost." in event["type"]] == [
        "nofile.mp4: No such file or directory"
    ]


def test_native_code_that_dies_as_it_opens_a_model_is_given_up_and_the_daemon_starts(new_daemon, tmp_path, monkeypatch):
    (tmp_path / "deadly_provider.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    daemon = new_daemon(more='[encode]\nbackend = "plugin_ep"\nplugin = "deadly_provider"\n').start()
    event = daemon.await_event("model.fallback", 10)
    assert event["data"]["details"]["runs_on"] == "cpu"
    assert "a process ended" in event["data"]["details"]["reason"]
    assert daemon.stop()[0] == 0
