"""A night in several files: those put away are read too, and of an incident the event holds that has the last word."""

from __future__ import annotations

import itertools
import json
import os
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.core.errors import ConfigError
from pipeline.core.incident import eventfiles
from pipeline.core.incident.eventfiles import Head, Reader


def event(operation="end", subject="inc-1", *, sequence, at="2026-11-29T22:00:00Z", action="alarm", camera="gate"):
    facts = {
        "camera": camera,
        "zone": "kerb",
        "local_time": "22:00",
        "weekday": "Sunday",
        "light": "night",
        "object": {"class": "person", "likelihood": 0.9, "count": 1},
        "tags": [],
        "track": {"dwell_s": 36, "direction": "in", "speed": "walk", "visits_last_hour": 1},
        "rules_hit": [],
    }
    ended = {"ended_by": "quiet"} if operation == "end" else {}
    fields = {"situation": "intrusion", "action": action}
    return {
        "id": f"{camera}-{sequence}",
        "type": f"fieldwatch.incident.{operation}.v1",
        "time": at,
        "source": f"/site/s/device/d/camera/{camera}",
        "subject": subject,
        "sequence": f"{sequence:012d}",
        "data": {"facts": facts, "analysis": {"status": "ok", "fields": fields, "summary": action}, **ended},
    }


@pytest.fixture
def folder(tmp_path):
    """Write files of events into a folder."""

    def write(**files):
        for name, rows in files.items():
            number = name.removeprefix("old")
            path = tmp_path / ("events.jsonl" if name == "now" else f"events-{int(number):06d}-ID{number}.jsonl")
            path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in rows))
        return tmp_path

    return write


def run(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def told(path, *options):
    result = run(
        "digest", path, "--since", "2026-11-01", "--until", "2026-12-01", "--model", "none", "--json", *options
    )
    assert result.exit_code in {0, 3}, result.output
    return json.loads(result.stdout)


def shown(path, *options):
    result = run("events", path, "--json", *options)
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_files_put_away_come_in_the_order_of_their_numbers_and_the_file_that_is_written_last(folder):
    found = eventfiles.files(folder(now=[], old10=[], old9=[], old2=[]))
    assert [one.name.split("-")[1] if "-" in one.name else one.name for one in found] == [
        "000002",
        "000009",
        "000010",
        "events.jsonl",
    ]


def test_a_file_that_was_put_away_is_read_alone_when_it_is_named(folder):
    path = folder(now=[], old1=[], old2=[]) / "events-000001-ID1.jsonl"
    assert eventfiles.files(path) == [path]


def test_the_file_that_is_written_may_be_away(folder):
    path = folder(old1=[event(sequence=1)]) / "events.jsonl"
    assert told(path)["incidents"] == 1


def test_files_of_others_and_folders_are_no_files_put_away(folder):
    path = folder(now=[])
    for name in ("events.sequences", "events-x-1.jsonl", "other-000001-A.jsonl", "events-000001-A.txt"):
        (path / name).write_text("")
    (path / "events-000002-A.jsonl").mkdir()
    assert eventfiles.files(path / "events.jsonl") == [path / "events.jsonl"]


def test_nothing_at_all_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(ConfigError, match=r"events\.jsonl: no such file"):
        eventfiles.files(tmp_path)
    assert run("events", tmp_path / "events.jsonl").exit_code == 2


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "events.jsonl")
    result = run("digest", tmp_path / "events.jsonl")
    assert result.exit_code != 0
    assert "is a pipe, not a regular file" in result.output


