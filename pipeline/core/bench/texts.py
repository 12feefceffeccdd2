"""What was measured of a language model in words: the cells of a table, and a page in Markdown.

`changed` is always in percent, by threads and measure, as `baseline.changes` has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.bench.baseline import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.bench.baseline import Baseline, MeasuredRow

ENERGY = "Energy is not measured."


def title(found: Baseline) -> str:
    """Say what was measured, and where."""
    return f"{found.model.name}/{found.model.version} on {found.device.cpu}, {found.device.cores} cores"


def heads(found: Baseline) -> list[str]:
    """The head of each column but the first: numbers of threads."""
    return [f"{row.threads} thread{'s' * (row.threads != 1)}" for row in found.rows]


def cells(found: Baseline, changed: dict[int, dict[str, float]]) -> Iterator[list[str]]:
    """Yield a line a measure: its name, and a cell for each number of threads."""
    for name, measure in MEASURES.items():
        if any(name in row.values for row in found.rows):
            label = f"{measure.label}, {measure.unit}" if measure.unit else measure.label
            yield [label, *(_cell(row, name, changed.get(row.threads, {})) for row in found.rows)]


def _cell(row: MeasuredRow, name: str, changed: dict[str, float]) -> str:
    if name not in row.values:
        return "died" if row.failed else "-"
    text = f"{row.values[name]:.{MEASURES[name].digits}f}"
    return f"{text} ({round(changed[name]):+d} %)" if name in changed else text


def failures(found: Baseline) -> list[str]:
    """Say what became of processes that did not answer."""
    return [f"threads: {row.threads}: {reason}" for row in found.rows for reason in row.failed]


def markdown(found: Baseline, changed: dict[int, dict[str, float]]) -> str:
    """A page for people."""
    device, model, options = found.device, found.model, found.options
    head = ["", *heads(found)]
    lines = [
        f"# {title(found)}",
        "",
        f"- taken {found.taken} by the device's clock",
        f"- {device.memory_mb} MB of memory, {device.kernel}, Python {device.python}, {device.engine}",
        f"- recipe {model.recipe or 'unknown'}, {model.bytes / 1e6:.0f} MB of weights, sha256 {model.sha256}",
        f"- medians of {options.rounds} rounds, a context of {options.context_tokens} tokens",
        "",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(cells)} |" for cells in cells(found, changed)),
        "",
        *(f"- {line}" for line in failures(found)),
        f"{ENERGY} Percents are the change to the baseline before.",
    ]
    return "\n".join(lines) + "\n"
