"""Show a digest."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from pipeline.core.printing import make_printable
from pipeline.core.times import iso
from pipeline.view.output import complain, console, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.app.digest import Digest
    from pipeline.core.digest.history import Period

_IDS_SHOWN = 6  # behind a sentence, where people read it


def show(found: Digest, *, as_json: bool) -> None:
    """Print a digest, with remarks about the files and the language model."""
    if as_json:
        say_json(to_json(found))
    else:
        _print(found)
    if found.worded.silent:
        complain(f"the language model is not heard: {make_printable(found.worded.silent)}")
    for remark in found.remarks:
        complain(remark)


def to_json(found: Digest) -> dict[str, object]:
    """Return a digest as a JSON object."""
    period, worded = found.period, found.worded
    return {
        "since": iso(period.since),
        "until": iso(period.until),
        "incidents": len(period.incidents),
        "quiet": sum(found.loudness.is_quiet(one.action) for one in period.incidents),
        "actions": _count(one.action for one in period.incidents),
        "statuses": _count(one.status or "unknown" for one in period.incidents),
        "unplaced": len(period.unplaced),
        "sentences": [msgspec.to_builtins(one) for one in found.sentences],
        "notes": _note_texts(period),
        "model": worded.model or None,
        "model_silent": worded.silent or None,
        "dropped": worded.dropped,
        "lines_damaged": found.damaged,
        "kept_from": found.kept_from or None,
    }


def _print(found: Digest) -> None:
    screen, period = console(), found.period
    since, until = (at.astimezone(found.zone) for at in (period.since, period.until))
    screen.print(Text(f"{since:%A %Y-%m-%d %H:%M} to {until:%A %Y-%m-%d %H:%M} ({until.tzname()})", style="bold"))
    for one in found.sentences:
        text = Text(make_printable(one.text))
        if one.incidents and one.about != "all":
            text.append(f"  {make_printable(_shorten_ids(one.incidents))}", style="dim")
        screen.print(text)
    for note, said in _note_texts(period).items():
        screen.print(Text(make_printable(f"  note {note}: {said}"), style="dim"))
    if found.worded.dropped:
        why = ", ".join(f"{count} as {reason}" for reason, count in found.worded.dropped.items())
        screen.print(Text(make_printable(f"  sentences of the model that the template replaced: {why}"), style="dim"))


def _note_texts(period: Period) -> dict[str, str]:
    """Return the texts of the notes that decided, by id."""
    return {one.note: one.note_text for one in sorted(period.incidents) if one.note}


def _shorten_ids(ids: tuple[str, ...]) -> str:
    """Return the first ids of a sentence's incidents, and how many more there are."""
    shown = " ".join(ids[:_IDS_SHOWN])
    return shown if len(ids) <= _IDS_SHOWN else f"{shown} and {len(ids) - _IDS_SHOWN} more: --json names them"


def _count(words: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))
