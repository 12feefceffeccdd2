"""Show how well incidents tell what was there: tables, or one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from pipeline.core.printing import counted, make_printable
from pipeline.view.output import complain, console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pipeline.app.scoring import EventScores, Labelled

_COLUMNS = (
    *("visits", "hit", "missed", "false", "false/h", "merged", "split"),
    *("start s", "end s", "labels", "at once", "total", "stays"),
)


def show(scores: EventScores, *, as_json: bool) -> None:
    """Print a row a clip, and what all come to; what was not compared goes to standard error."""
    for remark in scores.remarks:
        complain(remark)
    if as_json:
        say_json(scores.figures)
        return
    figures, screen = scores.figures, console()
    screen.print(_clips_table(figures))
    screen.print(_groups_table(figures["all"]["groups"]))
    if figures["nuisance"]:
        screen.print(_tags_table(figures["nuisance"]))


def show_labelled(labelled: Labelled, out: Path) -> None:
    """Print what was written down; what is left to people goes to standard error."""
    for remark in labelled.remarks:
        complain(remark)
    things, clips = counted(labelled.things, "thing"), counted(labelled.clips, "clip")
    name = make_printable(str(out))
    say(f"{name}: {things} in {clips}; correct them, then: pipeline eval events --truth {name} FOOTAGE\n")


def _clips_table(figures: dict[str, Any]) -> Table:
    table = _table("Clips", ("clip", *_COLUMNS))
    for name, row in figures["clips"].items():
        table.add_row(make_printable(name), *_cells(row))
    table.add_section()
    table.add_row("all", *_cells(figures["all"]))
    return table


def _groups_table(groups: dict[str, Any]) -> Table:
    table = _table("By group", ("group", "clips", "at once right", "total right", "stays right"))
    for group, row in groups.items():
        shares = (_part(row[name], row["clips"]) for name in ("at_once_right", "total_right"))
        table.add_row(group, str(row["clips"]), *shares, _part(row["stays_right"], row["stays"]))
    return table


def _tags_table(tags: dict[str, Any]) -> Table:
    table = _table("By nuisance", ("tag", "clips", "hours without things", "false", "false/h"))
    for tag, row in tags.items():
        hours = f"{row['empty_s'] / 3600:.3f}"
        cells = str(row["clips"]), hours, str(row["false"]), _number(row["false_per_hour"])
        table.add_row(make_printable(tag), *cells)
    return table


def _cells(row: dict[str, Any]) -> Iterable[str]:
    groups = row["groups"].values()
    rows, right = (sum(one[name] for one in groups) for name in ("clips", "at_once_right"))
    yield from (str(row[name]) for name in ("visits", "hits", "missed", "false"))
    yield _number(row["false_per_hour"])
    yield from (str(row[name]) for name in ("merged", "split"))
    yield from (_number(row[name], "+.2f") for name in ("start_error_s", "end_error_s"))
    yield _part(row["labels_right"], row["labelled"])
    yield _part(right, rows)
    yield _part(sum(one["total_right"] for one in groups), rows)
    yield _part(row["stays_right"], row["stays"])


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left", overflow="fold")
    return table


def _number(value: float | None, form: str = "g") -> str:
    return "-" if value is None else format(value, form)


def _part(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else "-"
