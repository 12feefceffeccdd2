"""From the sentence of a note to its halves: who, where, when, in order or not.

A note is cut into clauses, each is read, and clauses that speak on about the same are joined again. What is said only
once, the place say, holds for both halves.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.note import cues, doubts
from pipeline.core.note import when as times
from pipeline.core.note.notes import UNREADABLE, Note, Reading, check, contradictions
from pipeline.core.note.when import When
from pipeline.core.note.words import STOP, Lexicon, Name, Unit, chinese

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.core.note.cues import Effect


_HALVES = re.compile(r"\b([ap])\.\s?m\.", re.IGNORECASE)
"""Their full stops end no sentence."""
_BUT_ALL = re.compile(
    r"\b((?:all|every|any|no)(?:body|one|thing|one else)?(?: [a-z]+)?|none|anyone|nobody) but (?!not\b|only\b"
    r"|report\b|call\b|tell\b)",
    re.IGNORECASE,
)
"""All but children: an exception, no new clause."""


_BUT_NOT = re.compile(r",?\s*\bbut not (?=(?:on|at|in|during|before|after|between|from|by|over)\b)", re.IGNORECASE)
"""But not on Mondays: an exception, too."""
_QUICK = re.compile(
    r"\b(do|does|did|ca|wo|is|are|was|were|should|must|could|would|need|has|have|had)nt\b", re.IGNORECASE
)
"""Dont, cant, wont: typed quickly."""


def compile_note(text: str, lexicon: Lexicon) -> Note:
    """Read a note.

    Args:
        text: One or two sentences of English or Chinese.
        lexicon: What words name.

    Raises:
        NoteError: It is empty or too long.
    """
    line = check(text)
    plain = _BUT_NOT.sub(" except ", _BUT_ALL.sub(r"\1 except ", _HALVES.sub(r"\1m", _QUICK.sub(r"\1n't", line))))
    drafts = [draft for clause in _clauses(plain) for draft in _drafts(clause, lexicon)]
    unread = []
    if not any(draft.who or draft.where for draft in drafts):
        unread.append("neither who nor where: it would never speak")
    if any(draft.both for draft in drafts):
        unread.append("it both allows and forbids in one breath: write two notes")
    halves = _joined(drafts)
    if contradictions([Note(line, (half,)) for half in halves]):
        unread.append("its two halves say the opposite of each other")
    of_all = (*doubts.of_line(line), *unread)
    told = (*(phrase for draft in drafts for phrase in draft.unread), *unread)
    return Note(line, tuple(_doubted(half, of_all) for half in halves), tuple(dict.fromkeys(told)))


def _doubted(half: Reading, of_all: Iterable[str]) -> Reading:
    """Add the doubts about the whole note to what permits something; what forbids is followed in doubt."""
    unclear = tuple(dict.fromkeys((*half.unclear, *of_all))) if half.effect == "allowed" else ()
    return msgspec.structs.replace(half, unclear=unclear)


class _Draft(NamedTuple):
    """A clause, read."""

    effect: Effect | None
    who: tuple[Unit, ...]
    more: tuple[Unit, ...]
    where: tuple[str, ...]
    when: When
    unread: tuple[str, ...]
    exception: bool
    both: bool
    recurring: bool = False
    assumed: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    unless: str = ""
    everywhere: bool = False  # said outright


class _Clause(NamedTuple):
    text: str
    exception: bool = False
    unless: str = ""  # the word, where it is an exception and a condition
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


def _clauses(line: str) -> Iterator[_Clause]:
    for sentence in _SENTENCES.split(line):
        for part in _COMMAND.split(sentence):
            for side in _opposites(part.strip()) if part and part.strip() else ():
                yield from _excepted(side)


def _opposites(part: str) -> tuple[str, ...]:
    """Split at a comma where what stands before is allowed and what comes after is not, or the other way round."""
    for comma in _COMMA.finditer(part):
        sides = part[: comma.start()], part[comma.end() :]
        one, other = (cues.said(side) for side in sides)
        bad = ("forbidden", "report")
        if one.effect == "allowed" and other.effect in bad:
            return sides
        if one.effect in bad and other.effect == "allowed" and (chinese(part) or not other.weak):
            return sides
    return (part,)


def _excepted(part: str) -> Iterator[_Clause]:
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
"""Whom to tell is not whom the note is about."""


def _drafts(clause: _Clause, lexicon: Lexicon) -> Iterator[_Draft]:
    numbers = tuple(_numbers(clause.text, lexicon))
    read = _read(clause.text, numbers)
    units = lexicon.scan(_ADDRESSEE.sub(lambda found: " " * len(found[0]), read.rest))
    said = cues.said(read.rest)
    who, more = _people(units, read.rest, lexicon)
    where = places(read.rest, units)
    if clause.forbids_rest:
        rest = read.when if _at_night(read.when) else When()
        yield _Draft("forbidden", (), (), where, rest, (), exception=False, both=False)
    if said.effect is None and _NOT_SO.match(read.rest):
        said = said._replace(effect="forbidden")
    exception = clause.exception or clause.forbids_rest
    unread = read.unread
    if exception and not who and not read.when.timed:
        unread = (*unread, f"the exception `{clause.text.strip()}`: it excepts nothing")
    if said.effect in ("forbidden", "report") and not exception and read.one_ended:
        read = read._replace(when=times.from_midnight(read.when))
    unclear = tuple(doubts.of_clause(read.rest, who, more, where, lexicon))
    if not who:
        unclear += tuple(doubts.unnamed(read.rest, where, lexicon))
    effect = "allowed" if exception else said.effect
    assumed = (
        *doubts.strange(read.rest, (*who, *more), where, lexicon, effect),
        *read.guessed,
        *(f"the number of a place, or an hour: `{clause.text[one.start : one.end]}`" for one in numbers if one.either),
    )
    draft = _Draft(
        said.effect, who, more, where, read.when, unread, exception, said.both, read.recurring, assumed, unclear
    )
    yield draft._replace(unless=clause.unless, everywhere=any(unit.has("anywhere") for unit in units))


class _Number(NamedTuple):
    """A number behind a place: the dock's own, or an hour."""

    start: int
    end: int
    hour: bool
    either: bool  # it may be the one or the other


