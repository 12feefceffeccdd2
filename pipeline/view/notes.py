"""Show standing notes, their readings, and their effect on past incidents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.core.note.notes import UNREADABLE
from pipeline.core.note.when import WEEKDAYS, When, format_clock
from pipeline.core.printing import counted, make_printable
from pipeline.view.output import complain, console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.app.notes import NoteFindings, Proposal
    from pipeline.app.notes_check import CheckedIncident, NotesResult
    from pipeline.core.note.notebook import Entry, Notebook
    from pipeline.core.note.notes import Note, Reading

_SAYS = {"allowed": "in order", "forbidden": "not in order", "report": "to be told of"}


def print_reading(proposal: Proposal) -> None:
    """Print the readings of a note on standard error, for its author to confirm."""
    note = proposal.note
    lines = [make_printable(note.text), *(f"  {describe_reading(reading)}" for reading in note.readings)]
    complain("\n".join([*lines, *_list_warnings(note, proposal.findings)]))


def print_added(entry: Entry, found: NoteFindings, *, as_json: bool) -> None:
    """Print a note that was added."""
    if as_json:
        say_json({"note": entry, "polarity": entry.note.polarity, **found._asdict()})
    else:
        say(f"{entry.id}: added\n")


def print_list(book: Notebook, *, as_json: bool) -> None:
    """Print all notes."""
    if as_json:
        say_json([_entry_to_json(entry) for entry in book.notes])
        return
    if not book.notes:
        say('no notes yet: pipeline notes add "Trucks may wait in the loading bay until 17:00."\n')
        return
    table = Table("", "camera", "note", "read as")
    for entry in book.notes:
        readings = "\n".join(make_printable(describe_reading(reading)) for reading in entry.readings)
        table.add_row(entry.id, make_printable(entry.camera or "all"), make_printable(entry.text), readings)
    console().print(table)


def print_removed(identifiers: Sequence[str], *, as_json: bool) -> None:
    """Print that notes were removed."""
    if as_json:
        say_json({"removed": identifiers})
    else:
        say("".join(f"{identifier}: removed\n" for identifier in identifiers))


def print_effect(effect: NotesResult, *, as_json: bool) -> None:
    """Print what each note would have changed, the changed incidents, and remarks about the files."""
    if as_json:
        say_json(_result_to_json(effect))
    else:
        console().print(_notes_table(effect))
        changed = _changes_table([one for one in effect.incidents if one.entry])
        if changed.row_count:
            console().print(changed)
    for remark in effect.remarks:
        complain(remark)


def _result_to_json(effect: NotesResult) -> dict[str, object]:
    rows = [
        _entry_to_json(one.entry) | {"spoke": one.spoke, "silenced": one.silenced, "raised": one.raised}
        for one in effect.notes
    ]
    verdicts = [{"incident": one.incident, "verdict": one.verdict, "note": _name(one)} for one in effect.incidents]
    return {"incidents": len(effect.incidents), "notes": rows, "verdicts": verdicts}


def _notes_table(effect: NotesResult) -> Table:
    title = counted(len(effect.incidents), "incident")
    table = Table("", "note", "spoke", "silenced", "raised", title=title, title_justify="left")
    for one in effect.notes:
        numbers = (one.spoke, len(one.silenced), len(one.raised))
        table.add_row(one.entry.id, make_printable(one.entry.text), *map(str, numbers))
    return table


def _changes_table(judged: Iterable[CheckedIncident]) -> Table:
    table = Table("incident", "where and when", "what", "rules alone", "with notes", "note", title_justify="left")
    for one in judged:
        facts, verdict = one.facts, one.verdict
        table.add_row(
            make_printable(one.incident),
            make_printable(f"{facts.zone}, {facts.weekday} {facts.local_time}"),
            make_printable(f"{facts.object.count} {facts.object.class_}"),
            f"{verdict.draft.action} ({verdict.rule})",
            verdict.action,
            f"{_name(one)} ({verdict.confidence:.2f})",
        )
    return table


def _name(one: CheckedIncident) -> str:
    return one.entry.id if one.entry else ""


def _entry_to_json(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "camera": entry.camera,
        "text": entry.text,
        "polarity": entry.note.polarity,
        "readings": entry.readings,
    }


def describe_reading(reading: Reading) -> str:
    """Describe a reading in one line, for its author to confirm."""
    who = "somebody who was not read" if reading.who == (UNREADABLE,) else ", ".join(reading.who) or "anyone"
    where = " / ".join(reading.where) or "everywhere"
    parts = [f"{who} at {where}", *_time_phrases(reading.when, limits=reading.effect == "allowed")]
    doubts = "; ".join((*reading.unclear, *reading.assumed))
    says = _SAYS[reading.effect] + (f", but it silences nothing: {make_printable(doubts)}" if doubts else "")
    return f"{'except ' if reading.exception else ''}{'; '.join(parts)}: {says}"


def _time_phrases(when: When, *, limits: bool) -> list[str]:
    """Return phrases for times and numbers, as limits of a permission or as conditions of a report."""
    days = ", ".join(WEEKDAYS[day].capitalize() for day in when.weekdays)
    hours = ", ".join(f"{format_clock(start)}-{format_clock(end)}" for start, end in when.hours)
    found = [part for part in (days, hours) if part]
    if when.outside and found:
        found = [f"outside {' '.join(found)}"]
    if when.every_min:
        found.append("around every full hour" if when.every_min == 60 else "around every half hour")  # noqa: PLR2004
    if when.dark is not None:
        found.append("after dark" if when.dark else "by daylight")
    if when.most_s:
        minutes, seconds = divmod(when.most_s, 60)
        stay = " ".join([f"{minutes} min"] * bool(minutes) + [f"{seconds} s"] * bool(seconds))
        found.append(f"up to {stay}" if limits else f"longer than {stay}")
    if when.most:
        found.append(f"at most {when.most} at once" if limits else f"more than {when.most} at once")
    if when.least:
        found.append(f"{when.least} or more at once")
    return found or ["at any time"]


def _list_warnings(note: Note, found: NoteFindings) -> list[str]:
    lines = [f"  {where} is {' or '.join(zones)}" for where, zones in found.zones.items() if zones]
    lines += [f"  warning: not read: {make_printable(text)}" for text in found.unread]
    if note.polarity == "none":
        remedy = (
            "write it more plainly" if any(one.unclear for one in note.readings) else "say --polarity allow if it does"
        )
        lines.append(f"  warning: it permits nothing for sure, and silences nothing as it stands: {remedy}")
    lines += [
        f"  warning: no zone is called `{make_printable(where)}`: it is looked for in every incident's zone"
        for where in found.unknown
    ]
    return lines + [f"  warning: {identifier}: {make_printable(text)}" for identifier, text in found.against]
