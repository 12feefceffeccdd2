"""Files of events as people read them: one row an incident, in the order in which they began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from rich.table import Table
from rich.text import Text

from pipeline.core.decoding import decode_whole
from pipeline.core.errors import ConfigError
from pipeline.core.incident.eventfiles import Head, Rank, Reader, rank
from pipeline.core.printing import printable
from pipeline.core.text.templates import duration
from pipeline.eventlog import cursor, entries
from pipeline.eventlog.reader import waiting
from pipeline.view.output import complain, console, counted, say_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

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


class _Shape(Head, frozen=True):
    """What is read here of an event, whichever version of us wrote it."""

    type: str
    time: str
    subject: str
    source: str
    data: _Data
    severitytext: str = ""


def show(path: Path, camera: str, kind: str, *, everything: bool, as_json: bool) -> bool:
    """Print the chosen events of a file and of those put away beside it.

    Lines that are no events are counted, not hidden. False: there are some.
    """
    reader, known = Reader(path), set[str]()
    chosen = _chosen(reader, camera, kind, known)
    if as_json:
        for line, _ in chosen:
            say_json(decode_whole(line))
    else:
        found = [decode_whole(line) for line, _ in chosen] if everything else _joined(chosen)
    if reader.damaged and not known:
        raise reader.nothing()
    if camera and camera not in known:
        raise ConfigError(f"no camera `{camera}`; there are: {', '.join(sorted(known - {'-'})) or 'none'}")
    if not as_json:
        console().print(_table(found, printable(str(path))))
    complain_of(reader)
    return not reader.damaged


def complain_of(reader: Reader) -> None:
    """Say what could not be read, what is not kept, and what is not in the files yet."""
    for said in (*filter(None, (reader.kept_from(), undelivered(reader.path))), *reader.complaints()):
        complain(said)


def undelivered(path: Path) -> str:
    """Say how many events are in the event log beside a file and not in it; empty: none, or nobody can tell."""
    folder = (path if path.is_dir() else path.parent) / entries.FOLDER
    place = cursor.all_of(entries.cursors(folder)).get("jsonl")
    try:
        count = waiting(folder, place.position) if place else 0
    except OSError:
        return ""
    return f"{counted(count, 'event')} not shown: in the event log, waiting for room on the disk" if count else ""


def _chosen(reader: Reader, camera: str, kind: str, known: set[str]) -> Iterator[tuple[bytes, _Shape]]:
    """Yield the events that are wanted; `known` gets every camera, and `-` for the device."""
    for line, event in reader.events(_Shape):
        name = event.source.rpartition("/camera/")[2] if "/camera/" in event.source else "-"
        known.add(name)
        if kind in event.type and (not camera or event.source.endswith(f"/camera/{camera}")):
            yield line, event


class _Row(NamedTuple):
    """What is kept of an incident: the event that holds, and when it began."""

    rank: Rank
    line: bytes
    time: str
    started: bool  # whether `time` is that of a start


def _joined(chosen: Iterable[tuple[bytes, _Shape]]) -> list[dict[str, Any]]:
    """One event an incident: the one that holds, with the time of its start. A summary table is left to itself."""
    rows: dict[tuple[str, str, str], _Row] = {}
    for place, (line, event) in enumerate(chosen):
        if ".replay.summary." in event.type:
            continue
        incident = ".incident." in event.type
        key = event.source, event.subject, "" if incident else str(place)
        rows[key] = _later(rows.get(key), line, event)
    found = ({**decode_whole(row.line), "time": row.time} for row in rows.values())
    return sorted(found, key=lambda event: (event["time"], event["source"]))


def _later(row: _Row | None, line: bytes, event: _Shape) -> _Row:
    started, ranked = ".start." in event.type, rank(event.type, event)
    if row is None:
        return _Row(ranked, line, event.time, started)
    if (started, row.started) == (True, False) or (started == row.started and event.time < row.time):
        row = row._replace(time=event.time, started=started)
    return row._replace(rank=ranked, line=line) if ranked >= row.rank else row


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