def _numbers(text: str, lexicon: Lexicon) -> Iterator[_Number]:
    """Find the numbers behind places. In `dock 4` it is the place's own; in `the yard 8-12`, `8.30`, `8 am` an hour."""
    for unit, number in itertools.pairwise(lexicon.scan(text)):
        if not number.text.isdecimal() or text[unit.end : number.start] != " " or not _spot(unit, text):
            continue
        either = bool(_TO_AN_HOUR.match(text, number.end))
        articled = bool(_ARTICLE.search(text[: unit.start]))
        hour = bool(_GOES_ON.match(text, number.end)) or (either and articled)
        yield _Number(number.start, number.end, hour, either)


def _spot(unit: Unit, text: str) -> bool:
    """Whether a word is a place: by the table, or where one stands in a sentence."""
    return unit.has("place") != () or (not unit.names and _noun(unit) and bool(_BEFORE_SPOT.search(text[: unit.start])))


_BEFORE_SPOT = re.compile(
    r"\b(?:at|in|into|inside|near|beside|behind|through|use|uses|using|enter|enters)\s(?:the |our |my )?$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:the|our|my|this)(?: [a-z]+)?\s$", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\s?[-\u2013\u2014~]\s?\d|[.:\uff1a,]\d|\s?(?:[ap]\.?\s?m\b|o'?\s?clock|h\b|hrs?\b|[点时])", re.IGNORECASE
)
_TO_AN_HOUR = re.compile(
    r"\s(?:to|until|till|and)\s(?:about |around )?(?:\d|half|quarter|a quarter|noon|midnight"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)",
    re.IGNORECASE,
)


def _read(text: str, numbers: Iterable[_Number]) -> times.Read:
    """Read the times of a clause, but take no place's number for an hour."""
    own = [one for one in numbers if not one.hour]
    plain = text
    for one in own:
        plain = plain[: one.start] + "#" * (one.end - one.start) + plain[one.end :]
    read = times.read(plain)
    rest = read.rest
    for one in own:
        rest = rest.replace("#" * (one.end - one.start), text[one.start : one.end], 1)
    return read._replace(rest=rest)


