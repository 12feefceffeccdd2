"""Compile the text of a note into readings: who, where, when, allowed or not.

A note is split into clauses, each is read, and clauses about the same thing are merged again. What is said only once,
such as the place, holds for all readings.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.note import cues, doubts
from pipeline.core.note import when as times
from pipeline.core.note.drafts import Draft, merge_drafts
from pipeline.core.note.notes import Note, Reading, check_text, find_contradictions
from pipeline.core.note.nouns import is_noun
from pipeline.core.note.people import find_people
from pipeline.core.note.place_words import find_places
from pipeline.core.note.time_words.reading import read_times
from pipeline.core.note.when import When
from pipeline.core.note.words import Lexicon, Unit, has_chinese

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.core.note.time_words.reading import TimeReading


_AM_PM = re.compile(r"\b([ap])\.\s?m\.", re.IGNORECASE)
"""a.m. and p.m.; their full stops end no sentence."""
_BUT_ALL = re.compile(
    r"\b((?:all|every|any|no)(?:body|one|thing|one else)?(?: [a-z]+)?|none|anyone|nobody) but (?!not\b|only\b"
    r"|report\b|call\b|tell\b)",
    re.IGNORECASE,
)
"""`All but children`: an exception, no new clause."""


_BUT_NOT = re.compile(r",?\s*\bbut not (?=(?:on|at|in|during|before|after|between|from|by|over)\b)", re.IGNORECASE)
"""`But not on Mondays`: an exception, too."""
_MISSING_APOSTROPHE = re.compile(
    r"\b(do|does|did|ca|wo|is|are|was|were|should|must|could|would|need|has|have|had)nt\b", re.IGNORECASE
)
"""dont, cant, wont: typed without the apostrophe."""


def compile_note(text: str, lexicon: Lexicon) -> Note:
    """Compile a note.

    Args:
        text: One or two sentences of English or Chinese.
        lexicon: The word table.

    Raises:
        NoteError: The text is empty or too long.
    """
    line = check_text(text)
    plain = _BUT_NOT.sub(
        " except ", _BUT_ALL.sub(r"\1 except ", _AM_PM.sub(r"\1m", _MISSING_APOSTROPHE.sub(r"\1n't", line)))
    )
    drafts = [draft for clause in _split_clauses(plain) for draft in _make_drafts(clause, lexicon)]
    unread = []
    if not any(draft.who or draft.where for draft in drafts):
        unread.append("neither who nor where: it would never speak")
    if any(draft.both for draft in drafts):
        unread.append("it both allows and forbids in one breath: write two notes")
    readings = merge_drafts(drafts)
    if find_contradictions([Note(line, (reading,)) for reading in readings]):
        unread.append("its two halves say the opposite of each other")
    note_doubts = (*doubts.find_note_doubts(line), *unread)
    all_unread = (*(phrase for draft in drafts for phrase in draft.unread), *unread)
    return Note(line, tuple(_add_doubts(one, note_doubts) for one in readings), tuple(dict.fromkeys(all_unread)))


def _add_doubts(reading: Reading, note_doubts: Iterable[str]) -> Reading:
    """Add the doubts about the whole note to a permission; prohibitions hold in spite of doubts."""
    unclear = tuple(dict.fromkeys((*reading.unclear, *note_doubts))) if reading.effect == "allowed" else ()
    return msgspec.structs.replace(reading, unclear=unclear)


class _Clause(NamedTuple):
    text: str
    exception: bool = False
    unless: str = ""  # the word of condition, if the exception is one
    forbids_rest: bool = False  # "only guards may ...": everybody else may not


_SENTENCES = re.compile(
    r"[;；。!！?？]\s*|\.(?=\s|$)\s*|\s*[,，]?\s+(?:but|however"
    r"|whereas|otherwise)\b,?|，?(?:但是|但|不过|然而|否则|其余"
    r"|其他时间)，?|:\s+|\uff1a(?!\d)|,\s+(?=no (?:people|persons?|one)\b|nobody\b)"
)
_COMMAND = re.compile(
    r"[,，]\s*(?:and\s+)?(?=(?:report|call|tell|notify|alert|ignore|warn|ring|let me know|do not|don't|never mind"
    r"|please|报告|通知|报警|告诉|忽略|不用|无需|马上|立即|请))",
    re.IGNORECASE,
)
_COMMA = re.compile(r"[,，](?!\d)\s*")
_EXCEPT = re.compile(
    r"[,，]?\s*\b(?:except(?: for| when| if| that)?|unless|apart from|other than|save for|with the exception of"
    r"|excluding)\b|(?:除非)",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"unless|except (?:if|when|that)", re.IGNORECASE)
_EXCEPT_ZH = re.compile(
    r"除了?(?P<what>[^，。；,;]+?)(?:以外|之外|外)[，,]?|除了?(?P<those>[^，。；,;]+?)[，,]"
    r"|除了?(?P<them>[^，。；,;]+?)(?=谁[都也]|任何人|其他人|其余人|别人|所有人|大家|都不|一律|禁止|不得|不准|不许|不能)"
    r"|^非(?P<not>[^，。；,;]{1,8}?)(?=禁止|不得|不准|不许|不能|勿|严禁|请勿|不可)"
)
_EXCEPT_ZH_END = re.compile(r"[，,（(](?P<what>[^，。；,;（(]+?)(?:除外|例外)[）)]?")
_FOR_ONLY = re.compile(
    r"\b(?:is|are) (?:reserved |meant |open |accessible |intended )?(?:only )?(?:for"
    r"|to) (?P<what>[^,.;]+?) (?:only|alone|exclusively)\b|\b(?:is|are) (?:reserved"
    r"|only) for (?P<them>[^,.;]+)",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"^\s*(?:[a-z]+ ){1,2}only\b(?! (?:may|can|must|on|at|from|between|until|in)\b)"
    r"|^\s*only\s+(?!on\b|at\b|from\b|between\b|until\b|in\b)|^(?:只有|仅限?)",
    re.IGNORECASE,
)


def _split_clauses(line: str) -> Iterator[_Clause]:
    for sentence in _SENTENCES.split(line):
        for part in _COMMAND.split(sentence):
            for side in _split_opposites(part.strip()) if part and part.strip() else ():
                yield from _split_exception(side)


def _split_opposites(part: str) -> tuple[str, ...]:
    """Split a part at a comma between a permission and a prohibition, in either order."""
    for comma in _COMMA.finditer(part):
        sides = part[: comma.start()], part[comma.end() :]
        one, other = (cues.read_statement(side) for side in sides)
        bad = ("forbidden", "report")
        if one.effect == "allowed" and other.effect in bad:
            return sides
        if one.effect in bad and other.effect == "allowed" and (has_chinese(part) or not other.weak):
            return sides
    return (part,)


def _split_exception(part: str) -> Iterator[_Clause]:
    if found := _EXCEPT_ZH.search(part) or _EXCEPT_ZH_END.search(part):
        yield _Clause(part[: found.start()] + part[found.end() :])
        yield _Clause(next(text for text in found.groups() if text), exception=True)
        return
    if found := _FOR_ONLY.search(part):
        yield _Clause(f"nobody may {part[: found.start()]} {part[found.end() :]}")
        yield _Clause(found["what"] or found["them"], exception=True)
        return
    if found := _EXCEPT.search(part):
        rest = part[found.end() :]
        before = part[: found.start()]
        # "nobody except the guards may enter": the verb belongs to both
        inner = re.match(r"(?P<what>.*?)\s+(?P<verb>(?:may|can|must|should|is|are|will)\b.*)", rest, re.IGNORECASE)
        if inner and not re.search(r"\b(?:may|must|allowed|forbidden|prohibited|can|should)\b", before, re.IGNORECASE):
            before, rest = f"{before} {inner['verb']}", inner["what"]
        yield _Clause(before)
        condition = _CONDITION.search(found[0])
        yield _Clause(rest, exception=True, unless=condition[0].lower() if condition else "")
        return
    yield _Clause(part, forbids_rest=bool(_ONLY.search(part)))


_ADDRESSEE = re.compile(
    r"\b(?:call|phone|ring|tell|inform|notify|alert|warn|page|wake)\s+(?:the |my |our "
    r"|a )?[a-z' ]{2,40}?\s+(?=if|when|whenever|about|as soon as|that|once)"
    r"|(?:call|phone|ring|tell|inform|notify|alert|warn|page|wake) (?:the |my |our )?[a-z' ]{2,30}(?=\s*(?:[.,;!]|$))"
    r"|(?:通知|告诉|联系|报告给?|打电话给)[\u3400-\u9fff]{0,6}?(?=[，。；,;]|$)|马上|立马",
    re.IGNORECASE,
)
"""People who shall be notified; the note is not about them."""


def _make_drafts(clause: _Clause, lexicon: Lexicon) -> Iterator[Draft]:
    numbers = tuple(_find_place_numbers(clause.text, lexicon))
    read = _read_times(clause.text, numbers)
    units = lexicon.scan(_ADDRESSEE.sub(lambda found: " " * len(found[0]), read.rest))
    said = cues.read_statement(read.rest)
    who, more = find_people(units, read.rest, lexicon)
    where = find_places(read.rest, units)
    if clause.forbids_rest:
        rest = read.when if _is_at_night(read.when) else When()
        yield Draft("forbidden", (), (), where, rest, (), exception=False, both=False)
    if said.effect is None and _NEGATION.match(read.rest):
        said = said._replace(effect="forbidden")
    exception = clause.exception or clause.forbids_rest
    unread = read.unread
    if exception and not who and not read.when.timed:
        unread = (*unread, f"the exception `{clause.text.strip()}`: it excepts nothing")
    if said.effect in ("forbidden", "report") and not exception and read.one_ended:
        read = read._replace(when=times.start_at_midnight(read.when))
    unclear = tuple(doubts.find_clause_doubts(read.rest, who, more, where, lexicon))
    if not who:
        unclear += tuple(doubts.find_unread_subjects(read.rest, where, lexicon))
    effect = "allowed" if exception else said.effect
    assumed = (
        *doubts.find_unread_words(read.rest, (*who, *more), where, lexicon, effect),
        *read.guesses,
        *(f"the number of a place, or an hour: `{clause.text[one.start : one.end]}`" for one in numbers if one.either),
    )
    draft = Draft(
        said.effect, who, more, where, read.when, unread, exception, said.both, read.recurring, assumed, unclear
    )
    yield draft._replace(unless=clause.unless, everywhere=any(unit.has("anywhere") for unit in units))


class _PlaceNumber(NamedTuple):
    """A number after a place: its own number, or an hour."""

    start: int
    end: int
    hour: bool
    either: bool  # it is ambiguous


def _find_place_numbers(text: str, lexicon: Lexicon) -> Iterator[_PlaceNumber]:
    """Find the numbers after places: in `dock 4` the place's own; in `the yard 8-12`, `8.30`, `8 am` an hour."""
    for unit, number in itertools.pairwise(lexicon.scan(text)):
        if not number.text.isdecimal() or text[unit.end : number.start] != " " or not _is_place(unit, text):
            continue
        either = bool(_TO_AN_HOUR.match(text, number.end))
        articled = bool(_ARTICLE.search(text[: unit.start]))
        hour = bool(_CLOCK_AFTER.match(text, number.end)) or (either and articled)
        yield _PlaceNumber(number.start, number.end, hour, either)


