"""Views of events say what is in the event log and not in the files yet."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pipeline.cli import main
from stages.sinks import jsonl
from tests.emitting import TICK, Sinks, event


@pytest.fixture
def full(ring, tmp_path, monkeypatch):
    """A folder with a file of one event, and a log in which two more wait."""
    out = Sinks(ring, tmp_path / "out")
    out.tell(event(1))

    def refuse(_, __):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jsonl, "append_whole", refuse)
    out.log(event(2))
    out.log(event(3, operation="end"))
    out.tell(TICK)
    (tmp_path / "eventlog").rename(tmp_path / "out" / "eventlog")
    return tmp_path / "out" / "events.jsonl"


@pytest.mark.parametrize("command", [["events"], ["digest"]])
def test_what_waits_for_room_is_said_to(full, command):
    more = ["--since", "1970-01-01T00:00", "--model", "none"] if command == ["digest"] else []
    shown = CliRunner().invoke(main, [*command, str(full), *more])
    assert "2 events not shown: in the event log, waiting for room on the disk" in shown.output + shown.stderr
