"""Write the sentence of an incident with a language model, under a grammar of its facts, and check it."""

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
"""A grammar of any single sentence, to compare with the grammar of facts."""


class WrittenSentence(NamedTuple):
    """A sentence of a model.

    Attributes:
        text: The sentence.
        fault: Its fault; empty if it states only facts.
        written: Tokens and times.
        held: Name of the filter list that forbids it; empty: none.
    """

    text: str
    fault: str
    written: WrittenTokens
    held: str = ""

    @classmethod
    def of(cls, written: WrittenTokens, fault: Callable[[str], str]) -> WrittenSentence:
        """Make a result from written tokens; `fault` checks the text, unless the sentence has no end."""
        text = written.text.strip()
        return cls(text, fault(text) if written.complete else f"no end after {written.output} tokens", written)


class Summariser:
    """Writes sentences with one model.

    Args:
        model: The model; it reads the fixed part of the prompts at once.
        prompts: The prompts.
        most: Largest number of tokens of a sentence.
        lists: The filter lists.
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
        """Number of tokens of the fixed part of the prompts."""
        return len(self._prompts.fixed)

    def write(
        self, facts: Facts, *, free: bool = False, said: list[int] | None = None
    ) -> Generator[None, None, WrittenSentence]:
        """Write the sentence of an incident; one forward before each yield.

        Args:
            facts: The facts of the incident.
            free: Write without the grammar of facts.
            said: Tokens that were written before an interruption; new tokens are appended.

        Raises:
            EngineError: The prompt does not fit the context.
        """
        lark = _FREE if free else sentences.build_grammar(facts)
        written = yield from self._model.write(self._prompts.summary(facts), lark, self._most, said=said)
        summary = WrittenSentence.of(written, lambda text: grounding.find_fault(text, facts))
        return summary._replace(held=self._lists.match_output(summary.text, filters.names_in_facts(facts)))
