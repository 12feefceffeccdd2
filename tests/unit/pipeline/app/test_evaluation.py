"""Incidents on which sentences are judged."""

from __future__ import annotations

import json

import msgspec
import pytest

from models.llm.mnn import EngineOptions
from models.store import Installed
from pipeline.app import summaries
from pipeline.app.summaries import Summaries, SummaryCase, SummaryResult, _count_results, read_cases
from pipeline.core.errors import ConfigError
from pipeline.resources import config_file
from pipeline.view import summaries as view
from tests.fakes import facts
from tests.llms import fake_model
from tools.make_incidents import incidents


def test_the_set_that_comes_with_the_package_is_what_its_script_draws():
    lines = config_file("eval/incidents.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == incidents()
    assert len(read_cases(None)) == 90


def test_lines_of_a_set_of_ones_own_may_hold_more_than_facts(tmp_path):
    row = {"id": "a", "facts": msgspec.to_builtins(facts()), "expect": {"action": ["alarm"]}}
    (tmp_path / "own.jsonl").write_text(json.dumps(row))
    (case,) = read_cases(tmp_path / "own.jsonl")
    assert (case.id, case.facts) == ("a", facts())


def test_words_of_another_tracker_become_the_first_of_ours(tmp_path):
    known = msgspec.to_builtins(facts())
    known["track"] |= {"speed": "swaying", "direction": "around"}
    (tmp_path / "own.jsonl").write_text(json.dumps({"facts": known | {"light": "moon"}}))
    (case,) = read_cases(tmp_path / "own.jsonl")
    assert (case.facts.track.speed, case.facts.track.direction, case.facts.light) == ("still", "none", "day")


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"facts": {"zone": "gate"}}', '{"facts": 3}'])
def test_a_line_that_is_no_incident_is_named(tmp_path, line):
    (tmp_path / "own.jsonl").write_text(f"{line}\n")
    with pytest.raises(ConfigError, match=r"own.jsonl, line 1: no incident with `facts`"):
        read_cases(tmp_path / "own.jsonl")


def test_a_line_of_tables_without_end_is_named(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"facts":' + "[" * 100_000, encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1: no incident"):
        read_cases(path)


@pytest.mark.parametrize("clock", [" ", "noon", "24:00", "12:60", "12:00:30", "\u0661\u0662:00"])
def test_an_incident_at_no_time_of_day_is_named(tmp_path, clock):
    known = msgspec.to_builtins(facts()) | {"local_time": clock}
    (tmp_path / "own.jsonl").write_text(json.dumps({"facts": known}))
    with pytest.raises(ConfigError, match=r"line 1: .*local_time is .*, write HH:MM"):
        read_cases(tmp_path / "own.jsonl")


def test_an_empty_set_is_refused(tmp_path):
    (tmp_path / "own.jsonl").write_text("")
    with pytest.raises(ConfigError, match="holds no incident"):
        read_cases(tmp_path / "own.jsonl")


def test_incidents_of_one_name_are_refused_as_one_would_be_judged_by_the_other(tmp_path):
    row = json.dumps({"id": "a", "facts": msgspec.to_builtins(facts())})
    (tmp_path / "own.jsonl").write_text(f"{row}\n{row}\n")
    with pytest.raises(ConfigError, match=r"2 incidents have the `id` a: give each its own"):
        read_cases(tmp_path / "own.jsonl")


def test_an_incident_that_does_not_fit_the_context_is_counted_and_the_others_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(summaries.opening, "open_model", lambda *_: fake_model(context_tokens=1500))
    chosen = [SummaryCase("long", msgspec.structs.replace(facts(), zone="yard " * 300)), SummaryCase("short", facts())]
    installed = Installed("tiny", "1", tmp_path, None, active=True)
    long, short = summaries._write_in_child(installed, EngineOptions(), chosen, 96, free=False)
    assert "the context takes 1500" in long.fault
    assert not long.valid
    assert short.output


def test_what_an_incident_says_does_not_reach_the_terminal_as_a_command(capsys):
    view.show(Summaries([told("\x1b[2J", "A person stands at \x1b[31mthe gate.")], {}), as_json=False)
    assert "\x1b" not in capsys.readouterr().out


def told(number, text, fault=""):
    return SummaryResult(str(number), text, fault, not fault.startswith("no end"), 200, 160, 20, 100.0, 250.0, 90.0)


def test_shares_are_of_all_incidents_and_grounding_is_of_those_shown():
    found = _count_results(
        [
            told(1, "A person stands at the gate."),
            told(2, "A person stands at the gate."),
            told(3, "A person with a gun stands", "no end after 16 tokens"),
            told(4, "A person runs at the gate.", "runs is no fact"),
        ],
        {str(number): facts() for number in range(1, 5)},
    )
    assert (found["incidents"], found["valid"], found["shown"], found["grounded"]) == (4, 0.75, 0.5, 1.0)
    assert found["different"] == 0.5
    assert found["dropped"] == {"after 16 tokens": 1, "is no fact": 1}


def test_what_is_shown_is_checked_again_and_not_believed():
    found = _count_results([told(1, "A person with a gun stands at the gate.")], {"1": facts()})
    assert (found["shown"], found["grounded"]) == (1.0, 0.0)
