"""A replay on the screen: progress while it runs, a table when it is done."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from pipeline import topology
from pipeline.app.events import Events
from pipeline.core.errors import ConfigError
from pipeline.core.printing import counted, printable
from pipeline.runtime.replay import Outcome, Report, coverage
from pipeline.runtime.replay import Progress as State
from pipeline.view import timeline
from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2262, 1, 1, tzinfo=UTC) - _EPOCH  # later nanoseconds do not fit 63 bits
_STYLES = {"whole": "green", "damaged": "yellow", "truncated": "yellow", "unreadable": "red", "failed": "red"}


@contextmanager
def output_folder(out: Path | None) -> Iterator[Path]:
    """Lend the folder asked for, or a temporary one that goes afterwards."""
    if out is not None:
        yield out
        return
    folder = tempfile.mkdtemp(prefix="fieldwatch-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def moment(text: str | None) -> int | None:
    """Nanoseconds since 1970 of an RFC 3339 time. Raises ConfigError."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"--began {text}: write it as 2026-11-29T08:00:00Z") from error
    since = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)) - _EPOCH
    if not timedelta(0) <= since < _LATEST:
        raise ConfigError(f"--began {text}: recordings are from 1970 to 2261")
    return since // timedelta(microseconds=1) * 1000


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[State], None]]:
    """Lend a function that draws how far a replay is; on a terminal only."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("replay", total=1.0, told="")
        yield lambda state: bar.update(task, completed=state.share, told=_told(state))


def _told(state: State) -> str:
    rate = state.frames / state.elapsed_s if state.elapsed_s else 0.0
    speed = state.media_s / state.elapsed_s if state.elapsed_s else 0.0
    return (
        f"{state.done}/{state.total} files  {state.frames} frames  {rate:.0f} frames/s  "
        f"{speed:.1f}x real time  {state.incidents} incidents"
    )


def write_summary(report: Report, folder: Path) -> None:
    """Write summary.json: the table below, for programs."""
    (folder / "summary.json").write_bytes(msgspec.json.format(msgspec.json.encode(_summary(report)), indent=1) + b"\n")


def print_events(path: Path) -> None:
    """Events to standard output: a timeline where people look, lines where programs read."""
    if sys.stdout.isatty():
        timeline.show(Events(path), everything=False, as_json=False)
        return
    sys.stdout.flush()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            os.write(1, block)


def summary(report: Report, *, as_json: bool, stderr: bool) -> None:
    """Print what was replayed and how whole it was, to standard error where events are on the output."""
    if as_json:
        say_json(_summary(report), stderr=stderr)
        return
    screen = console(stderr=stderr)
    screen.print(_inputs(report.outcomes))
    if any(one.latency_ms for one in report.outcomes):
        screen.print(_latencies(report.outcomes))
    media = sum(one.media_s for one in report.outcomes)
    frames = sum(one.frames for one in report.outcomes)
    screen.print(
        f"{counted(len(report.outcomes), 'input')}, coverage {coverage(report.outcomes)} %, "
        f"{frames} frames of {media:.1f} s in {report.elapsed_s:.1f} s ({frames / report.elapsed_s:.0f} frames/s, "
        f"{media / report.elapsed_s:.1f}x real time), "
        f"{counted(sum(one.incidents for one in report.outcomes), 'incident')}"
    )
    if not stderr:
        screen.print(f"events: {report.events_file}    show them: pipeline events {report.events_file}")


def _inputs(outcomes: list[Outcome]) -> Table:
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
    for one in outcomes:
        frames = f"{one.frames}/{one.declared}" if one.declared and one.declared != one.frames else str(one.frames)
        state = Text(one.status, style=_STYLES[one.status])
        warmth = f"{one.heat['temp_c_first']:g} to {one.heat['temp_c_most']:g} C" if one.heat else ""
        slowed = f", down to level {one.heat['level_most']:g}" if one.heat.get("level_most") else ""
        reason = "; ".join(part for part in (one.reason, warmth + slowed) if part)
        name, reason = printable(one.name), printable(reason)
        table.add_row(name, state, frames, f"{one.media_s:.1f}", str(one.incidents), reason)
    return table


def _latencies(outcomes: list[Outcome]) -> Table:
    table = Table("stage", "messages", "median ms", "95 % ms", title="Time a message", title_justify="left")
    for stage in topology.STAGES:
        rows = [one.latency_ms[stage] for one in outcomes if stage in one.latency_ms]
        count = sum(row[2] for row in rows)
        if count:
            medians, tails = (sum(row[place] * row[2] for row in rows) / count for place in (0, 1))
            table.add_row(stage, str(count), f"{medians:.2f}", f"{tails:.2f}")
    return table


def _summary(report: Report) -> dict[str, object]:
    return {
        "coverage_percent": coverage(report.outcomes),
        "elapsed_s": round(report.elapsed_s, 3),
        "inputs": [msgspec.to_builtins(one) for one in report.outcomes],
    }
