"""What a running daemon is doing: heat and load above, a row for each process below; once, or live."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.box import HEAVY_HEAD, SIMPLE
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pipeline.core.device.governor import LEVELS, TRIP_C, Bands
from pipeline.core.device.limits import Limits, Rung
from pipeline.runtime import loads
from pipeline.runtime.board import Board, State, Word
from pipeline.view.output import console, say_json
from pipeline.view.tapping import attached

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.messages import Work

_EVERY_S = 1.0
_BAR = 24  # characters
_WIDE = 132  # columns that all of a process take
_ALWAYS = ("process", "state", "beat_s")
_BANDS = Bands.below(TRIP_C)


def show(run_dir: Path | None, *, as_json: bool, watch: bool) -> None:
    """Print the board; with `watch`, again and again until somebody interrupts, or the daemon ends.

    Raises:
        RunDirectoryError: No daemon runs there.
    """
    _, board = attached(run_dir)
    if as_json:
        told = {"device": _device(board, *_now(board)), "processes": [_row(board, name) for name in board.names[1:]]}
        say_json(told)
        return
    screen = console()
    if not watch:
        screen.print(_drawn(board, screen.width))
        return
    with suppress(KeyboardInterrupt):
        if not screen.is_terminal:
            while True:  # one after the other, for whoever keeps them
                screen.print(_drawn(board))
                time.sleep(_EVERY_S)
                attached(run_dir)
        with Live(_drawn(board), console=screen, auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(_EVERY_S)
                attached(run_dir)
                live.update(_drawn(board, screen.width), refresh=True)


def _now(board: Board) -> tuple[Limits, Work]:
    """What holds, and what there is to do."""
    return board.limits().get(), loads.work(board, time.monotonic_ns())


def _device(board: Board, limits: Limits, work: Work) -> dict[str, object]:
    """Heat and load, for programs; what nothing measures is null."""
    energy_mj, ended = board.get(Board.DEVICE, Word.ENERGY_MJ), board.get("trigger", Word.ENDED)
    return {
        "temp_c": limits.temp_c,
        "level": limits.level,
        "speed": 1.0 if limits.observing else LEVELS[limits.level],
        "observing": limits.observing,
        "paused": limits.paused,
        "duty": limits.duty,
        "stride": limits.stride,
        "rung": limits.rung.name.lower(),
        "rung_means": limits.rung.meaning,
        "question_s": round(work.question_s, 2),
        "encode_s": round(work.encode_s, 2),
        "missed": work.missed,
        "available_mb": None if work.available_mb is None else round(work.available_mb),
        "open_incidents": board.get("trigger", Word.OPEN),
        "ended_incidents": ended,
        "events_waiting": board.get("trigger", Word.UNDELIVERED),
        "energy_j": energy_mj / 1e3 if energy_mj else None,
        "energy_j_an_incident": round(energy_mj / 1e3 / ended, 1) if energy_mj and ended else None,
    }


def _row(board: Board, name: str) -> dict[str, str | int | float | None]:
    def get(word: Word) -> int:
        return board.get(name, word)

    mb = loads.own_mb(get(Word.PID))
    return {
        "process": name,
        "pid": get(Word.PID),
        "state": State(get(Word.STATE)).name.lower(),
        "beat_s": round((time.monotonic_ns() - get(Word.BEAT_NS)) / 1e9, 1),
        "own_mb": None if mb is None else round(mb, 1),
        "handled": get(Word.HANDLED),
        "dropped": get(Word.DROPPED),
        "overwritten": get(Word.OVERWRITTEN),
        "failed": get(Word.FAILED),
        "unsent": get(Word.UNSENT),
        "missed": get(Word.MISSED),
        "reread": get(Word.REREAD),
        "restarts": get(Word.RESTARTS),
    }


def _drawn(board: Board, width: int = _WIDE) -> Group:
    """Both tables; where there is little room, of the processes what tells something."""
    rows = [_row(board, name) for name in board.names[1:]]
    shown = [name for name in rows[0] if width >= _WIDE or name in _ALWAYS or any(row[name] for row in rows)]
    table = Table(*shown, title="Processes", title_justify="left", box=SIMPLE if width < _WIDE else HEAVY_HEAD)
    for row in rows:
        table.add_row(*("-" if row[name] is None else str(row[name]) for name in shown))
    return Group(_panel(board), table)


def _panel(board: Board) -> Table:
    """Heat and load as people read them."""
    limits, work = _now(board)
    device = _device(board, limits, work)
    table = Table("heat and load", "", title="Device", title_justify="left", show_header=False)
    table.add_row("temperature", _temperature(limits))
    table.add_row("speed", _speed(limits))
    table.add_row("given up", Text(limits.rung.meaning, "green" if limits.rung is Rung.FULL else "yellow"))
    table.add_row("waiting", _waiting(work))
    table.add_row("memory", "-" if work.available_mb is None else f"{work.available_mb:.0f} MB can be had")
    table.add_row("incidents", f"{device['open_incidents']} open, {device['ended_incidents']} ended")
    waiting = device["events_waiting"]
    table.add_row("events", Text(f"{waiting} wait for a sink", "yellow") if waiting else "all delivered")
    if device["energy_j"] is not None:
        each = device["energy_j_an_incident"]
        told = f", {each} J an incident" if each is not None else ""
        table.add_row("energy", f"{device['energy_j']:.0f} J since it began{told}")
    return table


def _temperature(limits: Limits) -> Text:
    if limits.temp_c is None:
        return Text("no sensor tells: taken for hot", "yellow") if limits.level else Text("no sensor tells", "dim")
    style = "red" if limits.temp_c >= _BANDS.hot else "yellow" if limits.temp_c >= _BANDS.up else "green"
    filled = max(0, min(_BAR, round((limits.temp_c - 30) / 60 * _BAR)))
    return Text(f"{limits.temp_c:5.1f} C  {'#' * filled}{'.' * (_BAR - filled)}", style)


def _speed(limits: Limits) -> Text:
    if limits.paused:
        return Text("the language model stands still until the board has cooled", "red")
    told = f"level {limits.level} of {len(LEVELS) - 1}: {LEVELS[limits.level]:.0%}"
    if limits.observing:
        return Text(f"full: it only observes, and would be at {told}" if limits.level else "full: it only observes")
    if limits.duty < 1:
        told += f", inference rests {1 - limits.duty:.0%} of the time"
    if limits.stride > 1:
        told += f", every {limits.stride}. picture"
    return Text(told, "green" if not limits.level else "yellow")


def _waiting(work: Work) -> str:
    if not (work.question_s or work.encode_s):
        return "nothing"
    return f"a question for {work.question_s:.1f} s, a picture to encode for {work.encode_s:.1f} s"
