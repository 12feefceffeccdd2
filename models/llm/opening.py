"""Open a language model: verify its files, map its weights, and try it out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import structlog

from models.llm import canary, folder, mapping
from models.llm.engine import Session
from models.llm.grammar import Grammars
from models.llm.mnn import EngineOptions, MnnEngine, engine_version
from models.llm.writing import write
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from models.llm.canary import Canary
    from models.llm.engine import Part
    from models.llm.folder import ModelManifest
    from models.llm.writing import WrittenTokens

log = structlog.get_logger()

_ENGINE = "mmap, memory low, dynamic_option 2"
"""The options that change how weights are laid out; the number of threads does not."""


class LanguageModel(NamedTuple):
    """An opened language model.

    Attributes:
        name: Its name in the store.
        version: Its version in the store.
        sha256: Hash of its weights.
        engine: The engine.
        session: The session that reads prompts.
        grammars: Makes matchers of grammars.
        load_s: Seconds that the engine took to load, without verification.
        mapped: Whether its weights are mapped from a file, so that the system can reclaim their memory.
        canary: The answer of its trial.
        manifest: Its manifest.
    """

    name: str
    version: str
    sha256: str
    engine: MnnEngine
    session: Session
    grammars: Grammars
    load_s: float
    mapped: bool
    canary: Canary
    manifest: ModelManifest

    def write(
        self, parts: Sequence[Part], lark: str, most: int, *, said: list[int] | None = None
    ) -> Generator[None, None, WrittenTokens]:
        """Read a prompt and write the likeliest answer of a grammar; one forward before each yield.

        Args:
            parts: The prompt, its fixed part first.
            lark: The grammar of the answer.
            most: Largest number of tokens of the answer.
            said: Tokens that were written before an interruption; new tokens are appended.

        Raises:
            EngineError: The prompt is too long, or the grammar not valid.
        """
        return write(self.session, parts, self.grammars.matcher(lark), self.engine.words, most, said=said)

    def odds(self, parts: Sequence[Part], one: int, other: int) -> Generator[None, None, float]:
        """Read a prompt and return the log odds of one next token against another; one forward before each yield.

        Raises:
            EngineError: The prompt is too long.
        """
        for _ in self.session.read(parts):
            yield
        return float(self.session.logits[one] - self.session.logits[other])


def open_model(model: Path, options: EngineOptions) -> LanguageModel:
    """Load a converted model.

    Args:
        model: Its folder, NAME/VERSION below the store.
        options: Options of the engine; the folder of the mapping is chosen here.

    Raises:
        ModelError: The model is damaged, cannot be loaded, or gives wrong answers.
    """
    name = f"{model.parent.name}/{model.name}"
    try:
        with mapping.lock(model):
            engine, load_s, answer = _load_mapped(model, name, options)
    except OSError as error:
        log.warning("weights_not_mapped", of=name, reason=str(error))
        engine, load_s, answer = _load(model, name, options)
    manifest = folder.read(model)
    return LanguageModel(
        name=model.parent.name,
        version=model.name,
        sha256=manifest.weights.sha256,
        engine=engine,
        session=Session(engine),
        grammars=Grammars(engine.words, engine.encode),
        load_s=load_s,
        mapped=engine.mapped,
        canary=answer,
        manifest=manifest,
    )


def _load_mapped(model: Path, name: str, options: EngineOptions) -> tuple[MnnEngine, float, Canary]:
    """Load with an existing or a new mapping; without a mapping if there is no room for it."""
    weights = mapping.Mapping(model, f"{engine_version()}, {_ENGINE}")
    if weights.is_sealed():
        _verify(model, name, weights=False)
        try:
            return _try_out(model, name, options._replace(mapping=weights.path))
        except ModelError as error:
            log.warning("mapping_discarded", of=name, reason=str(error))
            weights.discard()
    _verify(model, name)
    weights.sweep()  # before there is asked for room
    if not weights.has_room():
        log.warning("weights_not_mapped", of=name, reason="the disk has no room for them: they stay in memory")
        return _try_out(model, name, options)
    with weights.build() as part:
        return _try_out(model, name, options._replace(mapping=part))


def _load(model: Path, name: str, options: EngineOptions) -> tuple[MnnEngine, float, Canary]:
    _verify(model, name)
    return _try_out(model, name, options)


def _try_out(model: Path, name: str, options: EngineOptions) -> tuple[MnnEngine, float, Canary]:
    began = time.perf_counter()
    engine = MnnEngine(model, options)
    load_s = time.perf_counter() - began
    return engine, load_s, canary.try_engine(engine, name)


def _verify(model: Path, name: str, *, weights: bool = True) -> None:
    if problems := folder.verify(model, weights=weights):
        raise ModelError(f"{name} is damaged ({problems[0]}): pull or convert it again")
