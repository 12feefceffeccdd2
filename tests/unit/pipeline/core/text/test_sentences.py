"""What a model may say of an incident, and what of it is true."""

from __future__ import annotations

from typing import get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.llm.grammar import Grammars
from models.llm.tokenizer import TokenDecoder
from pipeline.core import vocabulary
from pipeline.core.facts import ObjectFact, TrackFact
from pipeline.core.incident.rules import TABLE
from pipeline.core.text import filters
from pipeline.core.text.english import duration_in_words
from pipeline.core.text.grounding import find_fault
from pipeline.core.text.sentences import build_grammar
from pipeline.resources import config_file
from tests.fakes import facts
from tests.llms import FakeEngine, byte_words

LISTS = filters.load(config_file("filters.toml"))
NAMES = st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1, max_size=12).filter(lambda text: text.strip())
ZONES = ["loading bay", "hall 2", "\u88c5\u5378\u533a", 'the "old" gate', "clip_1.mp4"]
RULES = [*(rule.name for rule in TABLE), "fence_climb"]
TAGS = ["backpack", "van", "tools", "\u64ac\u68cd", "orange crate"]
ANY_FACTS = st.builds(
    lambda thing, track, **more: facts(object=thing, track=track, **more),
    st.builds(
        ObjectFact,
        class_=st.sampled_from(["none", "person", "child", "truck", "dog", "umbrella", "bus"]),
        likelihood=st.just(0.9),
        count=st.integers(0, 30),
    ),
    st.builds(
        TrackFact,
        dwell_s=st.integers(0, 90_000),
        direction=st.sampled_from(get_args(vocabulary.Direction)),
        speed=st.sampled_from(get_args(vocabulary.Speed)),
        visits_last_hour=st.integers(1, 30),
    ),
    zone=st.one_of(st.sampled_from(ZONES), NAMES),
    tags=st.lists(st.sampled_from(TAGS), max_size=3, unique=True).map(tuple),
    light=st.sampled_from(get_args(vocabulary.Light)),
    local_time=st.sampled_from(["", "00:10", "12:00"]),
    rules_hit=st.lists(st.sampled_from(RULES), max_size=4, unique=True).map(tuple),
)


@pytest.fixture(scope="module")
def write():
    """Write a sentence, choosing blindly among what a grammar allows."""
    words = byte_words()
    grammars = Grammars(words, FakeEngine().encode)

    def written(known, seed=0):
        choice = np.random.default_rng(seed)
        matcher, said = grammars.matcher(build_grammar(known)), []
        while not matcher.is_finished:
            said += matcher.take_forced() or [matcher.take_best(choice.standard_normal(258).astype(np.float32))]
        text = TokenDecoder(words).text(number for number in said if number not in words.stops)
        assert text.startswith(" ")
        return text[1:]

    return written


@settings(max_examples=300)
@given(known=ANY_FACTS, seed=st.integers(0, 1000))
def test_whatever_the_grammar_allows_is_grounded(write, known, seed):
    text = write(known, seed)
    assert not find_fault(text, known), text


@settings(max_examples=200)
@given(known=ANY_FACTS, seed=st.integers(0, 1000))
def test_whatever_the_grammar_allows_may_be_said(write, known, seed):
    text = write(known, seed)
    assert not LISTS.match_output(text, filters.names_in_facts(known)), text


def test_a_model_is_left_to_choose_words_and_what_to_tell(write):
    known = facts(tags=("backpack",), direction="in", speed="walk", zone="hall")
    said = {write(known, seed) for seed in range(60)}
    assert "A person walks into the hall." in {text.replace("One ", "A ") for text in said}
    assert len(said) > 30


def test_rules_that_were_hit_are_always_told(write):
    known = facts(rules_hit=("after_hours", "loiter", "zone_entered", "fence_climb"))
    for seed in range(20):
        assert write(known, seed).endswith(", outside opening hours, loitering and rule fence climb.")


def test_what_nobody_recognised_is_called_movement(write):
    assert {write(facts("none", count=0), seed).split()[0] for seed in range(20)} == {"Movement", "Something"}


def test_without_a_clock_no_time_is_told(write):
    known = facts(local_time="", weekday="", dwell_s=0)
    assert all(" at 1" not in write(known, seed) and "Sunday" not in write(known, seed) for seed in range(30))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0 seconds"), (1, "1 second"), (89, "89 seconds"), (90, "2 minutes"), (5400, "1.5 hours"), (7200, "2 hours")],
)
def test_durations_are_spoken_as_people_do(seconds, expected):
    assert duration_in_words(seconds) == expected


KNOWN = facts(
    count=2,
    zone="north fence",
    tags=("crowbar",),
    local_time="02:40",
    weekday="Thursday",
    light="night",
    dwell_s=35,
    direction="in",
    speed="slow",
    visits=3,
    rules_hit=("after_hours",),
)


@pytest.mark.parametrize(
    "sentence",
    [
        "Two people walk slowly into the north fence, outside opening hours.",
        "Two people with a crowbar are at the north fence at night on Thursday at 02:40 for 35 seconds.",
        "2 people enter the North Fence for 35 s, the third visit within an hour.",
    ],
)
def test_a_sentence_of_facts_is_grounded(sentence):
    assert find_fault(sentence, KNOWN) == ""


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Two people with a rifle enter the north fence.", "rifle is no fact"),
        ("A person enters the north fence.", "person is no fact"),
        ("Three people enter the north fence.", "Three is no fact"),
        ("Two people enter the north fence by day.", "day is no fact"),
        ("Two people leave the north fence.", "leave is no fact"),
        ("Two people run into the north fence.", "run is no fact"),
        ("Two people stand at the north fence.", "stand is no fact"),
        ("Two people enter the north fence for 5 minutes.", "5 minutes is no fact"),
        ("Two people enter the north fence at 14:40.", "14:40 is no fact"),
        ("Two people enter the north fence on Friday.", "Friday is no fact"),
        ("Two people enter the north fence, the fourth visit.", "fourth is no fact"),
        ("Two people do not enter the north fence.", "do is no fact"),
        ("Two people enter the north fence at the north fence.", "it says north fence twice"),
        ("Two people enter the fence of A0-17X.", "fence is no fact"),
        ("two people enter the north fence.", "it is no sentence"),
        ("Two people enter the north fence", "it is no sentence"),
        ("两个人进入 north fence.", "it is no sentence"),
        ("Zwei people enter the north fence.", "Zwei is no fact"),
        (f"Two people {'at ' * 100}the north fence.", "it has 327 characters, 280 are allowed"),
    ],
)
def test_a_sentence_that_says_more_than_the_facts_is_not(sentence, reason):
    assert find_fault(sentence, KNOWN) == reason


def test_a_duration_may_be_told_in_another_unit_if_it_is_the_same():
    known = msgspec.structs.replace(facts(dwell_s=300), zone="gate")
    assert find_fault("A person stands at the gate for 300 seconds.", known) == ""
    assert find_fault("A person stands at the gate for 5 minutes.", known) == ""
    assert find_fault("A person stands at the gate for 299 seconds.", known) == "299 seconds is no fact"


@pytest.mark.parametrize("zone", ["yard\x00 7", "yard\x7f7", "\x1b yard 7", "yard\t\n7"])
def test_a_name_stands_in_a_sentence_without_its_control_characters(zone):
    known = msgspec.structs.replace(facts(), zone=zone)
    assert '" yard 7"' in build_grammar(known)
    assert find_fault("A person stands at yard 7.", known) == ""
