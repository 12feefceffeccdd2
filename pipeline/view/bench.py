"""Show a measurement of a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from pipeline.core.bench import texts
from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from pipeline.app.bench import Measurement


def show(measured: Measurement, *, as_json: bool) -> None:
    """Print a measurement and its changes; as JSON with `changes` and the `folder`."""
    found, changes, (kept, page) = measured
    if as_json:
        say_json(msgspec.to_builtins(found) | {"changes": changes, "folder": str(kept.parent)})
        return
    screen = console()
    table = Table("", *texts.heads(found), title=texts.title(found), title_justify="left")
    for cells in texts.cells(found, changes):
        table.add_row(*cells)
    screen.print(table)
    for line in texts.failures(found):
        screen.print(line)
    screen.print(f"{texts.ENERGY} Kept in {kept} and {page.name}.", soft_wrap=True)
