"""Events over a serial line: a pseudo-terminal is the port, and whoever reads its other end the receiver."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import termios
import tty

import pytest
import serial

from pipeline.core import configuration
from pipeline.core.errors import SinkBusyError, SinkUnavailableError
from stages.sinks.serial import Serial
from tests.emitting import TICK, Sinks, event


class Line:
    """Both ends of a serial line."""

    def __init__(self):
        self.reading, self.writing = os.openpty()
        tty.setraw(self.writing)
        os.set_blocking(self.reading, False)
        self.port = os.ttyname(self.writing)

    def read(self):
        """What came since the last look."""
        text = b""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.reading, 1 << 16):
                text += piece
        return text


@pytest.fixture
def line():
    made = Line()
    yield made
    for end in (made.reading, made.writing):
        os.close(end)


class Lines:
    """Every event is the same text."""

    def __init__(self, text):
        self.text = text

    def of(self, _):
        return None, self.text


def test_every_event_arrives_as_a_line(line, ring, tmp_path):
    out = Sinks(ring, tmp_path / "out", sinks=("serial",), serial_port=line.port)
    out.tell(event(1))
    got = line.read()
    out.tell(event(2), TICK)
    rows = [json.loads(text) for text in (got + line.read()).splitlines()]
    assert [row["subject"] for row in rows] == ["inc-1", "inc-1"]
    assert [int(row["sequence"]) for row in rows] == [1, 2]


def test_a_port_that_still_sends_is_busy_and_not_in_trouble(line):
    sink, text, busy = Serial(line.port, 115200, Lines(b"x" * 100_000 + b"\n")), b"", 0
    offset = 0
    while offset is not None:
        try:
            offset = sink.deliver(None, offset)
        except SinkBusyError:
            busy += 1
            text += line.read()
    sink.close()
    assert busy
    assert text + line.read() == b"x" * 100_000 + b"\n"


def test_a_line_that_was_cut_is_written_again_as_a_whole(line):
    sink = Serial(line.port, 115200, Lines(b"a whole line\n"))
    offset = 5
    while offset is not None:
        offset = sink.deliver(None, offset)
    sink.close()
    assert line.read() == b"\na whole line\n"


def test_a_port_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SinkUnavailableError, match="ttyNONE: there is no such device: plug it in"):
        Serial(str(tmp_path / "ttyNONE"), 9600, Lines(b"x\n")).deliver(None, 0)


@pytest.mark.parametrize("name", ["/dev/null", "/dev"])
def test_what_is_no_port_is_named_with_the_settings_to_look_at(name):
    with pytest.raises(SinkUnavailableError, match=f"{name}: is no serial port of 9600 bits a second: set emit"):
        Serial(name, 9600, Lines(b"x\n")).deliver(None, 0)


@pytest.mark.parametrize("error", [termios.error(errno.EIO, "unplugged"), ValueError("no such speed")])
def test_a_port_that_fails_while_it_is_set_up_is_tried_again_later(line, monkeypatch, error):
    def fail(*_, **__):
        raise error

    sink = Serial(line.port, 9600, Lines(b"x\n"))
    with monkeypatch.context() as patch:
        patch.setattr(serial, "Serial", fail)
        with pytest.raises(SinkUnavailableError, match=line.port):
            sink.deliver(None, 0)
    assert sink.deliver(None, 0) == 2
    sink.close()


def test_two_daemons_do_not_write_into_one_port(line):
    first, second = (Serial(line.port, 9600, Lines(text)) for text in (b"a line\n", b"another\n"))
    first.deliver(None, 0)
    with pytest.raises(SinkUnavailableError, match="another process has it"):
        second.deliver(None, 0)
    first.close()
    second.deliver(None, 0)
    second.close()
    assert line.read() == b"a line\nanother\n"


def test_the_sink_needs_a_port():
    _, problems = configuration.parse('[emit]\nsinks = ["jsonl", "serial"]\n')
    assert "serial_port" in problems[0].text
