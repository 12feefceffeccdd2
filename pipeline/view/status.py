"""Show the status of a running daemon: heat and load, and a row for each process; once, or live."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from rich.box import HEAVY_HEAD, SIMPLE
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pipeline.core.device.governor import SPEEDS, TRIP_C, Bands
from pipeline.core.device.limits import Limits, Rung
from pipeline.view.output import console, say_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.app.status import Status
    from pipeline.core.messages import Work

_EVERY_S = 1.0
_BAR = 24  # characters
_WIDE = 132  # columns that all of a process take
_ALWAYS = ("process", "state", "beat_s")
_BANDS = Bands.below(TRIP_C)


def show(status: Status, *, as_json: bool) -> None:
    """Print the status of a daemon."""
    if as_json:
        say_json({"device": status.device, "processes": status.processes})
        return
    screen = console()
    screen.print(_layout(status, screen.width))


def watch(read: Callable[[], Status]) -> None:
    """Print the status of a daemon repeatedly until an interrupt.

    Args:
        read: Gives its state now; what it raises when the daemon has ended is raised here.
    """
    screen = console()
    first = _layout(read())
    with suppress(KeyboardInterrupt):
        if not screen.is_terminal:
            screen.print(first)
            while True:  # one after the other, for whoever keeps them
                time.sleep(_EVERY_S)
                screen.print(_layout(read()))
        with Live(first, console=screen, auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(_EVERY_S)
                live.update(_layout(read(), screen.width), refresh=True)


def _layout(status: Status, width: int = _WIDE) -> Group:
    """Return both tables; on narrow terminals only the important columns of the processes."""
    rows = [msgspec.structs.asdict(one) for one in status.processes]
    shown = [name for name in rows[0] if width >= _WIDE or name in _ALWAYS or any(row[name] for row in rows)]
    table = Table(*shown, title="Processes", title_justify="left", box=SIMPLE if width < _WIDE else HEAVY_HEAD)
    for row in rows:
        table.add_row(*("-" if row[name] is None else str(row[name]) for name in shown))
    return Group(_board_table(status), table)


def _board_table(status: Status) -> Table:
    """Make the table of heat and load."""
    device, limits, work = status.device, status.limits, status.work
    table = Table("heat and load", "", title="Device", title_justify="left", show_header=False)
    table.add_row("temperature", _temperature_text(limits))
    table.add_row("speed", _speed_text(limits))
    table.add_row("given up", Text(limits.rung.meaning, "green" if limits.rung is Rung.FULL else "yellow"))
    table.add_row("waiting", _waiting_phrase(work))
    table.add_row("memory", "-" if work.available_mb is None else f"{work.available_mb:.0f} MB can be had")
    table.add_row("incidents", f"{device.open_incidents} open, {device.ended_incidents} ended")
    waiting = device.events_waiting
    table.add_row("events", Text(f"{waiting} wait for a sink", "yellow") if waiting else "all delivered")
    if device.energy_j is not None:
        each = device.energy_j_an_incident
        text = f", {each} J an incident" if each is not None else ""
        table.add_row("energy", f"{device.energy_j:.0f} J since it began{text}")
    return table


def _temperature_text(limits: Limits) -> Text:
    if limits.temp_c is None:
        return Text("no sensor tells: taken for hot", "yellow") if limits.level else Text("no sensor tells", "dim")
    style = "red" if limits.temp_c >= _BANDS.hot else "yellow" if limits.temp_c >= _BANDS.up else "green"
    filled = max(0, min(_BAR, round((limits.temp_c - 30) / 60 * _BAR)))
    return Text(f"{limits.temp_c:5.1f} C  {'#' * filled}{'.' * (_BAR - filled)}", style)


def _speed_text(limits: Limits) -> Text:
    if limits.paused:
        return Text("the language model stands still until the board has cooled", "red")
    text = f"level {limits.level} of {len(SPEEDS) - 1}: {SPEEDS[limits.level]:.0%}"
    if limits.observing:
        return Text(f"full: it only observes, and would be at {text}" if limits.level else "full: it only observes")
    if limits.duty < 1:
        text += f", inference rests {1 - limits.duty:.0%} of the time"
    if limits.stride > 1:
        text += f", every {limits.stride}. picture"
    return Text(text, "green" if not limits.level else "yellow")


def _waiting_phrase(work: Work) -> str:
    if not (work.question_s or work.encode_s):
        return "nothing"
    return f"a question for {work.question_s:.1f} s, a picture to encode for {work.encode_s:.1f} s"
