"""What standing notes would have done to past incidents."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.app import cases, judging, notes
from pipeline.app.events import remarks
from pipeline.core.incident.eventfiles import Reader
from pipeline.core.note.places import Places
from pipeline.core.verdict.verdicts import Judge, raised, silenced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pipeline.app.judging import JudgingTools
    from pipeline.app.site import Site
    from pipeline.core.facts import Facts
    from pipeline.core.note.notebook import Entry, Notebook
    from pipeline.core.verdict.rulebook import Rulebook
    from pipeline.core.verdict.speaking import Scores
    from pipeline.core.verdict.verdicts import Verdict


class CheckedIncident(NamedTuple):
    """What notes did to one past incident."""

    incident: str
    facts: Facts
    verdict: Verdict  # `note` counts within `entries`
    entries: tuple[Entry, ...]  # that hold for it

    @property
    def entry(self) -> Entry | None:
        """The note that decided; None: none did."""
        return self.entries[self.verdict.note - 1] if self.verdict.note else None


class Spoken(NamedTuple):
    """What one note did.

    Attributes:
        entry: The note.
        spoke: How many incidents it decided.
        silenced: Those of them that nobody is told of any more.
        raised: Those of them that somebody is told of for its sake.
    """

    entry: Entry
    spoke: int
    silenced: tuple[str, ...]
    raised: tuple[str, ...]


class NotesEffect(NamedTuple):
    """What all notes did.

    Attributes:
        incidents: In the order of the file.
        notes: All of them, also those that did nothing.
        remarks: What could not be read, what is not kept, and what is not in the files yet.
        damaged: Whether some lines are no events.
    """

    incidents: tuple[CheckedIncident, ...]
    notes: tuple[Spoken, ...]
    remarks: tuple[str, ...] = ()
    damaged: bool = False


def effect(
    site: Site, path: Path, camera: str, model: str, *, encoder: bool, report: Callable[[int, int], None]
) -> NotesEffect:
    """Judge the incidents of a file of events, or of lines with `facts`, with the notes of a site.

    Args:
        site: Whose notes, rules and places.
        path: The file; those put away beside it are read, too.
        camera: That is said to have seen them all; empty: who did.
        model: Which language model, or `none`; empty: the one in use, if there is one.
        encoder: With the sentence encoder.
        report: Called with how many incidents the model was asked about, and of how many.

    Raises:
        ConfigError: There is no incident, no such model, or nobody has measured what its answers are worth.
        NoteError: The notes cannot be read.
        ModelError: The model cannot be used.
    """
    book, means, reader = notes.notes(site), judging.open_judging_tools(site, model, encoder=encoder), Reader(path)
    judged = judge(cases.past(reader, camera), book, means, Places(site.settings), report)
    return summed(judged, book, means.book)._replace(remarks=tuple(remarks(reader)), damaged=bool(reader.damaged))


def judge(
    past: Sequence[tuple[str, Facts]],
    book: Notebook,
    means: JudgingTools,
    places: Places,
    report: Callable[[int, int], None],
) -> list[CheckedIncident]:
    """Judge past incidents with the notes of their cameras and places, as describe does.

    Raises:
        ConfigError: Nobody has measured what the model's answers are worth.
        ModelError: It cannot be used.
    """
    holding = [places.holding(book.of(facts.camera), facts) for _, facts in past]

    def judged(scores: Scores | None) -> list[CheckedIncident]:
        judges = {
            entries: Judge(means.book, means.lexicon, [entry.note for entry in entries], means.similarity, scores)
            for entries in dict.fromkeys(holding)
        }
        return [
            CheckedIncident(name, facts, judges[entries].verdict(facts), entries)
            for (name, facts), entries in zip(past, holding, strict=True)
        ]

    def open_notes(one: CheckedIncident) -> tuple[Facts, list[str]]:
        return one.facts, [one.entries[at].text for at in one.verdict.unheard]

    return judging.judge_in_two_passes(means.model, judged, open_notes, report)


def summed(judged: Sequence[CheckedIncident], book: Notebook, rules: Rulebook) -> NotesEffect:
    """Say of each note what it did."""
    return NotesEffect(tuple(judged), tuple(_spoken(entry, judged, rules) for entry in book.notes))


def _spoken(entry: Entry, judged: Sequence[CheckedIncident], rules: Rulebook) -> Spoken:
    spoke = [one for one in judged if one.entry == entry]
    quiet = tuple(one.incident for one in spoke if silenced(one.verdict, rules))
    loud = tuple(one.incident for one in spoke if raised(one.verdict, rules))
    return Spoken(entry, len(spoke), quiet, loud)
