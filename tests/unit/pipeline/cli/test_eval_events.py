"""What `pipeline eval events` and `pipeline eval label` print, write and refuse."""

from __future__ import annotations

import base64
import json
import re
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from pipeline.app import scoring
from pipeline.cli import main


def event(subject, start_s, end_s, group="person", *, clip="a.mp4", ref=""):
    members = [{"id": 1, "group": group, "class": group, "first_pts_ms": start_s * 1e3, "last_pts_ms": end_s * 1e3}]
    return {
        "type": "fieldwatch.incident.end.v1",
        "time": "2026-11-29T12:00:00Z",
        "source": f"/site/s/device/d/camera/{clip}",
        "subject": subject,
        "data": {
            "media": {"uri": clip, "pts_ms": end_s * 1e3, "start_pts_ms": start_s * 1e3, "end_pts_ms": end_s * 1e3},
            "scene": {"class": group},
            "members": members,
            "facts": {"objects": [{"group": group, "class": group, "count": 1, "total": 1, "stay_s": end_s - start_s}]},
            "evidence": [{"ref": ref}] if ref else [],
        },
    }


def write_replay(folder, *events, inputs=("a.mp4",)):
    folder.mkdir(exist_ok=True)
    (folder / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    rows = [one if isinstance(one, dict) else {"name": one, "status": "whole", "media_s": 100.0} for one in inputs]
    (folder / "summary.json").write_text(json.dumps({"inputs": rows}))
    return folder / "events.jsonl"


@pytest.fixture
def run(tmp_path):
    """Compare events with a truth; by default a person was there from 10 to 20 s."""

    def invoke(events, *arguments, clips=None):
        truth = tmp_path / "truth.json"
        walk = {"things": [{"group": "person", "from_s": 10, "to_s": 20}]}
        truth.write_text(json.dumps({"clips": {"a.mp4": walk} if clips is None else clips}))
        words = ["eval", "events", "--truth", truth, *(["--events", events] if events else []), *arguments]
        return CliRunner().invoke(main, [str(word) for word in words])

    return invoke


@pytest.fixture
def replays(monkeypatch):
    """Replays that find in every recording what is given."""

    def set_up(*events, inputs=("a.mp4",)):
        def replay(_site, _found, out, **_options):
            write_replay(out, *events, inputs=inputs)

        monkeypatch.setattr(scoring.replays, "replay", replay)

    return set_up


def test_people_read_a_row_a_clip_and_what_all_come_to(run, tmp_path):
    result = run(write_replay(tmp_path / "out", event("inc-1", 10.5, 21), event("inc-2", 50, 55)))
    assert result.exit_code == 0
    rows = [line for line in result.output.splitlines() if line.startswith("│ a") and "/" in line]
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    numbers = ["1", "1", "0", "1", "40", "0", "0", "+0.50", "+1.00", "1/1", "1/1"]
    assert [row[:12] for row in cells[:2]] == [["a.mp4", *numbers], ["all", *numbers]]


def test_programs_read_one_object(run, tmp_path):
    found = json.loads(run(write_replay(tmp_path / "out", event("inc-1", 10.5, 21)), "--json").stdout)
    assert found["all"]["hits"] == 1
    assert found["clips"]["a.mp4"]["told"][0]["judgement"] == "right"


def test_clips_that_only_one_side_has_are_named_and_not_compared(run, tmp_path):
    events = write_replay(tmp_path / "out", event("inc-1", 10, 20, clip="b.mp4"), inputs=("a.mp4", "b.mp4"))
    result = run(events, "--json", clips={"a.mp4": {}, "c.mp4": {}})
    assert "b.mp4: not compared: the truth has no such clip" in result.stderr
    assert "c.mp4: not compared: no such recording was given" in result.stderr
    found = json.loads(result.stdout)
    assert (list(found["clips"]), found["unknown_clips"], found["missing_clips"]) == (["a.mp4"], ["b.mp4"], ["c.mp4"])
    assert found["all"]["incidents"] == 0


def test_a_recording_that_could_not_be_read_is_left_out_with_its_reason(run, tmp_path):
    bad = {"name": "b.mp4", "status": "unreadable", "reason": "no video"}
    result = run(write_replay(tmp_path / "out", inputs=("a.mp4", bad)), "--json", clips={"a.mp4": {}, "b.mp4": {}})
    assert "b.mp4: left out, unreadable: no video" in result.stderr
    assert json.loads(result.stdout)["unusable_clips"] == ["b.mp4"]


def test_without_a_recording_in_common_nothing_is_compared(run, tmp_path):
    result = run(write_replay(tmp_path / "out"), clips={"other.mp4": {}})
    assert result.exit_code == 2
    assert "has none of these recordings, but other.mp4; there are a.mp4" in result.output


def test_events_without_a_summary_say_what_is_missing(run, tmp_path):
    events = write_replay(tmp_path / "out")
    (tmp_path / "out" / "summary.json").unlink()
    result = run(events)
    assert result.exit_code == 2
    assert "it says how long recordings are; `pipeline replay --out` writes it" in result.output


def test_recordings_of_which_there_are_no_events_are_told(run, tmp_path):
    (tmp_path / "z.mp4").write_bytes(b"")
    result = run(write_replay(tmp_path / "out"), tmp_path / "z.mp4")
    assert result.exit_code == 2
    assert "was not made of z.mp4: replay these too" in result.output


def test_without_recordings_and_events_there_is_nothing_to_compare(run):
    result = run(None)
    assert result.exit_code == 2
    assert "nothing to compare: name recordings" in result.output


def test_a_truth_with_a_fault_is_told_by_clip_and_place(run, tmp_path):
    result = run(write_replay(tmp_path / "out"), clips={"a.mp4": {"things": [{"group": "dog"}]}})
    assert result.exit_code == 2
    assert "truth.json: clip a.mp4: " in result.output


def test_the_page_needs_nothing_beside_it_and_shows_what_is_wrong(run, tmp_path):
    refs = {"ref": "evidence/one.jpg"}
    events = write_replay(tmp_path / "out", event("inc-1", 10, 20, "animal", **refs), event("inc-2", 50, 55))
    (tmp_path / "out" / "evidence").mkdir()
    (tmp_path / "out" / "evidence" / "one.jpg").write_bytes(b"picture")
    page = tmp_path / "page.html"
    assert run(events, "--html", page).exit_code == 0
    text = page.read_text()
    assert f"data:image/jpeg;base64,{base64.b64encode(b'picture').decode()}" in text
    assert "no picture is kept" in text
    assert "10.0 to 20.0 s: inc-1: animal, mislabelled, is person" in text
    (drawing,) = re.findall(r"<svg.*?</svg>", text)
    assert len(ET.fromstring(drawing).findall("{http://www.w3.org/2000/svg}rect")) == 3
    assert text.count("<figure>") == 2


def test_a_page_shows_twelve_pictures_at_most(run, tmp_path):
    many = [event(f"inc-{number}", 30 + number * 2, 31 + number * 2) for number in range(20)]
    page = tmp_path / "page.html"
    run(write_replay(tmp_path / "out", *many), "--html", page)
    assert page.read_text().count("<figure>") == 12


def test_names_and_texts_do_nothing_on_the_page(run, tmp_path):
    name = "<script>alert(1)</script>.mp4"
    clips = {name: {"things": [{"group": "person", "from_s": 1, "to_s": 2, "what": "</title><script>"}]}}
    page = tmp_path / "page.html"
    events = write_replay(tmp_path / "out", event("<b>", 50, 60, clip=name), inputs=(name,))
    assert run(events, "--html", page, clips=clips).exit_code == 0
    assert "<script" not in page.read_text()
    assert "<b>" not in page.read_text()


def test_a_picture_outside_of_the_folder_is_not_read(run, tmp_path):
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    page = tmp_path / "page.html"
    run(write_replay(tmp_path / "out", event("inc-1", 50, 60, ref="../secret.jpg")), "--html", page)
    assert base64.b64encode(b"secret").decode() not in page.read_text()
    assert "no picture is kept" in page.read_text()


def test_a_page_for_a_folder_that_is_not_there_is_refused_before_anything_is_replayed(run, tmp_path):
    result = run(write_replay(tmp_path / "out"), "--html", tmp_path / "away" / "page.html")
    assert result.exit_code == 2
    assert "no such folder" in result.output


def test_only_recordings_of_which_there_is_a_truth_are_replayed(run, tmp_path, monkeypatch):
    replayed = []

    def replay(_site, found, out, **_options):
        replayed.extend(one.name for one in found)
        write_replay(out)

    monkeypatch.setattr(scoring.replays, "replay", replay)
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / name).write_bytes(b"")
    assert run(None, tmp_path / "a.mp4", tmp_path / "b.mp4").exit_code == 0
    assert replayed == ["a.mp4"]


