"""What the engine of a language model can do, and how a prompt is read without reading anything twice.

A prompt comes in parts, the ones that stay the same first. What the engine still holds of the leading parts is not read
again. Only whole parts are reused and each part is cut into chunks by itself, so logits depend on the prompt alone and
never on what was read before it.
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
    """A language model that runs, and what it holds of the text so far.

    Attributes:
        vocabulary: Token numbers are below it.
        context_tokens: How many it can hold.
        held: How many it holds.
        threads: How many it computes with.
    """

    vocabulary: int
    context_tokens: int
    held: int
    threads: int

    def encode(self, text: str) -> list[int]:
        """Text as token numbers; no control tokens, whatever the text says."""
        ...

    def forward(self, numbers: Sequence[int]) -> Logits:
        """Read on, and return what may come next.

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
        """Forget all but the first `to` tokens. Raises EngineError: there are not so many."""
        ...

    def sleep(self) -> None:
        """Give back what memory can be had again; the next forward takes it."""
        ...

    def close(self) -> None:
        """Give back everything; nothing else may be called."""
        ...


@dataclass
class Counts:
    """What a session has read since it was opened.

    Attributes:
        prompt: Tokens of all prompts.
        cached: Those of them that were still held.
        forwards: Calls of the engine.
        misses: Prompts whose first part, which never changes, had to be read again.
    """

    prompt: int = 0
    cached: int = 0
    forwards: int = 0
    misses: int = 0


class ForwardPace:
    """How long forwards take, by how many tokens they read: the slowest of the last few, as plans are to be kept."""

    def __init__(self) -> None:
        self._seconds: dict[int, deque[float]] = {}

    def learn(self, size: int, seconds: float) -> None:
        """Count a forward."""
        self._seconds.setdefault(size, deque(maxlen=_REMEMBERED)).append(seconds)

    def expected_s(self, size: int) -> float:
        """How long a forward will take: what one of this size took, else the next larger, else in proportion."""
        larger = min((known for known in self._seconds if known >= size), default=None)
        if larger is not None:
            return max(self._seconds[larger])
        largest = max(self._seconds, default=None)
        return max(self._seconds[largest]) * size / largest if largest else 0.0


class Session:
    """Reads prompts, and continues them.

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
        """Read a prompt, a chunk at a time: yields how many tokens each took. Stop at any time and read another.

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
        """Continue with tokens that were chosen, a chunk at a time; the next prompt forgets them."""
        for chunk in split_chunks(numbers):
            self._forward(chunk)
            yield len(chunk)

    @property
    def room(self) -> int:
        """How many more tokens the context takes."""
        return self.engine.context_tokens - self.engine.held

    def expected_s(self, prompts: Iterable[Sequence[Part]]) -> list[float]:
        """How long it will take to read prompts one after the other, beginning now: seconds each."""
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
    """How many leading parts are held; never all, as the last one's logits are asked for."""
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
