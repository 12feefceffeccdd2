"""A standing note in plain language, read once into what code can check: who, where, when, how long, in order or not.

"Trucks may wait in the loading bay for up to 10 minutes, 07:00-17:00 on weekdays" is a reading of three facts and a time.
The reading is shown to whoever wrote the note, who confirms it; what could not be read is said beside it. What a note does
to an incident follows from the confirmed reading by arithmetic (`effect`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.core import when as times
from pipeline.core.errors import NoteError
from pipeline.core.when import When
from pipeline.core.words import STOP, Lexicon, Unit, chinese

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipeline.core.facts import Facts

Effect: TypeAlias = Literal["allowed", "forbidden", "report"]
Polarity: TypeAlias = Literal["allow", "forbid", "except", "dual"]
Outcome: TypeAlias = Literal["allowed", "forbidden", "over", "outside", "silent"]

MOST_CHARACTERS = 500
MOST_WORDS = 80


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """One half of a note.

    Attributes:
        effect: What it says of what it names: in order, not in order, or to be told of.
        who: Classes, groups and roles of config/words.toml that it is about; empty: anyone.
        with_: What else it names: what they drive or lead or carry.
        where: The places, as written; empty: everywhere.
        when: The times.
        said: Whether it says so; else it tells what is usual, which is taken for in order.
        exception: It is the exception to the half before.
    """

    effect: Effect
    who: tuple[str, ...] = ()
    with_: tuple[str, ...] = msgspec.field(name="with", default=())
    where: tuple[str, ...] = ()
    when: When = When()
    said: bool = True
    exception: bool = False


class Note(msgspec.Struct, frozen=True):
    """A note and what was read of it.

    Attributes:
        text: As its author wrote it.
        readings: One a half.
        unread: What could not be read, in words for its author.
    """

    text: str
    readings: tuple[Reading, ...]
    unread: tuple[str, ...] = ()

    @property
    def polarity(self) -> Polarity:
        """What the note amounts to: allow, forbid, forbidden with an exception, or two opposite halves."""
        return polarity(self.readings)


class Contradiction(NamedTuple):
    """Two notes that say the opposite of the same."""

    one: int  # counted from 0
    other: int
    text: str


def polarity(readings: Sequence[Reading]) -> Polarity:
    """Sum up the halves of a note."""
    good = [reading for reading in readings if reading.effect == "allowed"]
    if good and len(good) < len(readings):
        return "except" if any(reading.exception for reading in readings) else "dual"
    return "allow" if good else "forbid"


def check(text: str) -> str:
    """Return a note as one line of text.

    Raises:
        NoteError: It is empty, or so long that nobody could confirm what was read of it.
    """
    line = " ".join(text.split())
    if not re.search(r"\w", line):
        raise NoteError("the note is empty: write one sentence, such as `Nobody may be on the roof at any time.`")
    words = len(re.findall(r"[\u3400-\u9fff]|[^\W_]+", line))
    if len(line) > MOST_CHARACTERS or words > 4 * MOST_WORDS or (not chinese(line) and words > MOST_WORDS):
        raise NoteError(
            f"the note has {words} words: at most {MOST_WORDS} words or {MOST_CHARACTERS} characters can be confirmed at "
            "a glance; write one note for each thing"
        )
    return line


def compile_note(text: str, lexicon: Lexicon) -> Note:
    """Read a note.

    Args:
        text: One or two sentences of English or Chinese.
        lexicon: What words name.

    Raises:
        NoteError: It is empty or too long.
    """
    line = check(text)
    drafts = [draft for clause in _clauses(line) for draft in _drafts(clause, lexicon)]
    halves = _joined(drafts)
    unread = [phrase for draft in drafts for phrase in draft.unread]
    if not any(draft.who or draft.where for draft in drafts):
        unread.append("neither who nor where: it would hold for everything")
    if any(draft.both for draft in drafts):
        unread.append("it both allows and forbids in one breath: write two notes")
    return Note(line, tuple(halves), tuple(dict.fromkeys(unread)))


def confirmed(note: Note, wanted: Polarity) -> Note:
    """Return a note with the polarity that its author confirmed, where it was read differently."""
    if note.polarity == wanted or (note.polarity in ("except", "dual") and wanted in ("except", "dual")):
        return note
    good = [reading for reading in note.readings if reading.effect == "allowed"]
    bad = [reading for reading in note.readings if reading.effect != "allowed"]
    if wanted == "allow":
        chosen = good or [msgspec.structs.replace(reading, effect="allowed") for reading in bad]
    elif wanted == "forbid":
        chosen = bad or [msgspec.structs.replace(reading, effect="forbidden") for reading in good]
    else:
        timed = max(note.readings, key=lambda reading: reading.when.timed)
        chosen = [
            Reading("forbidden", where=timed.where, who=timed.who if bad else ()),
            msgspec.structs.replace(timed, effect="allowed", exception=wanted == "except"),
        ]
    return msgspec.structs.replace(note, readings=tuple(chosen))


def effect(readings: Iterable[Reading], facts: Facts) -> Outcome:
    """What a note that speaks of an incident says of it; times, stays and numbers are compared here.

    Args:
        readings: Of the note; those about somebody else left out.
        facts: Of the incident.

    Returns:
        `allowed`; `forbidden`, also where it is to be told of; `over`: allowed, but not so long or so many; `outside`:
        allowed, but not now; `silent`: it says nothing of this.
    """
    found = {_half(reading, facts) for reading in readings}
    order: tuple[Outcome, ...] = ("allowed", "forbidden", "over", "outside")
    return next((outcome for outcome in order if outcome in found), "silent")


def _half(reading: Reading, facts: Facts) -> Outcome:
    state = times.state(reading.when, facts, lenient=reading.effect != "allowed")
    if reading.effect == "allowed":
        by_state: dict[times.State, Outcome] = {"open": "allowed", "closed": "outside", "over": "over"}
        return by_state.get(state, "silent")
    limited = reading.when.most_s or reading.when.most
    if state == "unknown":
        return "forbidden"
    if not limited:
        return "forbidden" if state == "open" else "silent"
    return "over" if state == "over" else "silent"


def contradictions(notes: Sequence[Note]) -> list[Contradiction]:
    """Find pairs of notes about the same people and places whose times meet and that say the opposite."""
    found = []
    for first, one in enumerate(notes):
        for second in range(first + 1, len(notes)):
            other = notes[second]
            if any(_opposed(a, b) for a in one.readings for b in other.readings):
                found.append(Contradiction(first, second, f"`{one.text}` and `{other.text}` say the opposite"))
    return found


def _opposed(one: Reading, other: Reading) -> bool:
    if (one.effect == "allowed") == (other.effect == "allowed"):
        return False
    if one.exception or other.exception or sorted(one.who) != sorted(other.who):
        return False
    places = {place.casefold() for place in one.where}, {place.casefold() for place in other.where}
    return places[0] == places[1] and one.when.most_s == other.when.most_s and _meet(one.when, other.when)


def _meet(one: When, other: When) -> bool:
    """Whether two times have a moment in common."""
    days = set(one.weekdays or range(7)) & set(other.weekdays or range(7))
    if not days or (one.dark is not None and other.dark is not None and one.dark != other.dark):
        return False
    if one.outside or other.outside:
        return one == other
    moments = range(0, times.DAY, 15)
    return any(_in(one, moment) and _in(other, moment) for moment in moments)


def _in(when: When, moment: int) -> bool:
    spans = when.hours or ((0, times.DAY),)
    return any(a <= moment <= b if a <= b else moment >= a or moment <= b for a, b in spans)


# --- from a sentence to halves -------------------------------------------------------------------------------------


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


class _Clause(NamedTuple):
    text: str
    exception: bool = False
    forbids_rest: bool = False  # "only guards may ...": everybody else may not


_SENTENCES = re.compile(r"[;；。!！?？]\s*|\.(?=\s|$)\s*|\s*[,，]?\s+(?:but|however|whereas|otherwise|yet)\b,?|，?(?:但是|但|不过|然而|否则|其余|其他时间)，?|:\s+|\uff1a(?!\d)")
_COMMAND = re.compile(r"[,，]\s*(?:and\s+)?(?=(?:report|call|tell|notify|alert|ignore|warn|ring|let me know|do not|don't|never mind|please|报告|通知|报警|告诉|忽略|不用|无需|马上|立即|请))", re.IGNORECASE)
_COMMA = re.compile(r"[,，](?!\d)\s*")
_EXCEPT = re.compile(r"[,，]?\s*\b(?:except(?: for| when| if| that)?|unless|apart from|other than|save for|with the exception of|excluding)\b|(?:除非)", re.IGNORECASE)
_EXCEPT_ZH = re.compile(
    r"除了?(?P<what>[^，。；,;]+?)(?:以外|之外|外)[，,]?|除了?(?P<those>[^，。；,;]+?)[，,](?=其他|其余|别的|谁)|^非(?P<not>[^，。；,;]{1,8}?)(?=禁止|不得|不准|不许|不能|勿|严禁|请勿|不可)"
)
_EXCEPT_ZH_END = re.compile(r"[，,](?P<what>[^，。；,;]+?)(?:除外|例外)")
_FOR_ONLY = re.compile(
    r"\b(?:is|are) (?:reserved |meant |open |accessible |intended )?(?:only )?(?:for|to) (?P<what>[^,.;]+?) (?:only|alone|exclusively)\b|\b(?:is|are) (?:reserved|only) for (?P<them>[^,.;]+)",
    re.IGNORECASE,
)
_ONLY = re.compile(r"^\s*only\s+(?!on\b|at\b|from\b|between\b|until\b|in\b)|^(?:只有|仅限?)", re.IGNORECASE)
_DANGLING = re.compile(r"^(?:that|this|it|they|these|those|there)\b", re.IGNORECASE)


def _clauses(line: str) -> Iterator[_Clause]:
    for sentence in _SENTENCES.split(line):
        for part in _COMMAND.split(sentence):
            for side in _opposites(part.strip()) if part and part.strip() else ():
                yield from _excepted(side)


def _opposites(part: str) -> tuple[str, ...]:
    """Split at a comma where what stands before is allowed and what comes after is not, or the other way round."""
    for comma in _COMMA.finditer(part):
        sides = part[: comma.start()], part[comma.end() :]
        one, other = (_effect(side)[0] for side in sides)
        if one == "allowed" and other in ("forbidden", "report"):
            return sides
        if one in ("forbidden", "report") and other == "allowed" and (chinese(part) or not _WEAK.search(sides[1])):
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
        yield _Clause(rest, exception=True)
        return
    yield _Clause(part, forbids_rest=bool(_ONLY.search(part)))


_ADDRESSEE = re.compile(
    r"\b(?:call|phone|ring|tell|inform|notify|alert|warn|page|wake)\s+(?:the |my |our |a )?[a-z' ]{2,40}?\s+(?=if|when|whenever|about|as soon as|that|once)"
    r"|(?:call|phone|ring|tell|inform|notify|alert|warn|page|wake) (?:the |my |our )?[a-z' ]{2,30}(?=\s*(?:[.,;!]|$))"
    r"|(?:通知|告诉|联系|报告给?|打电话给)[\u3400-\u9fff]{0,6}?(?=[，。；,;]|$)",
    re.IGNORECASE,
)
"""Whom to tell is not whom the note is about."""


def _drafts(clause: _Clause, lexicon: Lexicon) -> Iterator[_Draft]:
    read = times.read(clause.text)
    units = lexicon.scan(_ADDRESSEE.sub(lambda found: " " * len(found[0]), read.rest))
    said, both = _effect(read.rest)
    who, more = _people(units, read.rest, lexicon)
    yield _Draft(said, who, more, places(read.rest, units), read.when, read.unread, clause.exception, both)
    if clause.forbids_rest:
        yield _Draft("forbidden", (), (), places(read.rest, units), When(), (), exception=False, both=False)


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
    return list(_inherited([_reading(group) for group in kept]))


def _exception(groups: list[_Draft], draft: _Draft) -> list[_Draft]:
    """An exception has the opposite effect; of a permission only its times are taken, as those of other days."""
    main = groups[-1]
    allowed = main.effect in (None, "allowed")
    if allowed and not draft.who:
        if draft.when.weekdays:
            days = set(main.when.weekdays or range(7)) - set(draft.when.weekdays)
            groups[-1] = main._replace(when=msgspec.structs.replace(main.when, weekdays=tuple(sorted(days))))
            return []
        return [draft._replace(effect="forbidden", where=draft.where or main.where, who=main.who)]
    return [draft._replace(effect="forbidden" if allowed else "allowed", where=draft.where or main.where)]


def _continues(last: _Draft, draft: _Draft) -> bool:
    """Whether a clause speaks on about the same: it names nobody new, and does not say the opposite."""
    if draft.who and not _same(last.who, draft.who) and not (draft.effect == last.effect or draft.effect is None):
        return last.effect is None and _covers(draft.who, last.who)
    if last.effect is None or draft.effect is None:
        return not draft.who or not last.who or _same(last.who, draft.who) or _covers(draft.who, last.who)
    one, other = last.effect == "allowed", draft.effect == "allowed"
    return one == other


def _same(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    return {unit.stem for unit in one} == {unit.stem for unit in other}


def _covers(wide: tuple[Unit, ...], narrow: tuple[Unit, ...]) -> bool:
    """`Deer are common: ignore animals`; not `workers pick there; nobody may ...`."""
    groups = {name.name for unit in wide for name in unit.names if name.kind == "group"}
    return bool(groups) and not any(name.kind == "role" for unit in narrow for name in unit.names)


def _merged(last: _Draft, draft: _Draft) -> _Draft:
    return last._replace(
        effect=last.effect if last.effect in ("forbidden", "report") else draft.effect or last.effect,
        who=last.who or draft.who,
        more=(*last.more, *draft.more, *(draft.who if last.who else ())),
        where=last.where or draft.where,
        when=_together(last.when, draft.when),
        unread=(*last.unread, *draft.unread),
    )


def _together(one: When, other: When) -> When:
    """The times of two clauses; what the second does not say stays as the first said."""
    changes = {name: getattr(other, name) for name in When.__struct_fields__ if getattr(other, name)}
    if other.dark is not None:
        changes["dark"] = other.dark
    return msgspec.structs.replace(one, **changes)


def _reading(draft: _Draft) -> Reading:
    return Reading(
        effect=draft.effect or "allowed",
        who=_names(draft.who),
        with_=_names(draft.more),
        where=draft.where,
        when=draft.when,
        said=draft.effect is not None,
        exception=draft.exception,
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


# --- in order or not -----------------------------------------------------------------------------------------------

_NO = r"(?:no need to|need not|needn't|do(?:es)? not (?:need|have) to (?:be )?|don't (?:need|have) to|doesn't (?:need|have) to|do not|don't|no reason (?:to|for)(?: an?)?|without|not necessary to|never|not to be|not be|must not|mustn't|should not|shouldn't|not worth|nobody (?:has|needs) to|no one (?:has|needs) to|rather not|please don't|no point in)"
_TELLING = r"(?:report(?:ed|ing|s)?|call(?:ed|ing)?(?: me| us)?|tell(?:ing)?(?: me| us)?|notif(?:y|ied|ying)|alert(?:ed|ing)?(?! to)|alarm(?:ed|ing|s)?|warn(?:ed|ing)?|bother(?:ed|ing)?|worr(?:y|ied|ying)|disturb(?:ed|ing)?|wake|waking|ring(?:ing)?|trigger(?:ed|ing)?|raise|raising|flag(?:ged|ging)?|mind|care|message|messag(?:e|ing)|concern(?:ed)?|mention(?:ed|ing)?|be reported|be alarmed|log(?:ged|ging)?|send(?:ing)?|pay attention|count(?:ed)? as)"
# fmt: off
_SAYS: tuple[tuple[str, re.Pattern[str]], ...] = tuple((effect, re.compile(pattern, re.IGNORECASE)) for effect, pattern in (
    ("allowed", rf"\b{_NO}\s*(?:to\s+)?(?:be\s+)?{_TELLING}\b(?:\s+(?:an? |the |any )?(?:alarms?|alerts?|reports?|about))?"),
    ("allowed", r"\bnever mind\b|\bno (?:alarms?|reports?|alerts?|notifications?|problem|harm|issue|objections?|restrictions?|worry|worries|cause for|threat|danger|big deal|concern|need)\b(?: (?:is |are )?(?:needed|necessary|required))?|\bnothing (?:to (?:report|worry|see|do)|unusual|wrong|special|suspicious|out of the ordinary)\b|\b(?:is|are|it's|that's|means?|was) nothing\b|\bnot (?:a|an) (?:problem|issue|intruder|threat|concern|alarm|incident|intrusion)\b|\bnot (?:unusual|suspicious|forbidden|prohibited|unexpected|uncommon|dangerous|a problem|alarming|banned|worrying|unwelcome)\b|\b(?:nobody|no one) minds\b|\bneed(?:s)? no (?:alarm|report|attention|alert)\b|\bno (?:longer )?(?:forbidden|prohibited)\b|\bfalse (?:alarms?|triggers?|positives?)\b|\bharmless\b|\b(?:do(?:es)? not|don't|doesn't|no longer) (?:matter|count|interest|concern|need (?:any )?attention)\b|\b(?:irrelevant|insignificant|unimportant)\b|\bof no (?:interest|importance|concern|consequence)\b|\bnot (?:interested|interesting|important|relevant)\b"),
    ("allowed", r"不用(?:管|报告|上报|通知|理会|理|报警|担心|在意|处理|告诉|叫)?|无需(?:报告|上报|通知|报警|理会|处理|关注)?|不必(?:报告|上报|通知|报警|理会|在意|管)?|不需要(?:报告|上报|通知|报警|理会)?|没事|没关系|没问题|(?:别|不要|不用|不必|无需)(?:再)?(?:报警|报告|上报|管|通知|理会|打电话|给我打电话|叫我|提醒|告诉|吵|烦|打扰|担心)(?:给?我)?|不算(?:异常|问题|违规|入侵)|不是(?:问题|异常|入侵)|误报|属于?正常|无妨|不属于异常|可以?忽略|不予理会"),
    ("forbidden", r"\b(?:nobody|no one|no-one|none|not anyone|nothing (?=may|must|should|can|is allowed|shall))\b(?:[^,.;]{0,60}?\b(?:allowed|permitted|may|can|should|must|welcome|has any business|is to)\b)?|\b(?:is|are|be|was|it's|that's)?\s*(?:strictly |absolutely |not )?(?:forbidden|prohibited|banned|barred|off[- ]limits|out of bounds|illegal|unacceptable|undesirable|unwanted|no[- ]go)\b"),
    ("forbidden", r"\b(?:must|may|can|should|shall|could|will|is|are|do|does|has|have|be|ought)\s*(?:never|not|n't|no)\b(?:\s+(?:ever|be|to))*(?:\s+(?:allowed|permitted|welcome|wanted|supposed|meant|acceptable|okay|ok|fine|tolerated|authori[sz]ed|belong|be here|normal|usual|expected|entitled|enter|any business))?|\b(?:mustn't|can't|cannot|shouldn't|mayn't|isn't|aren't|don't|doesn't|won't|mustn’t|can’t|shouldn’t|don’t)\b(?:\s+(?:be\s+)?(?:allowed|permitted|welcome|wanted|supposed|belong))?|\bnot (?:allowed|permitted|welcome|wanted|supposed|tolerated|acceptable|okay|ok|authori[sz]ed|for|meant to)\b|\bnever\b"),
    ("forbidden", r"\b(?:keep|stay|kept|keeps|stays|remain)s?\b[^,.;]{0,40}?\b(?:away|out|off|clear|empty|closed|locked|shut|free of)\b|\b(?:must|should|has to|have to|is to|are to)\s+(?:be|stay|remain|lie|stand)\s+(?:\w+ )?(?:empty|deserted|closed|locked|shut|clear|free|vacant|unoccupied)\b|\b(?:is|are|stays?|remains?) (?:\w+ )?(?:closed|locked|shut)(?: to| for)?\b|\bno (?:entry|access|admittance|trespassing|parking|stopping|loitering|entering|standing|waiting|swimming|fishing|smoking|driving|cycling|riding|playing|climbing)\b|^\s*no (?!need|alarm|problem|harm|worr)\w+|\b(?:trespass\w*|intruders?|unauthori[sz]ed|has no business|have no business|without (?:permission|authori[sz]ation))\b|\brefrain\b|\b(?:denied|refused|blocked for)\b|\bkeep\b[^,.;]{0,40}?\bfree\b|\bhands off\b"),
    ("forbidden", r"不允许|不行|不给|不准|不许|不得|不能|不可以?|禁止|严禁|不应该?|不该|请?勿|谢绝|禁入|禁停|非请莫入|不让|不要(?!紧)|没有?人(?:应该?|可以)?|不应有|不会有人|无人|远离|违规|不欢迎|闲人免进|止步|关闭|封闭"),
    ("report", r"\b(?:please )?(?:report|call|phone|ring|wake|page|text|message|notify|alert|alarm|warn|inform)\b(?: me| us| the| at| any| every| all| if| when| it| them| somebody| security| everyone| anyone| anybody| people| vehicles?)?|\b(?:to be|must be|should be|be|is|are|has to be|have to be|gets?) (?:reported|notified|alarmed|flagged|alerted|announced)\b|\btell (?:me|us|the)\b|\blet (?:me|us) know\b|\b(?:i|we) (?:want|need|would like|wish|have) to (?:know|hear|be told)\b|\b(?:raise|sound|trigger|give|set off) (?:an? |the )?(?:alarm|alert)\b|\bcase for\b|\b(?:is|are) (?:\w+ )?(?:a problem|suspicious|an emergency|not normal|alarming|dangerous|a matter for)\b|\bsuspicious\b|\blook out for\b|\bwatch out for\b|\bkeep an eye\b|\binterested in\b|\bof interest\b|\bsend (?:me|us) (?:a|an)\b"),
    ("report", r"报告|上报|通知|报警|告诉我|告知|提醒我?|打电话|叫我|喊我|警报|可疑|汇报|告警|联系我|立即处理|要注意|需注意|派人"),
    ("allowed", r"\b(?:may|can|could|might|allowed|permitted|fine|okay|ok|all right|alright|normal(?:ly)?|usual(?:ly)?|expected|common(?:ly)?|welcome|ignore|disregard|skip|overlook|belongs?|acceptable|authori[sz]ed|entitled|always|often|regular(?:ly)?|as a rule|routine(?:ly)?|in order|legitimate|tolerated|free to|used to|has permission|have permission|part of the job|every day|of course|no wonder|leave (?:it|them|him|her) (?:alone|be|in peace)|dismiss|supposed to|scheduled|planned)\b"),
    ("allowed", r"可以|允许|正常|忽略|常有|经常|准许|欢迎|能够|常见|常在|照常|许可|同意|习惯|平常|有权|例行|按时|定期|固定|会在|会到|会来|会有|会从"),
))
# fmt: on
_LEAVE_BY = re.compile(r"\b(?:must|have to|has to|should|need to)\s+(?:be gone|leave|be out|be done|finish|have left|be finished|be over)\b", re.IGNORECASE)


def _effect(text: str) -> tuple[Effect | None, bool]:
    """What a clause says outright, and whether it says both. Negated phrases are read before what they negate."""
    rest = _LEAVE_BY.sub(" may ", text)
    found: dict[str, int] = {}
    for name, pattern in _SAYS:
        for hit in pattern.finditer(rest):
            if hit[0].strip():
                found[name] = min(found.get(name, len(rest)), hit.start())
        rest = pattern.sub(lambda hit: " " * len(hit[0]), rest)
    bad: Effect | None = "forbidden" if "forbidden" in found else "report" if "report" in found else None
    if bad is None:
        return ("allowed" if "allowed" in found else None), False
    strong = "allowed" in found and not _WEAK.fullmatch(_at(text, found["allowed"]))
    return bad, strong and found["allowed"] < min(at for name, at in found.items() if name != "allowed")


_WEAK = re.compile(r"(?:may|can|could|might|always|often|normal\w*|usual\w*|可以|会在|会到|会来|会有|会从)", re.IGNORECASE)


def _at(text: str, start: int) -> str:
    found = re.compile(r"[a-z]+|[\u3400-\u9fff]{2}", re.IGNORECASE).match(text, start)
    return found[0] if found else ""


# --- who and where -------------------------------------------------------------------------------------------------

_PEOPLE = ("class", "group", "role")
_PERSON_SUFFIX = re.compile(r"(?:ers?|ors?|ists?|ians?|men|crews?|teams?|staff|compan(?:y|ies)|firms?|people|folks?)$", re.IGNORECASE)
_PERSON_ZH = re.compile(r"[\u3400-\u9fff]{1,3}(?:员|工|师|者|队|客)")
_AND = re.compile(r"\s*(?:,|，|、|and|or|nor|和|及|与|或|以及|and/or|/)\s*(?:the|any|other|all|their|stray|wild)?\s*", re.IGNORECASE)
_NOT_PEOPLE = frozenset(
    "after never ever other over under water corner number whether weather order matter later longer however either "
    "neither chamber former quarter tower counter letter paper winter summer power river floor door outdoor indoor motor "
    "mirror error for or per inner outer upper lower rather together another cover center centre shower fever offer are "
    "bother remember consider enter gather wander deliver hover linger discover trigger wonder answer consumer father mother brother sister "
    "their there here were where four your our hour nor silver copper rubber container trailer dumpster locker cooler "
    "timer buffer interior exterior sensor behaviour behavior harbor harbour ever anger danger master camera".split()
)


def _people(units: list[Unit], text: str, lexicon: Lexicon) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Whom a clause is about: the first that it names, with those joined to it; and whom and what else it names."""
    found = [
        unit
        for at, unit in enumerate(units)
        if any(name.kind in _PEOPLE for name in unit.names) and not unit.has("place") and (lexicon.animals.intersection(unit.has("class")) or not _modifies(units, at, text))
    ]
    guessed = _guessed(units) if not found else None
    if guessed is not None:
        return (guessed,), ()
    if not found:
        return (), ()
    first = [found[0]]
    taken = 1
    for unit in found[1:]:
        between = text[first[-1].end : unit.start]
        if unit.has("class") and (between in _OWNED or (between == " " and first[-1].has("group"))):
            first[-1] = unit  # a stray cat is a cat, a guest's car is a car
        elif _AND.fullmatch(between):
            first.append(unit)
        else:
            break
        taken += 1
    return tuple(first), tuple(found[taken:])


