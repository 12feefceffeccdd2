"""A file of events as people read it: one row an incident, in the order in which they began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from rich.table import Table
from rich.text import Text

from pipeline.core.decoding import Damage, convert, decode_whole, lines
from pipeline.core.errors import ConfigError
from pipeline.core.printing import printable
from pipeline.core.templates import duration
from pipeline.view.output import complain, console, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_Kind = TypeVar("_Kind")
_PLAIN_WIDTH = 150
_COLUMNS = ("time (UTC)", "camera", "what", "action", "for", "says", "decided by", "ended")
_ENDS = {
    "quiet": "it went quiet",
    "max_duration": "it lasted too long",
    "camera_lost": "camera lost",
    "shutdown": "we were stopped",
    "crash_recovery": "we had crashed",
    "superseded": "superseded",
    "eof": "recording ended",
}
_DOUBTS = {  # why a note that speaks of an incident did not decide
    "note_unsure": "may mean this, not surely",
    "note_unnamed": "does not name what was seen",
    "note_unclear": "does not surely permit this",
    "note_silent": "says nothing of this time",
}
_STYLES = {"ERROR": "bold red", "WARN": "yellow", "INFO": ""}


class _Scene(msgspec.Struct, frozen=True):
    class_: str = msgspec.field(name="class", default="")
    label: str = ""
    likelihood: float = 0.0


class _Fields(msgspec.Struct, frozen=True):
    action: str = ""
    rule: str = ""
    because: str = ""
    note: str = ""
    note_text: str = ""
    not_weighed: str = ""
    not_weighed_because: str = ""


class _Analysis(msgspec.Struct, frozen=True):
    summary: str = ""
    fields: _Fields = _Fields()


class _Track(msgspec.Struct, frozen=True):
    dwell_s: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0


class _Facts(msgspec.Struct, frozen=True):
    track: _Track = _Track()
    rules_hit: list[str] = []


class _Data(msgspec.Struct, frozen=True):
    scene: _Scene = _Scene()
    facts: _Facts = _Facts()
    analysis: _Analysis = _Analysis()
    details: dict[str, Any] = {}
    ended_by: str = ""
    priority: str = ""


class _Shape(msgspec.Struct, frozen=True):
    """What is read here of an event, whichever version of us wrote it."""

    type: str
    time: str
    subject: str
    source: str
    data: _Data
    severitytext: str = ""


def show(path: Path, camera: str, kind: str, *, everything: bool, as_json: bool) -> bool:
    """Print the chosen events of a file; lines that are no events are counted, not hidden. False: there are some."""
    bad = Damage()
    found = [event for event, _ in read(path, _Shape, bad)]
    if bad and not found:
        raise ConfigError(f"{path}: not a file of events: none of its {bad.count} lines is one")
    _check_camera(camera, found)
    chosen = [event for event in found if _wanted(event, camera, kind)]
    if as_json:
        for event in chosen:
            say_json(event)
    else:
        rows = chosen if everything else _joined(chosen)
        console().print(_table(rows, printable(str(path))))
    if bad:
        complain(bad.told(path))
    return not bad


def _check_camera(camera: str, found: list[dict[str, Any]]) -> None:
    known = sorted({_camera(event) for event in found} - {"-"})
    if camera and camera not in known:
        raise ConfigError(f"no camera `{camera}`; there are: {', '.join(known) or 'none'}")


def read(path: Path, kind: type[_Kind], bad: Damage) -> Iterator[tuple[dict[str, Any], _Kind]]:
    """Read a file of events, each line as a table of all that is in it and as what is read of it.

    Args:
        path: One JSON object a line.
        kind: What is read of an event; a type that msgspec can read.
        bad: Gets the numbers of the lines that are no events; each is read whole, so that all who read a file agree.

    Raises:
        OSError: The file cannot be read.
    """
    for number, line in enumerate(lines(path), 1):
        try:
            event = decode_whole(line or b"")
            found = convert(event, kind)
        except msgspec.DecodeError:
            bad.add(number)
        else:
            yield event, found


def _wanted(event: dict[str, Any], camera: str, kind: str) -> bool:
    return kind in event["type"] and (not camera or event["source"].endswith(f"/camera/{camera}"))


def _joined(chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One event an incident: its last, with the time of its first. What a summary table shows is left to it."""
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for place, event in enumerate(chosen):
        if ".replay.summary." in event["type"]:
            continue
        incident = ".incident." in event["type"]
        key = (event["source"], event["subject"], "" if incident else str(place))
        first = rows.get(key, event)
        rows[key] = {**event, "time": first["time"]}
    return sorted(rows.values(), key=lambda event: (event["time"], event["source"]))


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    table = Table(title=title, title_justify="left", expand=False)
    for name in _COLUMNS:
        table.add_column(name, overflow="fold", no_wrap=name in ("time (UTC)", "for"))
    for event in rows:
        style = _STYLES.get(event.get("severitytext", "INFO"), "")
        cells = (
            _when(event),
            _camera(event),
            _what(event),
            _action(event),
            _length(event),
            _says(event),
            _decided(event),
            _ENDS.get(event["data"].get("ended_by", ""), ""),
        )
        table.add_row(*(Text(printable(cell), style=style) for cell in cells))
    return table


