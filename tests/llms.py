"""Language models for tests: one that is a few lines of Python, and the boot model as a daemon finds it."""

from __future__ import annotations

import fcntl
import shutil
import zlib

import numpy as np

from models.llm.canary import Canary
from models.llm.engine import Session
from models.llm.grammar import Grammars
from models.llm.opening import LanguageModel
from models.llm.tokenizer import Vocabulary, _spelling
from models.store import Store, Wish
from pipeline.core.errors import EngineError
from tests import boot

BEGIN, END = 256, 257


def byte_words():
    """A vocabulary of the 256 bytes and the two marks of ChatML."""
    tokens = [_spelling()[value] for value in range(256)] + ["<|im_start|>", "<|im_end|>"]
    return Vocabulary(tokens, [1] * 256 + [3, 3], [], (("bytes", False),), END, None, adds_begin=False, template="")


class FakeEngine:
    """Reads bytes; what it thinks may come next is a hash of all that it holds."""

    def __init__(self, context_tokens=4096):
        self.words = byte_words()
        self.vocabulary = len(self.words.tokens)
        self.context_tokens = context_tokens
        self.threads = 1
        self.tokens = []
        self.forwards = []
        self.slept = self.closed = 0

    @property
    def held(self):
        return len(self.tokens)

    def encode(self, text):
        return list(text.encode())

    def forward(self, numbers):
        if self.held + len(numbers) > self.context_tokens:
            raise EngineError("the context is full")
        self.forwards.append(list(numbers))
        self.tokens += numbers
        seed = zlib.crc32(np.array(self.tokens, np.int32).tobytes())
        return np.random.default_rng(seed).standard_normal(self.vocabulary).astype(np.float32)

    def rewind(self, to):
        assert to <= self.held
        del self.tokens[to:]

    def sleep(self):
        self.slept += 1

    def close(self):
        self.closed += 1


def fake_model(**changes):
    """A language model around the fake engine."""
    engine = FakeEngine(**changes)
    return LanguageModel(
        name="fake",
        version="1",
        sha256="0" * 64,
        engine=engine,
        session=Session(engine),
        grammars=Grammars(engine.words, engine.encode),
        load_s=0.0,
        mapped=False,
        canary=Canary((), 0.0),
    )


def boot_state(folder=boot.CACHE / "state"):
    """A state folder with the boot model converted and in use. Raises ModelError when it cannot be had."""
    source = boot.gguf()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = Store(folder)
        found = store.convert(source, boot.NAME, Wish("keep"), lambda *_: None)
        store.use(f"{found.name}/{found.version}")
    return folder


def copied(state, target):
    """A state folder of a test's own, that it may damage; returns its model."""
    shutil.copytree(state, target, ignore=shutil.ignore_patterns(".mapping-*", "lock"))
    return Store(target).active()
