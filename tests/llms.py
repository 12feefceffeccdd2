"""Language models for tests: one that is a few lines of Python, and the boot model as a daemon finds it."""

from __future__ import annotations

import fcntl
import re
import shutil
import zlib

import numpy as np
import pytest

from models import catalog
from models.llm.canary import Canary
from models.llm.engine import Session
from models.llm.folder import ModelManifest, Origin
from models.llm.grammar import Grammars
from models.llm.opening import LanguageModel
from models.llm.tokenizer import TokenVocabulary, _byte_characters
from models.store import ConversionOptions, Store
from models.table import load_table
from pipeline.core.errors import EngineError, ModelError
from tests import boot

BEGIN, END, YES, NO = 256, 257, 258, 259


def byte_words():
    """A vocabulary of the 256 bytes, the two marks of ChatML, and two answers."""
    tokens = [_byte_characters()[value] for value in range(256)] + [
        "<|im_start|>",
        "<|im_end|>",
        "\u0120yes",
        "\u0120no",
    ]
    kinds = [1] * 256 + [3, 3, 1, 1]
    return TokenVocabulary(tokens, kinds, [], (("bytes", False),), END, None, adds_begin=False, template="")


class FakeEngine:
    """Reads bytes; what it thinks may come next is a hash of all that it holds.

    Asked about a note, it says yes where the note has the last word of the incident.
    """

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
        answers = {" yes": [YES], " no": [NO]}
        return answers.get(text) or list(text.encode())

    def forward(self, numbers):
        if self.held + len(numbers) > self.context_tokens:
            raise EngineError("the context is full")
        self.forwards.append(list(numbers))
        self.tokens += numbers
        seed = zlib.crc32(np.array(self.tokens, np.int32).tobytes())
        logits = np.random.default_rng(seed).standard_normal(self.vocabulary).astype(np.float32)
        text = bytes(number for number in self.tokens if number < BEGIN).decode(errors="replace")
        if asked := re.search(r"Incident: ([^\n]*)\nNote: ([^\n]*) =>$", text):
            logits[YES] = 4.0 if asked[1].split()[-1] in asked[2] else -4.0
            logits[NO] = 0.0
        else:
            logits[[YES, NO]] = -99.0
        return logits

    def rewind(self, to):
        assert to <= self.held
        del self.tokens[to:]

    def sleep(self):
        self.slept += 1

    def close(self):
        self.closed += 1


ASKED = "qwen2.5-1.5b.mnn.xz"
"""A graph whose answers about notes are worth something."""


def fake_model(graph="", **changes):
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
        manifest=ModelManifest(1, "fake", {}, template=Origin(graph, "", 0)),
    )


def boot_state(folder=boot.CACHE / "state"):
    """A state folder with the boot model converted and in use; without one, the test is skipped, and says why."""
    try:
        source = boot.gguf()
    except ModelError as error:
        pytest.skip(f"the boot model cannot be had: {error}")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = Store(folder)
        adapter = catalog.verified_path(load_table().source(boot.NAME).adapter)
        found = store.convert(source, boot.NAME, ConversionOptions("keep", adapter), lambda *_: None)
        store.use(f"{found.name}/{found.version}")
    return folder


def copied(state, target):
    """A state folder of a test's own, that it may damage; returns its model."""
    shutil.copytree(state, target, ignore=shutil.ignore_patterns(".mapping-*", "lock"))
    return Store(target).active()
