"""Draw a run of a board as SVG: temperature, speed, rung, waiting and served work."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from pipeline.core.decoding import decode, read_lines
from pipeline.core.device.governor import TRIP_C, Bands
from pipeline.core.device.limits import Rung
from pipeline.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_WIDTH, _LEFT, _RIGHT, _PANEL, _GAP, _TOP = 960, 70, 20, 110, 34, 46
_COLOURS = ("#b3261e", "#1b5e9e", "#2e7d32", "#8a5a00")
_LINES_C = ((Bands.below(TRIP_C).warm, "warm"), (TRIP_C, "trip"))


class Panel(NamedTuple):
    """One curve: title, values, end of the axis, and named horizontal lines."""

    title: str
    values: Sequence[float]
    least: float
    most: float
    steps: bool = False
    lines: tuple[tuple[float, str], ...] = ()
    names: tuple[str, ...] = ()  # of the values 0, 1, 2 ...


def read(path: Path) -> list[dict[str, object]]:
    """Read the rows of a file; several recordings follow one another in time.

    Raises:
        ConfigError: It is none of `heat.jsonl`, or empty.
        OSError: It cannot be read.
    """
    found: list[dict[str, object]] = []
    since, before, recording = 0.0, 0.0, None
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = decode(line or b"", _Row)
        except msgspec.DecodeError as error:
            raise ConfigError(
                f"{path}: line {number} is no row of heat.jsonl, which `pipeline replay --heat --out` writes ({error})"
            ) from error
        if found and row.recording != recording:  # each is on a board of its own
            since = before
        recording, before = row.recording, since + row.at_s
        found.append({**msgspec.to_builtins(row), "at_s": before})
    if not found:
        raise ConfigError(f"{path}: there are no rows in it: the recording is shorter than a second, or unreadable")
    return found


class _Row(msgspec.Struct, frozen=True):
    at_s: float
    temp_c: float
    frequency: float
    rung: Literal["full", "verdicts", "templates", "classes", "motion"]
    queue_s: float
    served_s: float
    recording: str = ""


def draw_svg(title: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Draw rows of `read`, one for each second, at least one, as SVG."""
    at = [_number(row, "at_s") for row in rows]
    temps = [_number(row, "temp_c") for row in rows]
    queue = [_number(row, "queue_s") for row in rows]
    rungs = [float(Rung[str(row["rung"]).upper()]) for row in rows]
    names = tuple(rung.name.lower() for rung in Rung)
    panels = (
        Panel("temperature, C", temps, min(40.0, *temps), max(90.0, *temps), lines=_LINES_C),
        Panel("speed of the board, share", [_number(row, "frequency") for row in rows], 0.0, 1.0, steps=True),
        Panel("what is given up", rungs, 0.0, len(Rung) - 1.0, steps=True, names=names),
        Panel("the oldest waits, s", queue, 0.0, max(1.0, *queue)),
        Panel("served in a second, s of work", _moving_mean([_number(row, "served_s") for row in rows]), 0.0, 1.0),
    )
    height = _TOP + len(panels) * (_PANEL + _GAP)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}</text>'
    )
    parts = [head]
    for place, panel in enumerate(panels):
        parts.append(_draw_line(panel, at, _TOP + place * (_PANEL + _GAP), _COLOURS[place % len(_COLOURS)]))
    return "".join(parts) + "</svg>\n"


def _draw_line(panel: Panel, at: Sequence[float], top: int, colour: str) -> str:
    wide, since, until = _WIDTH - _LEFT - _RIGHT, at[0], max(at[-1], at[0] + 1)
    x = [_LEFT + wide * (one - since) / (until - since) for one in at]
    y = [_y_position(panel, value, top) for value in panel.values]
    bottom = top + _PANEL
    frame = (
        f'<text x="{_LEFT}" y="{top - 5}" fill="#444">{escape(panel.title)}</text>'
        f'<rect x="{_LEFT}" y="{top}" width="{wide}" height="{_PANEL}" fill="none" stroke="#ccc"/>'
    )
    parts = [frame]
    marks = [(float(at), name) for at, name in enumerate(panel.names)] or [
        (value, f"{value:g}") for value in (round(panel.least), round(panel.most))
    ]
    for value, name in marks:
        parts.append(
            f'<text x="{_LEFT - 6}" y="{_y_position(panel, value, top) + 4:.1f}" text-anchor="end" fill="#666">'
            f"{escape(name)}</text>"
        )
    for value, name in panel.lines:
        level = _y_position(panel, value, top)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + wide}" y1="{level:.1f}" y2="{level:.1f}" stroke="#999" '
            f'stroke-dasharray="4 4"/><text x="{_LEFT + wide - 4}" y="{level - 3:.1f}" text-anchor="end" '
            f'fill="#999">{escape(name)} {value:g}</text>'
        )
    parts.append(f'<path d="{_line_path(x, y, steps=panel.steps)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    for share in (0.0, 0.5, 1.0):
        second = since + share * (until - since)
        parts.append(
            f'<text x="{_LEFT + wide * share:.0f}" y="{bottom + 14}" text-anchor="middle" fill="#888">'
            f"{second / 60:.1f} min</text>"
        )
    return "".join(parts)


def _line_path(x: Sequence[float], y: Sequence[float], *, steps: bool) -> str:
    points = [f"M{x[0]:.1f},{y[0]:.1f}"]
    for place in range(1, len(x)):
        if steps:
            points.append(f"H{x[place]:.1f}")
        points.append(f"V{y[place]:.1f}" if steps else f"L{x[place]:.1f},{y[place]:.1f}")
    return "".join(points)


def _y_position(panel: Panel, value: float, top: int) -> float:
    share = (value - panel.least) / ((panel.most - panel.least) or 1.0)
    return top + _PANEL * (1 - min(1.0, max(0.0, share)))


def _moving_mean(values: Sequence[float], window: int = 15) -> list[float]:
    """Return moving means over a quarter of a minute, as served work comes in bursts."""
    return [sum(values[max(0, at - window + 1) : at + 1]) / min(window, at + 1) for at in range(len(values))]


def _number(row: Mapping[str, object], name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float)
    return float(value)
