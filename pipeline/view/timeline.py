"""Show events: one row for each incident, sorted by when they began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from pipeline.core.incident import rules
from pipeline.core.printing import make_printable
from pipeline.core.text.templates import short_duration
from pipeline.view.output import complain, console, say_json

if TYPE_CHECKING:
    from pipeline.app.events import Events

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


def show(events: Events, *, everything: bool, as_json: bool) -> None:
    """Print events, with remarks about their files.

    Args:
        events: The chosen ones, not read yet.
        everything: A row each, instead of one row an incident.
        as_json: As JSON Lines, each as it comes.
    """
    if as_json:
        for event in events.each():
            say_json(event)
    else:
        rows = list(events.each()) if everything else events.incidents()
        console().print(_table(rows, make_printable(str(events.path))))
    for remark in events.remarks():
        complain(remark)


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    table = Table(title=title, title_justify="left", expand=False)
    for name in _COLUMNS:
        table.add_column(name, overflow="fold", no_wrap=name in ("time (UTC)", "for"))
    for event in rows:
        style = _STYLES.get(event.get("severitytext", "INFO"), "")
        cells = (
            _event_time(event),
            _camera_name(event),
            _event_kind(event),
            _action(event),
            _duration(event),
            _text(event),
            _decision(event),
            _ENDS.get(event["data"].get("ended_by", ""), ""),
        )
        table.add_row(*(Text(make_printable(cell), style=style) for cell in cells))
    return table


def _event_time(event: dict[str, Any]) -> str:
    """Return the wall time, or the media time for a recording of unknown date."""
    date, _, clock = event["time"].removesuffix("Z").partition("T")
    return clock[:10] if date == "1970-01-01" else f"{date} {clock[:8]}"


def _camera_name(event: dict[str, Any]) -> str:
    name: str = event["source"].rpartition("/camera/")[2]
    return name if "/camera/" in event["source"] else "-"


def _event_kind(event: dict[str, Any]) -> str:
    data = event["data"]
    if ".incident." not in event["type"]:
        return str(event["type"].removeprefix("fieldwatch.").removesuffix(".v1"))
    seen = data.get("scene", {})
    text = seen.get("label", "movement")
    return f"{text} {seen['likelihood']:.2f}" if "likelihood" in seen else text


def _facts(event: dict[str, Any]) -> dict[str, Any]:
    """The facts of an incident; none where there are none, or null."""
    return event["data"].get("facts") or {}


def _duration(event: dict[str, Any]) -> str:
    if ".incident." not in event["type"]:
        return ""
    dwell = _facts(event).get("track", {}).get("dwell_s")
    text = short_duration(dwell) if isinstance(dwell, int) else ""
    return text if event["data"].get("ended_by") else f"{text} so far"


def _text(event: dict[str, Any]) -> str:
    data = event["data"]
    if details := data.get("details"):
        return ", ".join(f"{name} {value}" for name, value in details.items())
    return str(data.get("analysis", {}).get("summary", ""))


def _action(event: dict[str, Any]) -> str:
    """Return the action of the verdict; without one the severity of the event."""
    data = event["data"]
    return str(data.get("analysis", {}).get("fields", {}).get("action") or data.get("priority", ""))


def _decision(event: dict[str, Any]) -> str:
    """Return the note that decided, else the rule of the table, and the rules that were hit."""
    data = event["data"]
    if ".incident." not in event["type"]:
        return ""
    hits = [rule.replace("_", " ") for rule in rules.listed(_facts(event).get("rules_hit", ()))]
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