def _is_place(unit: Unit, text: str) -> bool:
    """Tell whether a word is a place: by the word table, or by its position in the sentence."""
    return unit.has("place") != () or (
        not unit.names and is_noun(unit) and bool(_BEFORE_SPOT.search(text[: unit.start]))
    )


_BEFORE_SPOT = re.compile(
    r"\b(?:at|in|into|inside|near|beside|behind|through|use|uses|using|enter|enters)\s(?:the |our |my )?$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:the|our|my|this)(?: [a-z]+)?\s$", re.IGNORECASE)
_CLOCK_AFTER = re.compile(
    r"\s?[-\u2013\u2014~]\s?\d|[.:\uff1a,]\d|\s?(?:[ap]\.?\s?m\b|o'?\s?clock|h\b|hrs?\b|[点时])", re.IGNORECASE
)
_TO_AN_HOUR = re.compile(
    r"\s(?:to|until|till|and)\s(?:about |around )?(?:\d|half|quarter|a quarter|noon|midnight"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)",
    re.IGNORECASE,
)


def _read_times(text: str, numbers: Iterable[_PlaceNumber]) -> TimeReading:
    """Read the times of a clause, without the numbers of places."""
    own = [one for one in numbers if not one.hour]
    plain = text
    for one in own:
        plain = plain[: one.start] + "#" * (one.end - one.start) + plain[one.end :]
    found = read_times(plain)
    rest = found.rest
    for one in own:
        rest = rest.replace("#" * (one.end - one.start), text[one.start : one.end], 1)
    return found._replace(rest=rest)


_NEGATION = re.compile(r"\s*(?:and |but |only )?not\b", re.IGNORECASE)
"""`..., but not in the morning`, `not walk`: a restriction of the clause before."""


def _is_at_night(when: When) -> bool:
    """Tell whether a time is at night.

    `Only staff after 18:00` closes the place at night; `only guards from 8 to 17` closes it to others at any time.
    """
    return when.dark is True or any(start > end for start, end in when.hours)