_OWNED = ("' ", "'s ", "\u2019 ", "\u2019s ")


def _modifies(units: list[Unit], at: int, text: str) -> bool:
    """Whether a class only tells a place apart: car wash, boat house, aircraft lane."""
    if at + 1 >= len(units) or units[at].text.casefold() != units[at].stem or not units[at].text.isascii():
        return False
    after = units[at + 1]
    if text[units[at].end : after.start] != " ":
        return False
    return bool(after.has("place")) or (not after.names and _noun(after) and not after.text.endswith("s"))


def _noun(unit: Unit) -> bool:
    return unit.stem not in STOP and _nominal(unit.stem)


def _guessed(units: list[Unit]) -> Unit | None:
    """English and Chinese say by the ending that a word names people; it is looked for where subjects stand."""
    for unit in [unit for unit in units if unit.stem not in STOP][:3]:
        word = unit.text.casefold()
        if not unit.names and len(word) > 4 and word not in _NOT_PEOPLE and _PERSON_SUFFIX.search(word):  # noqa: PLR2004
            return unit
    return None


_PREPOSITION = re.compile(
    r"\b(?:in front of|next to|close to|away from|out of|on top of|inside|outside|into|onto|in|at|on|near|by|beside|behind|under|"
    r"underneath|along|across|through|around|over|within|beyond|past|to|from|towards?|up|between|alongside|opposite|about)\s+"
    r"(?:the |a |an |our |my |his |their |its )?(?P<what>[a-z][a-z' -]*?(?: \d+)?)(?=\s+(?:is|are|may|must|can|should|and|or|when|while|for|with|to|"
    r"on|in|at|from|until|between|by|every|during|if|where|who|that|which|without|as|has|have|will|report|call)\b|\s{2,}|[,.;:!?]|\s*$)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^\s*(?:the |our )?(?P<what>[a-z][a-z' -]*?(?: \d+)?) (?:is|are|must|should|has to|stays?|remains?) (?:(?:be|stay|remain|strictly|always) )*"
    r"(?:closed|off[- ]limits|out of bounds|empty|locked|where|shut|deserted|clear|reserved)\b",
    re.IGNORECASE,
)
_PLACE_ZH = re.compile(
    r"(?:在|进入|进|到|靠近|去|往|出入|登上|爬上)(?P<what>[\u3400-\u9fff]{2,6}?)(?=里|内|处|旁|边|上|下|附近|外|周围|门口|[，。；、 ]|停|等|工作|巡|打|排|$)"
    r"|(?P<head>(?:(?![不有会在人车准禁许要])[\u3400-\u9fff]){1,5}(?:间|室|房|厅|场|站|台|库|楼|池|园|厂|棚|亭|塔|院|区|坡|井|廊|岛|洞|坝))"
)
_NO_PLACE = frozenset(
    "it them there here once time times order me us foot bike case breaks all day night work duty business alarm food "
    "bottles weekdays mornings evenings passing general fact use service guests goods".split()
)


