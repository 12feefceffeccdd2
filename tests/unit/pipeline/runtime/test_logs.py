"""Log lines that programs read."""

import json
import os

import pytest
import structlog

from pipeline.runtime import logs


@pytest.fixture
def lines(monkeypatch):
    written = []
    monkeypatch.setattr(os, "write", lambda _, data: written.append(data))
    monkeypatch.setattr(logs.sys.stderr, "isatty", lambda: False, raising=False)
    logs.configure("info", stage="trigger")
    yield written
    structlog.reset_defaults()


def test_a_line_is_one_write_of_json(lines):
    structlog.get_logger().info("stage_ready", pid=7)
    assert [json.loads(line)["pid"] for line in lines] == [7]


@pytest.mark.parametrize("text", ["x" * 9000, 'é"\n' * 3000])
def test_a_line_that_would_be_too_long_is_still_json_and_keeps_the_end_of_its_text(lines, text):
    structlog.get_logger().info("message_failed", message_type="Ticked", exception=f"{text}ValueError: here")
    (line,) = lines
    assert len(line) <= 4096
    read = json.loads(line)
    assert (read["event"], read["message_type"], read["stage"]) == ("message_failed", "Ticked", "trigger")
    assert read["exception"].endswith("ValueError: here")
