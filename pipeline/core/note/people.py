"""Find whom a clause is about: people and things of the word table, and words that must be people."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from pipeline.core.note.nouns import OWNED, is_modifier, is_noun, split_words
from pipeline.core.note.words import STOP, Name, Unit

if TYPE_CHECKING:
    from pipeline.core.note.words import Lexicon

PEOPLE = ("class", "group", "role")
ANYBODY = frozenset(("person", "anything"))
_PERSON_SUFFIX = re.compile(
    r"(?:ers?|ors?|ists?|ians?|men|crews?|teams?|staff|compan(?:y|ies)|firms?|people|folks?)$", re.IGNORECASE
)
_PEOPLE_ZH = frozenset("员工师者队客民商户长手们")
_AND = re.compile(
    r"\s*(?:,|，|、|and|or|nor|和|及|与|或|以及|and/or|/)\s*(?:the|any|other|all|their|stray|wild)?\s*", re.IGNORECASE
)
_NOT_PEOPLE = split_words(
    "after never ever other over under water corner number whether weather order matter later longer however "
    "either neither chamber former quarter tower counter letter paper winter summer power river floor door "
    "outdoor indoor motor mirror error for or per inner outer upper lower rather together another cover "
    "center centre shower fever offer are bother remember consider enter gather wander deliver hover linger "
    "discover trigger wonder answer consumer father mother brother sister their there here were where four "
    "your our hour nor silver copper rubber container trailer dumpster locker cooler timer buffer interior "
    "exterior sensor behaviour behavior harbor harbour ever anger danger master camera"
)


def find_people(units: list[Unit], text: str, lexicon: Lexicon) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Return whom a clause is about (the first names, joined by `and`), and all other people and things in it."""
    found = [
        unit
        for at, unit in enumerate(units)
        if any(name.kind in PEOPLE for name in unit.names)
        and not unit.has("place")
        and not _is_owner(units, at, text)
        and not _BESIDE_ZH.match(text, unit.end)
        and (lexicon.animals.intersection(unit.has("class")) or not is_modifier(units, at, text))
    ]
    guessed = (_guess_people(units) or _find_implied_people(units, text)) if not found else None
    if guessed is not None:
        return (guessed,), ()
    if not found:
        return (), ()
    first = [found[0]]
    taken = 1
    for unit in found[1:]:
        between = text[first[-1].end : unit.start]
        if unit.has("class") and (between in OWNED or (between == " " and _is_compound(first[-1], unit, lexicon))):
            first[-1] = unit  # a stray cat is a cat, a guest's car and a camper van are vehicles
        elif _AND.fullmatch(between):
            first.append(unit)
        else:
            break
        taken += 1
    return tuple(first), tuple(found[taken:])


def _is_owner(units: list[Unit], at: int, text: str) -> bool:
    """Tell whether somebody is only named as an owner: people's lunches; not the neighbour's tractor."""
    after = units[at + 1] if at + 1 < len(units) else None
    return after is not None and text[units[at].end : after.start] in OWNED and not after.names and is_noun(after)


def _is_compound(before: Unit, unit: Unit, lexicon: Lexicon) -> bool:
    """Tell whether two words in a row name one thing: stray cats, camper vans; not `the team trains`."""
    driven = before.has("role") and lexicon.vehicles.intersection(unit.has("class")) and unit.stem != "train"
    return bool(before.has("group") or driven)


_BESIDE_ZH = re.compile(r"旁|附近|周围|边上|[前后上下]面")
"""`By the forklift`: a place, not a subject."""


_ONE = re.compile(
    r"\b(?:you|one|we) (?:may|can|could|might|must|should|are|is)\b"
    r"|\b(?:fine|okay|ok|allowed|permitted|all right|alright|acceptable|normal) (?:to|for)\b",
    re.IGNORECASE,
)


_NO_DEED = split_words("nothing anything something everything morning evening during being building thing king spring")


def _find_implied_people(units: list[Unit], text: str) -> Unit | None:
    """Return `person` if people are meant but not named: `Bathing in the lake is fine`, `you may cross the yard`."""
    first = next((unit for unit in units if unit.stem not in STOP), None)
    if _ONE.search(text) or (
        first is not None and not first.names and first.stem.endswith("ing") and first.stem not in _NO_DEED
    ):
        return Unit("", "person", 0, 0, (Name("class", "person"),))
    return None


def _guess_people(units: list[Unit]) -> Unit | None:
    """Return one of the first words, if its ending says that it names people."""
    for unit in [unit for unit in units if unit.stem not in STOP][:3]:
        word = unit.text.casefold()
        if not unit.names and len(word) > 4 and word not in _NOT_PEOPLE and _PERSON_SUFFIX.search(word):  # noqa: PLR2004
            return unit
    return _guess_people_zh(units)


def _guess_people_zh(units: list[Unit]) -> Unit | None:
    """Return an unknown Chinese word with an ending of words for people: 村民, 驯兽师."""
    for before, unit in itertools.pairwise(units):
        if unit.text in _PEOPLE_ZH and not unit.names and not before.names and before.end == unit.start:
            return unit._replace(text=before.text + unit.text, stem=before.stem + unit.stem, start=before.start)
    return None