def _when(event: dict[str, Any]) -> str:
    """Media time for a recording of unknown date, wall time else."""
    date, _, clock = event["time"].removesuffix("Z").partition("T")
    return clock[:10] if date == "1970-01-01" else f"{date} {clock[:8]}"


def _camera(event: dict[str, Any]) -> str:
    name: str = event["source"].rpartition("/camera/")[2]
    return name if "/camera/" in event["source"] else "-"


def _what(event: dict[str, Any]) -> str:
    data = event["data"]
    if ".incident." not in event["type"]:
        return str(event["type"].removeprefix("fieldwatch.").removesuffix(".v1"))
    seen = data.get("scene", {})
    text = seen.get("label", "movement")
    return f"{text} {seen['likelihood']:.2f}" if "likelihood" in seen else text


def _length(event: dict[str, Any]) -> str:
    if ".incident." not in event["type"]:
        return ""
    dwell = event["data"].get("facts", {}).get("track", {}).get("dwell_s")
    text = duration(dwell) if isinstance(dwell, int) else ""
    return text if event["data"].get("ended_by") else f"{text} so far"


def _says(event: dict[str, Any]) -> str:
    data = event["data"]
    if details := data.get("details"):
        return ", ".join(f"{name} {value}" for name, value in details.items())
    return str(data.get("analysis", {}).get("summary", ""))


def _action(event: dict[str, Any]) -> str:
    """What the verdict says is to be done; how urgent it is where there is none."""
    data = event["data"]
    return str(data.get("analysis", {}).get("fields", {}).get("action") or data.get("priority", ""))


def _decided(event: dict[str, Any]) -> str:
    """The note that decided, else the rule of the table; and the rules that were hit."""
    data = event["data"]
    if ".incident." not in event["type"]:
        return ""
    hits = [rule.replace("_", " ") for rule in data.get("facts", {}).get("rules_hit", ()) if rule != "motion"]
    fields = data.get("analysis", {}).get("fields", {})
    left = (
        [f"not weighed: {names} ({fields.get('not_weighed_because')})"] if (names := fields.get("not_weighed")) else []
    )
    if fields.get("because") == "note":
        return "; ".join([f"note {fields.get('note')}: {fields.get('note_text')}", *left])
    if rule := fields.get("rule"):
        doubt = _DOUBTS.get(fields.get("because", ""))
        aside = [f"note {fields.get('note')} {doubt}"] if doubt else []
        return "; ".join([", ".join([f"rule {rule}", *hits]), *aside, *left])
    seen = data.get("scene", {}).get("class")
    return ", ".join([f"{seen} recognised" if seen else "movement", *hits])