_NOT_SO = re.compile(r"\s*(?:and |but |only )?not\b", re.IGNORECASE)
"""`..., but not in the morning`, `not walk`: the clause before is taken back in part."""


def _at_night(when: When) -> bool:
    """`Only staff after 18:00` closes the place then; `only guards from 8 to 17` closes it to others at any time."""
    return when.dark is True or any(start > end for start, end in when.hours)


def _joined(drafts: list[_Draft]) -> list[Reading]:
    """Make halves of clauses: one that adds nothing but a time or a command belongs to the one before."""
    groups: list[_Draft] = []
    for draft in drafts:
        last = groups[-1] if groups else None
        if draft.exception and last is not None:
            groups += _exception(groups, draft)
        elif last is None or not _continues(last, draft):
            groups.append(draft)
        else:
            groups[-1] = _merged(last, draft)
    said = [group for group in groups if group.effect is not None]
    kept = [group for group in groups if group.effect is not None or group.who or not said]
    kept = list(_of_the_same(kept))
    return list(_inherited([_reading(_weighed(group)) for group in kept]))


def _weighed(draft: _Draft) -> _Draft:
    """Add what is doubtful about all of a half: a habit is told of somebody, with its time; else it is no rule."""
    named = any(not unit.names or not _ANYBODY.issuperset(name.name for name in unit.names) for unit in draft.who)
    if draft.when.least and draft.effect in (None, "allowed"):
        draft = draft._replace(unclear=(*draft.unclear, "it permits groups, and does not say how large"))
    if draft.effect is None and not (draft.recurring and named):
        return draft._replace(assumed=(doubts.NOT_SAID, *draft.assumed))
    limited = draft.when.timed or draft.when.most_s or draft.when.most
    blanket = not draft.where and (draft.everywhere or not limited)
    if blanket and set(_names(draft.who)) <= _ANYBODY:
        return draft._replace(unclear=(*draft.unclear, doubts.BEYOND))
    return draft


def _of_the_same(groups: list[_Draft]) -> Iterator[_Draft]:
    """`People may walk there, but report if they stay`: who is not named again is who was allowed before."""
    before: tuple[Unit, ...] = ()
    for group in groups:
        takes_back = group.effect in ("forbidden", "report") and not group.exception
        yield group._replace(who=before) if takes_back and not group.who and before else group
        before = group.who if group.effect in (None, "allowed") and group.who else before


def _exception(groups: list[_Draft], draft: _Draft) -> list[_Draft]:
    """An exception has the opposite effect; of a permission only its times are taken, as those of other days."""
    main = groups[-1]
    allowed = main.effect in (None, "allowed")
    if allowed and draft.unless:
        reason = f"it holds under a condition that nobody checks: `{draft.unless}`"
        groups[-1] = main = main._replace(unclear=(*main.unclear, reason))
    if allowed and (draft.unread or draft.unclear):  # what it takes back is not known
        groups[-1] = main = main._replace(unread=(*main.unread, *draft.unread), unclear=(*main.unclear, *draft.unclear))
        if not draft.who and not draft.when.timed:
            return []
    if allowed and not draft.who:
        if draft.when.weekdays:
            days = set(main.when.weekdays or range(7)) - set(draft.when.weekdays)
            groups[-1] = main._replace(when=msgspec.structs.replace(main.when, weekdays=tuple(sorted(days))))
            return []
        return [draft._replace(effect="forbidden", where=draft.where or main.where, who=main.who)]
    return [draft._replace(effect="forbidden" if allowed else "allowed", where=draft.where or main.where)]