@pytest.mark.parametrize("name", ["", "events.jsonl"])
def test_every_view_tells_of_the_whole_night(folder, name):
    path = folder(
        old1=[event(sequence=1)], old2=[event("end", "inc-2", sequence=2)], now=[event("end", "inc-3", sequence=3)]
    )
    assert told(path / name)["incidents"] == 3
    assert {one["subject"] for one in shown(path / name)} == {"inc-1", "inc-2", "inc-3"}
    checked = run("notes", "check", path / name, "--no-encoder", "--model", "none", "--json", "--state-dir", path)
    assert {one["incident"] for one in json.loads(checked.stdout)["verdicts"]} == {"inc-1", "inc-2", "inc-3"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_whatever_the_order_of_lines_the_end_holds_and_the_start_gives_the_time(folder, order):
    rows = [
        event("start", sequence=1, action="alarm", at="2026-11-29T22:00:00Z"),
        event("update", sequence=2, action="notify", at="2026-11-29T22:01:00Z"),
        event("end", sequence=3, action="log", at="2026-11-29T22:02:00Z"),
    ]
    path = folder(now=[rows[at] for at in order])
    digest = told(path)
    assert digest["actions"] == {"log": 1}
    assert "not ended" not in digest["sentences"][0]["text"]
    table = run("events", path).output
    assert "22:00:00" in table
    assert "log" in table
    assert "so far" not in table


def test_of_two_updates_the_one_with_the_higher_sequence_holds(folder):
    path = folder(now=[event("update", sequence=7, action="log"), event("update", sequence=6, action="alarm")])
    assert told(path)["actions"] == {"log": 1}


def test_an_end_holds_against_an_update_of_a_higher_sequence(folder):
    path = folder(now=[event("end", sequence=3, action="log"), event("update", sequence=4, action="alarm")])
    assert told(path)["actions"] == {"log": 1}


def test_without_sequences_the_later_line_holds(folder):
    rows = [event("update", sequence=1, action="alarm"), event("update", sequence=2, action="log")]
    for row in rows:
        del row["sequence"]
    assert told(folder(now=rows))["actions"] == {"log": 1}


def test_a_line_that_is_there_twice_counts_once(folder):
    once = event(sequence=1)
    path = folder(old1=[once], now=[once, event("end", "inc-2", sequence=2), once])
    assert [one["subject"] for one in shown(path)] == ["inc-1", "inc-2"]


def test_a_camera_that_was_lost_before_it_was_found_is_back_whatever_the_order_of_lines(folder):
    rows = [event(sequence=number) for number in (2, 1)]
    for row, what in zip(rows, ("found", "lost"), strict=True):
        row["type"], row["data"] = f"fieldwatch.camera.{what}.v1", {}
    assert "not back" not in json.dumps(told(folder(now=rows)))


def test_damage_is_named_by_file_and_line(folder):
    path = folder(old1=[event(sequence=1), "{torn\n"], now=["no\n", event(sequence=2)])
    result = run("events", path)
    assert result.exit_code == 3
    assert "events-000001-ID1.jsonl: 1 lines are no events, the first is line 2" in result.output
    assert "events.jsonl: 1 lines are no events, the first is line 1" in result.output


def test_notes_are_checked_against_what_can_be_read(folder):
    path = folder(now=[event(sequence=1), "{torn\n"])
    result = run("notes", "check", path, "--no-encoder", "--model", "none", "--json", "--state-dir", path)
    assert result.exit_code == 3
    assert len(json.loads(result.stdout)["verdicts"]) == 1
    assert "the first is line 2" in result.stderr


@pytest.mark.parametrize("view", [("events",), ("events", "--json"), ("events", "--all")])
def test_it_is_said_that_files_were_deleted(folder, view):
    path = folder(old3=[event(sequence=1)], now=[event(sequence=2)])
    result = run(view[0], path, *view[1:])
    assert "events begin at 2026-11-29T22:00:00Z: what was before is not kept" in result.stderr


def test_nothing_is_said_where_every_file_is_there(folder):
    assert "not kept" not in run("events", folder(old1=[event(sequence=1)], now=[])).output


@pytest.mark.parametrize(("since", "said"), [("2026-11-01", True), ("2026-11-29T22:30", False)])
def test_a_digest_says_when_it_was_asked_for_more_than_is_kept(folder, since, said):
    path = folder(old1=[event(sequence=1)], now=[event("end", "inc-2", sequence=2, at="2026-11-29T23:00:00Z")])
    result = run("digest", path, "--since", since, "--until", "2026-12-01", "--model", "none", "--json")
    assert ("the events begin at 2026-11-29T22:00:00Z" in result.stderr) == said
    assert "not kept" not in result.stderr
    assert bool(json.loads(result.stdout)["kept_from"]) == said


def test_incidents_of_files_that_end_long_before_are_passed_over_but_not_what_cameras_said(folder):
    lost = event(sequence=2, at="2026-11-01T10:00:00Z", camera="yard") | {"type": "fieldwatch.camera.lost.v1"}
    old = [
        event(sequence=1, at="2026-11-01T10:00:00Z"),
        lost,
        event("end", "inc-9", sequence=3, at="2026-11-01T11:00:00Z"),
    ]
    lines = [json.dumps(one, separators=(",", ":")) + "\n" for one in old]
    path = folder(old1=lines, now=[event("end", "inc-2", sequence=4)])
    reader = Reader(path, datetime(2026, 11, 29, 12, tzinfo=UTC))
    read = [one.sequence for _, one in reader.events(Head)]
    assert read == ["000000000002", "000000000003", "000000000004"]
    digest = run("digest", path, "--since", "2026-11-29T12:00", "--until", "2026-12-01", "--model", "none").output
    assert "camera yard was lost before and is not back" in digest


def test_a_file_that_is_put_away_while_it_is_read_is_read_once_and_the_new_one_too(folder):
    path = folder(now=[event(sequence=1)])
    reader = Reader(path)
    found = reader.events(Head)
    seen = [next(found)[1].id]
    (path / "events.jsonl").rename(path / "events-000001-A.jsonl")
    folder(now=[event(sequence=2)])
    seen += [one.id for _, one in found]
    assert seen == ["gate-1", "gate-2"]


def test_a_file_that_vanishes_while_it_is_read_is_told_of(folder):
    path = folder(old1=[event(sequence=1)], old2=[event("end", "inc-2", sequence=2)], now=[event(sequence=3)])
    reader = Reader(path)
    found = reader.events(Head)
    next(found)
    (path / "events-000002-ID2.jsonl").unlink()
    list(found)
    assert "not kept" in reader.kept_from()


@pytest.mark.parametrize("sequence", ["9" * 5000, "x", "", "-1", "٣" * 30])
def test_a_sequence_that_is_none_is_no_error(folder, sequence):
    path = folder(now=[event(sequence=1) | {"sequence": sequence}])
    assert told(path)["incidents"] == 1
