"""What `pipeline digest` prints, and with which exit status."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pipeline.app import digest as app
from pipeline.cli import main
from pipeline.core.errors import ModelError


def row(subject="inc-1", time="2026-11-29T22:00:00.000Z", *, camera="gate", clock="media", action="alarm", zone="kerb"):
    facts = {"zone": zone, "camera": camera, "object": {"class": "person", "count": 1}, "track": {"dwell_s": 36}}
    fields = {"situation": "intrusion", "action": action, "because": "note", "note": "n1", "note_text": "Nobody here."}
    return {
        "type": "fieldwatch.incident.end.v1",
        "time": time,
        "source": f"/site/s/device/d/camera/{camera}",
        "subject": subject,
        "severitytext": "WARN",
        "data": {"facts": facts, "analysis": {"status": "ok", "fields": fields}, "clock": clock},
    }


@pytest.fixture
def run(tmp_path):
    """Tell the rows of a file."""

    def told(*arguments, rows):
        path = tmp_path / "events.jsonl"
        path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in rows))
        command = ["digest", str(path), "--state-dir", str(tmp_path / "state"), *arguments]
        return CliRunner().invoke(main, command)

    return told


def test_people_read_sentences_with_the_ids_behind_them_and_what_the_notes_say(run):
    result = run("--since", "8h", rows=[row(), row("inc-2", action="log")])
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    assert said.startswith("Sunday 2026-11-29 14:00 to Sunday 2026-11-29 22:00 (UTC) 2 incidents: 1 alarm, 1 log;")
    assert "on Sunday at 22:00, for 36 s; note n1 decided. inc-1" in said
    assert "note n1: Nobody here." in said


def test_programs_read_one_object(run):
    found = json.loads(run("--since", "22:00", "--json", rows=[row(time="2026-11-29T23:00:00.000Z")]).stdout)
    assert (found["since"], found["until"]) == ("2026-11-29T22:00:00Z", "2026-11-29T23:00:00Z")
    assert (found["incidents"], found["quiet"], found["model"]) == (1, 0, None)
    _, sentence = found["sentences"]
    assert (sentence["incidents"], sentence["grounded"], sentence["by"]) == (["inc-1"], True, "template")


def test_the_same_file_is_told_in_the_same_words(run):
    rows = [row(f"inc-{number}", zone=f"bay {number % 12}") for number in range(50)]
    assert run("--since", "1d", "--json", rows=rows).stdout == run("--since", "1d", "--json", rows=rows).stdout


def test_damaged_lines_are_counted_and_the_exit_status_says_so(run):
    result = run("--since", "8h", "--json", rows=[row(), "{torn\n", "[]\n"])
    assert result.exit_code == 3
    assert json.loads(result.stdout)["lines_damaged"] == 2
    assert "2 lines are no events, the first is line 2" in result.stderr


@pytest.mark.parametrize(
    "time", ["2026-11-29T22:00:00", "2026-11-29T22:00:00+01:00", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "now"]
)
def test_a_line_whose_time_is_none_of_an_event_is_damaged(run, time):
    result = run("--since", "8h", "--json", rows=[row(), row("inc-2", time)])
    assert result.exit_code == 3, result.exception
    assert json.loads(result.stdout)["incidents"] == 1


def test_a_line_longer_than_any_event_is_passed_over_without_being_held(run):
    result = run("--since", "8h", "--json", rows=[row(), "x" * (3 << 20) + "\n", row("inc-2")])
    assert result.exit_code == 3
    told = json.loads(result.stdout)
    assert (told["lines_damaged"], told["incidents"]) == (1, 2)


@pytest.mark.parametrize("count", [-1, 10**12])
def test_a_count_that_is_none_makes_its_line_damaged(run, count):
    absurd = row("inc-2")
    absurd["data"]["facts"]["object"]["count"] = count
    told = json.loads(run("--since", "8h", "--json", rows=[row(), absurd]).stdout)
    assert (told["lines_damaged"], told["incidents"]) == (1, 1)


def test_a_file_that_holds_no_event_is_refused(run):
    result = run("--since", "8h", rows=["hello\n"])
    assert result.exit_code == 2
    assert "not a file of events" in result.output


def test_live_events_are_told_up_to_now(run):
    result = run("--since", "8h", rows=[row(clock="synced", time="2020-11-29T22:00:00.000Z")])
    assert "Nothing happened." in result.output


def test_a_period_that_ends_before_it_begins_is_refused(run):
    result = run("--since", "2026-11-30", rows=[row()])
    assert result.exit_code == 2
    assert "is not before the end of the period, 2026-11-29T22:00:00Z" in result.output


def test_one_camera_is_told_alone(run):
    rows = [row(), row("inc-2", camera="yard")]
    assert json.loads(run("--since", "8h", "--camera", "yard", "--json", rows=rows).stdout)["incidents"] == 1


def test_a_camera_that_is_not_there_is_refused_with_those_that_are(run):
    result = run("--since", "8h", "--camera", "hall", rows=[row()])
    assert result.exit_code == 2
    assert "no camera `hall`; there are: gate" in result.output


def test_a_camera_of_the_configuration_may_have_nothing_to_tell(run, tmp_path):
    (tmp_path / "site.toml").write_text('[cameras.hall]\nsource = "synthetic://"\n')
    result = run("--since", "8h", "--camera", "hall", "--config", str(tmp_path / "site.toml"), rows=[row()])
    assert "Nothing happened." in result.output


def test_times_are_those_of_the_configurations_time_zone(run, tmp_path):
    (tmp_path / "site.toml").write_text('[site]\ntimezone = "Asia/Tokyo"\n')
    result = run("--since", "8h", "--config", str(tmp_path / "site.toml"), rows=[row()])
    assert "to Monday 2026-11-30 07:00 (JST)" in result.output
    assert "on Monday at 07:00" in result.output


def test_a_model_that_is_not_there_is_refused(run):
    result = run("--since", "8h", "--model", "nothing-7b", rows=[row()])
    assert result.exit_code == 2
    assert "nothing-7b" in result.output


@pytest.fixture
def voice(monkeypatch):
    """Let a model say what a test wants."""

    class Chosen:
        name, version, path = "fake", "1", None

    def says(*told, fails=""):
        def apart(*_):
            yield from told
            if fails:
                raise ModelError(fails)

        monkeypatch.setattr(app, "choose_model", lambda *_: Chosen)
        monkeypatch.setattr(app, "apart", apart)

    return says


SAID = (
    "Alarm (intrusion): a person was seen by the kerb (camera gate) on Sunday at 22:00 for 36 seconds; note n1 decided."
)


def test_a_model_words_the_sentences_where_one_is_in_use(run, voice):
    voice(app.GroupSentence(SAID, ""))
    found = json.loads(run("--since", "8h", "--json", rows=[row()]).stdout)
    assert found["model"] == "fake/1"
    assert [(one["by"], one["text"]) for one in found["sentences"][1:]] == [("model", SAID)]


def test_what_a_model_may_not_say_is_said_by_the_template_and_counted(run, voice):
    voice(app.GroupSentence(SAID, "thief is no fact"))
    result = run("--since", "8h", "--json", rows=[row()])
    found = json.loads(result.stdout)
    assert (found["sentences"][1]["by"], found["dropped"]) == ("template", {"thief is no fact": 1})


def test_what_no_one_may_read_is_said_by_the_template_and_counted_without_the_word(run, voice):
    voice(app.GroupSentence(SAID.replace("a person", "a thief"), "thief is no fact"))
    result = run("--since", "8h", "--json", rows=[row()])
    found = json.loads(result.stdout)
    assert (found["sentences"][1]["by"], found["dropped"]) == ("template", {"held back by the list accusation": 1})
    assert "thief" not in result.output


def test_words_of_the_operators_own_names_hold_no_sentence_back(run, voice):
    voice(app.GroupSentence(SAID.replace("the kerb", "Thief Lane"), ""))
    found = json.loads(run("--since", "8h", "--json", rows=[row(zone="Thief Lane")]).stdout)
    assert (found["sentences"][1]["by"], found["dropped"]) == ("model", {})


def test_a_sentence_that_passed_its_writer_is_read_again(run, voice):
    voice(app.GroupSentence(SAID.replace("36", "37"), ""))
    found = json.loads(run("--since", "8h", "--json", rows=[row()]).stdout)
    assert found["sentences"][1]["by"] == "template"
    assert found["dropped"] == {"for 37 seconds is no fact": 1}


def test_a_model_that_fails_is_told_of_and_the_template_says_the_rest(run, voice):
    voice(app.GroupSentence(SAID, ""), fails="it died")
    result = run("--since", "8h", "--json", rows=[row(), row("inc-2", zone="yard")])
    found = json.loads(result.stdout)
    assert [one["by"] for one in found["sentences"][1:]] == ["model", "template"]
    assert found["model_silent"] == "it died"
    assert "the language model is not heard: it died" in result.stderr


def test_what_events_say_does_not_reach_the_terminal_as_a_command(run):
    assert "\x1b" not in run("--since", "8h", rows=[row(zone="a \x1b[31mred"), row("inc\x1b")]).output


def test_behind_a_sentence_people_read_a_few_ids_and_how_many_more_there_are(run):
    rows = [row(f"inc-{number}") for number in range(9)]
    said = " ".join(run("--since", "8h", rows=rows).output.split())
    assert "inc-5 and 3 more: --json names them" in said
    assert "inc-6" not in said
