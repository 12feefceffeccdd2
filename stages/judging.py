"""The verdict of an incident as an event carries it: which words, and what decided them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import structlog

from models.sentences import open_sentences
from pipeline.core.errors import NoteError
from pipeline.core.note import notebook, words
from pipeline.core.note.notebook import Notebook
from pipeline.core.note.places import Places
from pipeline.core.verdict import rulebook
from pipeline.core.verdict.verdicts import Judge
from pipeline.resources import config_file, own_or_ours

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.events import Details
    from pipeline.core.facts import Facts
    from pipeline.core.note.notebook import Entry
    from pipeline.core.stage import StageContext
    from pipeline.core.verdict.matching import Scores, Similarity
    from pipeline.core.verdict.verdicts import Verdict

log = structlog.get_logger()

_QUOTED_MOST = 200  # characters of a note that an event repeats


class JudgedFacts(NamedTuple):
    """A verdict as an event carries it, and after how many seconds more it may be another; 0: it stays."""

    fields: Details
    holds_s: int


class Judging:
    """Judges incidents by the rule table and the notes of a state folder; notes that change are read again.

    Args:
        context: Of the stage.

    Raises:
        ConfigError: The rule table cannot be used.
    """

    def __init__(self, context: StageContext) -> None:
        settings = context.settings.describe
        self._book = rulebook.load(own_or_ours(settings.incidents, "incidents.toml"))
        self._lexicon = words.load(config_file("words.toml"))
        self._path = context.models_dir / notebook.FILE if context.models_dir else None
        self._encodes = settings.sentence_encoder
        self._stands_for = context.stands_for
        self._similarity: Similarity | None = None
        self._stamp: object = None
        self._notes = Notebook()
        self._unreadable = ""
        self._scores: Scores | None = None
        self._judges: dict[tuple[str, ...], Judge] = {}  # by the notes they know
        self._places = Places(context.settings)

    def ask(self, scores: Scores) -> None:
        """Take up a third step, that may know of notes what words do not tell."""
        self._scores, self._judges = scores, {}

    def judged(self, facts: Facts, why_unheard: str = "") -> JudgedFacts:
        """Judge an incident: the verdict's words, what decided, and what the rules alone say; and how long it holds.

        Args:
            facts: Of the incident.
            why_unheard: Why the third step has not said all that it might, if there is anything.
        """
        self._look()
        entries = self._entries(facts)
        verdict = self._judge(entries).judge(facts)
        found = _fields_of(verdict, entries)
        if verdict.open_notes:
            names = ", ".join(entries[at].id for at in verdict.open_notes)
            found |= {"not_weighed": names, "not_weighed_because": why_unheard}
        found |= {"notes_unreadable": self._unreadable} if self._unreadable else {}
        return JudgedFacts(found, verdict.holds_s)

    def unheard(self, facts: Facts) -> list[str]:
        """Return the notes that the third step does not know yet of an incident and should, likeliest first."""
        self._look()
        entries = self._entries(facts)
        return [entries[at].text for at in self._judge(entries).judge(facts).open_notes]

    @property
    def texts(self) -> list[str]:
        """All notes, of all cameras."""
        self._look()
        return [entry.text for entry in self._notes.notes]

    @property
    def stamp(self) -> object:
        """What changes with the notes."""
        self._look()
        return self._stamp

    def _look(self) -> None:
        """Read the notes where they are others than before; unreadable ones are told of, and the rules stand."""
        stamp = _stamp(self._path)
        if self._path is None or stamp == self._stamp:
            return
        self._stamp, self._judges, self._unreadable = stamp, {}, ""
        try:
            self._notes = notebook.load(self._path)
        except NoteError as error:
            self._notes, self._unreadable = Notebook(), str(error)
            log.error("notes_unreadable", reason=str(error))  # noqa: TRY400  # the reason is all there is to say
        if self._notes.notes and self._encodes and self._similarity is None:
            encoder = open_sentences()
            self._similarity = encoder.similarity if encoder else None

    def _entries(self, facts: Facts) -> tuple[Entry, ...]:
        return self._places.select(self._notes.notes_for(self._stands_for or facts.camera), facts)

    def _judge(self, entries: tuple[Entry, ...]) -> Judge:
        key = tuple(entry.id for entry in entries)
        if key not in self._judges:
            notes = [entry.note for entry in entries]
            self._judges[key] = Judge(self._book, self._lexicon, notes, self._similarity, self._scores)
        return self._judges[key]


def _fields_of(verdict: Verdict, entries: tuple[Entry, ...]) -> Details:
    draft = verdict.draft
    found: Details = {
        "situation": verdict.situation,
        "expected": verdict.expected,
        "severity": verdict.severity,
        "action": verdict.action,
        "because": verdict.because,
        "confidence": verdict.confidence,
        "rule": verdict.rule,
        "rule_says": f"{draft.situation}, {draft.expected}, {draft.severity}, {draft.action}",
    }
    if number := verdict.note or verdict.considered:
        entry = entries[number - 1]
        found |= {"note": entry.id, "note_text": entry.text[:_QUOTED_MOST], "found_by": verdict.step}
    return found


def _stamp(path: Path | None) -> object:
    """What changes with a file that is replaced; None: there is none."""
    try:
        status = path.stat() if path else None
    except OSError:
        return None
    return status and (status.st_ino, status.st_mtime_ns, status.st_size)
