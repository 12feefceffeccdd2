"""Show the result of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pipeline.core.printing import make_printable
from pipeline.view.output import complain, console, say_json

if TYPE_CHECKING:
    from pipeline.app.search import SearchResult


def show(search: SearchResult, most: int, *, as_json: bool) -> None:
    """Print the incidents that fit best, at most `most`, with remarks about the files."""
    if as_json:
        for one in search.found[:most]:
            say_json(one._asdict())
    else:
        console().print(_results_table(search, most))
    for remark in search.remarks:
        complain(remark)


def _results_table(search: SearchResult, most: int) -> Table:
    near = ", ".join(f"{name} {share:.0%}" for name, share in search.meant.shares[:3])
    left = f"; not told by pictures: {', '.join(search.meant.ignored)}" if search.meant.ignored else ""
    table = Table("fits", "incident", "time (UTC)", "camera", "what", "picture", title_justify="left")
    table.title = f"{make_printable(search.query)} (taken for: {near}{left})"
    for one in search.found[:most]:
        cells = (f"{one.score:.2f}", one.incident, one.time, one.camera, one.what, one.picture)
        table.add_row(*(Text(make_printable(cell)) for cell in cells))
    return table
