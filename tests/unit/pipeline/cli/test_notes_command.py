"""What `pipeline notes` and `pipeline eval verdicts` say and keep."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pipeline.app import verdicts
from pipeline.cli import main
from pipeline.core.errors import NoteError
from pipeline.core.note import notebook
from tests.daemons import PATIENCE
from tests.paths import ROOT

SETS = ROOT / "tests/eval/verdicts"
ROOF = "Nobody may be on the roof at any time."
SITE = """
[cameras.gate]
source = "synthetic://"
place = "main gate"
[cameras.gate.zones.bay]
name = "loading bay"
polygon = [[0.1, 0.5], [0.6, 0.5], [0.6, 1.0]]
"""
FACTS = {
    "camera": "roof-1",
    "zone": "roof",
    "local_time": "13:10",
    "weekday": "Tuesday",
    "light": "day",
    "object": {"class": "van", "likelihood": 0.9, "count": 1},
    "tags": [],
    "track": {"dwell_s": 60, "direction": "none", "speed": "swaying", "visits_last_hour": 1},
    "rules_hit": [],
}


@pytest.fixture
def run(tmp_path):
    def invoke(*arguments, config=None):
        if config is not None:
            (tmp_path / "site.toml").write_text(config, encoding="utf-8")
            arguments = (*arguments, "--config", str(tmp_path / "site.toml"))
        return CliRunner().invoke(main, [*arguments, "--state-dir", str(tmp_path)])

    return invoke


def added(run, text, *options, **more):
    result = run("notes", "add", text, "--yes", *options, **more)
    assert result.exit_code == 0, result.output
    return result


def test_notes_that_are_added_at_once_are_all_kept(tmp_path):
    program = [sys.executable, "-m", "pipeline", "notes", "add", "--yes", "--state-dir", tmp_path]
    adding = [
        subprocess.Popen(
            [*program, f"Trucks may wait in the yard until {hour}:00."],
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for hour in range(10, 16)
    ]
    assert [process.wait(60 * PATIENCE) for process in adding] == [0] * 6
    assert len(notebook.load(tmp_path / "notes.json").notes) == 6


@pytest.mark.parametrize("options", [("\udcff trucks",), ("No trucks.", "--camera", "\udcff")])
def test_a_note_that_is_no_text_is_refused(run, tmp_path, options):
    result = run("notes", "add", "--yes", *options)
    assert result.exit_code == 2
    assert "no UTF-8 text" in result.stderr
    assert not (tmp_path / "notes.json").exists()


def test_a_note_is_shown_as_read_and_kept(run, tmp_path):
    result = added(run, ROOF)
    assert "person at roof; at any time: not in order" in result.stderr
    (entry,) = notebook.load(tmp_path / "notes.json").notes
    assert (entry.id, entry.text, entry.note.polarity) == ("n1", ROOF, "forbid")


def test_without_a_terminal_nothing_is_kept_unless_confirmed(run, tmp_path):
    result = run("notes", "add", ROOF)
    assert result.exit_code == 2
    assert "say --yes" in result.stderr
    assert not (tmp_path / "notes.json").exists()


def test_a_wrong_polarity_is_put_right(run):
    result = added(run, ROOF, "--polarity", "allow", "--json")
    assert json.loads(result.stdout)["polarity"] == "allow"


def test_a_habit_that_was_not_understood_is_kept_but_silences_nothing_until_it_is_confirmed(run, tmp_path):
    result = added(run, "Plumbers solder in the cellar on Mondays.")
    assert "it silences nothing: not understood, and left out: `solder`" in result.stderr
    assert "say --polarity allow if it does" in result.stderr
    added(run, "Plumbers solder in the attic on Mondays.", "--polarity", "allow")
    one, other = notebook.load(tmp_path / "notes.json").notes
    assert (one.note.polarity, other.note.polarity) == ("none", "allow")
    assert "silences nothing" in run("notes", "list").stdout.replace("\n", " ")


def test_a_question_silences_nothing_even_where_it_is_called_a_permission(run):
    result = added(run, "May visitors be in the yard?", "--polarity", "allow", "--json")
    assert json.loads(result.stdout)["polarity"] == "none"
    assert "write it more plainly" in result.stderr


def test_past_incidents_of_a_recording_are_checked_with_the_notes_of_its_camera(run, tmp_path):
    added(run, "Vans may wait on the roof.", "--camera", "yard")
    past = tmp_path / "past.jsonl"
    past.write_text(json.dumps({"id": "a", "facts": FACTS | {"rules_hit": ["restricted_zone"]}}) + "\n")
    for options, spoke in (((), 0), (("--camera", "yard"), 1)):
        told = run("notes", "check", str(past), "--no-encoder", "--model", "none", "--json", *options)
        assert json.loads(told.stdout)["notes"][0]["spoke"] == spoke


def test_notes_lie_in_the_state_folder_that_the_configuration_names(tmp_path):
    config = tmp_path / "site.toml"
    config.write_text(f'[runtime]\nstate_dir = "{tmp_path / "state"}"\n{SITE}')
    result = CliRunner().invoke(main, ["notes", "add", ROOF, "--yes", "--config", str(config)])
    assert result.exit_code == 0, result.output
    assert [entry.note.text for entry in notebook.load(tmp_path / "state" / "notes.json").notes] == [ROOF]


def test_a_permission_for_one_place_by_its_name_is_checked_at_no_other(run, tmp_path):
    added(run, "Vans may wait in the loading bay.")
    past = tmp_path / "past.jsonl"
    rows = [
        {"id": zone, "facts": FACTS | {"camera": "gate", "zone": zone, "rules_hit": ["restricted_zone"]}}
        for zone in ("main gate", "loading bay")
    ]
    past.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = run("notes", "check", str(past), "--no-encoder", "--model", "none", "--json", config=SITE)
    assert [(one["incident"], one["note"]) for one in json.loads(told.stdout)["verdicts"]] == [
        ("main gate", ""),
        ("loading bay", "n1"),
    ]


@pytest.mark.parametrize(
    "note",
    [
        {"id": "n1", "text": "x", "readings": [{"effect": "allowed", "said": False}]},
        {"id": "n1", "text": "x", "readings": [{"effect": "allowed", "when": {"weekdays": [9]}}]},
        {"id": "n1", "text": "x", "readings": [{"effect": "allowed", "when": {"every_min": -7}}]},
        {"id": "n1", "text": "x" * 501, "readings": []},
        {"id": "\x1b[31m", "text": "x", "readings": []},
    ],
)
def test_notes_that_no_version_of_ours_writes_are_refused_by_name(tmp_path, note):
    (tmp_path / "notes.json").write_text(json.dumps({"format": 1, "next": 2, "notes": [note]}), encoding="utf-8")
    with pytest.raises(NoteError, match=r"notes\.json: cannot be read"):
        notebook.load(tmp_path / "notes.json")


def test_no_number_is_given_twice_whatever_the_file_says(tmp_path, run):
    added(run, ROOF)
    path = tmp_path / "notes.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"next": 2', '"next": 1'), encoding="utf-8")
    assert "n2: added" in added(run, "Nobody may be in the yard.").stdout


def test_a_zone_may_be_named_by_its_key(run):
    assert "no zone" not in added(run, "Nobody may be in the bay.", config=SITE).stderr


def test_what_is_to_be_told_of_is_shown_as_longer_than_its_limit(run):
    result = added(run, "Report anybody who stays in the yard for more than 10 minutes.")
    assert "longer than 10 min: to be told of" in result.stderr


def test_an_unknown_place_is_pointed_out_and_a_known_one_named(run):
    result = added(run, "Nobody may be in the greenhouse.", config=SITE)
    assert "no zone is called `greenhouse`" in result.stderr
    result = added(run, "Trucks may wait at the unloading dock.", config=SITE)
    assert "unloading dock is loading bay" in result.stderr


def test_a_contradiction_is_pointed_out(run):
    added(run, "Dogs may run in the yard.")
    assert json.loads(added(run, "Dogs are not allowed in the yard.", "--json").stdout)["against"][0][0] == "n1"


@pytest.mark.parametrize("text", ["", "word " * 2000])
def test_an_empty_or_endless_note_is_refused(run, text):
    result = run("notes", "add", text, "--yes")
    assert result.exit_code == 2
    assert "the note" in result.stderr


def test_the_same_note_is_not_kept_twice(run):
    added(run, ROOF)
    assert "already, as n1" in run("notes", "add", ROOF, "--yes").stderr


def test_a_camera_that_is_not_there_is_refused(run):
    result = run("notes", "add", ROOF, "--yes", "--camera", "yard", config=SITE)
    assert result.exit_code == 2
    assert "no camera `yard`" in result.stderr


def test_notes_are_listed_and_removed(run):
    added(run, ROOF, "--camera", "roof-1")
    (row,) = json.loads(run("notes", "list", "--json").stdout)
    assert (row["id"], row["camera"], row["text"]) == ("n1", "roof-1", ROOF)
    assert "at any time: not in order" in " ".join(run("notes", "list").stdout.split())
    assert json.loads(run("notes", "remove", "n1", "--json").stdout) == {"removed": ["n1"]}
    assert "no notes yet" in run("notes", "list").stdout
    assert "no note `n1`" in run("notes", "remove", "n1").stderr


def test_notes_are_listed_and_removed_where_the_configuration_has_them(tmp_path):
    config = tmp_path / "site.toml"
    config.write_text(f'[runtime]\nstate_dir = "{tmp_path / "state"}"\n')

    def tell(*arguments):
        return CliRunner().invoke(main, ["notes", *arguments, "--config", str(config)])

    assert tell("add", ROOF, "--yes").exit_code == 0
    assert [row["text"] for row in json.loads(tell("list", "--json").stdout)] == [ROOF]
    assert tell("remove", "n1").exit_code == 0
    assert "no notes yet" in tell("list").stdout


def test_a_name_is_never_given_twice(run):
    added(run, ROOF)
    run("notes", "remove", "n1")
    assert "n2: added" in added(run, ROOF).stdout


@pytest.mark.parametrize("as_event", [False, True])
def test_past_incidents_are_judged_with_the_notes(run, tmp_path, as_event):
    added(run, "Report any vehicle on the roof.")
    added(run, "Report any vehicle on the roof!", "--camera", "another")
    path = tmp_path / "past.jsonl"
    row = {"subject": "inc-1", "data": {"facts": FACTS}} if as_event else {"id": "inc-1", "facts": FACTS}
    path.write_text(json.dumps(row) + "\n" + '{"type": "camera.lost"}\n', encoding="utf-8")
    told = json.loads(run("notes", "check", str(path), "--no-encoder", "--json").stdout)
    assert [(note["id"], note["spoke"], note["raised"]) for note in told["notes"]] == [
        ("n1", 1, ["inc-1"]),
        ("n2", 0, []),
    ]
    assert told["verdicts"][0]["verdict"]["action"] == "notify"
    assert "inc-1" in run("notes", "check", str(path), "--no-encoder").stdout


def test_a_file_without_incidents_is_refused(run, tmp_path):
    path = tmp_path / "past.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    assert "holds no incident" in run("notes", "check", str(path)).stderr


NOTE = '{"id": "n1", "text": "a", "readings": []}'
TWICE = f'{{"format": 1, "next": 3, "notes": [{NOTE}, {NOTE}]}}'


@pytest.mark.parametrize("content", ["{", '{"format": 9, "next": 1, "notes": []}', TWICE])
def test_a_damaged_file_of_notes_is_told_of(tmp_path, content):
    (tmp_path / "notes.json").write_text(content, encoding="utf-8")
    with pytest.raises(NoteError, match=r"notes\.json"):
        notebook.load(tmp_path / "notes.json")


def evaluated(*options):
    result = CliRunner().invoke(main, ["eval", "verdicts", *options, "--model", "none", "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_sentences_that_permit_nothing_silence_nothing():
    found = evaluated("--set", str(SETS / "blind.jsonl"), "--no-encoder", "--compile")
    assert found["missed"] == 0
    assert found["reading_accuracy"] >= 0.98
    assert found["decision"] >= 0.84  # hours that are long or go over midnight wait to be confirmed as well


@pytest.mark.parametrize("name", ["test", "hand"])
def test_verdicts_of_notes_that_nobody_confirmed_yet_miss_nothing(name):
    found = evaluated("--set", str(SETS / f"{name}.jsonl"), "--no-encoder", "--compile")
    assert found["missed"] == 0
    assert found["decision"] >= 0.93
    assert found["false_rate"] <= 0.05
    assert found["reading_accuracy"] >= 0.99
    assert found["injection_changed"] == 0
    assert found["copy_exact"] == 1.0


@pytest.mark.parametrize("name", ["test", "hand"])
def test_verdicts_of_confirmed_notes_are_as_good_as_they_were(name):
    found = evaluated("--set", str(SETS / f"{name}.jsonl"), "--no-encoder")
    assert found["decision"] >= 0.98
    assert found["missed"] == 0
    assert found["false_rate"] <= 0.03
    assert found["right_note"] >= 0.95
    assert found["injection_changed"] == 0
    assert found["copy_exact"] == 1.0
    assert found["coverage_at_95"] >= 0.9


def test_what_wrong_readings_would_have_done_is_told(tmp_path):
    row = {
        "id": "a",
        "language": "en",
        "group": "notes",
        "notes": [ROOF],
        "readings": ["allow"],
        "facts": FACTS
        | {"object": {"class": "person", "likelihood": 0.9, "count": 1}, "rules_hit": ["restricted_zone"]},
        "expect": {
            "situation": ["activity"],
            "expected": ["yes"],
            "severity": ["none"],
            "action": ["log"],
            "note": [1],
        },
    }
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    found = evaluated("--set", str(path), "--compile", "--no-encoder")
    assert found["reading_accuracy"] == 0
    assert found["wrong_readings_did"] == {"changed": 1, "silenced": 0, "raised": 1}
    assert evaluated("--set", str(path), "--no-encoder")["decision"] == 1.0


def test_the_table_for_people_names_what_is_not_as_labelled():
    result = CliRunner().invoke(
        main, ["eval", "verdicts", "--set", str(SETS / "test.jsonl"), "--no-encoder", "--model", "none"]
    )
    assert "By group and language" in result.stdout
    assert "Confidence" in result.stdout


def test_a_set_with_a_broken_line_is_refused(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text('{"id": "a"}\n', encoding="utf-8")
    result = CliRunner().invoke(main, ["eval", "verdicts", "--set", str(path), "--model", "none"])
    assert result.exit_code == 2
    assert "line 1: no incident with a verdict" in result.stderr


def test_the_set_is_large_enough_and_its_halves_share_no_site():
    halves = {half: verdicts.read(SETS / f"{half}.jsonl") for half in ("train", "test")}
    sites = {half: {case.id.partition("-")[0] for case in found} for half, found in halves.items()}
    assert sum(map(len, halves.values())) >= 200
    assert not sites["train"] & sites["test"]
    assert {case.group for case in halves["test"]} == {"facts_only", "notes", "tricky", "injection", "copy"}


def test_the_set_is_what_its_generator_makes(tmp_path, monkeypatch):
    from tools import make_verdicts  # noqa: PLC0415  # a script

    monkeypatch.setattr(make_verdicts, "FOLDER", tmp_path)
    make_verdicts.main()
    for half in ("train", "test"):
        assert (tmp_path / f"{half}.jsonl").read_bytes() == (SETS / f"{half}.jsonl").read_bytes()
