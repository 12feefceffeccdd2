"""The engine `mnn`: MNN's language models behind every guard that their Python interface needs.

What was seen to end the process in MNN 3.6.1, and is not done here: reading a truncated weight file (hashed before);
going on after a failed load; token numbers below zero, none at all, or no list (checked); get_context() after a
character was cut in two (not called; text is made by models/llm/tokenizer.py); generate() and response() and what they
leave behind (never called); ending with a result alive (deleted at once). What it does in silence: taking numbers
beyond the vocabulary and the context (checked), answering nonsense from a weight cache of another model (keyed, sealed,
and tried out), printing to standard output (caught). MNN.tools is never imported: it runs pip and calls home.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import itertools
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import structlog

from models.llm.tokenizer import read as read_vocabulary
from pipeline.core.errors import EngineError, ModelError, StageBrokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from models.llm.engine import Logits

log = structlog.get_logger()

_ATTENTION = 8
"""Flash attention with keys and values as they are. All modes that quantise them (1, 2, 9, 10, 14) give nonsense in
3.6.1 when several tokens are read behind others, which is what a kept prefix is for: a KL of 0.3 to 1 where this one
has 0. (`tests.bench.engine`, tests/integration/test_engine.py)"""
_MADV_DONTNEED = 4  # sys/mman.h
_SAID_MOST = 4000  # bytes kept of what the engine printed
_LIBC = ctypes.CDLL(None)


class EngineOptions(NamedTuple):
    """How a model is run.

    Attributes:
        threads: Compute threads. They spin, so that more than one want cores of their own.
        context_tokens: How much text it can hold; memory is taken as it is used.
        mapping: A folder for weights in the engine's own layout, mapped from there; None: they are read into memory.
    """

    threads: int = 1
    context_tokens: int = 1024
    mapping: Path | None = None

    def keys(self) -> dict[str, object]:
        """Return the options by the engine's names."""
        found: dict[str, object] = {
            "thread_num": self.threads,
            "max_all_tokens": self.context_tokens,
            "attention_mode": _ATTENTION,
            "reuse_kv": True,
        }
        if self.mapping:
            found |= {"use_mmap": True, "use_cached_mmap": True, "tmp_path": str(self.mapping)}
        return found


class MnnEngine:
    """A loaded model; see `models.llm.engine.Engine`.

    It holds the interpreter lock while it computes, so it needs a process of its own.

    Args:
        folder: A converted model, whose files have been verified: a truncated one ends the process.
        options: How to run it.

    Raises:
        ModelError: It cannot be loaded.
    """

    def __init__(self, folder: Path, options: EngineOptions) -> None:
        self.words = read_vocabulary(folder / "tokenizer.mtok")._replace(merges=())  # it has them itself
        self.vocabulary = len(self.words.tokens)
        self.context_tokens = options.context_tokens
        self.threads = options.threads
        self.held = 0
        self._control = frozenset(self.words.special)
        spelt = filter(None, (self.words.tokens[number] for number in self.words.special))
        self._spelt = re.compile("|".join(map(re.escape, spelt)) or "(?!)")
        self._forget: int | None = None  # all from here on, before the next forward
        self.mapped = options.mapping is not None
        self._folder = folder.resolve()
        self._logits = np.empty(self.vocabulary, np.float32)
        with _catch_output() as said:
            model = importlib.import_module("MNN.llm").create(str(folder / "config.json"))
            model.set_config(options.keys())
            self._model = model._c_obj  # noqa: SLF001  # the wrapper's load() drops whether it worked
            loaded = self._model.load()
        if not loaded:
            raise ModelError(f"{folder}: MNN cannot load it ({said()}): convert or pull the model again")

    def encode(self, text: str) -> list[int]:
        """Text as token numbers; a control token that the text spells out is read as the letters that spell it."""
        cuts = [0, *(found.start() + 1 for found in self._spelt.finditer(text)), len(text)]
        with _catch_output():
            parts = [self._model.tokenizer_encode(text[begin:end]) for begin, end in itertools.pairwise(cuts)]
        return [number for part in parts for number in part if number not in self._control]

    def forward(self, numbers: Sequence[int]) -> Logits:
        """Read more tokens; see `Engine`."""
        self._check(numbers)
        with _catch_output():
            if self._forget is not None:
                self._model.erase_history(self._forget, 0)
                self._forget = None
            result = self._model.forward(list(numbers))
            np.copyto(self._logits, np.asarray(result.read()).reshape(-1)[: self.vocabulary])
            del result  # one that lives at the end of the process crashes it
        self.held += len(numbers)
        if self._model.get_current_history() != self.held:
            raise StageBrokenError(f"MNN holds {self._model.get_current_history()} tokens, {self.held} were read")
        return self._logits

    def rewind(self, to: int) -> None:
        """Drop tokens; see `Engine`. It takes effect with the next forward."""
        if not 0 <= to <= self.held:
            raise EngineError(f"cannot go back to {to} tokens, {self.held} are held")
        if to < self.held:
            self._forget = to
            self.held = to

    def sleep(self) -> None:
        """Unmap the weights: they stay in the page cache until the system needs the room, and come back by faults."""
        if self.mapped:
            for begin, size in _find_mappings(self._folder):
                _LIBC.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(size), _MADV_DONTNEED)
        _LIBC.malloc_trim(0)

    def close(self) -> None:
        """Release everything."""
        del self._model
        _LIBC.malloc_trim(0)

    def _check(self, numbers: Sequence[int]) -> None:
        if not numbers or not all(type(number) is int and 0 <= number < self.vocabulary for number in numbers):
            raise EngineError(
                f"tokens must be one or more numbers from 0 to {self.vocabulary - 1}, not {numbers!r:.80}"
            )
        if self.held + len(numbers) > self.context_tokens:
            raise EngineError(f"{self.held} + {len(numbers)} tokens are more than the context of {self.context_tokens}")


def engine_version() -> str:
    """Return the version of the engine."""
    from importlib.metadata import version as of  # noqa: PLC0415  # 20 ms that only a conversion and a start need

    return f"mnn {of('MNN')}"


def _find_mappings(folder: Path) -> Iterator[tuple[int, int]]:
    """Yield address and size of each shared mapping of the files of a folder."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith(f"{folder}/") and fields[1].endswith("s"):  # noqa: PLR2004  # proc(5)
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            yield begin, end - begin


@contextmanager
def _catch_output() -> Iterator[Callable[[], str]]:
    """Redirect the output of native code away from standard output, which may carry events.

    Yields a function that returns, afterwards, what was printed.
    """
    caught, said = _output_file(), [""]
    if sys.stdout:
        sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(caught, 1)
    try:
        yield lambda: said[0] or "it does not say why"
    finally:
        _LIBC.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        if size := os.lseek(caught, 0, os.SEEK_END):
            text = os.pread(caught, _SAID_MOST, max(0, size - _SAID_MOST)).decode(errors="replace")
            said[0] = "; ".join(text.split("\n")).strip("; ")
            os.ftruncate(caught, 0)
            os.lseek(caught, 0, os.SEEK_SET)
            log.debug("engine_said", text=said[0])


@functools.cache
def _output_file() -> int:
    return os.memfd_create("engine-said", os.MFD_CLOEXEC)
