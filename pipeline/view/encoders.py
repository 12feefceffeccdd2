"""Show encoder back ends, and how they run a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.core.printing import make_printable
from pipeline.view.output import console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.app.encoders import BackEnd, Report


def show_backends(states: Sequence[BackEnd], *, as_json: bool) -> None:
    """Print every back end: whether it is installed and usable, and why not."""
    if as_json:
        say_json([state._asdict() for state in states])
        return
    table = Table("back end", "hardware", "installed", "usable", "devices or reason")
    for state in states:
        why = state.reason or ", ".join(state.devices) or "known once a model is opened"
        yes = "yes" if state.usable else "no"
        table.add_row(state.name, state.what, state.version or "-", yes, make_printable(why))
    console().print(table)


def show_offload(found: Report, *, as_json: bool) -> None:
    """Print how an accelerator runs a model."""
    if as_json:
        say_json(found)
    else:
        _print(found)


def _print(found: Report) -> None:
    similar = "" if found.cosine is None else f", cosine {found.cosine:.5f} with the CPU's answers"
    say(f"{make_printable(found.model)} on {found.backend}: {found.verdict or 'not opened'}{similar}\n")
    screen = console()
    if found.shares:
        table = Table("provider", "nodes", "pieces", "ms a run")
        for share in found.shares:
            took = "-" if share.run_ms is None else f"{share.run_ms:.2f}"
            table.add_row(share.provider, str(share.nodes), str(share.parts), took)
        screen.print(table)
    if found.left:
        table = Table("stays on the CPU", "count", "nodes", "what to change")
        for left in found.left:
            table.add_row(left.op, str(left.count), make_printable(", ".join(left.names[:4])), left.change)
        screen.print(table)
    if found.casts:
        say(f"In order on the CPU, at the graph's rim: {make_printable(', '.join(found.casts))}\n")
    if found.first_wrong:
        say(f"First wrong node: {make_printable(found.first_wrong)}, cosine {found.first_wrong_cosine}\n")
    for reason in found.reasons:
        say(f"- {make_printable(reason)}\n")
    say(f"The daemon would use: {found.runs_on}\n")
