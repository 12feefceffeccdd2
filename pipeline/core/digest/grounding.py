"""Check that a sentence about a group of incidents states all facts of the group and nothing else.

The check is independent of the grammar that the sentence was written with: each phrase is compared with the group, and
all other words must state no fact.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pipeline.core.text import engine
from pipeline.core.text.engine import BLANK, SPAN, Claim, duration_matches
from pipeline.core.text.english import CARDINALS, one_line, pluralise

if TYPE_CHECKING:
    from pipeline.core.digest.groups import Group

_DAY = r"((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\d{4}-\d\d-\d\d)"
_TIME = r"(\d\d:\d\d)"
_NEUTRAL_WORDS = frozenset(("was", "were", "seen", "noticed"))
_JOINS = ".:-"  # join the digits of a number, a time or a date
_HOURS_SLACK_S = 181.0  # for a duration in hours, which has one decimal


def _parse_number(word: str) -> int:
    """Read a number in digits or words; -1 if the word is no number."""
    small = word.casefold()
    if small in ("a", "an", "once"):
        return 1
    if small == "twice":
        return 2
    if small in CARDINALS:
        return CARDINALS.index(small)
    return int(small) if small.isdecimal() else -1


def _is_range(said: re.Match[str], group: Group) -> bool:
    """Compare days d1, d2 and times t1, t2 of a match with a group; a missing day is the same as the other one."""
    named = said.groupdict()
    day, last_day = named.get("d1") or named["d2"], named.get("d2") or named["d1"]
    return (day, named["t1"]) == group.first_time and (last_day, named["t2"]) == group.last_time


def _is_single_time(said: re.Match[str], group: Group) -> bool:
    return group.first_time == group.last_time == (said["d1"], said["t1"])


def _is_duration(said: re.Match[str], group: Group) -> bool:
    return duration_matches(said, group.longest_s, _HOURS_SLACK_S)


def _is_count(said: re.Match[str], group: Group) -> bool:
    return group.size > 1 and _parse_number(said[1]) == group.max_count


def _at(name: str) -> str:
    """Pattern of a time, as the group `tNAME`."""
    return _TIME.replace("(", f"(?P<t{name}>")


def _on(name: str) -> str:
    """Pattern of a day, as the group `dNAME`."""
    return _DAY.replace("(", f"(?P<d{name}>", 1)


# fmt: off
_CLAIMS: tuple[Claim[Group], ...] = (
    Claim("when", rf"\bon {_on('1')} between {_at('1')} and {_at('2')}", _is_range),
    Claim("when", rf"\bbetween {_at('1')} on {_on('1')} and {_at('2')} on {_on('2')}", _is_range),
    Claim("when", rf"\bbetween {_at('1')} and {_at('2')} on {_on('2')}", _is_range),
    Claim("when", rf"\bfirst at {_at('1')} on {_on('1')} and last at {_at('2')} on {_on('2')}", _is_range),
    Claim("when", rf"\bfirst at {_at('1')} and last at {_at('2')} on {_on('2')}", _is_range),
    Claim("when", rf"\bon {_on('1')} at {_at('1')}", _is_single_time),
    Claim("when", rf"\bat {_at('1')} on {_on('1')}", _is_single_time),
    Claim("how long", rf"\b(?:the longest for|for up to) {SPAN}", lambda said, g: g.size > 1 and _is_duration(said, g)),
    Claim("how long", rf"\bfor {SPAN}", lambda said, g: g.size == 1 and _is_duration(said, g)),
    Claim("how many", r"\bup to (\w+) at once", _is_count),
    Claim("how many", r"\bas many as (\w+) at a time", _is_count),
    Claim("how often", r"\bin (\w+) incidents", lambda said, g: _parse_number(said[1]) == g.size),
    Claim("how often", r"\b(\w+) times\b", lambda said, g: _parse_number(said[1]) == g.size),
    Claim("how often", r"\b(once|twice)\b", lambda said, g: _parse_number(said[1]) == g.size),
)
# fmt: on


def find_fault(sentence: str, group: Group) -> str:
    """Return the first fault of a sentence, in English; empty if it has none.

    Args:
        sentence: An English sentence.
        group: The group that it is about.
    """
    return engine.find_fault(sentence, group, _STEPS)


def _check_form(sentence: str, _group: Group) -> tuple[str, str]:
    return sentence, "" if sentence.endswith(".") else "it is no sentence"


def _expected_frequencies(group: Group) -> dict[str, int]:
    """How often a sentence must state each fact."""
    several = group.size > 1
    return {
        "when": 1,
        "how long": int(group.longest_s > 1),
        "how often": int(several),
        "how many": int(several and group.max_count > 1),
    }


def _take_heading(sentence: str, group: Group) -> tuple[str, str]:
    """Check and remove the action and the situations, in any order, up to the colon."""
    action = one_line(group.first_incident.action)
    situations = {one_line(one.situation.replace("_", " ")) for one in group.incidents if one.situation}
    if sentence[: len(action)].casefold() != action.casefold():
        return sentence, "it does not begin with the action"
    rest = sentence[len(action) :]
    if not situations:
        return (rest[2:], "") if rest.startswith(": ") else (sentence, "it says a situation that is no fact")
    head, colon, tail = rest.partition("): ")
    if not colon or not head.startswith(" (") or set(head[2:].split(", ")) != situations:
        return sentence, "it does not say what it was taken for"
    return tail, ""


def _take_notes(sentence: str, group: Group) -> tuple[str, str]:
    """Check and remove the notes that decided, at the end, with their numbers of incidents."""
    found: Counter[str] = Counter(one.note for one in group.incidents if one.note)
    sentence = sentence.removesuffix(".")
    for note, count in found.items():
        name = re.escape(one_line(note))
        part = "" if count == group.size else rf" {count} of them"
        pattern = rf"(; note {name} decided{part}(?=;|$)" + (rf"|, decided by note {name}$)" if not part else ")")
        sentence, times = re.subn(pattern, "", sentence)
        if times != 1:
            return sentence, f"it does not say once that note {one_line(note)} decided"
    return sentence, ""


def _take_place(sentence: str, group: Group) -> tuple[str, str]:
    zone, camera = one_line(group.first_incident.zone), one_line(group.first_incident.camera)
    behind = "" if camera in ("", zone) else rf" \(camera {re.escape(camera)}\)"
    pattern = rf"\b(?:at|by|near|in)(?: the)? {re.escape(zone)}{behind}(?!\w)"
    sentence, times = re.subn(pattern, BLANK, sentence, count=1)
    return sentence, "" if times else f"it does not say where it was: {zone}"


def _take_subject(sentence: str, group: Group) -> tuple[str, str]:
    """Check and remove the subject at the beginning: singular or plural, with a number if the group is one incident."""
    label = group.first_incident.thing
    if label == "none":
        pattern = "movement"
    elif group.max_count <= 1:
        pattern = rf"an? {re.escape(label)}"
    elif group.size > 1:
        pattern = re.escape(pluralise(label))
    else:
        pattern = rf"(?P<number>\w+) {re.escape(pluralise(label))}"
    said = re.match(rf"{pattern}(?!\w)", sentence)
    if said is None:
        return sentence, "it does not begin with what was seen"
    if "number" in said.groupdict() and _parse_number(said["number"]) != group.max_count:
        return sentence, f"{said[0]} is no fact"
    return BLANK + sentence[said.end() :], ""


_STEPS: tuple[engine.Step[Group], ...] = (
    engine.make_step(_check_form),
    engine.make_step(_take_heading),
    engine.make_step(_take_notes),
    engine.make_step(_take_place),
    engine.make_step(_take_subject),
    engine.take_claims(_CLAIMS),
    engine.check_words(lambda word, _: word in _NEUTRAL_WORDS, _JOINS),
    engine.check_signs(",", _JOINS),
    engine.check_frequencies(_expected_frequencies),
)
"""How a sentence about a group is checked, in this order."""
