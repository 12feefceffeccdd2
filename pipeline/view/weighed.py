"""What a language model says of notes and incidents, asked in a process of its own: to see how well it does that."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec
from rich.progress import Progress

from models.asking.prompts import Prompts
from models.asking.weighing import Weigher, seen_in
from models.llm import opening
from models.llm.mnn import Options
from models.table import table
from pipeline.core.errors import ConfigError
from pipeline.runtime import cores
from pipeline.runtime.apart import apart
from pipeline.view.output import console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from models.store import Installed
    from models.table import Weighing
    from pipeline.core.facts import Facts
    from pipeline.core.verdict.speaking import Scores


_Judged = TypeVar("_Judged")


class _Heard(msgspec.Struct, frozen=True):
    """Scores of some notes for one sight."""

    seen: str
    notes: list[str]
    scores: list[float | None]


def judged(
    model: Installed | None,
    judge: Callable[[Scores | None], list[_Judged]],
    asks: Callable[[_Judged], tuple[Facts, Sequence[str]]],
    *,
    quiet: bool,
) -> list[_Judged]:
    """Judge incidents with what a model says of the notes that are open without it.

    Args:
        model: None: words and the sentence encoder judge alone.
        judge: Judges them all with some scores.
        asks: The facts of an incident that was judged, and the notes that are open.
        quiet: No progress.

    Raises:
        ConfigError: Nobody has measured what the model's answers are worth.
    """
    if model is None:
        return judge(None)
    asked = [asks(one) for one in judge(_unknown)]
    return judge(scores(model, [one for one in asked if one[1]], quiet=quiet))


def _unknown(_: Facts, notes: Sequence[str]) -> list[float | None]:
    """Score no note: with it, a judge says which ones it would ask a model about."""
    return [None for _ in notes]


def scores(model: Installed, asked: Sequence[tuple[Facts, Sequence[str]]], *, quiet: bool) -> Scores:
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
    screen = console(stderr=True)
    with Progress(console=screen, transient=True, disable=quiet or not screen.is_terminal) as bars:
        task = bars.add_task("weighing", total=len(asked))
        for heard in apart("eval", lambda: _ask(model, scale, asked), _Heard):
            known.update({(heard.seen, note): score for note, score in zip(heard.notes, heard.scores, strict=True)})
            bars.advance(task)
    return lambda facts, notes: [known.get((seen_in(facts), note)) for note in notes]


def _ask(model: Installed, scale: Weighing, asked: Sequence[tuple[Facts, Sequence[str]]]) -> Iterator[_Heard]:
    """In a process of its own."""
    loaded = opening.open_model(model.path, Options(cores.threads()))
    weigher = Weigher(loaded, Prompts.of(loaded.engine.encode), scale)
    for facts, notes in asked:
        for _ in weigher.weigh(weigher.missing([(facts, notes)]), lambda _: False):
            pass
        yield _Heard(seen_in(facts), list(notes), weigher.scores(facts, notes))
