"""Whether a sentence about a group of incidents says its facts, all of them and nothing else.

It does not know how the sentence was made, and trusts nobody: what each phrase states is compared with the group anew,
and what is left must be words that state nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pipeline.core.text import engine
from pipeline.core.text.engine import BLANK, SPAN, Stated, duration_matches
from pipeline.core.text.english import CARDINALS, plain, plural

if TYPE_CHECKING:
    from pipeline.core.digest.groups import Group

_DAY = r"((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\d{4}-\d\d-\d\d)"
_TIME = r"(\d\d:\d\d)"
_FREE = frozenset(("was", "were", "seen", "noticed"))
_JOINS = ".:-"  # digits of a number, a time or a date
_HOURS_SLACK_S = 181.0  # of a duration in hours, which has a decimal


def _spoken(word: str) -> int:
    """A number in digits or words; -1: it is none."""
    small = word.casefold()
    if small in ("a", "an", "once"):
        return 1
    if small == "twice":
        return 2
    if small in CARDINALS:
        return CARDINALS.index(small)
    return int(small) if small.isdecimal() else -1


def _first_and_last(said: re.Match[str], group: Group) -> bool:
    """A pattern with the groups d1, t1, d2, t2; a day that is not said is the other one's."""
    named = said.groupdict()
    day, last_day = named.get("d1") or named["d2"], named.get("d2") or named["d1"]
    return (day, named["t1"]) == group.first and (last_day, named["t2"]) == group.last


def _once(said: re.Match[str], group: Group) -> bool:
    return group.first == group.last == (said["d1"], said["t1"])


def _lasts(said: re.Match[str], group: Group) -> bool:
    return duration_matches(said, group.longest_s, _HOURS_SLACK_S)


def _at(name: str) -> str:
    return _TIME.replace("(", f"(?P<t{name}>")


def _on(name: str) -> str:
    return _DAY.replace("(", f"(?P<d{name}>", 1)


# fmt: off
_PHRASES: tuple[Stated[Group], ...] = (
    Stated("when", rf"\bon {_on('1')} between {_at('1')} and {_at('2')}", _first_and_last),
    Stated("when", rf"\bbetween {_at('1')} on {_on('1')} and {_at('2')} on {_on('2')}", _first_and_last),
    Stated("when", rf"\bbetween {_at('1')} and {_at('2')} on {_on('2')}", _first_and_last),
    Stated("when", rf"\bfirst at {_at('1')} on {_on('1')} and last at {_at('2')} on {_on('2')}", _first_and_last),
    Stated("when", rf"\bfirst at {_at('1')} and last at {_at('2')} on {_on('2')}", _first_and_last),
    Stated("when", rf"\bon {_on('1')} at {_at('1')}", _once),
    Stated("when", rf"\bat {_at('1')} on {_on('1')}", _once),
    Stated("how long", rf"\b(?:the longest for|for up to) {SPAN}", lambda said, g: g.size > 1 and _lasts(said, g)),
    Stated("how long", rf"\bfor {SPAN}", lambda said, g: g.size == 1 and _lasts(said, g)),
    Stated("how many", r"\bup to (\w+) at once", lambda said, g: g.size > 1 and _spoken(said[1]) == g.most),
    Stated("how many", r"\bas many as (\w+) at a time", lambda said, g: g.size > 1 and _spoken(said[1]) == g.most),
    Stated("how often", r"\bin (\w+) incidents", lambda said, g: _spoken(said[1]) == g.size),
    Stated("how often", r"\b(\w+) times\b", lambda said, g: _spoken(said[1]) == g.size),
    Stated("how often", r"\b(once|twice)\b", lambda said, g: _spoken(said[1]) == g.size),
)
# fmt: on


def fault(sentence: str, group: Group) -> str:
    """What is wrong with a sentence; empty: nothing.

    Args:
        sentence: In English.
        group: All that is counted of it.
    """
    return engine.fault(sentence, group, _STEPS)


def _whole(sentence: str, _group: Group) -> tuple[str, str]:
    return sentence, "" if sentence.endswith(".") else "it is no sentence"


def _due(group: Group) -> dict[str, int]:
    """How often each fact is told."""
    several = group.size > 1
    return {
        "when": 1,
        "how long": int(group.longest_s > 1),
        "how often": int(several),
        "how many": int(several and group.most > 1),
    }


def _without_heading(sentence: str, group: Group) -> tuple[str, str]:
    """The action and every situation, in any order, before the colon; nothing else."""
    action = plain(group.one.action)
    situations = {plain(one.situation.replace("_", " ")) for one in group.incidents if one.situation}
    if sentence[: len(action)].casefold() != action.casefold():
        return sentence, "it does not begin with the action"
    rest = sentence[len(action) :]
    if not situations:
        return (rest[2:], "") if rest.startswith(": ") else (sentence, "it says a situation that is no fact")
    head, colon, tail = rest.partition("): ")
    if not colon or not head.startswith(" (") or set(head[2:].split(", ")) != situations:
        return sentence, "it does not say what it was taken for"
    return tail, ""


def _without_notes(sentence: str, group: Group) -> tuple[str, str]:
    """Every note that decided, at the end, and of how many incidents."""
    found: Counter[str] = Counter(one.note for one in group.incidents if one.note)
    sentence = sentence.removesuffix(".")
    for note, count in found.items():
        name = re.escape(plain(note))
        part = "" if count == group.size else rf" {count} of them"
        pattern = rf"(; note {name} decided{part}(?=;|$)" + (rf"|, decided by note {name}$)" if not part else ")")
        sentence, times = re.subn(pattern, "", sentence)
        if times != 1:
            return sentence, f"it does not say once that note {plain(note)} decided"
    return sentence, ""


def _without_place(sentence: str, group: Group) -> tuple[str, str]:
    zone, camera = plain(group.one.zone), plain(group.one.camera)
    behind = "" if camera in ("", zone) else rf" \(camera {re.escape(camera)}\)"
    pattern = rf"\b(?:at|by|near|in)(?: the)? {re.escape(zone)}{behind}(?!\w)"
    sentence, times = re.subn(pattern, BLANK, sentence, count=1)
    return sentence, "" if times else f"it does not say where it was: {zone}"


def _without_thing(sentence: str, group: Group) -> tuple[str, str]:
    """Who was seen begins the sentence: one in the singular, several in the plural, counted where it was one time."""
    label = group.one.thing
    if label == "none":
        pattern = "movement"
    elif group.most <= 1:
        pattern = rf"an? {re.escape(label)}"
    elif group.size > 1:
        pattern = re.escape(plural(label))
    else:
        pattern = rf"(?P<number>\w+) {re.escape(plural(label))}"
    said = re.match(rf"{pattern}(?!\w)", sentence)
    if said is None:
        return sentence, "it does not begin with what was seen"
    if "number" in said.groupdict() and _spoken(said["number"]) != group.most:
        return sentence, f"{said[0]} is no fact"
    return BLANK + sentence[said.end() :], ""


_STEPS: tuple[engine.Step[Group], ...] = (
    engine.step_from(_whole),
    engine.step_from(_without_heading),
    engine.step_from(_without_notes),
    engine.step_from(_without_place),
    engine.step_from(_without_thing),
    engine.phrases(_PHRASES),
    engine.words(lambda word, _: word in _FREE, _JOINS),
    engine.signs(",", _JOINS),
    engine.each_told(_due),
)
"""How a sentence about a group is read."""
