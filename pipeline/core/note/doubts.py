"""Find reasons why a note that seems to permit something must not silence an alarm.

Questions, rumours, things that ended, single events, conditions that no code checks, crimes: each has a row of words in
English and Chinese. Each match is a reason that the note's author sees, and the note silences nothing until it is
written more plainly. A needless doubt costs one alarm too many; a missing doubt hides an alarm.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.note import cues
from pipeline.core.note.words import STOP, Lexicon, has_chinese, stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.core.note.words import Unit

NOT_SAID = "it does not say that this is in order"
TOO_WIDE = "it permits anybody anywhere at any time"


class _Row(NamedTuple):
    """A reason and the words that are its signs; `{0}` of the reason is the text that was found."""

    reason: str
    signs: re.Pattern[str]
    whole: bool  # whether it concerns the whole note, else only its clause


def _make_row(reason: str, *signs: str, whole: bool = False) -> _Row:
    return _Row(reason, re.compile("|".join(signs), re.IGNORECASE), whole)


_FAMILY = "[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭罗梁宋郑谢韩唐冯于董程曹袁邓许沈曾彭吕]"
# fmt: off
_ROWS = (
    _make_row("it is a question: `{0}`",
         r"[?？]", r"(?:^|[.!;] )(?:is|are|may|can|could|should|shall|do|does|did|will|would|has|have|why|who"
         r"|whose) (?!not\b)\w+ \w+",
         r"[吗么呢](?=$|[。，？！?])", r"是否", r"能不能|可不可以|是不是|要不要|谁来|为什么|怎么|哪[来里个些](?!都)"
         r"|什么(?!时候都|都)", whole=True),
    _make_row("it tells apart people that a camera cannot: `{0}`",
         r"\b(?:report|call|tell|alarm|alert|warn)\b[^.;]*\b(?:others?|else|strangers?|intruders?)\b",
         r"\b(?:others?|else|strangers?|intruders?) (?:must|should|are to|has to|have to|is to) be (?:reported|told)",
         r"(?:其他人|其余人|别人|陌生人|外人|闲人)[^，。；]*(?:报|告|通知)", whole=True),
    _make_row("it says what holds at other times too: write two notes: `{0}`",
         r"\bnever (?:otherwise|after|before|at any other)\b", r"(?:其余|其他)时间(?:都)?(?:禁止|不|严禁)", whole=True),
    _make_row("it quotes somebody: `{0}`", r"[\"“”„«»「」『』]", whole=True),
    _make_row("it does not say which of them: `{0}`", r"\b(?:some|certain|several|most) (?!of the time)[a-z]+",
         r"部分|有些|有的|某些|大部分"),
    _make_row("it is in a language that is not read: `{0}`",
         r"\b(?:der|das|und|oder|ist|sind|auf|nicht|kein\w*|verboten|erlaubt|darf|nur|wird|werden|vom"
         r"|les|des|du|une|sont|sur|dans|pas|avec|sans|interdit\w*|autoris[ée]\w*"
         r"|el|los|las|una|están?|prohibid\w+|permitid\w+|il|della|dello|sono|vietat\w+"
         r"|het|een|niet|verboden|toegestaan|och|inte|jest|nie|sau|são|não|proibid\w+)\b|[ßąęłńśźżğřůőű¿¡]"
         r"|[а-яё\u0370-\u03ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af]", whole=True),
    _make_row("it is half a sentence: `{0}`",
         r"\b(?:is|are|to|at|from|the|of|and|or|may|can|in|on|be|by|for|with)\s*(?:\.\.+|…)?$", r"(?:可以|的|在|从|到"
         r"|和|能)\s*(?:…+)?$", whole=True),
    _make_row("it is not sure: `{0}`",
         r"^(?:someone|somebody|something|anything) (?:may|can)\b", r"\bthere (?:may|can) be\b", r"\bas if\b"
         r"|\bdead body\b|\b(?:old|former|previous) (?:rules?|notes?|plans?|days)\b",
         r"\b(?:should|must|needs? to|have to|has to|ought to|can|supposed to) be (?:allowed|permitted)\b",
         r"开玩笑|才怪|假的|说法|是错的|应该(?:可以|允许)",
         r"\b(?:doubts?|doubted|unsure|not sure|unclear|uncertain|wonders?|maybe|perhaps|possibly|probably|presumably"
         r"|apparently|supposedly|allegedly|seems?|seemed|looks like|look like|might|could|would|wish|wishes|hopes?"
         r"|hoping|hopefully|surely|sure|ha ha|haha)\b",
         r"\b(?:i|we|they|he|she|some|people) (?:\w+ )?(?:guess(?:es)?|suppose|heard|hear)\b",
         r"\b(?:thinks?|thinking|thought|believes?|says?|said|claims?|claimed|wrote|word has it|has said)\b",
         r"\b(?:rumou?rs?|rumou?red|it is said|is said to|was told|were told|told (?:me|us) (?!to))\b",
         r"\b(?:not true|untrue|wrong that|a lie|not say|not mean|not that|far from|joke|kidding)\b",
         r"也许|可能|大概|或许|恐怕|好像|似乎|听说|据说|传闻|有人说|不确定|不知道|不清楚|怀疑|我觉得|我想|希望|要是"
         r"|本来|应该是|但愿|并不是|并非|不是说|没有?规定|没有?人?同意|没说|不等于|不代表|不意味"
         r"|说[:：“\"]", whole=True),
    _make_row("it is hardly ever so: `{0}`",
         r"\b(?:rarely|seldom|hardly|barely|scarcely|(?<!a )few)\b", r"很少|几乎(?:没|不)|偶尔|不常"),
    _make_row("it speaks of what is over: `{0}`",
         r"\b(?:(?<!and )(?<!for )no longer(?! than)|not any ?more|any ?more)\b(?! (?:forbidden|prohibited|matters?"
         r"|counts?|interest|concern"
         r"|needs?))",
         r"(?<!\bis )(?<!\bare )(?<!\bam )(?<!\bget )(?<!\bgets )\bused to\b",
         r"\b(?:was|were|had|did|didn't|wasn't|weren't|yesterday|ago|formerly|previously|once upon|until recently"
         r"|stopped"
         r"|ceased|quit|retired|has been|have been|ended|expired|revoked|withdrawn|cancelled|canceled)\b",
         r"\b(?:broke|came|went|stole|saw|took|got|ran|drove|stood|sat|found|lost|caught|forgot|fell|threw|hid|began"
         r"|happened|entered|climbed|walked|tried|appeared|arrived|worked|lived|visited|opened|noticed|spotted)\b",
         r"不再|以前|之前是|从前|曾经?|昨[天晚日]|前天|上(?:个?星期|周|个?月)|去年|刚才|刚刚|已经|过去|原来|取消|作废"
         r"|离职|退休|不干了|来过|去过|进来?了|发生"),
    _make_row("it speaks of something unlawful: `{0}`",
         r"\b(?:steal(?:s|ing)?|stolen|robs?|robbed|robbery|theft|break[- ]?ins?|breaks? (?:in|into|open)"
         r"|breaking (?:in|into)"
         r"|force(?:s|d)? (?:open|the)|smash\w*|vandali\w+|damag\w+|destroy\w*|attack\w*|threaten\w*|sneak\w*"
         r"|snoop\w*|prowl\w*"
         r"|illegal\w*|unlawful\w*|without permission|unauthori[sz]ed|try to (?:get|climb|enter|open)|tries to"
         r"|thie(?:f|ves)|burglars?|robbers?|looters?|vandals?|poachers?|criminals?|arsonists?|squatters?"
         r"|smugglers?)\b",
         r"盗|偷|抢劫|贼|破坏|闯|撬|翻墙|翻进|溜进|溜门|非法|擅自|违法|打架|捣乱"),
    _make_row("it holds under a condition that nobody checks: `{0}`",
         r"\b(?:provided|providing|as long as|so long as|on condition|in case|depending|depends|subject to"
         r"|if (?:and only )?i"
         r"|only if|in exceptional|exceptionally|in emergenc\w+|in an emergency|with (?:prior |written |my |our "
         r"|special )?(?:permission"
         r"|approval|permit|consent|appointment|agreement|notice)|by (?:appointment|agreement|arrangement|invitation)"
         r"|(?:after|upon) (?:registration|agreement|approval|notice)|beforehand|in advance|(?:only )?with (?:an? "
         r"|their |the |valid |visitor |guest |parking )*(?:badges?|permits?|pass|passes"
         r"|tickets?|key ?cards?|cards?|ids?|invitations?|helmets?)|accompanied|supervised|escorted|signed|registered"
         r"|invited|approved|announced)\b",
         r"\b(?:for|from|by|to) (?:the |an? |my )?[a-z]+ only\b", r"以外的|之外的", r"^(?![^，。；]{0,6}(?:小时|随时"
         r"|同时|及时|按时|准时))[\u3400-\u9fff]{1,5}时(?![间刻候])",
         r"只要|持证|有证|如果|假如|除非|凭|经.{0,6}(?:同意"
         r"|批准|许可|允许)|预约|登记|事先|提前|陪同|紧急|必要时"
         r"|特殊情况|的话|需要时|有事"),
    _make_row("a camera cannot tell who that is: `{0}`",
         r"\b(?:mr|mrs|ms|dr)\b\.? \w+", rf"[老小阿]{_FAMILY}|{_FAMILY}(?:总|叔|姨|姐|哥|师傅|老师|医生|经理|主任"
         rf"|先生|女士)", whole=True),
    _make_row("it is a state, not a rule: `{0}`",
         r"\b(?:everything|all|it all|things|situation|nothing)(?: \w+){0,3}? (?:is|are|looks?|seems?|was|stays?)"
         r" (?:\w+ )?(?:fine|ok|okay|normal|all right|alright|in order|well|good|quiet|calm|under control)\b",
         r"\ball (?:quiet|clear|good|well)\b", r"(?<!\bare )(?<!\bis )\bnothing (?:happened|going on|unusual|wrong"
         r"|special|new|to (?:see|report))\b"
         r"(?! (?:about|if|when))",
         r"(?:一切|都|全部|情况|全都|设备|运行)(?:\w{0,4})?(?:正常|没事|没问题|很好|良好|平安|平静)|没有?(?:异常"
         r"|情况)"),
)
# fmt: on
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|while|whilst|once|as soon as|unless|because|since|so that|until|till|during"
    r"|before|(?<!look )(?<!looks )(?<!looking )after|without)\b(?P<what>[^,.;:!?]*)"
    r"|(?P<zh>[^，。；,;]{1,8}?)(?:的时候|时(?=[，,]))",
    re.IGNORECASE,
)
_QUALITY = re.compile(
    r"\b(?:with|wearing|carrying|holding|who|whose|called|named|in (?:a|an|red|blue|green|yellow|white|black|orange))\b"
    r"(?P<what>(?: [a-z'-]+){1,5})|(?P<zh>[穿戴拿持][\u3400-\u9fff]{1,8}?)的",
    re.IGNORECASE,
)
_NOISE = frozenset(
    ("around", "about", "among", "nearby", "there", "here", "only", "also", "please", "any", "just", "alone")
)


def _remove_places(text: str, places: Sequence[str]) -> str:
    for place in places:
        text = text.replace(place, " " * len(place))
    return text


def find_note_doubts(line: str) -> Iterator[str]:
    """Yield the reasons why no permission of a note can be relied on."""
    return _find_signs(line, whole=True)


def _find_signs(text: str, *, whole: bool) -> Iterator[str]:
    plain = " ".join(text.split())
    for row in _ROWS:
        found = row.signs.search(plain) if row.whole == whole else None
        if found is not None:
            yield row.reason.format(found[0].strip(" .,;!。，") or found[0].strip())


def find_clause_doubts(
    rest: str, who: Sequence[Unit], more: Sequence[Unit], where: Sequence[str], lexicon: Lexicon
) -> Iterator[str]:
    """Yield the reasons why the permission of one clause cannot be relied on.

    Args:
        rest: The clause without its times.
        who: Whom it is about.
        more: Other people and things that it names.
        where: Its places, as written.
        lexicon: The word table.
    """
    yield from _find_signs(rest, whole=False)
    if denied := _DENIED.search(cues.blank_cues(rest)):
        yield f"it denies something: `{denied[0]}`"
    if part := _ONLY_PART.search(rest):
        yield f"it permits a part only: `{' '.join(part[0].split())}`"
    if digits := _DIGITS.findall(_remove_places(rest, where)):
        yield f"a number was not understood: `{' '.join(digits)}`"
    carried = _role_tags((*who, *more), lexicon)
    units = [unit for unit in lexicon.scan(rest) if unit.stem not in carried]
    if odd := next((unit for unit in units if unit.has("suspicious") or {unit.stem, unit.text} & _STRANGERS), None):
        yield f"it is about somebody who is not to be trusted: `{odd.text}`"
    for unit in more:
        if (
            (unit.has("role") or unit.has("class"))
            and _WITH.search(rest[: unit.start])
            and not any(one.has("role") for one in who)
        ):
            yield f"it holds under a condition that nobody checks: `with {unit.text}`"
    for found in _CONDITION.finditer(rest):
        if _is_unchecked(found["what"] or found["zh"] or "", who, more, lexicon):
            yield f"it holds under a condition that nobody checks: `{' '.join(found[0].split())}`"
    if all(not unit.has("role") for unit in who):
        yield from _find_qualities(rest, lexicon)


_DIGITS = re.compile(r"\d+(?:[.:,]\d+)*")
_MODAL = re.compile(
    r"\b(?:may|can|must|should|is|are|has|have|will|comes?|goes|works?|uses?)\b|可以|允许|能|会|有权|不用|每|在|到|去"
    r"|来|进|停|是",
    re.IGNORECASE,
)


_IGNORED = re.compile(
    r"\b(?:ignore|disregard|overlook|never mind|mind|report|bother about|worry about)\b(?P<what>[^,.;:!?]*)|(?:不用管"
    r"|忽略|不必理会|别管)(?P<zh>[^，。；！]*)",
    re.IGNORECASE,
)


def find_unread_subjects(rest: str, where: Sequence[str], lexicon: Lexicon) -> Iterator[str]:
    """Yield the subject of a clause if it was not understood, such as a name or an unknown trade.

    Args:
        rest: The clause without its times.
        where: Its places, as written.
        lexicon: The word table.
    """
    modal = _MODAL.search(rest)
    ignored = _IGNORED.search(rest)
    subject = (ignored["what"] or ignored["zh"] or "") if ignored else rest[: modal.start()] if modal else ""
    unknown = [unit.text for unit in lexicon.scan(subject) if not unit.names and unit.stem not in STOP]
    if unknown and not any(unit in place for unit in unknown for place in where):
        yield f"whom it means was not read: `{' '.join(subject.split())}`"


def find_unread_words(
    rest: str, who: Sequence[Unit], where: Sequence[str], lexicon: Lexicon, effect: str | None
) -> Iterator[str]:
    """Yield the words of a permission or a habit that were not understood.

    Args:
        rest: The clause without its times.
        who: All people and things that it names.
        where: Its places, as written.
        lexicon: The word table.
        effect: What it says outright.
    """
    if effect not in (None, "allowed"):
        return
    text = cues.blank_cues(rest)
    doing = lexicon.remove_deeds(text) != text or bool(_BEING.search(text))
    for unit in who:
        text = text[: unit.start] + " " * (unit.end - unit.start) + text[unit.end :]
    for place in where:
        text = text.replace(place.lower(), " ").replace(place, " ")
    plain = lexicon.remove_deeds(text)
    carried = _role_tags(who, lexicon)
    left = [
        word
        for word in (*_unread_english(plain, lexicon), *_unread_chinese(plain, lexicon))
        if stem(word) not in carried
    ]
    if outside := _OUTSIDE.search(rest):
        left.append(outside[0])
    if left:
        yield f"not understood, and left out: `{' '.join(left)}`"
    elif effect is None and not doing:
        yield NOT_SAID  # it names somebody and a place, but no activity


_BEING = re.compile(r"\b(?:is|are|am)\b|[在有是]", re.IGNORECASE)
_OUTSIDE = re.compile(
    r"\b(?:outside(?: of)?|next to|beside|behind|in front of|(?:left|right) of|opposite|above|beyond|away from|up to)"
    r" (?:the|our|my|this)\b|(?:以外|之外|外面|对面|后面|外)(?=[走活停等站巡])",
    re.IGNORECASE,
)
"""Phrases for beside a place, which may be inside its zone or not."""
_ONLY_PART = re.compile(
    r"(?<=[a-z] )only (?!one\b|two\b)(?:(?:on|at|in|from|by|for) )?(?:the )?"
    r"(?!(?:on|at|in|from|by|for|between|until|till|after|before|during|every|outside)\b)[a-z]+",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|no|never|nobody|none|nowhere|neither|nor|without|free of|absent|avoid\w*|instead|rather than"
    r"|anything but"
    r"|unless|except\w*|cannot|\w+n't)\b|(?<!出)没|无(?!人机)|非(?!机动)|别(?!墅)|[不勿未否]|就?算了",
    re.IGNORECASE,
)


def _role_tags(who: Sequence[Unit], lexicon: Lexicon) -> frozenset[str]:
    """Return the stems of the tags of the roles, such as the rifles of hunters."""
    roles = {role for unit in who for role in unit.has("role")}
    return frozenset(stem(tag) for role in roles for tag in lexicon.table.roles[role].tags)


_NAMED_KINDS = ("class", "group", "place", "side", "anywhere")
_MILD_WORDS = frozenset(
    (
        *("normally", "usually", "regularly", "daily", "perfectly", "entirely", "quite", "totally"),
        *("unusual", "special", "worry", "wrong", "unusually"),
    )
)
_NUMBERS = frozenset(
    (
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "dozen",
        "couple",
        "several",
        "half",
    )
)
_ROUGH_ZH = frozenset("堵乱挡占躲闹吵扔倒拆砸爬翻钻骂踩咬")
_LITTLE_ZH = frozenset(
    "在到进去往从的了和与或及有是会可以能让把被对向于就也都还再又很请将着过里内外上下旁边前后处每各这那其们地方间口时个所全之为做用常只"
)


def _unread_english(text: str, lexicon: Lexicon) -> Iterator[str]:
    for unit in lexicon.scan(text):
        known = any(name.kind in _NAMED_KINDS for name in unit.names) and not unit.text.isdecimal()
        small = unit.stem in (STOP | _NOISE) - _NUMBERS or unit.stem in _MILD_WORDS
        if unit.text.isascii() and not (known or small):
            yield unit.text


def _unread_chinese(text: str, lexicon: Lexicon) -> Iterator[str]:
    for run in re.findall(r"[\u3400-\u9fff]+", text):
        unknown = "".join(unit.text for unit in lexicon.scan(run) if not unit.names and unit.text not in _LITTLE_ZH)
        if len(unknown) > 1 or unknown in _ROUGH_ZH:  # a single one is an unknown part of a place's name
            yield unknown


_WITH = re.compile(r"\bwith (?:an? |the |their |our |my )?$", re.IGNORECASE)
_STRANGERS = frozenset(("stranger", "intruder", "trespasser", "外人", "陌生人", "闲人"))
_OPENS = re.compile(
    r"^\s*(?:you see |there (?:is|are) |you notice |it is |it's )?(?:an? |the |any |some |only |just )*", re.IGNORECASE
)


def _people_names(unit: Unit) -> tuple[str, ...]:
    return (*unit.has("role"), *(name for name in unit.has("class") if name == "person"))


def _find_qualities(rest: str, lexicon: Lexicon) -> Iterator[str]:
    """Yield properties of people that no camera can see."""
    for found in _QUALITY.finditer(rest):
        if found["zh"] or not any(unit.names for unit in lexicon.scan(found["what"])):
            yield f"a camera cannot tell who that is: `{' '.join(found[0].split())}`"


def _is_unchecked(what: str, who: Sequence[Unit], more: Sequence[Unit], lexicon: Lexicon) -> bool:
    """Tell whether a condition says more than that the subject is there, which the incident shows itself."""
    units = lexicon.scan(what)
    known = [*who, *more]
    weather = any("none" in unit.has("class") for unit in units)
    if weather and any(
        "none" not in one.has("class") for one in (*known, *units) if one.has("class") or one.has("role")
    ):
        return True
    named = [unit for unit in units if unit.has("class") or unit.has("group") or unit.has("role")]
    if named:  # somebody else, such as the boss, is not in the picture
        people = {name for unit in named for name in _people_names(unit)}
        begins = named[0].start == (opening.end() if (opening := _OPENS.match(what)) else 0)
        return not people <= {name for unit in who for name in _people_names(unit)} or not (begins or has_chinese(what))
    if has_chinese(what):
        return True
    return any(unit.stem not in STOP | _NOISE for unit in units)