def places(text: str, units: list[Unit]) -> tuple[str, ...]:
    """The places of a clause, as written: those of the table with what stands before them, else what a preposition names."""
    found = []
    for at, unit in enumerate(units):
        if not unit.has("place") or (any(name.kind in _PEOPLE for name in unit.names)):
            continue
        start, end = unit.start, unit.end
        before = at - 1
        while before >= 0 and _belongs(units, before, text, start):
            start = units[before].start
            before -= 1
        if at + 1 < len(units) and units[at + 1].has("side") and not text[end : units[at + 1].start].strip():
            end = units[at + 1].end
        if found and found[-1][1] >= start and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], end)  # 办公楼 + 走廊
        else:
            found.append((start, end))
    if found:
        return tuple(dict.fromkeys(text[start:end].strip() for start, end in found))
    named = [match["what"].strip() for match in (*_SUBJECT.finditer(text), *_PREPOSITION.finditer(text))]
    named += [match["what"] or match["head"] for match in _PLACE_ZH.finditer(text)]
    known = {unit.text for unit in units if any(name.kind in _PEOPLE for name in unit.names)}
    return tuple(
        dict.fromkeys(
            name
            for name in named
            if name and name not in _NO_PLACE and name not in known and not set(name.split()) <= STOP | _NO_PLACE
        )
    )[:2]


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


_FUNCTION_ZH = frozenset("在到进去往从的了和与或及有是会不没要可能让把被对向于就也都还再又很请将着过里内外上下旁边前后处经常每各这那其入出停放靠近登爬")
_VERBAL = re.compile(r"(?:ing|ed|ly)$")
_VERBS = frozenset(
    "stand sleep walk work stop wait park enter leave drop pick gather fill use play train make keep get go come see run "
    "drive fly sit lie stay move pass cross climb bring fetch collect clean patrol visit feed meet mow fish swim ride let "
    "take put set do be trigger call tell report ignore watch check allow forbid close open free empty clear".split()
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
