"""What the commands say, and with which exit status."""

import json
import os
import signal
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from pipeline.app import replay
from pipeline.cli import exits, main
from pipeline.core.errors import ConfigError
from tests.paths import ROOT

CONFIG = """
[cameras.gate]
source = "rtsp://admin:secret@10.0.0.5/sub?token=secret"
[cameras.gate.zones.bay]
polygon = [[0.1, 0.5], [0.6, 0.5], [0.6, 1.0]]
restricted = true
"""


@pytest.fixture
def run(tmp_path):
    def invoke(*arguments, config=None):
        path = tmp_path / "site.toml"
        if config is not None:
            path.write_text(config, encoding="utf-8")
        return CliRunner().invoke(main, [str(path) if part == "CONFIG" else str(part) for part in arguments])

    return invoke


def line(subject, operation, **changes):
    data = {
        "operation": operation,
        "facts": {"track": {"dwell_s": 36}, "rules_hit": ["loiter"]},
        "scene": {"class": "person", "label": "person", "likelihood": 0.9},
        "analysis": {"status": "skipped", "summary": "A person at gate for 36 s."},
    }
    return {
        "type": f"fieldwatch.incident.{operation}.v1",
        "time": "2026-11-29T12:00:00.000Z",
        "source": "/site/s/device/d/camera/gate",
        "subject": subject,
        "severitytext": "WARN",
        "data": data | ({"ended_by": "quiet"} if operation == "end" else {}),
    } | changes


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "events.jsonl"

    def write(*rows):
        path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
        return path

    return write


def test_a_valid_configuration_is_shown_by_what_it_does(run):
    result = run("check", "CONFIG", config=CONFIG)
    assert result.exit_code == 0
    assert "nobody may be here" in result.output
    assert "valid, 1 camera," in result.output


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_configuration_is_shown_without_its_passwords(run, options):
    result = run("check", "CONFIG", *options, config=CONFIG)
    assert "rtsp://10.0.0.5" in result.output
    assert "/sub" not in result.output
    assert "secret" not in result.output


def test_every_mistake_is_told_with_file_line_and_the_key_that_was_meant(run):
    result = run("check", "CONFIG", config="[motion]\nsensitivty = 1\n[trigger]\ngap = 3\n")
    assert result.exit_code == 2
    assert "site.toml:2: unknown key `motion.sensitivty`; did you mean `sensitivity`?" in result.output
    assert "site.toml:4: unknown key `trigger.gap`; did you mean `gap_s`?" in result.output


@pytest.mark.parametrize("key", ["filters", "incidents"])
def test_a_file_of_ones_own_that_is_not_there_is_told_by_the_check(run, key):
    result = run("check", "CONFIG", config=CONFIG + f'[describe]\n{key} = "nowhere.toml"\n')
    assert result.exit_code == 2
    assert "nowhere.toml: cannot be read" in result.output


def test_without_cameras_there_is_nothing_to_run(run):
    result = run("run", "CONFIG", config="")
    assert result.exit_code == 2
    assert "no cameras: add a table [cameras.NAME] with a source" in result.output


def test_an_incident_is_one_row_of_the_timeline(run, file):
    result = run("events", file(line("a", "start"), line("a", "update"), line("a", "end"), line("b", "start")))
    rows = [row for row in result.output.splitlines() if "2026-11-29" in row]
    assert len(rows) == 2
    assert "person recognised, loiter" in " ".join(rows[0].split())
    assert "36 s so far" in rows[1]


def test_all_events_are_rows_when_asked_for(run, file):
    result = run("events", file(line("a", "start"), line("a", "end")), "--all")
    assert result.output.count("2026-11-29") == 2


@pytest.mark.parametrize("options", [(), ("--all",)])
def test_an_incident_whose_facts_are_null_is_a_row_as_without_them(run, file, options):
    ended = line("inc-1", "end")
    ended["data"]["facts"] = None
    result = run("events", file(ended), *options)
    assert result.exit_code == 0
    assert "gate" in result.output


