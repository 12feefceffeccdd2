"""Draw how well incidents tell what was there: one page of HTML that needs nothing beside it."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.core.printing import make_printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipeline.app.scoring import EventScores, WorstCase
    from pipeline.core.eval.scoring import Judged, ScoredClip

_WIDTH, _LEFT, _RIGHT = 960, 80, 20
_BAR, _STEP, _AXIS = 12, 16, 24  # pixels: of a bar, from one row of bars to the next, of the axis
_TICKS = 8
_ROUND_S = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600)
_GROUPS = {"person": "#1b5e9e", "vehicle": "#8a5a00", "animal": "#6a3d9a"}
_JUDGED = {
    "right": "#2e7d32",
    "mislabelled": "#c77700",
    "unnamed": "#7a8f7a",
    "near": "#9e9e9e",
    "false": "#b3261e",
    "not judged": "#bdbdbd",
}
_STYLE = (
    "body{font:14px/1.4 sans-serif;margin:2em auto;max-width:960px;color:#222}h2{font-size:1.1em;margin:1.6em 0 .3em}"
    "table{border-collapse:collapse}td,th{padding:2px 10px 2px 0;text-align:left}svg{width:100%;height:auto}"
    "figure{display:inline-block;width:300px;margin:0 12px 12px 0;vertical-align:top}img{max-width:100%}"
    ".key span{margin-right:1.2em;white-space:nowrap}"
    ".key i{display:inline-block;width:12px;height:12px;margin-right:4px}"
)
_SHOWN = (
    *("visits", "hits", "missed", "incidents", "false", "false_per_hour", "merged", "split"),
    *("start_error_s", "end_error_s", "label_accuracy", "unnamed", "stays", "stays_right"),
)


class Bar(NamedTuple):
    """A stretch of a timeline: seconds, colour, and what it says to whoever points at it."""

    from_s: float
    to_s: float
    colour: str
    says: str


def render(scores: EventScores) -> str:
    """Return the page: all figures, a timeline a clip, and the pictures of the worst incidents."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><title>Incidents and what was there</title>',
        f"<style>{_STYLE}</style></head><body><h1>Incidents and what was there</h1>",
        _render_figures(scores.figures["all"]),
        "".join(f"<p>{_text(remark)}</p>" for remark in scores.remarks),
        _render_key(),
        *(_render_clip(clip, scores.figures["clips"][clip.name]) for clip in scores.clips),
        *_render_worst(scores.worst),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _render_figures(row: dict[str, Any]) -> str:
    cells = "".join(f"<tr><th>{name.replace('_', ' ')}</th><td>{_value(row[name])}</td></tr>" for name in _SHOWN)
    return f"<table>{cells}</table>"


def _render_key() -> str:
    rows = [*_GROUPS.items(), *_JUDGED.items()]
    return f'<p class="key">{"".join(f"<span><i style=background:{one}></i>{name}</span>" for name, one in rows)}</p>'


def _render_clip(clip: ScoredClip, row: dict[str, Any]) -> str:
    said = ", ".join(f"{row[name]} {name}" for name in ("visits", "hits", "false", "merged", "split"))
    if clip.truth.counts_only:
        said = "only counts are compared"
    tags = f" ({', '.join(clip.truth.nuisance)})" if clip.truth.nuisance else ""
    return f"<h2>{_text(clip.name + tags)}</h2><p>{said}</p>{_draw(clip)}"


def _draw(clip: ScoredClip) -> str:
    """Draw the things that were there above the incidents that were told."""
    truth = _arrange(
        Bar(one.from_s, one.to_s, _GROUPS[one.group], f"{one.group} {one.what}") for one in clip.truth.things
    )
    told = _arrange(_bar(one) for one in clip.incidents)
    end_s = max([clip.score.footage_s, 0.1, *(bar.to_s for row in (*truth, *told) for bar in row)])
    per_s = (_WIDTH - _LEFT - _RIGHT) / end_s
    below = _STEP * max(1, len(truth)) + 8
    bottom = below + _STEP * max(1, len(told))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + _AXIS}" font-size="11">',
        f'<text x="0" y="{_BAR}">there</text><text x="0" y="{below + _BAR}">told</text>',
        *_draw_axis(end_s, per_s, bottom),
        *_draw_rows(truth, 0, per_s),
        *_draw_rows(told, below, per_s),
        "</svg>",
    ]
    return "".join(parts)


def _bar(judged: Judged) -> Bar:
    one = judged.incident
    about = f"{one.group or 'nothing named'}, {judged.judgement}"
    is_ = f", is {judged.group_is}" if judged.judgement == "mislabelled" else ""
    return Bar(one.from_s, one.to_s, _JUDGED[judged.judgement], f"{one.id}: {about}{is_}")


def _arrange(bars: Iterable[Bar]) -> list[list[Bar]]:
    """Put bars into as few rows as they need so that none covers another."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars):
        free = next((row for row in rows if row[-1].to_s < bar.from_s), None)
        if free is None:
            rows.append([bar])
        else:
            free.append(bar)
    return rows


def _draw_rows(rows: Sequence[Sequence[Bar]], top: int, per_s: float) -> Iterator[str]:
    for place, row in enumerate(rows):
        for bar in row:
            left, wide = _LEFT + bar.from_s * per_s, max(2.0, (bar.to_s - bar.from_s) * per_s)
            span = f"{bar.from_s:.1f} to {bar.to_s:.1f} s: {bar.says}"
            yield (
                f'<rect x="{left:.1f}" y="{top + place * _STEP}" width="{wide:.1f}" height="{_BAR}" '
                f'fill="{bar.colour}"><title>{_text(span)}</title></rect>'
            )


def _draw_axis(end_s: float, per_s: float, bottom: int) -> Iterator[str]:
    step = next((one for one in _ROUND_S if one * _TICKS >= end_s), end_s / _TICKS)
    for number in range(int(end_s / step) + 1):
        left = _LEFT + number * step * per_s
        yield f'<line x1="{left:.1f}" y1="0" x2="{left:.1f}" y2="{bottom}" stroke="#ddd"/>'
        yield f'<text x="{left:.1f}" y="{bottom + 14}" text-anchor="middle">{number * step:g} s</text>'


def _render_worst(worst: Sequence[WorstCase]) -> Iterator[str]:
    if worst:
        yield "<h2>False and mislabelled incidents</h2>"
    for case in worst:
        bar = _bar(case.judged)
        data = base64.b64encode(case.picture).decode()
        shown = f'<img alt="" src="data:image/jpeg;base64,{data}">' if data else "<p>no picture is kept</p>"
        said = _text(f"{case.clip}, {bar.from_s:.1f} to {bar.to_s:.1f} s: {bar.says}")
        yield f"<figure>{shown}<figcaption>{said}</figcaption></figure>"


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _text(text: str) -> str:
    return escape(make_printable(text))
