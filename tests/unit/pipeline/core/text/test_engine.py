"""The engine of sentences, with a vocabulary of its own: how many of a thing there are, and for how long."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from pipeline.core.text import engine
from pipeline.core.text.engine import SPAN, Claim, any_of, at_place, duration_matches, make_optional


class Boats(NamedTuple):
    """What the sentences are about."""

    number: int
    minutes: int


PARTS = (
    lambda boats: any_of([f" {boats.number} boats"]),
    lambda boats: make_optional(any_of([" wait", " lie"])) if boats.number else "",
    lambda boats: any_of([f" for {boats.minutes} minutes"]) if boats.minutes else "",
)
STEPS = (
    engine.make_step(lambda rest, _: (rest, "" if rest.endswith(".") else "it is no sentence")),
    engine.take_claims(
        (
            Claim("how many", r"(\d+) boats", lambda said, boats: int(said[1]) == boats.number),
            Claim("how long", SPAN, lambda said, boats: duration_matches(said, boats.minutes * 60, 1800.0)),
        )
    ),
    engine.check_words(lambda word, _: word in {"wait", "lie", "for"}, ".:"),
    engine.check_signs(".", ".:"),
    engine.check_frequencies(lambda boats: {"how many": 1, "how long": int(boats.minutes > 0)}),
)


def test_a_grammar_is_the_parts_that_have_something_to_say():
    assert engine.build_grammar(Boats(2, 5), PARTS) == 'start: " 2 boats" ((" wait" | " lie"))? " for 5 minutes" "."'
    assert engine.build_grammar(Boats(0, 0), PARTS) == 'start: " 0 boats" "."'


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("2 boats wait for 5 minutes.", ""),
        ("2 boats wait for 300 seconds.", ""),
        ("2 boats wait for 5 minutes", "it is no sentence"),
        ("3 boats wait for 5 minutes.", "3 boats is no fact"),
        ("2 boats wait for 6 minutes.", "6 minutes is no fact"),
        ("2 boats burn for 5 minutes.", "burn is no fact"),
        ("2 boats wait for 5 minutes!.", "! is no fact"),
        ("2 boats wait.", "it does not say how long"),
        ("2 boats, 2 boats wait for 5 minutes.", ", is no fact"),
        ("2 boats 2 boats wait for 5 minutes.", "it says how many twice"),
    ],
)
def test_a_sentence_says_every_fact_once_and_nothing_else(sentence, fault):
    assert engine.find_fault(sentence, Boats(2, 5), STEPS) == fault


def test_the_first_fault_ends_the_reading():
    read = []
    steps = (engine.make_step(lambda rest, _: (rest, "no")), engine.make_step(lambda rest, _: (read.append(rest), "")))
    assert engine.find_fault("x.", None, steps) == "no"
    assert read == []


@pytest.mark.parametrize(
    ("name", "expected"), [("loading bay", '" the"? " loading bay"'), ("hall 2", '" hall 2"'), ("21:30", '" 21:30"')]
)
def test_a_place_has_an_article_or_none_where_its_name_is_made_of_words(name, expected):
    assert at_place(name, name) == expected
