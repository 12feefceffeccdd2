"""Check that a sentence about one incident states only facts; independent of the grammar that it was written with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.text import engine
from pipeline.core.text.engine import BLANK, SPAN, Claim, duration_matches
from pipeline.core.text.english import CARDINALS, ORDINALS, one_line, pluralise
from pipeline.core.text.sentences import rule_phrases, verb_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core.facts import Facts

MAX_CHARACTERS = 280
"""Characters of a summary; the schema of events allows no more."""

_NEUTRAL_WORDS = frozenset(
    (
        *(
            "a",
            "an",
            "the",
            "this",
            "and",
            "it",
            "there",
            "that",
            "they",
            "which",
            "while",
            "perhaps",
            "seen",
            "noticed",
        ),
        *("is", "are", "was", "were", "be", "been", "being", "has", "have", "to"),
        *("about", "around", "at", "by", "for", "from", "in", "near", "of", "on", "with", "within"),
    )
)
"""English words that state no fact by themselves."""

_MAX_COMMON_WORD = 3  # characters; a name this short may also be an ordinary word
_HOURS_SLACK_S = 1800.0  # for a duration in hours


def _direction_is(*ways: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.track.direction in ways


def _speed_is(*paces: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.track.speed in paces


def _kind_is(kind: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.object.class_ != "none" and verb_group(facts.object.class_) == kind


def _is_still(facts: Facts) -> bool:
    return facts.track.speed == "still"


def _is_moving(facts: Facts) -> bool:
    return facts.track.speed != "still" or facts.track.direction != "none" or facts.object.class_ == "none"


def _is_several(facts: Facts) -> bool:
    return facts.object.count > 1


# fmt: off
_CLAIMS: dict[str, Callable[[Facts], bool]] = {
    **dict.fromkeys(("stand", "stands", "standing", "wait", "waits", "waiting", "stay", "stays", "staying",
                     "remain", "remains"), _is_still),
    **dict.fromkeys(("move", "moves", "moving", "movement", "wander", "wanders", "something"), _is_moving),
    **dict.fromkeys(("walk", "walks", "walking"), lambda facts: _is_moving(facts) and _kind_is("person")(facts)),
    **dict.fromkeys(("drive", "drives", "driving"), lambda facts: _is_moving(facts) and _kind_is("vehicle")(facts)),
    **dict.fromkeys(("run", "runs", "running", "hurry", "hurries"), _speed_is("run", "fast")),
    **dict.fromkeys(("fast", "speed", "speeds"), _speed_is("run", "fast")),
    "slowly": _speed_is("slow"),
    **dict.fromkeys(("pass", "passes", "passing", "along", "past"), _direction_is("along")),
    **dict.fromkeys(("enter", "enters", "entering", "into"), _direction_is("in")),
    **dict.fromkeys(("leave", "leaves", "leaving", "out", "away"), _direction_is("out", "away")),
    **dict.fromkeys(("approach", "approaches", "toward"), _direction_is("toward")),
    "night": lambda facts: facts.light == "night",
    "day": lambda facts: facts.light == "day",
    **dict.fromkeys(("group", "people"), _is_several),
    **dict.fromkeys(("somebody", "someone"), lambda facts: _kind_is("person")(facts) and not _is_several(facts)),
    **dict.fromkeys(("visit", "visits", "hour", "number"), lambda facts: facts.track.visits_last_hour > 1),
}
# fmt: on
"""Words that state a fact, each with the test whether it is true."""


def find_fault(sentence: str, facts: Facts) -> str:
    """Return the first fault of a sentence, in English; empty if it states only facts.

    Args:
        sentence: An English sentence.
        facts: All facts of the incident.
    """
    return engine.find_fault(sentence, facts, _STEPS)


def _check_form(sentence: str, _facts: Facts) -> tuple[str, str]:
    if len(sentence) > MAX_CHARACTERS:
        return sentence, f"it has {len(sentence)} characters, {MAX_CHARACTERS} are allowed"
    if not sentence.endswith(".") or not (sentence[:1].isupper() or sentence[:1].isdigit()):
        return sentence, "it is no sentence"
    return sentence, ""


def _take_names(sentence: str, facts: Facts) -> tuple[str, str]:
    for name in sorted((one_line(name) for name in (facts.zone, *facts.tags)), key=len, reverse=True):
        sentence, count = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", BLANK, sentence, flags=re.IGNORECASE)
        if count > 1 and len(name) > _MAX_COMMON_WORD:
            return sentence, f"it says {name} twice"
    return sentence, ""


def _take_rules(sentence: str, facts: Facts) -> tuple[str, str]:
    for said in rule_phrases(facts):
        sentence = sentence.replace(said, BLANK)
    return sentence, ""


def _is_known(word: str, facts: Facts) -> bool:
    small = word.casefold()
    if small in _CLAIMS:
        return _CLAIMS[small](facts)
    if word[0].isdigit():
        return word in {facts.local_time, str(facts.object.count), str(facts.track.visits_last_hour)}
    if small in CARDINALS:
        return CARDINALS.index(small) == max(facts.object.count, 1)
    if small in ORDINALS:
        return ORDINALS.index(small) == facts.track.visits_last_hour > 1
    return small in _NEUTRAL_WORDS or small == facts.weekday.casefold() or small in _class_words(facts)


def _class_words(facts: Facts) -> set[str]:
    """The words of the class: singular for one thing, plural for several; empty for movement without a class."""
    label = facts.object.class_
    if label == "none":
        return set()
    return set((pluralise(label) if facts.object.count > 1 else label).split())


_STEPS: tuple[engine.Step[Facts], ...] = (
    engine.make_step(_check_form),
    engine.make_step(_take_names),
    engine.take_claims(
        (Claim("how long", SPAN, lambda said, facts: duration_matches(said, facts.track.dwell_s, _HOURS_SLACK_S)),)
    ),
    engine.make_step(_take_rules),
    engine.check_words(_is_known, joins=".:"),
)
"""How a sentence about an incident is checked, in this order."""
