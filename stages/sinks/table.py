"""The sinks that events may go to: one table, which emit walks. `Sink` in `core/settings.py` has the same names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stages.sinks.jsonl import JsonLines
from stages.sinks.serial import Serial
from stages.sinks.stdout import Stdout

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core import settings
    from stages.sinks.lines import Lines
    from stages.sinks.outlet import Sink


class Given(NamedTuple):
    """What a sink is made of.

    Attributes:
        rows: The settings; a sink reads those that its row names.
        lines: Events as lines.
        stdout: The descriptor that standard output was when the daemon began.
    """

    rows: settings.EmitSettings
    lines: Lines
    stdout: int


class SinkRow(NamedTuple):
    """A row of the table.

    Attributes:
        opened: Makes the sink.
        reads: The keys of `[emit]` that it reads.
        durable: Whether what it was given outlives the process. `PASSING_SINKS` in `core/settings.py` names the others,
            for the runtime, which knows no stages.
        most_waiting: Share of `emit.max_waiting_mb` that may wait for it, 0..1; what is beyond is skipped. None:
            everything waits.
    """

    opened: Callable[[Given], Sink]
    reads: tuple[str, ...]
    durable: bool
    most_waiting: float | None


def _jsonl(given: Given) -> Sink:
    return JsonLines(Path(given.rows.folder) / "events.jsonl", given.rows, given.lines)


def _stdout(given: Given) -> Sink:
    return Stdout(given.stdout, given.lines)


def _serial(given: Given) -> Sink:
    return Serial(given.rows.serial_port, given.rows.serial_baud, given.lines)


# fmt: off
TABLE: dict[settings.Sink, SinkRow] = {
    # name            opened   reads                                          durable most_waiting
    "jsonl":  SinkRow(_jsonl,  ("folder", "rotate_mb", "max_files", "fsync"), True,   None),
    "stdout": SinkRow(_stdout, (),                                            False,  0.5),
    "serial": SinkRow(_serial, ("serial_port", "serial_baud"),                False,  0.5),
}
# fmt: on