def test_events_are_chosen_by_camera_and_type(run, file):
    other = line("b", "start", source="/site/s/device/d/camera/yard")
    path = file(line("a", "start"), other, line("a", "end"))
    chosen = run("events", path, "--camera", "gate", "--type", "incident.end", "--json")
    assert [json.loads(row)["subject"] for row in chosen.output.splitlines()] == ["a"]


def test_lines_that_are_no_events_are_counted_not_hidden(run, file):
    result = run("events", file(line("a", "start"), "{torn\n", "[]\n", "\n"))
    assert result.exit_code == 3
    assert "3 lines are no events, the first is line 2" in result.output


def test_the_topology_is_told_to_programs_too(run):
    tables = json.loads(run("topology", "--json").output)
    assert tables["stages"]["motion"]["reads"] == {"frames": "latest"}
    assert run("topology", "--mermaid").output.startswith("flowchart LR")


def test_a_link_that_is_not_there_is_told_with_the_nearest(run, tmp_path):
    result = run("tap", "evnts", "--run-dir", tmp_path)
    assert result.exit_code == 2
    assert "no link `evnts`; did you mean `events`?" in result.output


@pytest.mark.parametrize("command", [("status",), ("tap", "events")])
def test_where_no_daemon_runs_that_is_said(run, tmp_path, command):
    result = run(*command, "--run-dir", tmp_path)
    assert result.exit_code == 2
    assert "no daemon runs here: start one with `pipeline run CONFIG`" in result.output


def test_who_is_told_twice_to_end_clears_up_all_the_same():
    cleared = []

    def ended_twice():
        with exits.clean_up_on_signal():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                cleared.append(True)

    with pytest.raises(SystemExit) as ended:
        ended_twice()
    assert (ended.value.code, cleared) == (128 + signal.SIGTERM, [True])


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_standard_output_is_no_fault_of_the_command(closed):
    command = f'"{sys.executable}" -m pipeline topology --json {closed}'
    assert subprocess.run(command, shell=True, check=False, cwd=ROOT).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_there_for_shells(run, shell):
    assert "_PIPELINE_COMPLETE" in run("completion", shell).output


@pytest.mark.parametrize(
    ("words", "begun", "offered"), [([], "di", "digest"), (["digest", "events.jsonl"], "--si", "--since")]
)
def test_completion_offers_commands_and_their_options(words, begun, offered):
    found = ShellComplete(main, {}, "pipeline", "_PIPELINE_COMPLETE").get_completions(words, begun)
    assert [one.value for one in found] == [offered]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('model = "missing.onnx"', "site.toml:4: encode.model: cannot read model file missing.onnx: No such file"),
        ('tags = 1\nmodel = "lite9"', "site.toml:5: encode.model: no model"),
        ('backend = "mnn"\nartefact = "gone.mnn"', "site.toml:5: encode.artefact: gone.mnn is not there"),
        ('backend = "plugin_ep"', "site.toml:3: encode.plugin: back end plugin_ep needs encode.plugin"),
    ],
)
def test_an_encoder_that_is_not_there_is_found_by_check(run, tmp_path, lines, problem):
    config = tmp_path / "site.toml"
    config.write_text(f'[cameras.gate]\nsource = "synthetic://"\n[encode]\n{lines}\n')
    result = run("check", config)
    assert result.exit_code == 2
    assert problem in result.output


def test_an_artefact_that_nobody_opens_is_remarked(run, tmp_path):
    config = tmp_path / "site.toml"
    config.write_text('[cameras.gate]\nsource = "synthetic://"\n[encode]\nartefact = "gone"\n')
    result = run("check", config)
    assert result.exit_code == 0
    assert "encode.artefact is not used: encode.backend is cpu" in " ".join(result.output.split())


@pytest.mark.parametrize("words", [("1", "--out", "x"), ("1,2,3", "4", "5")])
def test_three_numbers_are_asked_for(run, words):
    result = run("models", "convert", "m.onnx", "--target", "generic", "--mean", *words)
    assert result.exit_code == 2
    assert "is no number: it takes three, with spaces between, such as 127 127 127" in " ".join(result.output.split())