def _continues(last: _Draft, draft: _Draft) -> bool:
    """Whether a clause speaks on about the same: it names nobody new, and does not say the opposite."""
    if last.effect is None and not last.when.timed and _overlap(last.who, draft.who):
        return True  # "cyclists dismount there: report any bike" tells first what is usual, then what is not
    if draft.who and not _same(last.who, draft.who) and not (draft.effect == last.effect or draft.effect is None):
        return last.effect is None and _covers(draft.who, last.who)
    if last.effect is None or draft.effect is None:
        return not draft.who or not last.who or _same(last.who, draft.who) or _covers(draft.who, last.who)
    one, other = last.effect == "allowed", draft.effect == "allowed"
    if not other and draft.who and last.who and not (_same(last.who, draft.who) or _overlap(last.who, draft.who)):
        return False  # the yard is closed to cars, no people: two prohibitions
    return one == other


def _same(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    return {unit.stem for unit in one} == {unit.stem for unit in other}


def _overlap(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    names = [{name for unit in units for name in unit.names if name.kind in _PEOPLE} for units in (one, other)]
    return not names[0].isdisjoint(names[1])


def _covers(wide: tuple[Unit, ...], narrow: tuple[Unit, ...]) -> bool:
    """`Deer are common: ignore animals`; not `workers pick there; nobody may ...`."""
    groups = {name.name for unit in wide for name in unit.names if name.kind == "group"}
    return bool(groups) and not any(name.kind == "role" for unit in narrow for name in unit.names)


def _merged(last: _Draft, draft: _Draft) -> _Draft:
    if last.effect is None and draft.effect == "allowed":  # it only tells what the second then permits
        last = last._replace(assumed=())
        if draft.when.timed:
            last = last._replace(unread=(), unclear=())
    return last._replace(
        effect=last.effect if last.effect in ("forbidden", "report") else draft.effect or last.effect,
        who=last.who or draft.who,
        more=(*last.more, *draft.more, *(draft.who if last.who else ())),
        where=last.where or draft.where,
        when=_together(last.when, draft.when),
        unread=(*last.unread, *draft.unread),
        recurring=last.recurring or draft.recurring,
        assumed=(*last.assumed, *draft.assumed),
        unclear=(*last.unclear, *draft.unclear),
    )


def _together(one: When, other: When) -> When:
    """The times of two clauses; what the second does not say stays as the first said."""
    changes = {name: getattr(other, name) for name in When.__struct_fields__ if getattr(other, name)}
    if other.dark is not None:
        changes["dark"] = other.dark
    return msgspec.structs.replace(one, **changes)


def _reading(draft: _Draft) -> Reading:
    lost = draft.exception and not draft.who and not draft.when.timed
    allowed = draft.effect in (None, "allowed")
    return Reading(
        effect=draft.effect or "allowed",
        who=(UNREADABLE,) if lost else _names(draft.who),
        with_=_names(draft.more),
        where=draft.where,
        when=draft.when,
        exception=draft.exception,
        assumed=draft.assumed if allowed else (),
        unclear=(*draft.unclear, *(f"not read: `{phrase}`" for phrase in draft.unread)) if allowed else (),
    )


def _names(units: tuple[Unit, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.name for unit in units for name in unit.names if name.kind in _PEOPLE)) or tuple(
        unit.stem for unit in units
    )


def _inherited(readings: list[Reading]) -> Iterator[Reading]:
    """A half that names no place means the place of the other."""
    shared = next((reading.where for reading in readings if reading.where), ())
    for reading in readings:
        yield reading if reading.where else msgspec.structs.replace(reading, where=shared)


# --- who and where -------------------------------------------------------------------------------------------------


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PEOPLE = ("class", "group", "role")
_ANYBODY = frozenset(("person", "anything"))
_PERSON_SUFFIX = re.compile(
    r"(?:ers?|ors?|ists?|ians?|men|crews?|teams?|staff|compan(?:y|ies)|firms?|people|folks?)$", re.IGNORECASE
)
_PEOPLE_ZH = frozenset("员工师者队客民商户长手们")
_AND = re.compile(
    r"\s*(?:,|，|、|and|or|nor|和|及|与|或|以及|and/or|/)\s*(?:the|any|other|all|their|stray|wild)?\s*", re.IGNORECASE
)
_NOT_PEOPLE = _set(
    "after never ever other over under water corner number whether weather order matter later longer however "
    "either neither chamber former quarter tower counter letter paper winter summer power river floor door "
    "outdoor indoor motor mirror error for or per inner outer upper lower rather together another cover "
    "center centre shower fever offer are bother remember consider enter gather wander deliver hover linger "
    "discover trigger wonder answer consumer father mother brother sister their there here were where four "
    "your our hour nor silver copper rubber container trailer dumpster locker cooler timer buffer interior "
    "exterior sensor behaviour behavior harbor harbour ever anger danger master camera"
)


def _people(units: list[Unit], text: str, lexicon: Lexicon) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Whom a clause is about: the first that it names, with those joined to it; and whom and what else it names."""
    found = [
        unit
        for at, unit in enumerate(units)
        if any(name.kind in _PEOPLE for name in unit.names)
        and not unit.has("place")
        and not _owner(units, at, text)
        and not _BESIDE_ZH.match(text, unit.end)
        and (lexicon.animals.intersection(unit.has("class")) or not _modifies(units, at, text))
    ]
    guessed = (_guessed(units) or _doing(units, text)) if not found else None
    if guessed is not None:
        return (guessed,), ()
    if not found:
        return (), ()
    first = [found[0]]
    taken = 1
    for unit in found[1:]:
        between = text[first[-1].end : unit.start]
        if unit.has("class") and (between in _OWNED or (between == " " and _headed(first[-1], unit, lexicon))):
            first[-1] = unit  # a stray cat is a cat, a guest's car and a camper van are vehicles
        elif _AND.fullmatch(between):
            first.append(unit)
        else:
            break
        taken += 1
    return tuple(first), tuple(found[taken:])


def _owner(units: list[Unit], at: int, text: str) -> bool:
    """Whether somebody is only named as whose something is: people's lunches; not the neighbour's tractor."""
    after = units[at + 1] if at + 1 < len(units) else None
    return after is not None and text[units[at].end : after.start] in _OWNED and not after.names and _noun(after)


def _headed(before: Unit, unit: Unit, lexicon: Lexicon) -> bool:
    """Whether two words in a row name one thing, the second of them: stray cats, camper vans; not `the team trains`."""
    driven = before.has("role") and lexicon.vehicles.intersection(unit.has("class")) and unit.stem != "train"
    return bool(before.has("group") or driven)


_BESIDE_ZH = re.compile(r"旁|附近|周围|边上|[前后上下]面")
"""By the forklift: it says where, not who."""
_OWNED = ("' ", "'s ", "\u2019 ", "\u2019s ")


def _modifies(units: list[Unit], at: int, text: str) -> bool:
    """Whether a class only tells a place apart: car wash, boat house, aircraft lane."""
    if at + 1 >= len(units) or units[at].text.casefold() != units[at].stem or not units[at].text.isascii():
        return False
    if not units[at].has("class"):
        return False
    after = units[at + 1]
    if text[units[at].end : after.start] != " ":
        return False
    return bool(after.has("place")) or (not after.names and _noun(after) and not after.text.endswith("s"))


def _noun(unit: Unit) -> bool:
    return unit.stem not in STOP and _nominal(unit.stem)


_ONE = re.compile(
    r"\b(?:you|one|we) (?:may|can|could|might|must|should|are|is)\b"
    r"|\b(?:fine|okay|ok|allowed|permitted|all right|alright|acceptable|normal) (?:to|for)\b",
    re.IGNORECASE,
)


_NO_DEED = _set("nothing anything something everything morning evening during being building thing king spring")


def _doing(units: list[Unit], text: str) -> Unit | None:
    """`Bathing in the lake is fine`, `you may cross the yard`: people are meant without being named."""
    first = next((unit for unit in units if unit.stem not in STOP), None)
    if _ONE.search(text) or (
        first is not None and not first.names and first.stem.endswith("ing") and first.stem not in _NO_DEED
    ):
        return Unit("", "person", 0, 0, (Name("class", "person"),))
    return None


def _guessed(units: list[Unit]) -> Unit | None:
    """English and Chinese say by the ending that a word names people; it is looked for where subjects stand."""
    for unit in [unit for unit in units if unit.stem not in STOP][:3]:
        word = unit.text.casefold()
        if not unit.names and len(word) > 4 and word not in _NOT_PEOPLE and _PERSON_SUFFIX.search(word):  # noqa: PLR2004
            return unit
    return _guessed_zh(units)


def _guessed_zh(units: list[Unit]) -> Unit | None:
    """A Chinese word that the table lacks and that ends as words for people do: 村民, 驯兽师."""
    for before, unit in itertools.pairwise(units):
        if unit.text in _PEOPLE_ZH and not unit.names and not before.names and before.end == unit.start:
            return unit._replace(text=before.text + unit.text, stem=before.stem + unit.stem, start=before.start)
    return None


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
_NO_PLACE = _set(
    "it them there here once time times order me us foot bike case breaks all day night work duty business "
    "alarm food bottles way dawn dusk sunrise sunset breakfast lunch dinner mind turn course random "
    "weekdays mornings evenings passing general fact use service guests goods"
)


_TENDED_ZH = re.compile(r"看(?!台|守)|管(?!理|道)|扫|守|护")
"""The end of a verb before a place: 照看蜂箱."""
_NO_SPOT = (*_PEOPLE, "anywhere")


def places(text: str, units: list[Unit]) -> tuple[str, ...]:
    """The places of a clause as written: those of the table with what belongs to them, or what a preposition names."""
    found: list[tuple[int, int]] = []
    for at, unit in enumerate(units):
        if not unit.has("place") or any(name.kind in _NO_SPOT for name in unit.names):
            continue
        start, end = unit.start, unit.end
        before = at - 1
        while before >= 0 and _belongs(units, before, text, start):
            start = units[before].start
            before -= 1
        if tended := _TENDED_ZH.match(text[start:end]):
            start += tended.end()
        if at + 1 < len(units) and units[at + 1].has("side") and not text[end : units[at + 1].start].strip():
            end = units[at + 1].end
        if at + 1 < len(units) and _follows(units, at, text):
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


def _follows(units: list[Unit], at: int, text: str) -> bool:
    """Whether the word behind a place is the place: the cellar hatch, the kitchen window; not `the pond freezes`."""
    after = units[at + 1]
    if text[units[at].end : after.start] != " " or after.names or not after.text.isascii():
        return False
    ends = _ENDS.match(text, after.end)
    return _noun(after) and not after.text.endswith("s") and ends is not None


def _belongs(units: list[Unit], at: int, text: str, start: int) -> bool:
    """Whether the word before a place is part of its name: a side, or a word that says nothing else."""
    unit = units[at]
    if text[unit.end : start] not in ("", " "):
        return False
    if unit.has("side"):
        return True
    if not unit.text.isascii():
        return not unit.names and unit.text not in _FUNCTION_ZH
    if unit.stem in STOP:
        return False
    if unit.names:
        return _modifies(units, at, text)
    articled = bool(re.search(r"\b(?:the|a|an|our|my)\s$", text[: unit.start], re.IGNORECASE))
    return _nominal(unit.stem) or (articled and unit.stem.endswith("ing"))


_FUNCTION_ZH = frozenset(
    "可以来照在到进去往从的了和与或及有是会不没要可能让把被对向于就也都还再又很请将着过里内外上下旁边前后处经常每各这那其入出停放靠近登爬"
)
_VERBAL = re.compile(r"(?:ing|ed|ly)$")
_VERBS = _set(
    "stand sleep walk work stop wait park enter leave drop pick gather fill use play train make keep get go "
    "come see run drive fly sit lie stay move pass cross climb bring fetch collect clean patrol visit feed "
    "meet mow fish swim ride let take put set do be trigger call tell report ignore watch check allow forbid "
    "close open free empty clear"
)


def _nominal(word: str) -> bool:
    return not _VERBAL.search(word) and word not in _VERBS


def has_unknown_noun(text: str, lexicon: Lexicon) -> bool:
    """Whether a text without its times has a noun that the table does not know: after `the` in English.

    Chinese has no such sign; a place there ends in one of few characters, and was found by it.
    """
    return any(
        not unit.names and unit.text.isascii() and _noun(unit) and re.search(r"\b(?:the|our|my)\s$", text[: unit.start])
        for unit in lexicon.scan(text)
    )
