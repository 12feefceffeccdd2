"""An engine that loaded is tried out before anybody relies on it."""

from __future__ import annotations

import numpy as np
import pytest

from models.llm import canary
from pipeline.core.errors import ModelError
from tests.llms import FakeEngine


class Parrot(FakeEngine):
    """Goes on with what followed the last time that it read the same ten bytes."""

    forgetful = False

    def forward(self, numbers):
        logits = super().forward(numbers) * 0.01
        if self.forgetful and len(numbers) == 1:
            logits[0] = 9
            return logits
        text = bytes(self.tokens)
        at = text[:-1].find(text[-10:])
        if at >= 0:
            logits[text[at + 10]] = 9
        return logits


def test_an_engine_that_goes_on_with_a_list_passes():
    found = canary.try_engine(Parrot(), "small")
    assert found.best[0] == ord(" ")
    assert found.divergence < 0.1


def test_it_holds_nothing_afterwards():
    engine = Parrot()
    canary.try_engine(engine, "small")
    assert engine.held == 0


def test_an_engine_that_says_something_else_is_refused():
    with pytest.raises(ModelError, match="small: the engine cannot go on with a list"):
        canary.try_engine(FakeEngine(), "small")


def test_an_engine_whose_answers_depend_on_how_it_read_is_refused():
    engine = Parrot()
    engine.forgetful = True
    with pytest.raises(ModelError, match="small: what is read in pieces reads differently"):
        canary.try_engine(engine, "small")


@pytest.mark.parametrize("value", [np.nan, np.inf, np.float32(3.4e38)])
def test_answers_that_are_no_numbers_or_all_the_same_are_refused(value):
    class Broken(FakeEngine):
        def forward(self, numbers):
            return np.full_like(super().forward(numbers), value)

    with pytest.raises(ModelError, match="small: the engine's answers are no numbers"):
        canary.try_engine(Broken(), "small")
