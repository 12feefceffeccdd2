"""Whether a sentence says nothing but the facts. It does not know how the sentence was made, and trusts nobody."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.text import engine
from pipeline.core.text.engine import BLANK, SPAN, Stated, duration_matches
from pipeline.core.text.english import CARDINALS, ORDINALS, plain, plural
from pipeline.core.text.sentences import group, rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core.facts import Facts

MOST = 280
"""Characters of a summary; the events' schema takes no more."""

_FREE = frozenset(
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
"""Words of English that state nothing by themselves."""

_A_WORD = 3  # characters up to which a name may be a word of the language too
_HOURS_SLACK_S = 1800.0  # of a duration in hours


def _way(*ways: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.track.direction in ways


def _pace(*paces: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.track.speed in paces


def _of(kind: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.object.class_ != "none" and group(facts.object.class_) == kind


def _stands(facts: Facts) -> bool:
    return facts.track.speed == "still"


def _goes(facts: Facts) -> bool:
    return facts.track.speed != "still" or facts.track.direction != "none" or facts.object.class_ == "none"


def _several(facts: Facts) -> bool:
    return facts.object.count > 1


# fmt: off
_CLAIMS: dict[str, Callable[[Facts], bool]] = {
    **dict.fromkeys(("stand", "stands", "standing", "wait", "waits", "waiting", "stay", "stays", "staying",
                     "remain", "remains"), _stands),
    **dict.fromkeys(("move", "moves", "moving", "movement", "wander", "wanders", "something"), _goes),
    **dict.fromkeys(("walk", "walks", "walking"), lambda facts: _goes(facts) and _of("person")(facts)),
    **dict.fromkeys(("drive", "drives", "driving"), lambda facts: _goes(facts) and _of("vehicle")(facts)),
    **dict.fromkeys(("run", "runs", "running", "hurry", "hurries", "fast", "speed", "speeds"), _pace("run", "fast")),
    "slowly": _pace("slow"),
    **dict.fromkeys(("pass", "passes", "passing", "along", "past"), _way("along")),
    **dict.fromkeys(("enter", "enters", "entering", "into"), _way("in")),
    **dict.fromkeys(("leave", "leaves", "leaving", "out", "away"), _way("out", "away")),
    **dict.fromkeys(("approach", "approaches", "toward"), _way("toward")),
    "night": lambda facts: facts.light == "night",
    "day": lambda facts: facts.light == "day",
    **dict.fromkeys(("group", "people"), _several),
    **dict.fromkeys(("somebody", "someone"), lambda facts: _of("person")(facts) and not _several(facts)),
    **dict.fromkeys(("visit", "visits", "hour", "number"), lambda facts: facts.track.visits_last_hour > 1),
}
# fmt: on
"""Words that state something, and when that is so."""


def fault(sentence: str, facts: Facts) -> str:
    """What is wrong with a sentence; empty: nothing.

    Args:
        sentence: In English.
        facts: All that is known.
    """
    return engine.fault(sentence, facts, _STEPS)


def _whole(sentence: str, _facts: Facts) -> tuple[str, str]:
    if len(sentence) > MOST:
        return sentence, f"it has {len(sentence)} characters, {MOST} are allowed"
    if not sentence.endswith(".") or not (sentence[:1].isupper() or sentence[:1].isdigit()):
        return sentence, "it is no sentence"
    return sentence, ""


def _without_names(sentence: str, facts: Facts) -> tuple[str, str]:
    for name in sorted((plain(name) for name in (facts.zone, *facts.tags)), key=len, reverse=True):
        sentence, count = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", BLANK, sentence, flags=re.IGNORECASE)
        if count > 1 and len(name) > _A_WORD:
            return sentence, f"it says {name} twice"
    return sentence, ""


def _without_rules(sentence: str, facts: Facts) -> tuple[str, str]:
    for said in rules(facts):
        sentence = sentence.replace(said, BLANK)
    return sentence, ""


def _known(word: str, facts: Facts) -> bool:
    small = word.casefold()
    if small in _CLAIMS:
        return _CLAIMS[small](facts)
    if word[0].isdigit():
        return word in {facts.local_time, str(facts.object.count), str(facts.track.visits_last_hour)}
    if small in CARDINALS:
        return CARDINALS.index(small) == max(facts.object.count, 1)
    if small in ORDINALS:
        return ORDINALS.index(small) == facts.track.visits_last_hour > 1
    return small in _FREE or small == facts.weekday.casefold() or small in _names(facts)


def _names(facts: Facts) -> set[str]:
    """What the thing may be called: one is named in the singular, several in the plural."""
    label = facts.object.class_
    if label == "none":
        return set()
    return set((plural(label) if facts.object.count > 1 else label).split())


_STEPS: tuple[engine.Step[Facts], ...] = (
    engine.step_from(_whole),
    engine.step_from(_without_names),
    engine.phrases(
        (Stated("how long", SPAN, lambda said, facts: duration_matches(said, facts.track.dwell_s, _HOURS_SLACK_S)),)
    ),
    engine.step_from(_without_rules),
    engine.words(_known, joins=".:"),
)
"""How a sentence about an incident is read."""
