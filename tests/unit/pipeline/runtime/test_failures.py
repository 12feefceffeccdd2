"""What is logged of errors that nobody foresaw."""

import json
import os

import pytest
import structlog

from pipeline.runtime import logs
from pipeline.runtime.failures import Failures


@pytest.fixture
def lines(monkeypatch):
    written = []
    monkeypatch.setattr(os, "write", lambda _, data: written.append(json.loads(data)))
    monkeypatch.setattr(logs.sys.stderr, "isatty", lambda: False, raising=False)
    logs.configure("info", stage="motion")
    yield written
    structlog.reset_defaults()


def choke(text):
    raise ValueError(text)


def failed(failures, text="too small", what="FrameCaptured"):
    try:
        choke(text)
    except ValueError as error:
        failures.tell("message_failed", error, message_type=what)


def test_an_error_is_one_line_without_its_traceback(lines):
    failed(Failures())
    (line,) = lines
    assert (line["event"], line["level"], line["message_type"]) == ("message_failed", "error", "FrameCaptured")
    assert (line["error"], line["reason"], line["times"]) == ("ValueError", "too small", 1)
    assert line["at"].startswith("test_failures.py:")
    assert "Traceback" not in str(line)


def test_errors_of_a_kind_are_counted_and_told_ever_more_rarely(lines):
    failures = Failures()
    for _ in range(1000):
        failed(failures)
    assert [line["times"] for line in lines] == [1, 10, 100, 1000]


def test_another_kind_of_message_is_another_line(lines):
    failures = Failures()
    failed(failures)
    failed(failures, what="Ticked")
    assert [line["message_type"] for line in lines] == ["FrameCaptured", "Ticked"]


def test_the_traceback_is_told_at_level_debug(lines):
    logs.configure("debug")
    failed(Failures())
    assert [line["level"] for line in lines] == ["error", "debug"]
    assert "Traceback" in lines[1]["exception"]


@pytest.mark.parametrize("level", ["info", "debug"])
def test_no_address_is_told_as_it_may_hold_a_password(lines, level):
    logs.configure(level)
    failed(Failures(), "Invalid data: 'rtsp://admin:S3cret@gate/x'")
    assert "Invalid data" in lines[0]["reason"]
    assert "S3cret" not in str(lines)


def test_what_an_error_says_does_not_act_on_a_terminal(lines):
    failed(Failures(), "bad \x1b[2J name\nof a \x9b31m thing")
    assert lines[0]["reason"] == "bad \ufffd[2J name of a \ufffd31m thing"
