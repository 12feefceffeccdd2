"""Find out what standing notes would have changed for past incidents."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.app import cases, judging, notes
from pipeline.app.events import collect_remarks
from pipeline.core.incident.eventfiles import Reader
from pipeline.core.note.places import Places
from pipeline.core.verdict.verdicts import Judge, is_raised, is_silenced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pipeline.app.judging import JudgingTools
    from pipeline.app.site import Site
    from pipeline.core.facts import Facts
    from pipeline.core.note.notebook import Entry, Notebook
    from pipeline.core.verdict.matching import Scores
    from pipeline.core.verdict.rulebook import Rulebook
    from pipeline.core.verdict.verdicts import Verdict


class CheckedIncident(NamedTuple):
    """A past incident, judged with the notes."""

    incident: str
    facts: Facts
    verdict: Verdict  # `note` is an index from 1 into `entries`
    entries: tuple[Entry, ...]  # the notes that apply to it

    @property
    def entry(self) -> Entry | None:
        """The note that decided; None if none did."""
        return self.entries[self.verdict.note - 1] if self.verdict.note else None


class NoteResult(NamedTuple):
    """What one note changed.

    Attributes:
        entry: The note.
        spoke: Number of incidents that it decided.
        silenced: Ids of those that no longer notify anybody.
        raised: Ids of those that notify somebody because of it.
    """

    entry: Entry
    spoke: int
    silenced: tuple[str, ...]
    raised: tuple[str, ...]


class NotesResult(NamedTuple):
    """What all notes changed.

    Attributes:
        incidents: The judged incidents, in the order of the file.
        notes: One result for each note.
        remarks: About events that are unreadable, deleted, or not written yet.
        damaged: Whether some lines are no events.
    """

    incidents: tuple[CheckedIncident, ...]
    notes: tuple[NoteResult, ...]
    remarks: tuple[str, ...] = ()
    damaged: bool = False


def check_notes(
    site: Site, path: Path, camera: str, model: str, *, encoder: bool, report: Callable[[int, int], None]
) -> NotesResult:
    """Judge the incidents of a file of events, or of lines with `facts`, with the notes of a site.

    Args:
        site: The site whose notes, rules and places are used.
        path: The file; rotated files beside it are read, too.
        camera: Name to use for the camera of all incidents; empty: unchanged.
        model: Name of the language model, or `none`; empty: the one in use, if there is one.
        encoder: Use the sentence encoder.
        report: Called with the number of incidents that the model was asked about, and of all such incidents.

    Raises:
        ConfigError: There is no incident, no such model, or the model was never measured at finding notes.
        NoteError: The notes cannot be read.
        ModelError: The model cannot be used.
    """
    book, reader = notes.read_notes(site), Reader(path)
    tools = judging.open_judging_tools(site, model, encoder=encoder)
    judged = judge(cases.read_past_incidents(reader, camera), book, tools, Places(site.settings), report)
    return summarise(judged, book, tools.book)._replace(
        remarks=tuple(collect_remarks(reader)), damaged=bool(reader.damaged)
    )


def judge(
    past: Sequence[tuple[str, Facts]],
    book: Notebook,
    tools: JudgingTools,
    places: Places,
    report: Callable[[int, int], None],
) -> list[CheckedIncident]:
    """Judge past incidents with the notes of their cameras and places, as the stage `describe` does.

    Raises:
        ConfigError: The model was never measured at finding notes.
        ModelError: The model cannot be used.
    """
    holding = [places.select(book.notes_for(facts.camera), facts) for _, facts in past]

    def judge_all(scores: Scores | None) -> list[CheckedIncident]:
        judges = {
            entries: Judge(tools.book, tools.lexicon, [entry.note for entry in entries], tools.similarity, scores)
            for entries in dict.fromkeys(holding)
        }
        return [
            CheckedIncident(name, facts, judges[entries].judge(facts), entries)
            for (name, facts), entries in zip(past, holding, strict=True)
        ]

    def open_notes(one: CheckedIncident) -> tuple[Facts, list[str]]:
        return one.facts, [one.entries[at].text for at in one.verdict.open_notes]

    return judging.judge_in_two_passes(tools.model, judge_all, open_notes, report)


def summarise(judged: Sequence[CheckedIncident], book: Notebook, rules: Rulebook) -> NotesResult:
    """Count for each note what it changed."""
    return NotesResult(tuple(judged), tuple(_summarise_note(entry, judged, rules) for entry in book.notes))


def _summarise_note(entry: Entry, judged: Sequence[CheckedIncident], rules: Rulebook) -> NoteResult:
    spoke = [one for one in judged if one.entry == entry]
    quiet = tuple(one.incident for one in spoke if is_silenced(one.verdict, rules))
    loud = tuple(one.incident for one in spoke if is_raised(one.verdict, rules))
    return NoteResult(entry, len(spoke), quiet, loud)
