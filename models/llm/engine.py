"""The protocol of language model engines, and sessions that read no cached part of a prompt again.

A prompt consists of parts, the fixed ones first. Leading parts that the engine still holds are not read again. Only
whole parts are reused, and each part is cut into chunks by itself, so logits depend only on the prompt, not on what
was read before.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline.core.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Logits: TypeAlias = NDArray[np.float32]
Part: TypeAlias = tuple[int, ...]
"""Token numbers."""

_REMEMBERED = 8
CHUNK_MOST = 32
"""Tokens a forward. It bounds how long a more urgent incident waits; larger ones would read 15-20 % faster."""


class Engine(Protocol):
    """A running language model with the cache of the text so far.

    Attributes:
        vocabulary: Number of tokens of the vocabulary.
        context_tokens: Largest number of tokens that it can hold.
        held: Number of tokens that it holds.
        threads: Number of compute threads.
    """

    vocabulary: int
    context_tokens: int
    held: int
    threads: int

    def encode(self, text: str) -> list[int]:
        """Return text as token numbers, never with control tokens."""
        ...

    def forward(self, numbers: Sequence[int]) -> Logits:
        """Read more tokens, and return the logits of the next one.

        Args:
            numbers: At least one, each below `vocabulary`, no more than there is room for.

        Returns:
            (vocabulary,) float32, borrowed: the next call overwrites it.

        Raises:
            EngineError: The numbers cannot be read; nothing has changed.
            StageBrokenError: The engine does not hold what it should.
        """
        ...

    def rewind(self, to: int) -> None:
        """Drop all but the first `to` tokens. Raises EngineError if it holds fewer."""
        ...

    def sleep(self) -> None:
        """Release memory that the next forward can take again."""
        ...

    def close(self) -> None:
        """Release everything; no other method may be called afterwards."""
        ...


@dataclass
class Counts:
    """Counts of a session since it was opened.

    Attributes:
        prompt: Number of tokens of all prompts.
        cached: Number of those that were still held.
        forwards: Number of calls of the engine.
        misses: Number of prompts whose fixed first part had to be read again.
    """

    prompt: int = 0
    cached: int = 0
    forwards: int = 0
    misses: int = 0


class ForwardPace:
    """Learns how long forwards take, by number of tokens: the slowest of the last few, for safe plans."""

    def __init__(self) -> None:
        self._seconds: dict[int, deque[float]] = {}

    def learn(self, size: int, seconds: float) -> None:
        """Add the time of a forward."""
        self._seconds.setdefault(size, deque(maxlen=_REMEMBERED)).append(seconds)

    def expected_s(self, size: int) -> float:
        """Return the expected seconds of a forward: those of this size, else of the next larger, else in proportion."""
        larger = min((known for known in self._seconds if known >= size), default=None)
        if larger is not None:
            return max(self._seconds[larger])
        largest = max(self._seconds, default=None)
        return max(self._seconds[largest]) * size / largest if largest else 0.0


class Session:
    """Reads prompts and continues them.

    Attributes:
        pace: How fast this was done so far.
        logits: What may come next; (vocabulary,) float32, borrowed. Valid after a reading was run to its end.
        cached: Tokens of the latest prompt that were still held.
        counts: Since the session was opened.
    """

    logits: Logits

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.cached = 0
        self.counts = Counts()
        self.pace = ForwardPace()
        self._held: list[Part] = []

    def read(self, parts: Sequence[Part]) -> Iterator[int]:
        """Read a prompt; one chunk before each yield of its number of tokens. It may be stopped to read another prompt.

        Raises:
            EngineError: The prompt does not fit the context.
            StageBrokenError: The engine does not hold what it should.
        """
        self._check(parts)
        reused = _count_shared(self._held, parts)
        self.cached = sum(map(len, parts[:reused]))
        self.counts.prompt += sum(map(len, parts))
        self.counts.cached += self.cached
        self.counts.misses += not reused
        del self._held[reused:]
        self.engine.rewind(self.cached)
        for part in parts[reused:]:
            for chunk in split_chunks(part):
                self._forward(chunk)
                yield len(chunk)
            self._held.append(part)

    def say(self, numbers: Sequence[int]) -> Iterator[int]:
        """Continue with chosen tokens, one chunk before each yield; the next prompt drops them."""
        for chunk in split_chunks(numbers):
            self._forward(chunk)
            yield len(chunk)

    @property
    def room(self) -> int:
        """Number of tokens that still fit the context."""
        return self.engine.context_tokens - self.engine.held

    def expected_s(self, prompts: Iterable[Sequence[Part]]) -> list[float]:
        """Return the expected seconds to read each of some prompts, one after the other."""
        held, found = list(self._held), []
        for parts in prompts:
            new = parts[_count_shared(held, parts) :]
            found.append(sum(self.pace.expected_s(len(chunk)) for part in new for chunk in split_chunks(part)))
            held = list(parts)
        return found

    def _forward(self, chunk: Sequence[int]) -> None:
        began = time.perf_counter()
        self.logits = self.engine.forward(chunk)
        self.pace.learn(len(chunk), time.perf_counter() - began)
        self.counts.forwards += 1

    def _check(self, parts: Sequence[Part]) -> None:
        size = sum(map(len, parts))
        if not parts or not all(parts):
            raise EngineError("a prompt needs at least one part, and no part may be empty")
        if size >= self.engine.context_tokens:
            raise EngineError(
                f"the prompt has {size} tokens, the context takes {self.engine.context_tokens}: shorten it, or raise "
                "describe.context_tokens"
            )


def _count_shared(held: Sequence[Part], parts: Sequence[Part]) -> int:
    """Return the number of leading parts that are held; never all, as the logits of the last one are needed."""
    most = min(len(parts) - 1, len(held))
    return next((at for at in range(most) if parts[at] != held[at]), most)


def split_chunks(numbers: Sequence[int], most: int = CHUNK_MOST) -> Iterator[Sequence[int]]:
    """Cut a sequence into pieces of `most`, and the rest into powers of two, largest first.

    The engine keeps buffers for every length it has met (2 to 7 MB each), so there may be few of them.
    """
    at = 0
    while at < len(numbers):
        size = min(most, 1 << ((len(numbers) - at).bit_length() - 1))
        yield numbers[at : at + size]
        at += size