def offered(words, begun):
    found = ShellComplete(main, {}, "pipeline", "_PIPELINE_COMPLETE").get_completions(words, begun)
    return [one.value for one in found]


def test_completion_offers_what_is_there(run, tmp_path):
    config = tmp_path / "site.toml"
    config.write_text('[cameras.gate]\nsource = "synthetic://"\n[cameras.yard]\nsource = "synthetic://"\n')
    state = ["--state-dir", str(tmp_path)]
    assert run("notes", "add", "Nobody may be on the roof.", "--yes", *state).exit_code == 0
    assert offered(["replay", "--config", str(config), "--camera"], "ga") == ["gate"]
    assert offered(["tap"], "mot") == ["motion"]
    assert offered(["notes", "remove", *state], "") == ["n1"]
    assert offered(["models", "use", *state], "") == []
    assert offered(["models", "convert", "my.onnx", "--target"], "r") == ["rknn"]
    assert "efficientnet-lite0-224-int8" in offered(["models", "convert"], "eff")


def options_of_all(command, words=()):
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from options_of_all(below, (*words, name))
    else:
        yield " ".join(words), {option.name: option for option in command.params}


def test_every_command_whose_state_folder_is_as_configured_takes_a_configuration():
    for command, options in options_of_all(main):
        if "as configured" in (getattr(options.get("state_dir"), "help", "") or ""):
            assert "config" in options, command


def test_a_folder_that_cannot_be_written_is_named(run, tmp_path):
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    (tmp_path / "clip.mp4").write_bytes(b"x")
    result = run("replay", tmp_path / "clip.mp4", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert str(tmp_path / "out") in result.output


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": 1},
        {"time": 2},
        {"subject": ["a"]},
        {"source": None},
        {"data": "hello"},
        {"data": {"details": ["a"]}},
        {"data": {"scene": {"likelihood": "high"}}},
        {"data": {"facts": None, "analysis": []}},
    ],
    ids=str,
)
@pytest.mark.parametrize("options", [(), ("--all",), ("--json",)])
def test_a_line_that_only_looks_like_an_event_is_counted_as_none(run, file, wrong, options):
    result = run("events", file(line("a", "start"), line("b", "end") | wrong), *options)
    assert result.exit_code == 3, result.exception
    assert "1 lines are no events, the first is line 2" in result.output


def test_what_an_event_says_does_not_reach_the_terminal_as_a_command(run, file):
    data = {"analysis": {"summary": "a \x1b[31mred\x07 [/b] [bold]one"}}
    result = run("events", file(line("a", "end", data=data)))
    assert "[/b] [bold]one" in result.output
    assert not {"\x1b", "\x07"} & set(result.output)


def test_names_of_zones_are_shown_as_they_are(run):
    result = run("check", "CONFIG", config=CONFIG + 'name = "[/b] [red]bay :car:"\n')
    assert result.exit_code == 0, result.exception
    assert "[/b] [red]bay :car:" in result.output


@pytest.mark.parametrize("milliseconds", [1, 9, 123, 999])
def test_when_recordings_began_is_taken_to_the_millisecond(milliseconds):
    began = replay.parse_time_ns(f"2026-11-29T08:00:00.{milliseconds:03d}Z")
    assert began == 1795939200_000_000_000 + milliseconds * 1_000_000


@pytest.mark.parametrize("text", ["now", "", "0001-01-01", "9999-12-31T23:59:59Z"])
def test_a_time_at_which_no_recording_began_is_refused(text):
    with pytest.raises(ConfigError, match="--began"):
        replay.parse_time_ns(text)


def test_what_live_does_not_do_is_refused_rather_than_left_out(run, tmp_path):
    (tmp_path / "clip.mp4").write_bytes(b"x")
    result = run("replay", tmp_path / "clip.mp4", "--live", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_a_source_with_a_name_that_no_file_can_have_is_a_warning(run):
    result = run("check", "CONFIG", config=f'[cameras.gate]\nsource = "{"a" * 3000}"\n')
    assert result.exit_code == 0
    assert "no such file or device" in result.output
