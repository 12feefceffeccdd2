"""Prompts are read once: what is still held is not read again."""

from __future__ import annotations

import pytest

from models.llm.engine import Session, split_chunks
from pipeline.core.errors import EngineError
from tests.llms import FakeEngine

FIXED, FACTS, OTHER = tuple(range(100)), tuple(range(7)), tuple(range(10, 15))


@pytest.fixture
def session():
    return Session(FakeEngine())


def read(session, *parts):
    """How many tokens each forward took."""
    return list(session.read(parts))


def test_a_part_is_cut_into_few_sizes_the_largest_first(session):
    assert read(session, FIXED, FACTS) == [32, 32, 32, 4, 4, 2, 1]


@pytest.mark.parametrize("size", [*range(1, 70), 1000])
def test_chunks_are_the_whole_sequence_in_powers_of_two(size):
    pieces = list(split_chunks(range(size)))
    assert [number for piece in pieces for number in piece] == list(range(size))
    assert {len(piece) for piece in pieces} <= {1, 2, 4, 8, 16, 32}


def test_leading_parts_that_are_still_held_are_not_read_again(session):
    read(session, FIXED, FACTS)
    assert read(session, FIXED, OTHER) == [4, 1]
    assert session.cached == len(FIXED)
    assert session.engine.tokens == [*FIXED, *OTHER]


def test_logits_depend_on_the_prompt_alone(session):
    read(session, FIXED, OTHER)
    wanted = session.logits.copy()
    for before in [(FACTS,), (FIXED, FACTS), (FIXED, OTHER), (FIXED, OTHER, FACTS)]:
        read(session, *before)
        read(session, FIXED, OTHER)
        assert (session.logits == wanted).all()


def test_a_part_that_only_begins_like_a_held_one_is_read_whole(session):
    read(session, FIXED, FACTS)
    read(session, FIXED, FACTS[:4])
    assert session.cached == len(FIXED)


def test_a_prompt_of_which_all_is_held_reads_its_last_part_again(session):
    read(session, FIXED, FACTS)
    assert read(session, FIXED, FACTS) == [4, 2, 1]


def test_what_was_said_is_forgotten_with_the_next_prompt(session):
    read(session, FIXED, FACTS)
    list(session.say([1, 2, 3]))
    assert session.engine.tokens == [*FIXED, *FACTS, 1, 2, 3]
    read(session, FIXED, OTHER)
    assert session.engine.tokens == [*FIXED, *OTHER]


def test_a_reading_that_was_broken_off_leaves_no_half_read_part_behind(session):
    reading = session.read([FIXED, FACTS])
    next(reading)
    reading.close()
    read(session, FIXED, OTHER)
    assert session.cached == 0
    assert session.engine.tokens == [*FIXED, *OTHER]


def test_a_first_part_that_was_not_held_is_a_miss(session):
    read(session, FIXED, FACTS)
    read(session, FIXED, OTHER)
    read(session, OTHER, FACTS)
    read(session, FIXED, FACTS)
    assert session.counts.misses == 3
    assert (session.counts.prompt, session.counts.cached) == (107 + 105 + 12 + 107, 100)


def test_a_prompt_that_does_not_fit_is_refused_before_anything_is_forgotten():
    session = Session(FakeEngine(context_tokens=128))
    read(session, FIXED, FACTS)
    with pytest.raises(EngineError, match=r"200 tokens, the context takes 128: .*describe.context_tokens"):
        read(session, FIXED, FIXED)
    assert read(session, FIXED, OTHER) == [4, 1]


@pytest.mark.parametrize("parts", [(), ((),), (FIXED, ())])
def test_an_empty_prompt_is_refused(session, parts):
    with pytest.raises(EngineError, match="empty"):
        read(session, *parts)
