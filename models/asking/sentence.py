"""The sentence of an incident: asked for, written under a grammar of its facts, and checked against them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.text import filters, grounding, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from models.asking.prompts import Prompts
    from models.llm.opening import LanguageModel
    from models.llm.writing import WrittenTokens
    from pipeline.core.facts import Facts
    from pipeline.core.text.filters import Filters

_FREE = r'start: / [A-Z][^\x00-\x1f."<>]{10,240}/ "."'
"""One sentence of whatever the model likes: to see what the grammar of facts is good for."""


class WrittenSentence(NamedTuple):
    """A sentence.

    Attributes:
        text: As it was written.
        fault: Why nobody should read it; empty: it says nothing but the facts.
        written: What it took.
        held: Which list of filters holds it back; empty: none.
    """

    text: str
    fault: str
    written: WrittenTokens
    held: str = ""

    @classmethod
    def of(cls, written: WrittenTokens, fault: Callable[[str], str]) -> WrittenSentence:
        """What was written, looked through by whoever knows the facts; a sentence without an end is not."""
        text = written.text.strip()
        return cls(text, fault(text) if written.complete else f"no end after {written.output} tokens", written)


class Summariser:
    """Writes sentences with one model.

    Args:
        model: The model; reads what is the same in every prompt.
        prompts: Its questions.
        most: Tokens of a sentence, at most.
        lists: What no sentence may say.
    """

    def __init__(self, model: LanguageModel, prompts: Prompts, most: int, lists: Filters) -> None:
        self._model = model
        self._most = most
        self._lists = lists
        self._prompts = prompts
        for _ in model.session.read([prompts.fixed]):
            pass

    @property
    def fixed(self) -> int:
        """Tokens that are the same in every prompt."""
        return len(self._prompts.fixed)

    def write(
        self, facts: Facts, *, free: bool = False, said: list[int] | None = None
    ) -> Generator[None, None, WrittenSentence]:
        """Write the sentence of an incident, a forward at a time.

        Args:
            facts: All that is known.
            free: Let the model write what it likes.
            said: Tokens of it that were written before it was put aside; those that follow are added.

        Raises:
            EngineError: The prompt does not fit the context.
        """
        lark = _FREE if free else sentences.build_grammar(facts)
        written = yield from self._model.write(self._prompts.summary(facts), lark, self._most, said=said)
        summary = WrittenSentence.of(written, lambda text: grounding.find_fault(text, facts))
        return summary._replace(held=self._lists.match_output(summary.text, filters.names_in_facts(facts)))
