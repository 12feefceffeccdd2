"""Show how well verdicts are made: tables, or one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.app.verdicts import Evaluation


def show(evaluation: Evaluation, *, as_json: bool) -> None:
    """Print how well incidents were judged, and which verdicts differ from the labels."""
    judged, about = evaluation
    if as_json:
        say_json(about)
        return
    screen = console()
    wrong = [one for one in judged if not one.right or (one.case.notes and not one.right_note)]
    if wrong:
        table = Table(
            "incident", "verdict", "accepted", "note", "because", title="Not as labelled", title_justify="left"
        )
        for one in wrong:
            verdict, expect = one.verdict, one.case.expect
            accepted = f"{'/'.join(expect.expected)}, {'/'.join(expect.action)}"
            numbers = f"{verdict.note} for {'/'.join(map(str, expect.note))}"
            table.add_row(one.case.id, f"{verdict.expected}, {verdict.action}", accepted, numbers, verdict.because)
        screen.print(table)
    _print_groups(about)
    table = Table("", "", title="All together", title_justify="left", show_header=False)
    for name, value in about.items():
        if name not in ("groups", "languages", "reliability"):
            table.add_row(name, _cell(value))
    screen.print(table)
    table = Table("from", "to", "n", "told", "right", title="Confidence", title_justify="left")
    for row in _rows(about["reliability"]):
        table.add_row(*(str(value) for value in row.values()))
    screen.print(table)


def _print_groups(about: dict[str, object]) -> None:
    columns = ("n", "decision", "right_note", "missed", "false_rate")
    table = Table("group", *columns, title="By group and language", title_justify="left")
    for kind in ("groups", "languages"):
        found = about[kind]
        assert isinstance(found, dict)
        for name, row in found.items():
            table.add_row(name, *(str(row[column]) for column in columns))
    console().print(table)


def _rows(value: object) -> Iterable[dict[str, object]]:
    assert isinstance(value, list)
    return value


def _cell(value: object) -> str:
    return ", ".join(f"{key} {one}" for key, one in value.items()) if isinstance(value, dict) else str(value)
