"""The boot model, converted and loaded in the engine."""

from __future__ import annotations

import numpy as np
import pytest

from models.llm import tokenizer
from pipeline.core.errors import ModelError
from tests import boot
from tests.reference import Reference, divergence

PINNED = {  # with the recipe keep; of an implementation of its own, and of numpy 1.26 and 2.4
    "llm.mnn": "d1f2e1540d50eab1df9a85afcab2f5d513f849543751ab681c743ca7d17238a7",
    "llm.mnn.weight": "f55e42af0e42bd25ef06a1bb5eefd8f43f77689b001f4096f26fd8a55cfe25da",
    "tokenizer.mtok": "1a6735f7050cbf294a4cdb2766cf11225e8f05032d0d0376b9cbdb68b951225c",
}
TOKENS = [  # by Hugging Face's tokenizers 0.23.3: single digits, then GPT-2's bytes
    ("Hello  world", [19556, 216, 905]),
    (" \n ", [3717, 216]),
    ("part A0-17X.", [2541, 330, 32, 29, 33, 39, 72, 30]),
    ("  12", [256, 33, 34]),
    ("a 1 b  2", [81, 216, 33, 278, 256, 34]),
    ("½ ¾ ²", [16738, 216, 43124, 216, 19133]),
    ("你好\uff0c世界", [18645, 250, 48392, 138, 12831, 7906, 240, 178, 239, 230]),
    ("👨\u200d👩 family", [10813, 235, 118, 321, 231, 10813, 235, 119, 1564]),
    ("<|im_start|>user\nHi<|im_end|>\n", [1, 4093, 198, 26843, 2, 198]),
    ("\u200bzero\u200bwidth", [321, 229, 13723, 321, 229, 6930]),
    ("    indented code", [333, 641, 6574, 2909]),
    ("2026-11-29T19:03", [34, 32, 34, 38, 29, 33, 33, 29, 34, 41, 68, 33, 41, 42, 32, 35]),
    ("cafe\u0301", [83, 9980, 151, 219]),
]
TEXT = """At 14:32 a delivery van stopped at the north gate. Two people got out and carried boxes to the loading dock. \
The camera lost sight of them for 40 seconds. Part A0-17X was left beside the fence, and nobody came back for it."""


@pytest.fixture(scope="module")
def source():
    try:
        return boot.gguf()
    except ModelError as error:
        pytest.skip(f"the boot model cannot be had: {error}")


@pytest.fixture(scope="module")
def kept(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("llm") / "keep"
    return folder, boot.converted(folder, "keep")


def test_the_files_are_those_that_were_measured(kept):
    _, manifest = kept
    assert {name: manifest.files[name].sha256 for name in PINNED} == PINNED


def test_a_second_conversion_has_the_same_bytes(kept, tmp_path):
    assert boot.converted(tmp_path / "again", "keep") == kept[1]


def test_it_knows_the_capital_of_france(kept):
    found = boot.ask(kept[0], prompt="The capital of France is", most=4)
    assert found["said"].startswith(" Paris.")


def test_text_becomes_the_tokens_that_the_model_was_trained_with(kept):
    found = boot.ask(kept[0], texts=[text for text, _ in TOKENS])
    assert found["ids"] == [numbers for _, numbers in TOKENS]


def test_tokens_become_the_text_that_they_were(kept):
    decoder = tokenizer.TokenDecoder(tokenizer.read(kept[0] / "tokenizer.mtok"))
    plain = [(text, numbers) for text, numbers in TOKENS if "<|" not in text]
    assert [decoder.text(numbers) for _, numbers in plain] == [text for text, _ in plain]


@pytest.mark.parametrize(("recipe", "most", "least"), [("keep", 0.02, 0.9), ("mixed", 0.4, 0.6)])
def test_it_is_close_to_the_model_in_float32(source, tmp_path, recipe, most, least):
    boot.converted(tmp_path / "m", recipe)
    numbers = boot.ask(tmp_path / "m", texts=[TEXT])["ids"][0]
    boot.ask(tmp_path / "m", numbers=numbers, logits=str(tmp_path / "logits.npy"))
    divergences, same = divergence(Reference(source).logits(numbers), np.load(tmp_path / "logits.npy"))
    assert np.median(divergences) < most
    assert same > least
