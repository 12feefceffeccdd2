"""One engine for sentences that say nothing but facts: a grammar of what may be said, and a reading of what was said.

What a sentence is about (an incident, a group of them) has a vocabulary for each half: the parts of its grammar, and
the steps in which a sentence is read. The halves share no word of it, so that the one finds what the other gets wrong.
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
"""The grammar of a part of the sentence; empty where there is nothing to say."""

BLANK = " · "
"""Stands where a fact or a name was read, so that words beside it do not join."""

SPAN = r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>seconds?|s|minutes?|min|hours?|h)\b"
"""The pattern of a duration; see `duration_matches`."""
_UNITS_S = {"s": 1, "m": 60, "h": 3600}


# What may be said


def grammar(subject: Subject, parts: Iterable[Part[Subject]]) -> str:
    """The sentences that are true of something, in llguidance's variant of Lark; each begins with a space."""
    said = (part(subject) for part in parts)
    return f'start: {" ".join(one for one in said if one)} "."'


def any_of(texts: Iterable[str]) -> str:
    """One of several texts, as a grammar of Lark says it; of none, nothing."""
    found = list(texts)
    quoted = " | ".join(json.dumps(text, ensure_ascii=False) for text in found)
    return f"({quoted})" if len(found) > 1 else quoted


def optional(grammar: str) -> str:
    """What may be left out; of nothing, nothing."""
    return f"({grammar})?" if grammar else ""


def at_place(name: str, shown: str) -> str:
    """A place as it is shown, with an article or without where its name is made of words."""
    named = any_of([f" {shown}"])
    return f'" the"? {named}' if all(letter.isalpha() or letter.isspace() for letter in name) else named


# What was said


class Progress(NamedTuple):
    """How far a sentence was read.

    Attributes:
        rest: What is left of it.
        fault: What is wrong with it; empty: nothing so far.
        stated: How often each fact was stated.
    """

    rest: str
    fault: str = ""
    stated: Mapping[str, int] = {}


Step: TypeAlias = Callable[[Progress, Subject], Progress]
"""Reads a part of what is left of a sentence."""


class Stated(NamedTuple, Generic[Subject]):
    """A phrase that states something.

    Attributes:
        what: Which fact.
        pattern: How it is said.
        true: Whether what its groups say is so.
    """

    what: str
    pattern: str
    true: Callable[[re.Match[str], Subject], bool]


def fault(sentence: str, subject: Subject, steps: Iterable[Step[Subject]]) -> str:
    """What is wrong with a sentence; empty: nothing."""
    read = Progress(sentence)
    for step in steps:
        read = step(read, subject)
        if read.fault:
            break
    return read.fault


def step_from(read_part: Callable[[str, Subject], tuple[str, str]]) -> Step[Subject]:
    """A step of its own kind: from what is left of a sentence to what is left then, and what is wrong."""

    def step(read: Progress, subject: Subject) -> Progress:
        rest, wrong = read_part(read.rest, subject)
        return read._replace(rest=rest, fault=wrong)

    return step


def phrases(table: Iterable[Stated[Subject]]) -> Step[Subject]:
    """Take out the phrases that state something, in the order of the table; what they say must be so."""
    rows = tuple(table)

    def step(read: Progress, subject: Subject) -> Progress:
        rest, stated = read.rest, Counter(read.stated)
        for phrase in rows:
            for said in re.finditer(phrase.pattern, rest):
                if not phrase.true(said, subject):
                    return Progress(rest, f"{said[0]} is no fact", stated)
                stated[phrase.what] += 1
            rest = re.sub(phrase.pattern, BLANK, rest)
        return Progress(rest, "", stated)

    return step


def words(known: Callable[[str, Subject], bool], joins: str) -> Step[Subject]:
    """Every word and number that is left must be known; `joins`: signs that join digits to one number."""
    pattern = _word(joins)

    def step(read: Progress, subject: Subject) -> Progress:
        unknown = next((word for word in pattern.findall(read.rest) if not known(word, subject)), None)
        return read if unknown is None else read._replace(fault=f"{unknown} is no fact")

    return step


def signs(allowed: str, joins: str) -> Step[Subject]:
    """Beside words and numbers only these signs may be left."""
    pattern = _word(joins)

    def step(read: Progress, _subject: Subject) -> Progress:
        found = set(pattern.sub("", read.rest)) - set(f"{BLANK}{allowed}")
        return read._replace(fault=f"{min(found)} is no fact") if found else read

    return step


def each_told(due: Callable[[Subject], Mapping[str, int]]) -> Step[Subject]:
    """Each fact is told as often as it is due, no more and no less."""

    def step(read: Progress, subject: Subject) -> Progress:
        for what, number in due(subject).items():
            stated = read.stated.get(what, 0)
            if stated != number:
                return read._replace(fault=f"it does not say {what}" if stated < number else f"it says {what} twice")
        return read

    return step


def duration_matches(said: re.Match[str], seconds: int, hours_slack_s: float) -> bool:
    """Whether a duration (`SPAN`) is the one that was measured, rounded to its unit; of hours, so closely."""
    size = _UNITS_S[said["unit"][0]]
    slack_s = {1: 0.0, 60: 30.0, 3600: hours_slack_s}[size]
    return abs(float(said["number"]) * size - seconds) <= slack_s


def _word(joins: str) -> re.Pattern[str]:
    return re.compile(rf"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+(?:[{joins}]\d+)*")
