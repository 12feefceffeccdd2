from __future__ import annotations

import struct

import pytest

from models.llm import tokenizer
from models.llm.gguf import Gguf
from pipeline.core.errors import ModelError
from tests.ggufs import gguf, vocabulary


@pytest.fixture
def words(tmp_path):
    def read(**changes):
        metadata = vocabulary() | {f"tokenizer.{key.replace('__', '.')}": value for key, value in changes.items()}
        (tmp_path / "m.gguf").write_bytes(gguf(metadata, {}))
        return tokenizer.read_vocabulary(Gguf(tmp_path / "m.gguf"))

    return read


def test_the_file_begins_with_its_kind_the_counts_and_the_control_tokens(words):
    assert tokenizer.encode_mtok(words()).startswith(b"430 4\n1 1 0\n258 258\n\0\x06" + struct.pack("<I", 2))


def test_it_names_the_token_that_a_text_begins_with(words):
    found = tokenizer.encode_mtok(words(ggml__bos_token_id=258, ggml__add_bos_token=True))
    assert found.startswith(b"430 4\n1 1 1\n258 258 258\n")
    assert found.endswith(struct.pack("<H", 10) + b"<|im_end|>")


def test_tokens_are_sorted_by_their_bytes_and_merges_name_them_by_number(words):
    found = tokenizer.encode_mtok(words())
    listed = found.index(struct.pack("<BIBBI", 0, 259, 0, 0, 1)) + 11
    assert found[listed:].startswith(struct.pack("<H", 1) + b"!" + struct.pack("<I", ord("!")))
    assert struct.pack("<III", ord("a"), ord("b"), 0) in found


def test_every_merge_must_join_known_tokens(words):
    with pytest.raises(ModelError, match="'a xyz'"):
        tokenizer.encode_mtok(words(ggml__merges=["a xyz"]))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"ggml__model": "llama"}, "kind llama"),
        ({"ggml__pre": "tekken"}, "tekken.*smollm"),
        ({"ggml__eos_token_id": 99999}, "contradicts"),
        ({"ggml__token_type": [1]}, "contradicts"),
    ],
)
def test_a_vocabulary_that_is_not_known_is_refused(words, changes, text):
    with pytest.raises(ModelError, match=text):
        words(**changes)


def test_text_is_put_together_from_bytes(words):
    decoder = tokenizer.TokenDecoder(words())
    assert decoder.text([*"é👍".encode(), 256]) == "é👍ab"
    assert [decoder.feed(byte) for byte in "é".encode()] == ["", "é"]


def test_control_tokens_are_no_text_and_what_is_matched_as_a_whole_is(words):
    assert tokenizer.TokenDecoder(words()).text([257, 258, ord("x")]) == "<fim>x"


def test_a_character_that_never_ends_is_replaced_and_forgotten(words):
    decoder = tokenizer.TokenDecoder(words())
    assert decoder.text([0xC3]) == "\ufffd"
    assert decoder.text([ord("a")]) == "a"


@pytest.mark.parametrize("number", [-1, 100_000])
def test_a_number_out_of_the_vocabulary_is_an_error(words, number):
    with pytest.raises(IndexError):
        tokenizer.TokenDecoder(words()).feed(number)


@pytest.mark.parametrize(
    "changes",
    [{}, {"ggml__bos_token_id": 258, "ggml__add_bos_token": True}, {"ggml__pre": "qwen2"}, {"ggml__pre": "gpt-2"}],
)
def test_the_file_can_be_read_back(words, tmp_path, changes):
    written = words(**changes)
    (tmp_path / "t").write_bytes(tokenizer.encode_mtok(written))
    assert tokenizer.read(tmp_path / "t") == written


def test_a_file_that_is_no_tokenizer_or_cut_short_is_refused(words, tmp_path):
    whole = tokenizer.encode_mtok(words())
    for size in range(0, len(whole), 97):
        (tmp_path / "t").write_bytes(whole[:size])
        with pytest.raises(ModelError, match="is no tokenizer of ours"):
            tokenizer.read(tmp_path / "t")
    with pytest.raises(ModelError, match="cannot read"):
        tokenizer.read(tmp_path / "absent")


def test_text_is_made_without_a_look_at_the_whole_vocabulary(words):
    class Watched(list):
        looks = 0

        def __getitem__(self, at):
            Watched.looks += 1
            return super().__getitem__(at)

    known = words()
    decoder = tokenizer.TokenDecoder(known._replace(tokens=Watched(known.tokens)))
    assert decoder.text([ord("x"), ord("y")]) == "xy"
    assert Watched.looks == 2
