"""Find the nouns of a clause, and words that modify the noun after them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.note.words import STOP

if TYPE_CHECKING:
    from pipeline.core.note.words import Lexicon, Unit

OWNED = ("' ", "'s ", "\u2019 ", "\u2019s ")


def is_modifier(units: list[Unit], at: int, text: str) -> bool:
    """Tell whether the name of a class modifies a place: car wash, boat house, aircraft lane."""
    if at + 1 >= len(units) or units[at].text.casefold() != units[at].stem or not units[at].text.isascii():
        return False
    if not units[at].has("class"):
        return False
    after = units[at + 1]
    if text[units[at].end : after.start] != " ":
        return False
    return bool(after.has("place")) or (not after.names and is_noun(after) and not after.text.endswith("s"))


def is_noun(unit: Unit) -> bool:
    """Tell whether a word may be a noun: no stop word and no verb."""
    return unit.stem not in STOP and is_nominal(unit.stem)


def split_words(words: str) -> frozenset[str]:
    """Split a text at spaces into a set of words."""
    return frozenset(words.split())


FUNCTION_ZH = frozenset(
    "可以来照在到进去往从的了和与或及有是会不没要可能让把被对向于就也都还再又很请将着过里内外上下旁边前后处经常每各这那其入出停放靠近登爬"
)
_VERBAL = re.compile(r"(?:ing|ed|ly)$")
_VERBS = split_words(
    "stand sleep walk work stop wait park enter leave drop pick gather fill use play train make keep get go "
    "come see run drive fly sit lie stay move pass cross climb bring fetch collect clean patrol visit feed "
    "meet mow fish swim ride let take put set do be trigger call tell report ignore watch check allow forbid "
    "close open free empty clear"
)


def is_nominal(word: str) -> bool:
    """Tell whether an English word is neither a known verb nor ends like a verb or an adverb."""
    return not _VERBAL.search(word) and word not in _VERBS


def has_unknown_noun(text: str, lexicon: Lexicon) -> bool:
    """Tell whether a text without its times has an unknown noun, which follows `the`, `our` or `my`.

    Only for English; Chinese places are found by their last character.
    """
    return any(
        not unit.names
        and unit.text.isascii()
        and is_noun(unit)
        and re.search(r"\b(?:the|our|my)\s$", text[: unit.start])
        for unit in lexicon.scan(text)
    )
