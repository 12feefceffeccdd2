"""The tools that verdicts are made with, and judging a batch of incidents with a model in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from models.asking.language import chosen
from models.asking.prompts import Prompts
from models.asking.weighing import Weigher, seen_in
from models.llm import opening
from models.llm.mnn import EngineOptions
from models.sentences import open_sentences
from models.table import table
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
    from pipeline.core.verdict.rulebook import Rulebook
    from pipeline.core.verdict.speaking import Scores, Similarity

_Judged = TypeVar("_Judged")


class JudgingTools(NamedTuple):
    """What verdicts are made with.

    Attributes:
        book: The rules.
        lexicon: The words of notes.
        similarity: The sentence encoder; None: words alone say which note speaks of what.
        model: The language model that is asked about notes that words and encoder leave undecided; None: none.
    """

    book: Rulebook
    lexicon: Lexicon
    similarity: Similarity | None
    model: Installed | None = None


def open_judging_tools(site: Site, model: str, *, encoder: bool) -> JudgingTools:
    """Open what verdicts are made with.

    Args:
        site: Whose rules, words and models.
        model: Which language model, or `none`; empty: the one in use, if there is one.
        encoder: With the sentence encoder, where it is installed.

    Raises:
        ConfigError: The rules cannot be read, or the model is not there.
    """
    sentences = open_sentences() if encoder else None
    return JudgingTools(
        site.rulebook, site.lexicon, sentences.similarity if sentences else None, chosen(site.models, model)
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
    """Judge incidents twice: first to find the notes that are undecided, then with what a model says of those.

    Args:
        model: None: words and the sentence encoder judge alone.
        judge: Judges them all with some scores.
        open_notes: Returns the facts of an incident that was judged, and the notes that words leave undecided.
        report: Called with how many incidents the model was asked about, and of how many.

    Raises:
        ConfigError: Nobody has measured what the model's answers are worth.
    """
    if model is None:
        return judge(None)
    asked = [open_notes(one) for one in judge(_score_nothing)]
    return judge(ask_model(model, [one for one in asked if one[1]], report))


def _score_nothing(_: Facts, notes: Sequence[str]) -> list[float | None]:
    """Score no note: with it, a judge says which ones it would ask a model about."""
    return [None for _ in notes]


def ask_model(
    model: Installed, asked: Sequence[tuple[Facts, Sequence[str]]], report: Callable[[int, int], None]
) -> Scores:
    """Ask a model about incidents and notes; what was not asked stays unknown.

    Raises:
        ConfigError: Nobody has measured what its answers are worth.
        ModelError: It cannot be used.
    """
    scale = table().weighs(model.manifest) if model.manifest else None
    if scale is None:
        raise ConfigError(
            f"{model.name}/{model.version} was never measured at finding notes: judge with --model none, or pull "
            "smollm2-135m"
        )
    known: dict[tuple[str, str], float | None] = {}
    report(0, len(asked))
    for done, heard in enumerate(apart("eval", lambda: _ask(model, scale, asked), _NoteScores), 1):
        known.update({(heard.seen, note): score for note, score in zip(heard.notes, heard.scores, strict=True)})
        report(done, len(asked))
    return lambda facts, notes: [known.get((seen_in(facts), note)) for note in notes]


def _ask(model: Installed, scale: Weighing, asked: Sequence[tuple[Facts, Sequence[str]]]) -> Iterator[_NoteScores]:
    """Ask in a child process; yield what the model says of each incident."""
    loaded = opening.open_model(model.path, EngineOptions(cores.threads()))
    weigher = Weigher(loaded, Prompts.of(loaded.engine.encode), scale)
    for facts, notes in asked:
        for _ in weigher.weigh(weigher.missing([(facts, notes)]), lambda _: False):
            pass
        yield _NoteScores(seen_in(facts), list(notes), weigher.scores(facts, notes))
