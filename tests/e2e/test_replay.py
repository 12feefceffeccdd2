"""Recordings through the command line: the same bytes every time, and a word for every input."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import psutil
import pytest

from pipeline.resources import config_file
from tests.daemons import PATIENCE, heeding
from tools.make_footage import make

ROOT = Path(__file__).parents[2]
WALK = {"width": 320, "height": 180, "fps": 10, "seconds": 12, "pause_s": 4, "walk_s": 4}


def pipeline(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "pipeline", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, timeout=120)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Two walks, a quiet scene, and two files that are none."""
    folder = tmp_path_factory.mktemp("clips")
    (folder / "yard").mkdir()
    make(folder / "a.mp4", **WALK)
    make(folder / "yard" / "b.mkv", **WALK, seed=7)
    make(folder / "quiet.mp4", **{**WALK, "walks": 0})
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("not a recording\n" * 20, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def replayed(clips, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    return pipeline("replay", clips, "--out", out, "--jobs", 2), out


def test_one_walk_is_one_incident(replayed):
    starts = [event for event in lines(replayed[1] / "events.jsonl") if ".incident.start." in event["type"]]
    assert sorted(event["data"]["media"]["uri"] for event in starts) == ["a.mp4", "yard/b.mkv"]
    assert all(3.5e3 < event["data"]["media"]["start_pts_ms"] < 6e3 for event in starts)


def test_every_start_has_one_end_with_a_reason(replayed):
    events = lines(replayed[1] / "events.jsonl")
    starts = [event["subject"] for event in events if ".start." in event["type"]]
    ends = [event["subject"] for event in events if ".end." in event["type"]]
    assert sorted(starts) == sorted(ends)
    assert {event["data"]["ended_by"] for event in events if ".end." in event["type"]} <= {"quiet", "eof"}


def test_every_line_fits_the_schema(replayed):
    schema = json.loads(config_file("event.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for event in lines(replayed[1] / "events.jsonl"):
        validator.validate(event)


def test_sequences_have_no_holes(replayed):
    seen = {}
    for event in lines(replayed[1] / "events.jsonl"):
        seen.setdefault(event["source"], []).append(int(event["sequence"]))
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen.values())


def test_evidence_is_there_and_has_the_hash_that_is_told(replayed):
    told = [one for event in lines(replayed[1] / "events.jsonl") for one in event["data"].get("evidence", ())]
    assert told
    for one in told:
        assert hashlib.sha256((replayed[1] / one["ref"]).read_bytes()).hexdigest() == one["sha256"]


def test_nothing_measured_is_in_the_events(replayed):
    text = (replayed[1] / "events.jsonl").read_text(encoding="utf-8")
    assert "timing_ms" not in text
    ids = {event["id"] for event in lines(replayed[1] / "events.jsonl")}
    timed = {row["id"] for row in lines(replayed[1] / "timings.jsonl")}
    assert timed <= ids
    assert len(timed) == len(ids) - 1, "all but the summary"


@pytest.mark.parametrize("jobs", [1, 3])
def test_another_run_with_other_workers_gives_the_same_bytes(clips, replayed, tmp_path, jobs):
    pipeline("replay", clips, "--out", tmp_path, "--jobs", jobs)
    assert (tmp_path / "events.jsonl").read_bytes() == (replayed[1] / "events.jsonl").read_bytes()


def test_bad_inputs_are_named_and_the_others_done(replayed):
    result, out = replayed
    rows = {row["name"]: row for row in json.loads((out / "summary.json").read_text())["inputs"]}
    assert result.returncode == 3
    assert rows["empty.mp4"]["reason"] == "the file is empty (0 bytes)"
    assert rows["text.mp4"]["reason"] == "this is a text file, not a recording"
    assert [rows[name]["status"] for name in ("a.mp4", "quiet.mp4", "yard/b.mkv")] == ["whole"] * 3


def test_the_summary_is_the_last_line(replayed):
    last = lines(replayed[1] / "events.jsonl")[-1]
    assert last["type"] == "fieldwatch.replay.summary.v1"
    assert last["data"]["details"]["inputs_unreadable"] == 2


def test_nothing_is_left_beside_the_results(replayed):
    assert {path.name for path in replayed[1].iterdir()} == {
        "events.jsonl",
        "timings.jsonl",
        "summary.json",
        "evidence",
    }


def test_whole_inputs_give_status_0_and_only_bad_ones_status_1(clips, tmp_path):
    assert pipeline("replay", clips / "quiet.mp4", "--out", tmp_path / "whole").returncode == 0
    assert pipeline("replay", clips / "empty.mp4", "--out", tmp_path / "bad").returncode == 1


def test_a_path_that_is_not_there_is_status_2_and_says_so():
    result = pipeline("replay", "nowhere.mp4")
    assert result.returncode == 2
    assert result.stderr.strip() == "pipeline: nowhere.mp4: no such file or folder"


def test_without_a_folder_the_lines_go_to_standard_output(clips):
    result = pipeline("replay", clips / "a.mp4")
    assert json.loads(result.stdout.splitlines()[0])["type"] == "fieldwatch.incident.start.v1"
    assert "coverage 100.0 %" in result.stderr


def test_a_truncated_recording_is_told_with_what_was_read(clips, tmp_path):
    whole = (clips / "yard" / "b.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    result = pipeline("replay", tmp_path / "cut.mkv", "--out", tmp_path / "out", "--json")
    (row,) = json.loads(result.stdout)["inputs"]
    assert result.returncode == 3
    assert row["status"] == "truncated"
    assert 0 < row["frames"] < 120


def test_zones_and_the_clock_of_the_configuration_hold(clips, tmp_path):
    config = tmp_path / "site.toml"
    config.write_text(
        '[site]\ntimezone = "Europe/Vienna"\n[cameras.gate]\nsource = "synthetic://"\nopen_hours = "07:00-18:00"\n'
        '[cameras.gate.zones.path]\nname = "foot path"\npolygon = [[0, 0.5], [1, 0.5], [1, 1], [0, 1]]\n',
        encoding="utf-8",
    )
    where = ("--config", config, "--camera", "gate", "--began", "2026-06-01T20:30:00Z")
    pipeline("replay", clips / "a.mp4", *where, "--out", tmp_path / "out")
    facts = lines(tmp_path / "out" / "events.jsonl")[0]["data"]["facts"]
    assert (facts["zone"], facts["local_time"], facts["weekday"]) == ("foot path", "22:30", "Monday")


def test_events_are_shown_as_a_timeline(replayed):
    result = pipeline("events", replayed[1] / "events.jsonl")
    assert result.returncode == 0
    assert result.stdout.count("a.mp4") >= 1
    assert "Movement at" in result.stdout


def test_a_replay_through_the_real_processes_finds_the_same_walk(clips, tmp_path):
    result = pipeline("replay", clips / "a.mp4", "--live", "--out", tmp_path)
    events = lines(tmp_path / "events.jsonl")
    assert result.returncode == 0, result.stderr
    assert ".start." in next(event["type"] for event in events if ".incident." in event["type"])
    (end,) = [event for event in events if ".incident.end." in event["type"]]
    assert end["data"]["ended_by"] in ("quiet", "eof")
    assert set(end["data"]["timing_ms"]) >= {"capture", "motion", "classify", "trigger", "total"}


def test_a_replay_deletes_nothing_that_it_did_not_make(tmp_path):
    (tmp_path / "evidence").mkdir()
    tape = make(tmp_path / "evidence" / "tape.mp4", **WALK)
    (tmp_path / "evidence" / "inc-old.jpg").write_bytes(b"of the last replay")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    done = pipeline("replay", tape, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert tape.exists()
    assert {path.name for path in tmp_path.iterdir()} == {
        "evidence",
        "events.jsonl",
        "notes.txt",
        "summary.json",
        "timings.jsonl",
    }
    assert not (tmp_path / "evidence" / "inc-old.jpg").exists()


def test_a_replay_does_not_write_where_a_daemon_keeps_its_events(clips, tmp_path):
    (tmp_path / "eventlog").mkdir()
    (tmp_path / "events.jsonl").write_text("{}\n", encoding="utf-8")
    done = pipeline("replay", clips / "a.mp4", "--out", tmp_path)
    assert done.returncode == 2
    assert "choose another --out" in done.stderr
    assert (tmp_path / "events.jsonl").read_text(encoding="utf-8") == "{}\n"


def begun(source, out):
    """Start a replay, and wait until it works."""
    command = [sys.executable, "-m", "pipeline", "replay", source, "--out", out, "--quiet"]
    process = subprocess.Popen(command, cwd=ROOT, preexec_fn=heeding)  # noqa: PLW1509  # two calls, before it runs
    until = time.monotonic() + 20 * PATIENCE
    while not (out / ".parts" / "0").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    return process


def worker(process):
    until = time.monotonic() + 10 * PATIENCE
    while not (found := psutil.Process(process.pid).children()):
        assert time.monotonic() < until
    return found[0]


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory):
    return make(tmp_path_factory.mktemp("long") / "long.mp4", **{**WALK, "seconds": 120, "walks": 40, "pause_s": 1})


def test_a_second_replay_into_the_same_folder_is_refused_and_the_first_is_whole(clips, long_clip, tmp_path):
    first = begun(long_clip, tmp_path)
    worker(first).suspend()
    second = pipeline("replay", clips / "a.mp4", "--out", tmp_path)
    worker(first).resume()
    assert first.wait(60 * PATIENCE) == 0
    assert second.returncode == 2
    assert "choose another --out" in second.stderr
    assert (tmp_path / "events.jsonl").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_replay_that_is_ended_leaves_what_an_earlier_one_made_and_nothing_else(long_clip, tmp_path, number):
    (tmp_path / "events.jsonl").write_text("{}\n", encoding="utf-8")
    process = begun(long_clip, tmp_path)
    process.send_signal(number)
    assert process.wait(60 * PATIENCE) == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["events.jsonl"]


def test_of_a_recording_whose_process_is_killed_no_incident_is_left_without_an_end(long_clip, tmp_path):
    process = begun(long_clip, tmp_path)
    part = tmp_path / ".parts" / "0" / "events.jsonl"
    until = time.monotonic() + 20 * PATIENCE
    while not (part.exists() and part.read_bytes().count(b"incident.start")):
        assert time.monotonic() < until
    worker(process).kill()
    assert process.wait(60 * PATIENCE) == 1
    (told,) = lines(tmp_path / "events.jsonl")
    assert told["type"] == "fieldwatch.replay.summary.v1"
    assert told["data"]["details"]["input:long.mp4"] == "failed: its process was killed by SIGKILL"
    assert not list(tmp_path.glob("evidence/*"))


def test_the_smallest_ring_gives_the_same_events(clips, tmp_path):
    told = []
    for slots in (4, 8):
        config = tmp_path / f"{slots}.toml"
        config.write_text(f"[frames]\nslots = {slots}\n", encoding="utf-8")
        done = pipeline("replay", clips / "a.mp4", "--config", config, "--out", tmp_path / str(slots))
        assert done.returncode == 0, done.stderr
        events = lines(tmp_path / str(slots) / "events.jsonl")
        told.append([event | {"data": event["data"] | {"config_hash": ""}} for event in events])
    assert told[0] == told[1]


def test_any_name_of_a_recording_is_told_and_keeps_its_pictures(clips, tmp_path):
    names = ("a[red].mp4", "a[/b].mp4", "x" * 230 + ".mp4", "\x1b[31m.mp4", "c\udcff.mp4")  # [/b] closes nothing
    folder = tmp_path / "clips"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(clips / "a.mp4", folder / name)
    done = pipeline("replay", folder, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "a[red].mp4" in done.stdout
    assert "\x1b" not in done.stdout
    ends = [event for event in lines(tmp_path / "out" / "events.jsonl") if ".end." in event["type"]]
    assert len(ends) == len(names)
    assert all(event["data"]["evidence"] for event in ends)


def test_a_model_that_there_is_not_is_the_reason_that_is_told(clips, tmp_path):
    config = tmp_path / "site.toml"
    config.write_text('[classify]\nmodel = "nanodet"\n', encoding="utf-8")
    done = pipeline("replay", clips / "a.mp4", "--config", config, "--out", tmp_path / "out", "--json")
    (row,) = json.loads(done.stdout)["inputs"]
    assert (done.returncode, row["status"]) == (1, "failed")
    assert "nanodet" in row["reason"]
    assert "Traceback" not in done.stderr
