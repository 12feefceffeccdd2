"""Write the sentence of a group of incidents with a language model, under a grammar of its facts, and check it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.asking.prompts import DigestPrompt
from models.asking.sentence import WrittenSentence
from pipeline.core.digest import grounding as digest_grounding
from pipeline.core.digest import sentences as digest_sentences

if TYPE_CHECKING:
    from collections.abc import Generator

    from models.llm.opening import LanguageModel
    from pipeline.core.digest.groups import Group

MAX_TOKENS = 256
"""Largest number of tokens of a sentence; names take many."""


class DigestWriter:
    """Writes sentences of a digest with one model.

    Args:
        model: The model; it reads the fixed part of the prompts at once.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._prompt = DigestPrompt.of(model.engine.encode)
        for _ in model.session.read([self._prompt.fixed]):
            pass

    def write(self, group: Group) -> Generator[None, None, WrittenSentence]:
        """Write the sentence of a group; one forward before each yield.

        Args:
            group: The group.

        Raises:
            EngineError: The prompt does not fit the context.
        """
        lark = digest_sentences.build_grammar(group)
        written = yield from self._model.write(self._prompt.parts(group), lark, MAX_TOKENS)
        return WrittenSentence.of(written, lambda text: digest_grounding.find_fault(text, group))
