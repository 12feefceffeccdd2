"""Open the tools that verdicts are made with, and judge a batch of incidents with a model in a child process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from models.asking.language import choose_model
from models.asking.prompts import Prompts
from models.asking.weighing import Weigher, sight_of
from models.llm import opening
from models.llm.mnn import EngineOptions
from models.sentences import open_sentences
from models.table import load_table
from pipeline.core.errors import ConfigError
from pipeline.runtime import cores
from pipeline.runtime.apart import apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from models.store import Installed
    from models.table import Weighing
    from pipeline.app.site import Site
    from pipeline.core.facts import Facts
    from pipeline.core.note.words import Lexicon
    from pipeline.core.verdict.matching import Scores, Similarity
    from pipeline.core.verdict.rulebook import Rulebook

_Judged = TypeVar("_Judged")


class JudgingTools(NamedTuple):
    """What verdicts are made with.

    Attributes:
        book: The rules.
        lexicon: The word table of notes.
        similarity: The sentence encoder; None: notes are matched by words alone.
        model: The language model that decides about notes which words and encoder leave open; None: none.
    """

    book: Rulebook
    lexicon: Lexicon
    similarity: Similarity | None
    model: Installed | None = None


def open_judging_tools(site: Site, model: str, *, encoder: bool) -> JudgingTools:
    """Open what verdicts are made with.

    Args:
        site: The site whose rules, words and models are used.
        model: Name of the language model, or `none`; empty: the one in use, if there is one.
        encoder: Use the sentence encoder, if it is installed.

    Raises:
        ConfigError: The rules cannot be read, or there is no such model.
    """
    sentences = open_sentences() if encoder else None
    return JudgingTools(
        site.rulebook, site.lexicon, sentences.similarity if sentences else None, choose_model(site.models, model)
    )


class _NoteScores(msgspec.Struct, frozen=True):
    """The model's scores of some notes for what was seen of one incident."""

    seen: str
    notes: list[str]
    scores: list[float | None]


def judge_in_two_passes(
    model: Installed | None,
    judge: Callable[[Scores | None], list[_Judged]],
    open_notes: Callable[[_Judged], tuple[Facts, Sequence[str]]],
    report: Callable[[int, int], None],
) -> list[_Judged]:
    """Judge incidents twice: first to find open notes, then with the model's scores of these notes.

    Args:
        model: The language model; None: judge once, without scores.
        judge: Judges all incidents with given scores.
        open_notes: Returns the facts of a judged incident, and the notes that are still open for it.
        report: Called with the number of incidents that the model was asked about, and of all such incidents.

    Raises:
        ConfigError: The model was never measured at finding notes.
    """
    if model is None:
        return judge(None)
    asked = [open_notes(one) for one in judge(_score_nothing)]
    return judge(ask_model(model, [one for one in asked if one[1]], report))


def _score_nothing(_: Facts, notes: Sequence[str]) -> list[float | None]:
    """Score no note, so that the verdict lists the notes that are open."""
    return [None for _ in notes]


def ask_model(
    model: Installed, asked: Sequence[tuple[Facts, Sequence[str]]], report: Callable[[int, int], None]
) -> Scores:
    """Let a model score notes for incidents; returns a lookup that gives None for unknown pairs.

    Raises:
        ConfigError: The model was never measured at finding notes.
        ModelError: The model cannot be used.
    """
    scale = load_table().find_weighing(model.manifest) if model.manifest else None
    if scale is None:
        raise ConfigError(
            f"{model.name}/{model.version} was never measured at finding notes: judge with --model none, or pull "
            "smollm2-135m"
        )
    known: dict[tuple[str, str], float | None] = {}
    report(0, len(asked))
    for done, answer in enumerate(apart("eval", lambda: _ask(model, scale, asked), _NoteScores), 1):
        known.update({(answer.seen, note): score for note, score in zip(answer.notes, answer.scores, strict=True)})
        report(done, len(asked))
    return lambda facts, notes: [known.get((sight_of(facts), note)) for note in notes]


def _ask(model: Installed, scale: Weighing, asked: Sequence[tuple[Facts, Sequence[str]]]) -> Iterator[_NoteScores]:
    """Score the notes of each incident; runs in a child process."""
    loaded = opening.open_model(model.path, EngineOptions(cores.threads()))
    weigher = Weigher(loaded, Prompts.of(loaded.engine.encode), scale)
    for facts, notes in asked:
        for _ in weigher.weigh(weigher.find_missing([(facts, notes)]), lambda _: False):
            pass
        yield _NoteScores(sight_of(facts), list(notes), weigher.scores(facts, notes))
