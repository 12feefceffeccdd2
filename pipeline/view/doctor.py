"""Show the findings about a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.core.printing import counted, make_printable
from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from pipeline.app.doctor import Diagnosis

_STYLES = {"ok": "green", "note": "yellow", "trouble": "bold red"}


def show(report: Diagnosis, *, as_json: bool) -> None:
    """Print the findings."""
    if as_json:
        say_json(_to_json(report))
        return
    screen = console()
    table = Table("", "what", "found", "remedy")
    for one in report.findings:
        table.add_row(
            one.state, make_printable(one.name), make_printable(one.found), one.remedy, style=_STYLES[one.state]
        )
    screen.print(table)
    notes = sum(one.state == "note" for one in report.findings)
    screen.print(f"{counted(report.troubles, 'trouble')}, {counted(notes, 'note')}")


def _to_json(report: Diagnosis) -> dict[str, object]:
    plan = report.device.plan
    return {
        "troubles": report.troubles,
        "findings": [one._asdict() for one in report.findings],
        "cores": {"big": plan.big, "little": plan.little},
        "places": {stage: place._asdict() for stage, place in plan.places.items()},
        "threads": plan.threads,
    }
