"""Restrict answers to a grammar: llguidance says which tokens may come next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from models.llm.tokenizer import all_token_bytes
from pipeline.core.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.llm.engine import Logits
    from models.llm.tokenizer import TokenVocabulary

_BITS = 32


class Grammars:
    """Makes matchers for one vocabulary; 0.3 s for 49 000 tokens, 0.9 s for 152 000.

    Args:
        words: The vocabulary.
        encode: Turns text into token numbers.
    """

    def __init__(self, words: TokenVocabulary, encode: Callable[[str], list[int]]) -> None:
        self._size = len(words.tokens)
        wrapper = TokenizerWrapper(_Tokens(words, encode))
        self._tokenizer = LLTokenizer(wrapper, self._size, slices=[])
        wrapper.tokens = wrapper._gtokenizer.tokens = []  # noqa: SLF001  # it has copied them: 10 MB at 152 000 tokens

    def matcher(self, lark: str) -> Matcher:
        """Return a matcher for a new answer.

        Args:
            lark: The grammar, in llguidance's variant of Lark; its rule `start` is the answer.

        Raises:
            EngineError: The grammar is not valid.
        """
        return Matcher(LLMatcher(self._tokenizer, LLMatcher.grammar_from_lark(lark), log_level=0), self._size)


class Matcher:
    """The state of one answer."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        self._matcher = matcher
        self._mask = np.zeros((vocabulary + _BITS - 1) // _BITS, np.int32)
        self._check()

    @property
    def is_finished(self) -> bool:
        """Whether the answer is complete and cannot be continued."""
        return bool(self._matcher.is_stopped())

    def take_forced(self) -> list[int]:
        """Take and return the tokens that are the only choice."""
        numbers = self._matcher.compute_ff_tokens()
        if numbers:
            self._take(numbers)
        return list(numbers)

    def take_best(self, logits: Logits) -> int:
        """Take and return the likeliest of the allowed tokens.

        Args:
            logits: (vocabulary,) float32; left as they are.
        """
        self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
        self._check()
        allowed = np.flatnonzero(np.unpackbits(self._mask.view(np.uint8), bitorder="little")[: len(logits)])
        number = int(allowed[logits[allowed].argmax()])
        self._take([number])
        return number

    def resume(self, numbers: list[int]) -> None:
        """Continue an interrupted answer. Raises EngineError if its tokens do not fit the grammar."""
        if numbers:
            self._take(numbers)

    def _take(self, numbers: list[int]) -> None:
        self._matcher.consume_tokens(numbers)
        self._check()

    def _check(self) -> None:
        if self._matcher.is_error():
            what = self._matcher.get_error().partition("\n")[0]  # the rest is the parser's state, and the whole grammar
            raise EngineError(f"the grammar of an answer cannot be followed: {what}")


class _Tokens:
    """A vocabulary as llguidance asks for it."""

    def __init__(self, words: TokenVocabulary, encode: Callable[[str], list[int]]) -> None:
        self.eos_token_id = words.end
        self.bos_token_id = words.begin
        special = set(words.special)
        spelt = all_token_bytes(words)
        self.tokens = [words.tokens[at].encode() if at in special else spelt[at] for at in range(len(spelt))]
        self.special_token_ids = sorted(special)
        self._encode = encode

    def __call__(self, text: bytes | str) -> list[int]:
        return self._encode(text.decode(errors="replace") if isinstance(text, bytes) else text)
