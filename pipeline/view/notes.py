"""Standing notes as people and programs read them: what was read of one, which there are, what they would have done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table

from pipeline.core.note import notebook
from pipeline.core.note.notes import UNREADABLE
from pipeline.core.note.when import WEEKDAYS, When, clock
from pipeline.core.printing import printable
from pipeline.core.verdict import phrases
from pipeline.core.verdict.verdicts import Judge, raised, silenced
from pipeline.view import weighed
from pipeline.view.output import complain, console, counted, say, say_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.facts import Facts
    from pipeline.core.note.notebook import Entry, Notebook
    from pipeline.core.note.notes import Note, Reading
    from pipeline.core.note.places import Places
    from pipeline.core.note.words import Lexicon
    from pipeline.core.settings import Settings
    from pipeline.core.verdict.rulebook import Rulebook
    from pipeline.core.verdict.speaking import Scores
    from pipeline.core.verdict.verdicts import Verdict
    from pipeline.view.verdicts import Means

_SAYS = {"allowed": "in order", "forbidden": "not in order", "report": "to be told of"}


class Findings(NamedTuple):
    """What its author should know before a note is confirmed."""

    unread: tuple[str, ...]
    unknown: tuple[str, ...]  # places that are no zone of the site
    zones: dict[str, tuple[str, ...]]  # places and the zones that they may be
    against: list[tuple[str, str]]


class Done(NamedTuple):
    """What notes did to one past incident."""

    incident: str
    facts: Facts
    verdict: Verdict  # `note` counts within `entries`
    entries: tuple[Entry, ...]  # that hold for it


def findings(note: Note, book: Notebook, camera: str, settings: Settings | None, lexicon: Lexicon) -> Findings:
    """Look a new note over: what was not read, places that no zone has, notes that say the opposite."""
    zones: dict[str, tuple[str, ...]] = {}
    if settings is not None and settings.cameras:
        names = zone_names(settings, camera)
        for reading in note.readings:
            zones |= phrases.zones_of(reading, names, lexicon)
    unknown = tuple(where for where, found in zones.items() if not found)
    return Findings(note.unread, unknown, zones, notebook.against(book, note, camera))


def zone_names(settings: Settings, camera: str) -> list[str]:
    """What people call the zones and places of a site, or of one camera."""
    cameras = {name: row for name, row in settings.cameras.items() if camera in ("", name)}
    names = [name for row in cameras.values() for key, zone in row.zones.items() for name in (zone.name or key, key)]
    return [*names, *(row.place or name for name, row in cameras.items())]


def print_reading(note: Note, found: Findings) -> None:
    """Print what was read of a note, for its author to confirm, on standard error."""
    complain("\n".join([printable(note.text), *_described(note), *_warnings(note, found)]) + "")


def print_added(entry: Entry, found: Findings, *, as_json: bool) -> None:
    """Print a note that was added."""
    if as_json:
        _json({"note": entry, "polarity": entry.note.polarity, **found._asdict()})
    else:
        say(f"{entry.id}: added\n")


def print_list(book: Notebook, *, as_json: bool) -> None:
    """Print all notes."""
    if as_json:
        _json([_told(entry) for entry in book.notes])
        return
    if not book.notes:
        say('no notes yet: pipeline notes add "Trucks may wait in the loading bay until 17:00."\n')
        return
    table = Table("", "camera", "note", "read as")
    for entry in book.notes:
        readings = "\n".join(printable(described(reading)) for reading in entry.readings)
        table.add_row(entry.id, printable(entry.camera or "all"), printable(entry.text), readings)
    console().print(table)


def print_removed(identifiers: Sequence[str], *, as_json: bool) -> None:
    """Print that notes are gone."""
    if as_json:
        _json({"removed": identifiers})
    else:
        say("".join(f"{identifier}: removed\n" for identifier in identifiers))


def checked(
    past: Sequence[tuple[str, Facts]], book: Notebook, means: Means, places: Places, *, quiet: bool = True
) -> list[Done]:
    """Judge past incidents with the notes of their cameras and places, as describe does.

    Raises:
        ConfigError: Nobody has measured what the model's answers are worth.
    """
    holding = [places.holding(book.of(facts.camera), facts) for _, facts in past]

    def judge(scores: Scores | None) -> list[Done]:
        judges = {
            entries: Judge(means.book, means.lexicon, [entry.note for entry in entries], means.similarity, scores)
            for entries in dict.fromkeys(holding)
        }
        return [
            Done(name, facts, judges[entries].verdict(facts), entries)
            for (name, facts), entries in zip(past, holding, strict=True)
        ]

    def asks(one: Done) -> tuple[Facts, list[str]]:
        return one.facts, [one.entries[at].text for at in one.verdict.unheard]

    return weighed.judged(means.model, judge, asks, quiet=quiet)


def print_checked(done: Sequence[Done], book: Notebook, rules: Rulebook, *, as_json: bool) -> None:
    """Print what each note would have done, and to which incidents."""
    spoke = {entry.id: [one for one in done if _entry(one) == entry] for entry in book.notes}
    if as_json:
        rows = [
            _told(entry)
            | {
                "spoke": len(spoke[entry.id]),
                "silenced": [one.incident for one in spoke[entry.id] if silenced(one.verdict, rules)],
                "raised": [one.incident for one in spoke[entry.id] if raised(one.verdict, rules)],
            }
            for entry in book.notes
        ]
        told = [{"incident": one.incident, "verdict": one.verdict, "note": _name(one)} for one in done]
        _json({"incidents": len(done), "notes": rows, "verdicts": told})
        return
    table = Table(
        "", "note", "spoke", "silenced", "raised", title=f"{counted(len(done), 'incident')}", title_justify="left"
    )
    for entry in book.notes:
        verdicts = [one.verdict for one in spoke[entry.id]]
        table.add_row(
            entry.id,
            printable(entry.text),
            str(len(verdicts)),
            str(sum(silenced(verdict, rules) for verdict in verdicts)),
            str(sum(raised(verdict, rules) for verdict in verdicts)),
        )
    console().print(table)
    _print_changed([one for one in done if one.verdict.note])


def _print_changed(done: Iterable[Done]) -> None:
    table = Table("incident", "where and when", "what", "rules alone", "with notes", "note", title_justify="left")
    for one in done:
        facts, verdict = one.facts, one.verdict
        table.add_row(
            printable(one.incident),
            printable(f"{facts.zone}, {facts.weekday} {facts.local_time}"),
            printable(f"{facts.object.count} {facts.object.class_}"),
            f"{verdict.draft.action} ({verdict.rule})",
            verdict.action,
            f"{_name(one)} ({verdict.confidence:.2f})",
        )
    if table.row_count:
        console().print(table)


def _entry(one: Done) -> Entry | None:
    return one.entries[one.verdict.note - 1] if one.verdict.note else None


def _name(one: Done) -> str:
    entry = _entry(one)
    return entry.id if entry else ""


def _told(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "camera": entry.camera,
        "text": entry.text,
        "polarity": entry.note.polarity,
        "readings": entry.readings,
    }


def _described(note: Note) -> list[str]:
    return [f"  {described(reading)}" for reading in note.readings]


def described(reading: Reading) -> str:
    """A reading in one line, as its author is asked to confirm it."""
    who = "somebody who was not read" if reading.who == (UNREADABLE,) else ", ".join(reading.who) or "anyone"
    where = " / ".join(reading.where) or "everywhere"
    parts = [f"{who} at {where}", *_times(reading.when, limits=reading.effect == "allowed")]
    doubts = "; ".join((*reading.unclear, *reading.assumed))
    says = _SAYS[reading.effect] + (f", but it silences nothing: {printable(doubts)}" if doubts else "")
    return f"{'except ' if reading.exception else ''}{'; '.join(parts)}: {says}"


def _times(when: When, *, limits: bool) -> list[str]:
    """Times and numbers; as limits of what is allowed, or as that which makes it worth telling."""
    days = ", ".join(WEEKDAYS[day].capitalize() for day in when.weekdays)
    hours = ", ".join(f"{clock(start)}-{clock(end)}" for start, end in when.hours)
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


def _warnings(note: Note, found: Findings) -> list[str]:
    lines = [f"  {where} is {' or '.join(zones)}" for where, zones in found.zones.items() if zones]
    lines += [f"  warning: not read: {printable(text)}" for text in found.unread]
    if note.polarity == "none":
        remedy = (
            "write it more plainly" if any(one.unclear for one in note.readings) else "say --polarity allow if it does"
        )
        lines.append(f"  warning: it permits nothing for sure, and silences nothing as it stands: {remedy}")
    lines += [
        f"  warning: no zone is called `{printable(where)}`: it is looked for in every incident's zone"
        for where in found.unknown
    ]
    return lines + [f"  warning: {identifier}: {printable(text)}" for identifier, text in found.against]


def _json(content: object) -> None:
    say_json(content)
