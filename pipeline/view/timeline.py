"""Events as people read them: one row an incident, in the order in which they began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from pipeline.core.incident import rules
from pipeline.core.printing import printable
from pipeline.core.text.templates import duration
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
    """Print events, and what is to be known of their files.

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
        console().print(_table(rows, printable(str(events.path))))
    for remark in events.remarks():
        complain(remark)


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


def _facts(event: dict[str, Any]) -> dict[str, Any]:
    """The facts of an incident; none where there are none, or null."""
    return event["data"].get("facts") or {}


def _length(event: dict[str, Any]) -> str:
    if ".incident." not in event["type"]:
        return ""
    dwell = _facts(event).get("track", {}).get("dwell_s")
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
