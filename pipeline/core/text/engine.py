"""Build the grammar of the sentences that a language model may write, and check a written sentence against facts.

Each subject (an incident, a group of incidents) brings two vocabularies: the parts of its grammar, and the steps that
check a sentence. The two share no code, so that the check finds mistakes of the grammar.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeAlias, TypeVar

Subject = TypeVar("Subject")
"""What a sentence is about."""

Part: TypeAlias = Callable[[Subject], str]
"""Returns the grammar of one part of the sentence; empty if the subject has no such part."""

BLANK = " · "
"""Replaces a fact or a name that was checked, so that the words on its two sides do not join."""

SPAN = r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>seconds?|s|minutes?|min|hours?|h)\b"
"""Regular expression of a duration, with the groups that `duration_matches` reads."""
_UNITS_S = {"s": 1, "m": 60, "h": 3600}


# The grammar


def build_grammar(subject: Subject, parts: Iterable[Part[Subject]]) -> str:
    """Build a grammar, in llguidance's variant of Lark, of all true sentences; each sentence begins with a space."""
    built = (part(subject) for part in parts)
    return f'start: {" ".join(part for part in built if part)} "."'


def any_of(texts: Iterable[str]) -> str:
    """Return a Lark expression that matches exactly one of the texts; empty if there are none."""
    found = list(texts)
    quoted = " | ".join(json.dumps(text, ensure_ascii=False) for text in found)
    return f"({quoted})" if len(found) > 1 else quoted


def make_optional(grammar: str) -> str:
    """Return a Lark expression that also matches nothing; empty if `grammar` is empty."""
    return f"({grammar})?" if grammar else ""


def at_place(name: str, shown: str) -> str:
    """Return a Lark expression for a place: its shown name, with an optional `the` if the name has only letters."""
    named = any_of([f" {shown}"])
    return f'" the"? {named}' if all(letter.isalpha() or letter.isspace() for letter in name) else named


# The check of a sentence


class Progress(NamedTuple):
    """The state of a check after some steps.

    Attributes:
        rest: The sentence, with the checked phrases replaced by `BLANK`.
        fault: The first fault that was found, in English; empty if there is none.
        stated: How often each fact was stated.
    """

    rest: str
    fault: str = ""
    stated: Mapping[str, int] = {}


Step: TypeAlias = Callable[[Progress, Subject], Progress]
"""Checks a part of the rest of a sentence."""


class Claim(NamedTuple, Generic[Subject]):
    """A kind of phrase that states a fact.

    Attributes:
        fact: The name of the fact, such as `how long`.
        pattern: Regular expression of the phrase.
        holds: Tells whether a match of the pattern is true of the subject.
    """

    fact: str
    pattern: str
    holds: Callable[[re.Match[str], Subject], bool]


def find_fault(sentence: str, subject: Subject, steps: Iterable[Step[Subject]]) -> str:
    """Return the first fault of a sentence, in English; empty if it has none."""
    read = Progress(sentence)
    for step in steps:
        read = step(read, subject)
        if read.fault:
            break
    return read.fault


def make_step(read_part: Callable[[str, Subject], tuple[str, str]]) -> Step[Subject]:
    """Make a step from a function that maps the rest of a sentence to the new rest and a fault (empty: none)."""

    def step(read: Progress, subject: Subject) -> Progress:
        rest, found = read_part(read.rest, subject)
        return read._replace(rest=rest, fault=found)

    return step


def take_claims(table: Iterable[Claim[Subject]]) -> Step[Subject]:
    """Make a step that checks and removes the phrases of a table, in its order; each must be true of the subject."""
    rows = tuple(table)

    def step(read: Progress, subject: Subject) -> Progress:
        rest, stated = read.rest, Counter(read.stated)
        for claim in rows:
            for said in re.finditer(claim.pattern, rest):
                if not claim.holds(said, subject):
                    return Progress(rest, f"{said[0]} is no fact", stated)
                stated[claim.fact] += 1
            rest = re.sub(claim.pattern, BLANK, rest)
        return Progress(rest, "", stated)

    return step


def check_words(known: Callable[[str, Subject], bool], joins: str) -> Step[Subject]:
    """Make a step that refuses unknown words and numbers; `joins` are the signs that join digits, as in 12:30."""
    pattern = _word_pattern(joins)

    def step(read: Progress, subject: Subject) -> Progress:
        unknown = next((word for word in pattern.findall(read.rest) if not known(word, subject)), None)
        return read if unknown is None else read._replace(fault=f"{unknown} is no fact")

    return step


def check_signs(allowed: str, joins: str) -> Step[Subject]:
    """Make a step that refuses all signs but these, apart from words and numbers."""
    pattern = _word_pattern(joins)

    def step(read: Progress, _subject: Subject) -> Progress:
        found = set(pattern.sub("", read.rest)) - set(f"{BLANK}{allowed}")
        return read._replace(fault=f"{min(found)} is no fact") if found else read

    return step


def check_frequencies(expected: Callable[[Subject], Mapping[str, int]]) -> Step[Subject]:
    """Make a step that refuses a sentence that states a fact more or less often than `expected` says."""

    def step(read: Progress, subject: Subject) -> Progress:
        for fact, number in expected(subject).items():
            stated = read.stated.get(fact, 0)
            if stated != number:
                return read._replace(fault=f"it does not say {fact}" if stated < number else f"it says {fact} twice")
        return read

    return step


def duration_matches(said: re.Match[str], seconds: int, hours_slack_s: float) -> bool:
    """Tell whether a match of `SPAN` is the measured duration, rounded to its unit.

    Seconds must be exact, minutes within 30 s, hours within `hours_slack_s`.
    """
    size = _UNITS_S[said["unit"][0]]
    slack_s = {1: 0.0, 60: 30.0, 3600: hours_slack_s}[size]
    return abs(float(said["number"]) * size - seconds) <= slack_s


def _word_pattern(joins: str) -> re.Pattern[str]:
    return re.compile(rf"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+(?:[{joins}]\d+)*")
