"""Show the result of a replay."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pipeline import topology
from pipeline.core.printing import counted, make_printable
from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.app.replay import ReplayResult, ReplaySummary

_STYLES = {"whole": "green", "damaged": "yellow", "truncated": "yellow", "unreadable": "red", "failed": "red"}


def copy(path: Path) -> None:
    """Copy a file to standard output unchanged."""
    sys.stdout.flush()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            os.write(1, block)


def show(found: ReplayResult, *, as_json: bool, stderr: bool) -> None:
    """Print the outcome of all recordings; on standard error if events are on standard output."""
    summary, inputs = found.summary, found.summary.inputs
    if as_json:
        say_json(summary, stderr=stderr)
        return
    screen = console(stderr=stderr)
    screen.print(_inputs_table(summary))
    if any(one.latency_ms for one in inputs):
        screen.print(_latencies_table(summary))
    media = sum(one.media_s for one in inputs)
    frames = sum(one.frames for one in inputs)
    screen.print(
        f"{counted(len(inputs), 'input')}, coverage {summary.coverage_percent} %, "
        f"{frames} frames of {media:.1f} s in {found.elapsed_s:.1f} s ({frames / found.elapsed_s:.0f} frames/s, "
        f"{media / found.elapsed_s:.1f}x real time), "
        f"{counted(sum(one.incidents for one in inputs), 'incident')}"
    )
    if not stderr:
        screen.print(f"events: {found.events_file}    show them: pipeline events {found.events_file}")


def _inputs_table(summary: ReplaySummary) -> Table:
    table = Table(title="Inputs", title_justify="left")
    for name, justify in (
        ("recording", "left"),
        ("state", "left"),
        ("frames", "right"),
        ("seconds", "right"),
        ("incidents", "right"),
        ("remark", "left"),
    ):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]  # the literals of rich
    for one in summary.inputs:
        frames = f"{one.frames}/{one.declared}" if one.declared and one.declared != one.frames else str(one.frames)
        state = Text(one.status, style=_STYLES[one.status])
        warmth = f"{one.heat['temp_c_first']:g} to {one.heat['temp_c_most']:g} C" if one.heat else ""
        slowed = f", down to level {one.heat['level_most']:g}" if one.heat.get("level_most") else ""
        reason = "; ".join(part for part in (one.reason, warmth + slowed) if part)
        name, reason = make_printable(one.name), make_printable(reason)
        table.add_row(name, state, frames, f"{one.media_s:.1f}", str(one.incidents), reason)
    return table


def _latencies_table(summary: ReplaySummary) -> Table:
    table = Table("stage", "messages", "median ms", "95 % ms", title="Time a message", title_justify="left")
    for stage in topology.STAGES:
        rows = [one.latency_ms[stage] for one in summary.inputs if stage in one.latency_ms]
        count = sum(row[2] for row in rows)
        if count:
            medians, tails = (sum(row[place] * row[2] for row in rows) / count for place in (0, 1))
            table.add_row(stage, str(count), f"{medians:.2f}", f"{tails:.2f}")
    return table
