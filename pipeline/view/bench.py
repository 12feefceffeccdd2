"""What was measured of a language model, as people and programs read it, and as files that are kept."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from pipeline.core import files
from pipeline.core.bench.baseline import MEASURES
from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeline.core.bench.baseline import Baseline, Row

JSON, MARKDOWN = "baseline.json", "baseline.md"
_ENERGY = "Energy is not measured."


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Lend a function that draws how far a measurement is; on a terminal only."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _what, _done, _all: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("")
        yield lambda what, done, steps: bar.update(task, description=what, completed=done, total=steps)


def show(found: Baseline, changed: dict[int, dict[str, float]], folder: Path, *, as_json: bool) -> None:
    """Print what was measured and how it differs from before.

    Args:
        found: What was measured.
        changed: In percent, by threads and measure.
        folder: Where it was written to.
        as_json: As one line for programs: the baseline with `changes` and the `folder`.
    """
    if as_json:
        content = msgspec.to_builtins(found) | {"changes": changed, "folder": str(folder)}
        say_json(content)
        return
    screen = console()
    table = Table("", *_heads(found), title=_title(found), title_justify="left")
    for cells in _cells(found, changed):
        table.add_row(*cells)
    screen.print(table)
    for line in _failures(found):
        screen.print(line)
    screen.print(f"{_ENERGY} Kept in {folder}/{JSON} and {MARKDOWN}.", soft_wrap=True)


def write(found: Baseline, changed: dict[int, dict[str, float]], folder: Path) -> None:
    """Write both files; whoever reads them meanwhile sees the old ones or the new ones. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        JSON: msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n",
        MARKDOWN: _markdown(found, changed),
    }
    for name, text in texts.items():
        files.replace(folder / name, text.encode())


def _title(found: Baseline) -> str:
    return f"{found.model.name}/{found.model.version} on {found.device.cpu}, {found.device.cores} cores"


def _heads(found: Baseline) -> list[str]:
    return [f"{row.threads} thread{'s' * (row.threads != 1)}" for row in found.rows]


def _cells(found: Baseline, changed: dict[int, dict[str, float]]) -> Iterator[list[str]]:
    """A line a measure: its name, and a cell for each number of threads."""
    for name, measure in MEASURES.items():
        if any(name in row.values for row in found.rows):
            label = f"{measure.label}, {measure.unit}" if measure.unit else measure.label
            yield [label, *(_cell(row, name, changed.get(row.threads, {})) for row in found.rows)]


def _cell(row: Row, name: str, changed: dict[str, float]) -> str:
    if name not in row.values:
        return "died" if row.failed else "-"
    text = f"{row.values[name]:.{MEASURES[name].digits}f}"
    return f"{text} ({round(changed[name]):+d} %)" if name in changed else text


def _failures(found: Baseline) -> list[str]:
    return [f"threads: {row.threads}: {reason}" for row in found.rows for reason in row.failed]


def _markdown(found: Baseline, changed: dict[int, dict[str, float]]) -> str:
    device, model, options = found.device, found.model, found.options
    head = ["", *_heads(found)]
    lines = [
        f"# {_title(found)}",
        "",
        f"- taken {found.taken} by the device's clock",
        f"- {device.memory_mb} MB of memory, {device.kernel}, Python {device.python}, {device.engine}",
        f"- recipe {model.recipe or 'unknown'}, {model.bytes / 1e6:.0f} MB of weights, sha256 {model.sha256}",
        f"- medians of {options.rounds} rounds, a context of {options.context_tokens} tokens",
        "",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(cells)} |" for cells in _cells(found, changed)),
        "",
        *(f"- {line}" for line in _failures(found)),
        f"{_ENERGY} Percents are the change to the baseline before.",
    ]
    return "\n".join(lines) + "\n"