def label(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"")
    words = ["eval", "label", tmp_path / "a.mp4", "--out", tmp_path / "new.json"]
    return CliRunner().invoke(main, [str(word) for word in words])


def test_what_was_found_is_written_as_a_truth_that_holds_for_it(run, replays, tmp_path):
    found = [event("inc-1", 10, 20), event("inc-2", 50, 55, "")]
    found[1]["data"]["members"][0]["id"] = 2
    replays(*found)
    result = label(tmp_path)
    assert result.exit_code == 0
    assert "1 thing in 1 clip" in result.stdout
    assert "a.mp4: 1 thing left out: nobody could name them" in result.stderr
    clips = json.loads((tmp_path / "new.json").read_text())["clips"]
    assert clips["a.mp4"]["things"] == [{"group": "person", "from_s": 10.0, "to_s": 20.0, "what": "person"}]
    row = json.loads(run(write_replay(tmp_path / "out", found[0]), "--json", clips=clips).stdout)["all"]
    assert (row["hits"], row["missed"], row["false"], row["stays_right"]) == (1, 0, 0, 1)


def test_a_truth_that_is_there_is_not_overwritten(replays, tmp_path):
    replays(event("inc-1", 10, 20))
    (tmp_path / "new.json").write_text("mine")
    result = label(tmp_path)
    assert result.exit_code == 2
    assert "is there already, and may be corrected" in result.output
    assert (tmp_path / "new.json").read_text() == "mine"


def test_cameras_are_completed():
    for command in ("events", "label"):
        (option,) = [one for one in main.commands["eval"].commands[command].params if one.name == "camera"]
        context = SimpleNamespace(params={"config": None})
        assert option.shell_complete(context, "") == []


def test_a_page_never_replaces_the_truth_that_it_is_made_of(run, tmp_path):
    events = write_replay(tmp_path / "out", event("inc-1", 11, 19))
    result = run(events, "--html", tmp_path / "truth.json")
    assert result.exit_code == 2
    assert "truth.json: is read here: name another file for the page" in result.output
    assert "a.mp4" in json.loads((tmp_path / "truth.json").read_text())["clips"]
