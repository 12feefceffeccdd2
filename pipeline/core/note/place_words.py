"""Find the places of a clause: those of the word table with their modifiers, or the nouns after prepositions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.note.nouns import FUNCTION_ZH, is_modifier, is_nominal, is_noun, split_words
from pipeline.core.note.people import PEOPLE
from pipeline.core.note.words import STOP

if TYPE_CHECKING:
    from pipeline.core.note.words import Unit

_PREPOSITION = re.compile(
    r"\b(?:in front of|next to|close to|away from|out of|on top of|inside|outside|into|onto|in|at|on|near|by"
    r"|beside|behind|under|"
    r"underneath|along|across|through|around|over|within|beyond|past|to|from|towards?|up|between|alongside"
    r"|opposite|about)\s+"
    r"(?:the |a |an |our |my |his |their |its )?(?P<what>[a-z][a-z' -]*?(?: \d+)?)(?=\s+(?:is|are|may|must"
    r"|can|should|and|or|when|while|for|with|to|"
    r"on|in|at|from|until|between|by|every|during|if|where|who|that|which|without|as|has|have|will|report"
    r"|call)\b|\s{2,}|[,.;:!?]|\s*$)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^\s*(?:the |our )?(?P<what>[a-z][a-z' -]*?(?: \d+)?) (?:is|are|must|should|has to|stays?"
    r"|remains?) (?:(?:be|stay|remain|strictly|always) )*"
    r"(?:closed|off[- ]limits|out of bounds|empty|locked|where|shut|deserted|clear|reserved)\b",
    re.IGNORECASE,
)
_PLACE_ZH = re.compile(
    r"(?:在|进入|进|到|靠近|去|往|出入|登上|爬上)(?P<what>[\u3400-\u9fff]{2,6}?)(?=里"
    r"|内|处|旁|边|上|下|附近|外|周围|门口|马上|立|就|[，。；、 ]|停|等|工作|巡|打|排|$)"
    r"|(?P<head>(?:(?![不有会在人车准禁许要可以来去进照用])[\u3400-\u9fff]){1,5}(?:间"
    r"|室|房|厅|场|站|台|库|楼|池|园|厂|棚|亭|塔|院|区|坡|井|廊|岛|洞|坝))"
)
_NO_PLACE = split_words(
    "it them there here once time times order me us foot bike case breaks all day night work duty business "
    "alarm food bottles way dawn dusk sunrise sunset breakfast lunch dinner mind turn course random "
    "weekdays mornings evenings passing general fact use service guests goods"
)


_TENDED_ZH = re.compile(r"看(?!台|守)|管(?!理|道)|扫|守|护")
"""The end of a verb before a place: 照看蜂箱."""
_NO_SPOT = (*PEOPLE, "anywhere")


def find_places(text: str, units: list[Unit]) -> tuple[str, ...]:
    """Return the places of a clause as written; at most two if none is in the word table."""
    found: list[tuple[int, int]] = []
    for at, unit in enumerate(units):
        if not unit.has("place") or any(name.kind in _NO_SPOT for name in unit.names):
            continue
        start, end = unit.start, unit.end
        before = at - 1
        while before >= 0 and _is_name_before(units, before, text, start):
            start = units[before].start
            before -= 1
        if tended := _TENDED_ZH.match(text[start:end]):
            start += tended.end()
        if at + 1 < len(units) and units[at + 1].has("side") and not text[end : units[at + 1].start].strip():
            end = units[at + 1].end
        if at + 1 < len(units) and _is_name_after(units, at, text):
            end = units[at + 1].end
        if found and found[-1][1] >= start and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], end)  # 办公楼 + 走廊
        else:
            found.append((start, end))
    if found:
        return tuple(dict.fromkeys(text[start:end].strip() for start, end in found))
    named = [match["what"].strip() for match in (*_SUBJECT.finditer(text), *_PREPOSITION.finditer(text))]
    named += [match["what"] or match["head"] for match in _PLACE_ZH.finditer(text)]
    known = {unit.text for unit in units if any(name.kind in _NO_SPOT for name in unit.names)}
    return tuple(
        dict.fromkeys(
            name
            for name in named
            if name and name not in _NO_PLACE and name not in known and not set(name.split()) <= STOP | _NO_PLACE
        )
    )[:2]


_ENDS = re.compile(
    r"\s*(?:$|[.,;:!?]|\s{2}|(?:is|are|may|must|on|at|in|from|between|by|until|before|after|every)\b)", re.IGNORECASE
)


def _is_name_after(units: list[Unit], at: int, text: str) -> bool:
    """Tell whether the word after a place ends its name: the cellar hatch; not `the pond freezes`."""
    after = units[at + 1]
    if text[units[at].end : after.start] != " " or after.names or not after.text.isascii():
        return False
    ends = _ENDS.match(text, after.end)
    return is_noun(after) and not after.text.endswith("s") and ends is not None


def _is_name_before(units: list[Unit], at: int, text: str, start: int) -> bool:
    """Tell whether the word before a place is part of its name: a side or a modifier."""
    unit = units[at]
    if text[unit.end : start] not in ("", " "):
        return False
    if unit.has("side"):
        return True
    if not unit.text.isascii():
        return not unit.names and unit.text not in FUNCTION_ZH
    if unit.stem in STOP:
        return False
    if unit.names:
        return is_modifier(units, at, text)
    articled = bool(re.search(r"\b(?:the|a|an|our|my)\s$", text[: unit.start], re.IGNORECASE))
    return is_nominal(unit.stem) or (articled and unit.stem.endswith("ing"))
