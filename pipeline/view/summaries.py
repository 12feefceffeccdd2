"""Show how well a language model writes sentences: tables, or one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.core.printing import make_printable
from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from pipeline.app.summaries import Summaries


def show(summaries: Summaries, *, as_json: bool) -> None:
    """Print the sentences, and the counts and shares."""
    if as_json:
        say_json(summaries.figures)
        return
    screen = console()
    table = Table("incident", "sentence", "dropped because", title="Sentences", title_justify="left")
    for one in summaries.results:
        table.add_row(*map(make_printable, (one.id, one.text, one.fault)))
    screen.print(table)
    table = Table("", "", title="All together", title_justify="left", show_header=False)
    for name, value in summaries.figures.items():
        table.add_row(name, str(value))
    screen.print(table)
