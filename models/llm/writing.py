"""Write an answer of a language model, one forward at a time, so that it can be interrupted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from models.llm.tokenizer import TokenDecoder

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from models.llm.engine import Part, Session
    from models.llm.grammar import Matcher
    from models.llm.tokenizer import TokenVocabulary


class WrittenTokens(NamedTuple):
    """A written answer.

    Attributes:
        text: The text.
        complete: Whether the grammar is fulfilled; else there was no room for more tokens.
        prompt: Number of tokens of the prompt.
        cached: Number of those that were cached.
        output: Number of tokens of the answer.
        ttft_ms: Working time to the first token, without pauses between steps.
        decode_tok_s: Tokens a second after the first.
    """

    text: str
    complete: bool
    prompt: int
    cached: int
    output: int
    ttft_ms: float
    decode_tok_s: float


def write(
    session: Session,
    parts: Sequence[Part],
    matcher: Matcher,
    words: TokenVocabulary,
    most: int,
    *,
    said: list[int] | None = None,
) -> Generator[None, None, WrittenTokens]:
    """Read a prompt and write the likeliest answer that the grammar allows; one forward before each yield.

    Tokens without a choice are read together and cost almost nothing. To continue an interrupted answer,
    its tokens are read again with the prompt, many at a time.

    Args:
        session: The model's session.
        parts: The prompt, its fixed part first.
        matcher: A new matcher of the grammar.
        words: The vocabulary.
        most: Largest number of tokens of the answer.
        said: Tokens that were written before an interruption; new tokens are appended. None: a new answer.
    """
    watch, said = _Watch(), [] if said is None else said
    matcher.resume(said)
    for _ in session.read([*parts, tuple(said)] if said else parts):
        watch.pause()
        yield
        watch.go()
    first_s = watch.worked_s
    while not matcher.is_finished and len(said) < most:
        chosen = matcher.take_forced() or [matcher.take_best(session.logits)]
        said += chosen
        if matcher.is_finished or len(said) >= most or session.room < len(chosen):
            break
        for _ in session.say(chosen):
            watch.pause()
            yield
            watch.go()
    watch.pause()
    stops = frozenset(words.stops)
    decoding_s = watch.worked_s - first_s
    return WrittenTokens(
        text=TokenDecoder(words).text(number for number in said if number not in stops),
        complete=matcher.is_finished,
        prompt=sum(map(len, parts)),
        cached=session.cached,
        output=len(said),
        ttft_ms=first_s * 1e3,
        decode_tok_s=len(said) / decoding_s if decoding_s else 0.0,
    )


class _Watch:
    """Counts working time."""

    def __init__(self) -> None:
        self.worked_s = 0.0
        self.go()

    def go(self) -> None:
        self._since = time.perf_counter()

    def pause(self) -> None:
        self.worked_s += time.perf_counter() - self._since
