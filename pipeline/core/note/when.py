"""Times in plain language: weekdays, hours, parts of the day, durations and numbers, in English and Chinese.

They are read once, when a note is written, and from then on are arithmetic: no model judges whether 16:40 is before
five in the afternoon.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.core.facts import Facts

State: TypeAlias = Literal["open", "closed", "over", "unknown"]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**7)]
Minute: TypeAlias = Annotated[int, Meta(ge=0, le=24 * 60)]
Span: TypeAlias = tuple[
    Minute, Minute
]  # minutes of the day, both ends included; over midnight where the second is smaller

DAY = 24 * 60
_LONG_MIN = DAY // 2  # of hours by the clock: longer ones are asked about
_SURELY_DAY = (8 * 60, 17 * 60)  # lamps that are lit then do not mean that it is dark
DAWN, NOON = 5 * 60, 12 * 60
"""Where `until 8:15` begins, and `after 20:00` ends, unless said otherwise."""
ROUND_MIN = 5
"""So many minutes before and after the full hour still are the full hour."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class When(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a sentence holds. Nothing said: always.

    Attributes:
        weekdays: 0 is Monday.
        hours: Any of these spans.
        outside: It holds outside these days and hours instead.
        every_min: Around every full hour (60) or half hour (30) only.
        dark: After dark (true), by daylight (false).
        most_s: How long a stay may be, seconds; 0: no matter.
        most: How many there may be at once; 0: no matter.
        least: From how many on it speaks of them; 0: no matter.
    """

    weekdays: tuple[Annotated[int, Meta(ge=0, le=6)], ...] = ()
    hours: tuple[Span, ...] = ()
    outside: bool = False
    every_min: Literal[0, 30, 60] = 0
    dark: bool | None = None
    most_s: Count = 0
    most: Count = 0
    least: Count = 0

    @property
    def timed(self) -> bool:
        """Whether the clock matters."""
        return bool(self.weekdays or self.hours or self.every_min or self.dark is not None)


class Read(NamedTuple):
    """What was found in a text.

    Attributes:
        when: All of it.
        rest: The text with what was read blanked out, of the same length.
        unread: What looks like a time and is none that can be checked: seasons, dates, weather.
        recurring: Whether it says that something happens again and again: by the clock, by day, or always.
        guessed: Why hours that were read may not be those that were meant, in words for the author.
        one_ended: Only one end of a span was said, and the other is what is usual.
    """

    when: When
    rest: str
    unread: tuple[str, ...]
    recurring: bool = False
    guessed: tuple[str, ...] = ()
    one_ended: bool = False


def state(when: When, facts: Facts, *, lenient: bool = False) -> State:
    """Whether a time holds for an incident.

    Args:
        when: The time.
        facts: Of the incident.
        lenient: A night of Friday to Saturday counts for both days; else for Friday alone.

    Returns:
        `open`: all of it holds; `closed`: day or hour do not; `over`: they do, but the stay or the number is too large;
        `unknown`: the clock matters and none was set.
    """
    if when.timed and not (facts.local_time and facts.weekday.casefold() in WEEKDAYS):
        return "unknown"
    if when.timed and not _now(when, facts, lenient=lenient):
        return "closed"
    if when.least and facts.object.count < when.least:
        return "closed"
    long = bool(when.most_s) and facts.track.dwell_s > when.most_s
    return "over" if long or (when.most and facts.object.count > when.most) else "open"


def changes(when: When, facts: Facts) -> Iterator[int]:
    """Yield after how many seconds from now `state` may be another: a limit is passed, or an edge of the hours."""
    if when.most_s and facts.track.dwell_s <= when.most_s:
        yield when.most_s + 1 - facts.track.dwell_s
    if not (when.timed and facts.local_time):
        return
    now = minutes(facts.local_time)
    edges = {edge % DAY for start, end in when.hours for edge in (start, end + 1)} | ({0} if when.weekdays else set())
    if when.every_min:
        edges |= {(full + off) % DAY for full in range(0, DAY, when.every_min) for off in (-ROUND_MIN, ROUND_MIN + 1)}
    if when.dark is not None:
        edges |= set(_SURELY_DAY)
    for edge in edges:
        yield 60 * ((edge - now) % DAY or DAY)


def share(when: When) -> float:
    """How much of a week a time takes, 0..1."""
    spans = when.hours or ((0, DAY),)
    part = min(1.0, sum((end - start) % DAY or DAY for start, end in spans) / DAY) * len(when.weekdays or WEEKDAYS) / 7
    if when.every_min:
        part *= 2 * ROUND_MIN / when.every_min
    part *= 0.5 if when.dark is not None else 1.0
    return 1 - part if when.outside else part


def _now(when: When, facts: Facts, *, lenient: bool) -> bool:
    now = minutes(facts.local_time)
    day = WEEKDAYS.index(facts.weekday.casefold())
    held = any(_within(span, now, day, when.weekdays, lenient=lenient) for span in when.hours or ((0, DAY),))
    if when.every_min:
        held = held and min(now % when.every_min, -now % when.every_min) <= ROUND_MIN
    if when.dark is not None:
        held = held and _dark(facts, now) == when.dark
    return held != when.outside


def _within(span: Span, now: int, day: int, weekdays: tuple[int, ...], *, lenient: bool) -> bool:
    start, end = span
    days = weekdays or tuple(range(7))
    if start <= end:
        return start <= now <= end and day in days
    if now >= start:
        return day in days
    return now <= end and ((day - 1) % 7 in days or (lenient and day in days))


def _dark(facts: Facts, now: int) -> bool:
    """By the picture, and by the hours that are dark most of the year."""
    by_day = _SURELY_DAY[0] <= now < _SURELY_DAY[1]
    return facts.light == "night" or (facts.light == "lit" and not by_day)


def minutes(clock: str) -> int:
    """HH:MM as minutes of the day."""
    hours, _, rest = clock.partition(":")
    return int(hours) * 60 + int(rest or 0)


def clock(minute: int) -> str:
    """Minutes of the day as HH:MM."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def read(text: str) -> Read:
    """Read every time in a sentence of English or Chinese."""
    scratch = _Scratch(text)
    _unread(scratch)
    _round_the_clock(scratch)
    scratch.put(_HOURS_WRITTEN, _hours_written)
    _durations(scratch)
    _counts(scratch)
    _every(scratch)
    _weekdays(scratch)
    _clocks(scratch)
    _impossible(scratch, _NO_CLOCK)
    _spans(scratch)
    _parts(scratch)
    _impossible(scratch, _NO_LIMIT)
    if len(scratch.spans) > 1 and _EACH_ITS_HOURS.search(text.lower()):
        scratch.unread.append("days with hours of their own: write a note for each")
    when = scratch.when()
    guessed = (*(() if scratch.parts else scratch.guessed), *_long(when, scratch))  # a part of the day tells the half
    recurring = when.timed or scratch.always
    return Read(when, scratch.rest, tuple(scratch.unread), recurring, guessed, scratch.open_ended)


def _long(when: When, scratch: _Scratch) -> Iterator[str]:
    """Say of hours by the clock that they are very long, or go over midnight: perhaps half of them were meant."""
    for start, end in when.hours if scratch.spans else ():
        span = f"{clock(start)}-{clock(end)}"
        if when.outside:
            yield f"it holds outside of hours: `{span}`"
        elif start > end:
            yield f"it goes over midnight: `{span}`"
        elif end - start > _LONG_MIN:
            yield f"it is more than twelve hours: `{span}`"


def from_midnight(when: When) -> When:
    """The same time, where it is said only until when: from midnight on, rather than from when people get up."""
    ends_only = (DAWN, NOON)  # where `until` begins; `after` ends just before dawn
    begun = ((0 if start in ends_only and end != DAWN - 1 else start, end) for start, end in when.hours)
    return msgspec.structs.replace(when, hours=tuple(begun))


class _Scratch:
    """A text in which what was read is blanked out, and what was read so far."""

    def __init__(self, text: str) -> None:
        self.rest = text.lower() if len(text.lower()) == len(text) else text
        self.unread: list[str] = []
        self.days: set[int] = set()
        self.spans: list[Span] = []
        self.parts: list[Span] = []
        self.open_ended = False  # only one end of a span was said
        self.values: dict[str, int] = {}
        self.dark: bool | None = None
        self.outside = False
        self.always = False  # said outright; without a word it is meant as well
        self.guessed: list[str] = []  # hours that may be another half of the day

    def take(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield what fits a pattern, and blank it out."""
        for found in list(pattern.finditer(self.rest)):
            yield found
            self.rest = self.rest[: found.start()] + " " * len(found[0]) + self.rest[found.end() :]

    def put(self, pattern: re.Pattern[str], make: Callable[[re.Match[str]], str]) -> None:
        """Write something else in place of what fits a pattern; never longer than a later blank can hide."""
        self.rest = pattern.sub(make, self.rest)

    def asked(self, make: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
        """Make what `make` makes, and note where the half of the day was guessed."""

        def made(found: re.Match[str]) -> str:
            if _half_guessed(found):
                self.guessed.append(f"by day or by night: `{' '.join(found[0].split())}`")
            return make(found)

        return made

    def when(self) -> When:
        """All that was read, with contradictions settled: an exact span before a part of the day."""
        spans = _halved(self.spans, self.parts) if not self.open_ended else self.spans
        if self.parts and (not spans or self.open_ended):
            spans = _crossed(self.parts, spans) if spans else self.parts
        days = () if len(self.days) == len(WEEKDAYS) else tuple(sorted(self.days))
        return When(
            weekdays=days,
            hours=tuple(dict.fromkeys(spans)),
            outside=self.outside and bool(spans or days),
            dark=None if spans else self.dark,
            **self.values,  # type: ignore[arg-type]  # each is a number of its kind
        )


def _halved(spans: list[Span], parts: list[Span]) -> list[Span]:
    """`in the evening between 7 and 9`: hours of the half of the day that was named."""
    if len(spans) != 1 or len(parts) != 1:
        return spans
    start, end = spans[0]
    half = DAY // 2
    begins, late = parts[0][0] <= start, (start + half, end + half)
    evening = parts[0][0] >= NOON
    return (
        [late]
        if evening and not begins and start < half and end < half and min(parts[0][0], 18 * 60) <= late[0]
        else spans
    )


def _crossed(parts: list[Span], spans: list[Span]) -> list[Span]:
    """`in the evening until 21:30`: the part of the day gives the end that was not said."""
    (begin, end), (start, stop) = parts[0], spans[0]
    return [(begin, stop) if start == DAWN else (start, end)]


_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45,
    "sixty": 60, "ninety": 90,
}  # fmt: skip
_DIGITS = {
    digit: value for value, digit in enumerate("零一二三四五六七八九")
} | {"〇": 0, "两": 2}  # fmt: skip
_HOURS = "|".join(name for name in _NUMBERS if name not in ("a", "an"))
_N = r"(?:\d+|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_Z = r"(?:\d+|[零〇一二两三四五六七八九十百]+)"


def number(text: str) -> int:
    """A number in digits, in English or in Chinese words; 0 where it is none."""
    if text.isdecimal():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    if "百" in text:
        before, _, after = text.partition("百")
        return 100 * (_DIGITS.get(before, 1)) + number(after.lstrip("零"))
    if "十" in text:
        before, _, after = text.partition("十")
        return 10 * (_DIGITS.get(before, 1)) + _DIGITS.get(after, 0)
    return _DIGITS.get(text, 0)


_D = r"(?:mon|tues?|wednes|wed|thurs?|thur|thu|fri|satur|sat|sun)(?:day)?"
_SEASONS = re.compile(
    r"\b(?:in|during|until|till|from|since|after|before|by|of|this|next|last)\s+(?:the\s+)?"
    r"(?:spring|summer|autumn|winter|holidays?|school holidays?|vacations?|semester|term|season|january"
    r"|february|march|april|"
    r"june|july|august|september|october|november|december|christmas|easter)\b"
    r"|(?<![:\d])\b(?:on )?\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:january|february|march|april|may|june|july|august"
    r"|september|october|"
    r"november|december)\b|\bpublic holidays?\b|\bholidays\b"
    r"|\b(?:to(?:day|night|morrow)|right now|for now|at the moment|currently|temporarily|for the time being"
    r"|until further notice|(?:this|next|last|the coming) (?:week|weekend|month|year|morning|afternoon|evening|night"
    rf"|{_D}))\b"
    r"|\b(?:on |at )?(?:the |an? )?(?:every )?(?:other|second|third|fourth|first|last|alternate) "
    rf"(?:days?|weeks?|weekends?|months?|{_D}s?)\b(?: (?:of|in) (?:the|each|every|a) (?:month|year|quarter))?"
    r"|\bin may\b(?=\s*(?:$|[.,;]))|\b(?:in|of|since|as of|from|until|by) (?:19|20)\d\d\b(?!\s*(?:-|–|to|until|till|h"
    r"|:))"
    r"|\bon (?!any|all|every|each|week|work|school|business|the|these|those|some|most)[a-z]+ days?\b"
    r"|\bfor (?:the )?(?:next |last |coming )?(?:\d+|a|one|two|three|four|five|six|seven|ten) (?:days?|weeks?|months?"
    r"|years?|nights?)\b"
    r"|(?:[一二两三四五六七八九十]|\d)+(?:天|周(?![一二三四五六日末])|个?星期(?![一二三四五六日天])|个月|年)"
    r"|\b(?:just |only )?this (?:time|once)\b|\bone last time\b|\bjust once\b|\bonly once\b|(?:就|只)?这一次"
    r"|(?<!每)一次(?!最多|只)"
    rf"|\b(?:until|till|by|from|since|before|after) {_D}\b(?!\s*(?:to|through|thru|until|till|-|–|—)\s*{_D})"
    r"|(?<![一二三四五六日天])(?:到|至)(?:星期|礼拜|周)[一二三四五六日天](?:为止)?|(?:从|自)?(?:星期|礼拜"
    r"|周)[一二三四五六日天]起"
    r"|\bat \d{1,2} (?:minutes? )?(?:to|past) \d{1,2}\b|(?<!十)[一二两三四五六七八九][二三四五六七八九]点"
    r"|\b\d{1,2}[:.]\d\d\s*,\s*\d{1,2}[:.]\d\d\b"
    r"|\b(?:for )?(?:a few|some|a couple of|several) (?:seconds?|minutes?|hours?|moments?)\b|\b(?:for )?a (?:short"
    r"|little|long)"
    r" (?:time|while)\b|\bfor a (?:while|moment|bit)\b|\b(?:briefly|shortly)\b|一小?会儿?|片刻|短时间|几(?:秒|分钟"
    r"|小时)"
    r"|\b(?:once|twice|three times|several times) (?:a|per|every|each) (?:day|week|month|year)\b|\b(?:bi-?weekly"
    r"|fortnightly"
    r"|monthly|weekly|yearly|annually|in odd weeks|in even weeks)\b"
    r"|今天|今晚|今早|今夜|明[天早晚日]|后天|[本这下]个?(?:周|星期|月)|目前|暂时|最近|这几天|隔天|每隔[一两二三]天"
    r"|每两[周天]|每个?月"
    r"|第[一二三四]个?(?:周|星期)|单周|双周|单日|双日"
    r"|\d{1,2}月(?:\d{1,2}[日号])?|春天|夏天|秋天|冬天|春季|夏季|秋季|冬季|节假日|假期|寒假|暑假|国庆|春节"
)
_UNIT = r"(?P<unit>seconds?|secs?|s|minutes?|mins?|min|hours?|hrs?|h)\b"
_DURATION = re.compile(
    rf"(?P<least>at least |no less than |a minimum of )?"
    rf"(?P<limit>no (?:longer|more) than|not (?:longer|more) than|for up to|up to|at most|at the most|a maximum of|"
    rf"maximum|max\.?|longer than|more than|over|exceeding|beyond|for|within|not exceed(?:ing)?|less than"
    rf"|under)?\s*(?:about )?"
    rf"(?:(?P<half>half an? |a quarter(?: of an?)? |three quarters of an? )|(?<![a-z\d])(?P<n>\d+[.,]\d+|{_N})(?:[ -]"
    rf"|(?<=\d))(?P<and>and a half )?){_UNIT}"
    r"(?P<after> and no (?:longer|more)| at most| at the most| maximum| max\.?| or less| or more| or longer)?"
)
_DURATION_ZH = re.compile(
    rf"(?P<least>至少|不少于)?(?P<limit>最多|不超过|不得超过|不能超过|至多|超过|多于|长于"
    rf"|大于)?(?:停留|停放|停靠|逗留|等候|待)?(?:时间)?(?:不?超过)?"
    rf"(?:(?P<half>半个?小时|半个?钟头|半分钟|一刻钟|三刻钟)|(?P<n>\d+\.\d+|{_Z})个?(?P<and>半)?(?P<unit>分钟"
    rf"|分(?!之|别)|小时|钟头|秒钟?))(?P<after>以内|之内|以上)?"
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "秒": 1, "分": 60, "小": 3600, "钟": 3600}
_SHARES = {"half": 1800, "a quarter": 900, "three": 2700, "半": 1800, "一刻": 900, "三刻": 2700}


def _durations(scratch: _Scratch) -> None:
    for pattern in (_DURATION, _DURATION_ZH):
        for found in scratch.take(pattern):
            before = scratch.rest[: found.start()].rstrip()
            if before.endswith(("every", "each", "per", "每", "每隔")):
                continue
            if found["least"]:  # how long it has to be, which nobody can tell before
                scratch.unread.append(found[0].strip())
            elif seconds := _seconds(found):
                if scratch.values.setdefault("most_s", seconds) != seconds:
                    scratch.unread.append(f"{found[0].strip()}, a second limit")
            else:
                scratch.unread.append(found[0].strip())


def _seconds(found: re.Match[str]) -> int:
    size = _SECONDS[(found.groupdict().get("unit") or "h")[0]]
    if half := found["half"]:
        if half.startswith("半分"):
            return 30
        return round(next(value for start, value in _SHARES.items() if half.startswith(start)) * size / 3600)
    if "." in found["n"] or "," in found["n"]:
        return round(float(found["n"].replace(",", ".")) * size)
    return number(found["n"]) * size + (size // 2 if found["and"] else 0)


_MOST = re.compile(
    rf"\b(?:more than|over|above|exceeding) (?P<over>{_N}) (?!minutes?|hours?|seconds?|mins?|o'clock"
    rf"|[ap]m\b)(?=[a-z])"
    rf"|\b(?:at most|no more than|not more than|up to|a maximum of) (?P<most>{_N}) (?!minutes?|hours?|mins?)(?=[a-z])"
    rf"|(?<![-:.\d])\b(?P<most_bare>\d+|{_HOURS}) (?=(?:[a-z]+ ){{1,2}}(?:may|can|are (?:allowed|permitted))\b)"
    rf"|(?P<most_bare_zh>[一二两三四五六七八九十\d]+)个?(?:人|名|辆车?|台)(?=[^，。]{{0,4}}(?:可以|允许|能))"
    rf"|\b(?P<most_of>{_N}) at (?:the )?most\b"
    rf"|\b(?P<most_alone>one|two|three) at a time\b"
    rf"|\b(?:only )?(?P<most_time>{_N})(?=(?: [a-z-]+){{1,2}} (?:at a|at one) time\b)"
    rf"|\bonly (?P<most_only>one)(?= [a-z]+ (?:may|can|at)\b)"
    rf"|每次(?:只能?|只准|最多)?(?P<most_each>{_Z})(?:个人|人|名|辆|只)"
    rf"|\b(?P<least>{_N}) or more\b|\bat least (?P<atleast>{_N}) (?=[a-z])"
    rf"|\bgroups? of (?P<group>{_N})(?: or more)?\b"
    rf"|(?:超过|多于)(?P<over_zh>{_Z})(?:个人|人|名|辆|只)|最多(?P<most_zh>{_Z})(?:个人|人|名|辆|只)"
    rf"|(?P<least_zh>{_Z})(?:个人|人|名|辆|只)以上"
)


def _counts(scratch: _Scratch) -> None:
    for found in scratch.take(_MOST):
        for name, text in found.groupdict().items():
            if not text:
                continue
            if not number(text):  # none at all is no number to be kept to
                scratch.unread.append(found[0].strip())
                continue
            kind = "most" if name.startswith("most") else "least"
            scratch.values[kind] = number(text) + (1 if name.startswith("over") else 0)


_EVERY = re.compile(
    r"\b(?:every|each|at every|on the|at the|at) (?P<full>full hour|whole hour|hour on the hour|hour)\b"
    r"|\bon the hour\b|\bhourly\b"
    r"|\b(?P<half>every half(?: an)? hour|every 30 minutes|half-hourly|on the half hour)\b|(?P<zh>每个?整点|整点"
    r"|每小时|每隔一小时)|(?P<zhalf>每半个?小时)"
)


def _every(scratch: _Scratch) -> None:
    for found in scratch.take(_EVERY):
        scratch.values["every_min"] = 30 if found["half"] or found["zhalf"] else 60


_DAY_NAMES = {
    "mon": 0, "monday": 0, "tue": 1, "tues": 1, "tuesday": 1, "wed": 2, "wednesday": 2, "thu": 3, "thur": 3, "thurs": 3,
    "thursday": 3, "fri": 4, "friday": 4, "sat": 5, "saturday": 5, "sun": 6, "sunday": 6,
}  # fmt: skip
_DAY_ZH = {**{name: at for at, name in enumerate("一二三四五六日")}, "天": 6, **{str(at + 1): at for at in range(6)}}
_WEEK = r"(?:星期|礼拜|周)"
_DAYS = rf"(?:{_D}s?|周[一二三四五六日末]|weekends?|weekdays)"
_EACH_ITS_HOURS = re.compile(rf"{_DAYS}[^.;]*?\d[^.;]*?{_DAYS}[^.;]*?\d")
_DAYS_RANGE = re.compile(rf"\b(?P<a>{_D})s?\.?\s*(?:to|through|thru|until|till|-|–|—)\s*(?P<b>{_D})s?\b\.?")
_DAYS_RANGE_SHORT = re.compile(r"\b(?P<a>mo|tu|we|th|fr|sa|su)\.?\s?[-\u2013\u2014]\s?(?P<b>mo|tu|we|th|fr|sa|su)\b\.?")
_DAYS_RANGE_ZH = re.compile(
    rf"{_WEEK}(?P<a>[一二三四五六日天1-6])\s*(?:到|至|-|–|—|~)\s*{_WEEK}?(?P<b>[一二三四五六日天1-6])"
)
_DAYS_ONE = re.compile(rf"\b(?P<a>{_D})s?\b")
_DAYS_ONE_ZH = re.compile(rf"{_WEEK}(?P<a>[一二三四五六日天](?:[、和及,，]?(?:{_WEEK})?[一二三四五六日天])*)")
_DAYS_KIND = re.compile(
    r"\b(?P<work>weekdays?|working days?|work days?|workdays?|school days?|business days?|during the week)\b"
    r"|\b(?P<end>weekends?)\b|\b(?P<all>every day|daily|each day|all week|seven days a week|any day)\b"
    r"|(?P<work_zh>工作日|平日|上班日|上学日|教学日)|(?P<end_zh>周末|双休日)|(?P<all_zh>每天|每日|天天)"
)
_NOT_ON = re.compile(
    r"(?:except|but not|other than|apart from|excluding|not)\s*(?:on|at|for|the)?\s*$|(?:除了?|除去)\s*$"
)


def _weekdays(scratch: _Scratch) -> None:
    named: set[int] = set()
    without: set[int] = set()

    def add(found: re.Match[str], days: set[int]) -> None:
        (without if _NOT_ON.search(scratch.rest[: found.start()].rstrip() + " ") else named).update(days)

    for pattern in (_DAYS_RANGE, _DAYS_RANGE_SHORT, _DAYS_RANGE_ZH):
        for found in scratch.take(pattern):
            first, last = _day(found["a"]), _day(found["b"])
            add(found, {(first + step) % 7 for step in range((last - first) % 7 + 1)})
    for found in scratch.take(_DAYS_KIND):
        scratch.always |= bool(found["all"] or found["all_zh"])
        kind = next(name for name, text in found.groupdict().items() if text).partition("_")[0]
        add(found, {"work": set(range(5)), "end": {5, 6}, "all": set(range(7))}[kind])
    for found in scratch.take(_DAYS_ONE):
        add(found, {_day(found["a"])})
    for found in scratch.take(_DAYS_ONE_ZH):
        add(found, {_DAY_ZH[one] for one in found["a"] if one in _DAY_ZH})
    if without:
        named = (named or set(range(7))) - without
    scratch.days = named


def _day(name: str) -> int:
    if name in _DAY_ZH:
        return _DAY_ZH[name]
    return next(at for at, full in enumerate(WEEKDAYS) if full.startswith(name[:3]))


_AMPM = re.compile(
    rf"\b(?P<h>\d{{1,2}}"
    rf"|{_HOURS})(?:[:.](?P<m>\d\d))?\s*(?P<half>[ap])\.?\s?m\b\.?"
)
_AMPM_RANGE = re.compile(
    r"\b(\d{1,2})(?:[:.](\d\d))?(?=\s*(?:-|–|—|to|until|till|and)\s*\d{1,2}(?:[:.]\d\d)?\s*([ap])\.?\s?m\b)"
)
_OCLOCK = re.compile(
    rf"\b(?P<past>half past|quarter past|quarter to )?\s*(?P<h>\d{{1,2}}"
    rf"|{_HOURS})\s*"
    r"(?:o'?\s?clock|o’clock)(?P<part> in the morning| in the afternoon| in the evening| at night)?"
)
_PAST = re.compile(
    rf"\b(?P<past>half past|quarter past|a quarter past|quarter to|a quarter to) (?P<h>\d{{1,2}}"
    rf"|{_HOURS})\b"
    r"(?P<part> in the morning| in the afternoon| in the evening| at night)?"
)
_WORD_PART = re.compile(
    rf"\b(?P<lead>(?:at|until|till|before|after|from|between|and|to|by|since|around|about) )"
    rf"(?P<h>\d{{1,2}}|{_HOURS})(?P<part> in the morning"
    rf"| in the afternoon| in the evening| at night)\b"
)
_HOUR_H = re.compile(r"\b(?P<h>[01]?\d|2[0-4])\s?h(?P<m>[0-5]\d)?\b(?!\w)")
_MILITARY = re.compile(
    r"\b([01]\d|2[0-3])([0-5]\d)(?=\s*(?:-|–|—|to|until|till|and|h\b|hrs\b|hours\b)\s*(?:[01]\d|2[0-3])[0-5]\d\b)"
)
_MILITARY_END = re.compile(r"(?<=\d\d:\d\d)(\s*(?:-|–|—|to|until|till|and)\s*)([01]\d|2[0-4])([0-5]\d)\b")
_BARE_RANGE = re.compile(
    rf"\b(?P<lead>from|between)\s+(?P<a>\d{{1,2}}|{_HOURS})(?P<join>\s*(?:-|–|—|to|until|till|and)\s*)(?P<b>\d{{1,2}}"
    rf"|{_HOURS})\b"
    r"(?!\s*(?:minutes?|mins?|hours?|people|persons|metres|m\b|:|\.\d|o'"
    r"|[ap]\.?m))(?P<part>\s+(?:in the morning|in the afternoon|in the evening|at night))?"
)
_BARE_SPAN = re.compile(
    rf"(?:^|(?<=[\s,(]))(?P<lead>)(?P<a>\d{{1,2}}|{_HOURS})(?P<join>\s?[-\u2013]\s?| to | until "
    rf"| till )(?P<b>\d{{1,2}}|{_HOURS})"
    r"(?=\s*(?:$|[.,;)]|on\b|every\b|in the (?:morning|afternoon|evening)|at night|(?:and|or) \d{1,2}\s?[-\u2013]))"
    r"(?P<part>\s+(?:in the morning|in the afternoon|in the evening|at night))?"
)
_DOTTED = re.compile(
    r"(?<![\d.,:])(?P<h>[01]?\d|2[0-4])\.(?P<m>[0-5]\d)(?![\d.,]*\d)"
    r"(?=\s*(?:-|\u2013|\u2014|~|to\b|until\b|till\b|and\b)\s*\d)"
    r"|(?:(?<=-)|(?<=- )|(?<=\u2013)|(?<=\u2013 )|(?<=to )|(?<=until )|(?<=till )|(?<=and )|(?<=from )|(?<=at )"
    r"|(?<=by )|(?<=before )|(?<=after ))(?P<h2>[01]?\d|2[0-4])\.(?P<m2>[0-5]\d)(?![\d.,]*\d)"
    r"(?!\s?(?:m\b|km\b|metres?\b|hours?\b))"
)
"""8.30 to 18.00: a full stop between hours and minutes."""
_HALF_RANGE_END = re.compile(
    r"(?P<begin>\b(?P<a>\d{1,2}):\d\d(?P<join>\s*(?:-|\u2013|\u2014|to|until|till)\s*))(?P<b>\d{1,2})(?![\d:.]|\s*[ap]\.?\s?m\b)"
    r"(?=\s*(?:$|[.,;!)]|on\b|every\b|and\b|\s))"
)
_HALF_RANGE = re.compile(
    rf"(?<![:.\d])\b(?P<a>\d{{1,2}}|{_HOURS})(?P<join>\s*(?:-|–|—|to|until|till|and)\s*)(?=(?P<b>\d{{1,2}}):\d\d)"
)
_BARE_AFTER = re.compile(
    r"\b(?P<lead>until|till|before|after|by|since|from|past|to|and|at|around|about|-|–) (?P<a>\d{1,2}|"
    + _HOURS
    + r")\b(?=\s*(?:$|[.,;!)]|on\b|every\b|at the\b|in the (?:morning|afternoon|evening)"
    r"|at night))(?P<part>\s+(?:in the morning|in the afternoon|in the evening|at night))?"
)
_NOON = re.compile(
    r"(?:\b(?P<lead>until|till|before|after|by|since|from|to|and|between)\s+|(?P<dash>[-–])\s*)(?P<what>noon|midday|midnight"
    r"|lunch ?time)\b"
)
_NOON_FIRST = re.compile(r"\b(?P<what>noon|midnight)(?=\s*(?:-|–|to|until|till|and)\s)")
_HOURS_WRITTEN = re.compile(
    r"(?:(?<=from )|(?<=to )|(?<=till )|(?<=until )|(?<=at )|(?<=and )|(?<=- )|(?<=-)|(?<=after )|(?<=before )"
    r"|(?<=since )|(?<=by )|(?<=past ))(?P<h>[01]?\d"
    r"|2[0-4])\s?h(?P<m>[0-5]\d)?\b"
    r"|\b(?P<h2>[01]\d|2[0-3])(?P<m2>[0-5]\d) ?(?:hrs|hours)\b"
)
"""8h30 to 17h, 0800 hrs: clocks, before they look like stays."""
_PERIOD = r"(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜间|晚|早)?"
_CLOCK_ZH = re.compile(
    rf"{_PERIOD}(?P<next>次日|第二天)?(?P<h>\d{{1,2}}"
    rf"|[零〇一二两三四五六七八九十]{{1,3}})(?:点钟?|时(?!间|候))(?:(?P<half>半)"
    rf"|(?P<q>[一三])刻|(?P<m>[0-5]?\d|[零一二三四五十]{{1,3}})分?)?"
)
_CLOCK_ZH_PLAIN = re.compile(rf"{_PERIOD}(?=(?P<h>\d{{1,2}})[:：](?P<m>\d\d))(?:\d{{1,2}}[:：]\d\d)")
_NO_CLOCK = re.compile(r"(?<!\d)(?:(?:2[5-9]|[3-9]\d):\d\d|24:(?!00)\d\d|\d{1,2}:[6-9]\d)(?!\d)")
_NO_LIMIT = re.compile(r"\b(?:at most|no more than|not more than|up to|a maximum of) [^\s\w]*[^\Wa-z\u4e00-\u9fff]\S*")
_LATE = ("下午", "傍晚", "晚上", "夜里", "夜间", "晚", " in the afternoon", " in the evening", " at night")


def _impossible(scratch: _Scratch, pattern: re.Pattern[str]) -> None:
    """Tell of what is written like a time or a limit and is none, so that nobody takes it for read."""
    scratch.unread.extend(found[0].strip() for found in scratch.take(pattern))


def _clocks(scratch: _Scratch) -> None:
    """Write every time of day as HH:MM."""
    scratch.rest = scratch.rest.replace("\uff1a", ":")
    scratch.put(_DOTTED, lambda found: f"{found['h'] or found['h2']}:{found['m'] or found['m2']}")
    scratch.put(_AMPM_RANGE, lambda found: _twelve(number(found[1]), int(found[2] or 0), found[3]))
    scratch.put(_AMPM, lambda found: _twelve(number(found["h"]), int(found["m"] or 0), found["half"]))
    scratch.put(_BARE_RANGE, scratch.asked(_bare_range))
    for pattern in (_PAST, _OCLOCK, _WORD_PART):
        scratch.put(pattern, _worded)
    scratch.put(_MILITARY, lambda found: f"{found[1]}:{found[2]}")
    scratch.put(_MILITARY_END, lambda found: f"{found[1]}{found[2]}:{found[3]}")
    scratch.put(_HOUR_H, lambda found: f"{int(found['h']):02d}:{found['m'] or '00'}")
    scratch.put(_HALF_RANGE_END, _half_range_end)
    scratch.put(_BARE_SPAN, scratch.asked(_bare_range))
    scratch.put(_BARE_AFTER, scratch.asked(_bare))
    noon = {"noon": "12:00", "midday": "12:00", "midnight": "24:00"}
    scratch.put(_NOON, lambda found: f"{found['lead'] or found['dash']} {noon.get(found['what'], '12:00')}")
    scratch.put(_HALF_RANGE, _half_range)
    scratch.put(_NOON_FIRST, lambda found: "00:00" if found["what"] == "midnight" else "12:00")
    late, begin = False, 0

    def worded(found: re.Match[str]) -> str:
        nonlocal late, begin
        hour, part = number(found["h"]), found["part"] or ""
        if part:
            late = part in _LATE
        rest = _minutes_zh(found) if "half" in found.re.groupindex else int(found["m"])
        ends = scratch.rest[: found.start()].rstrip().endswith(("到", "至", "-", "–", "~", "—"))
        shift = part in _LATE or (part == "中午" and hour < 3)  # noqa: PLR2004  # 中午一点
        if not part and ends:  # 十二点到一点, 晚上八点到十点; not 晚上十点到六点
            shift = hour <= begin < hour + 12 and (late or begin <= 12)  # noqa: PLR2004  # of a clock
            if hour == 12 and begin > 12:  # noqa: PLR2004  # 晚上八点到十二点
                hour = 24
        if shift and hour < 12:  # noqa: PLR2004  # of a clock
            hour += 12
        begin = hour
        return f"{hour:02d}:{rest:02d}"

    scratch.put(_CLOCK_ZH, worded)
    scratch.put(_CLOCK_ZH_PLAIN, worded)


def _small_hour(hour: int, part: str) -> bool:
    """`three at night` is no afternoon."""
    return part.strip() == "at night" and hour < _EARLY


def _half_guessed(found: re.Match[str]) -> bool:
    """Whether an hour may be one of the morning or of the evening, and nothing beside it tells which."""
    if (found["part"] or "").strip():
        return False
    if found.re is _BARE_AFTER:
        begun = _BEGUN.search(found.string[: found.start()])
        other_end = begun is not None and found["lead"] in _ENDING
        return found["lead"] not in _MOMENT and not other_end and 0 < number(found["a"]) <= _LAST_BARE
    first, last = number(found["a"]), number(found["b"])
    return 0 < first < _EARLY and last <= _LAST_BARE


_MOMENT = ("at", "around", "about")
_ENDING = ("to", "until", "till", "-", "–", "and")
_EARLY, _LAST_BARE = 6, 12  # hours: before six hardly anybody begins; up to twelve a clock shows them twice


def _half_range_end(found: re.Match[str]) -> str:
    """`8:30-18`: the second hour without its minutes."""
    first, last = int(found["a"]), int(found["b"])
    if last > 24:  # noqa: PLR2004  # no hour
        return found[0]
    if last < first <= 12 or (last == 12 and first > 12):  # noqa: PLR2004  # 8:30 to 5, 22:00 to 12
        last += 12
    return f"{found['begin']}{last:02d}:00"


def _hours_written(found: re.Match[str]) -> str:
    hour, minute = (found["h"], found["m"] or "00") if found["h"] else (found["h2"], found["m2"])
    return f"{int(hour):02d}:{minute}".ljust(len(found[0]))


def _minutes_zh(found: re.Match[str]) -> int:
    if found["half"]:
        return 30
    if found["q"]:
        return 15 * number(found["q"])
    return number(found["m"]) if found["m"] else 0


def _twelve(hour: int, minute: int, half: str) -> str:
    return f"{hour % 12 + (12 if half == 'p' else 0):02d}:{minute:02d}"


def _worded(found: re.Match[str]) -> str:
    hour, past = number(found["h"]), (found.groupdict().get("past") or "").strip()
    if found["part"] in _LATE and hour < 12 and not _small_hour(hour, found["part"]):  # noqa: PLR2004  # of a clock
        hour += 12
    shift = {"half past": 30, "quarter past": 15, "a quarter past": 15, "quarter to": -15, "a quarter to": -15}.get(
        past, 0
    )
    return found.groupdict().get("lead", "") + clock((hour * 60 + shift) % DAY)


def _bare_range(found: re.Match[str]) -> str:
    """`8-18`, `from ten to five`: hours without a word for the half of the day; 9 to 5 is a working day."""
    first, last = number(found["a"]), number(found["b"])
    late = (found["part"] or "").lstrip() in [part.lstrip() for part in _LATE]
    noon = 12
    over_night = last < first < noon and (found["part"] or "").strip() in ("at night", "in the morning")
    if over_night:  # from 10 to 6 at night
        first += noon
    elif late:
        last += noon if last <= noon else 0
        first += noon if first < noon and first + noon <= last else 0
    elif last < first <= noon and not found["part"]:
        last += noon
    if first > 2 * noon or last > 2 * noon or first == last:
        return found[0]
    return f"{found['lead']} {first:02d}:00{found['join']}{last:02d}:00"


def _half_range(found: re.Match[str]) -> str:
    """`from 3 to 05:00`: the first hour is in the half of the day that comes just before the second."""
    first, last = number(found["a"]), int(found["b"])
    noon = 12
    if first < noon and first + noon < last:
        first += noon
    return f"{first:02d}:00{found['join']}" if first <= 2 * noon else found[0]


def _bare(found: re.Match[str]) -> str:
    hour = number(found["a"])
    if hour > 24:  # noqa: PLR2004  # no hour
        return found[0]
    part = (found["part"] or "").strip()
    if part in [late.strip() for late in _LATE] and hour < 12 and not _small_hour(hour, part):  # noqa: PLR2004
        hour += 12
    begun = _BEGUN.search(found.string[: found.start()])
    if hour == 12 and begun and int(begun[1]) > 12:  # noqa: PLR2004  # from 10 pm to 12
        hour = 24
    elif begun and hour <= int(begun[1]) <= 12 and found["lead"] in ("to", "until", "till", "-", "–"):  # noqa: PLR2004  # 8 am to 5
        hour += 12
    return f"{found['lead']} {hour:02d}:00"


_BEGUN = re.compile(r"(\d\d):\d\d\s*$")


_T = r"(\d{1,2}:\d\d)"
_OUTSIDE = re.compile(
    r"\b(?:outside(?: of)?|beyond)\s+(?:the (?:hours|time)s? (?:of|from|between)?\s*)?$|(?:除了?|非)\s*$"
)
_BETWEEN = re.compile(
    rf"{_T}\s*(?:-|–|—|~|to|until|till|and|through|到|至|and (?:leaves?|finish(?:es)?|stops?|ends?"
    rf"|go(?:es)?(?: home)?) (?:again )?at)\s*(?:the )?(?:next|次日|第二天|凌晨|following)?\s*(?:day"
    rf"|morning)?\s*(?:at )?{_T}"
)
_BEFORE = re.compile(
    rf"(?:\b(?:until|till|before|by|up to|no later than|not after|earlier than)\s+{_T})|(?:(?:到|至){_T})"
    rf"|(?:{_T}\s*(?:以前|之前|前))"
)
_AFTER = re.compile(
    rf"(?:\b(?:after (?:the )?[a-z' ]{{2,25}} at|after|from|since|as of|past|starting at|later than"
    rf"|not before)\s+{_T}(?: on| onwards?)?)"
    rf"|(?:{_T}\s*(?:以后|之后|后|起|开始))|(?:(?:从|自){_T})"
)
_AT = re.compile(rf"\b(?:at|around|about)\s+{_T}|{_T}")
_AROUND_MIN = 30


def _spans(scratch: _Scratch) -> None:
    for found in scratch.take(_BETWEEN):
        scratch.outside |= bool(_OUTSIDE.search(scratch.rest[: found.start()].rstrip() + " "))
        scratch.spans.append((minutes(found[1]), minutes(found[2])))
    single: list[Span] = []
    for found in scratch.take(_BEFORE):
        end = minutes(next(text for text in found.groups() if text))
        single.append((DAWN if end > DAWN else NOON, end))
    for found in scratch.take(_AFTER):
        start = minutes(next(text for text in found.groups() if text))
        single.append((start, DAWN - 1 if start >= DAWN else NOON))
    scratch.open_ended = bool(single) and not scratch.spans
    scratch.spans += [(max(single)[0], min(single)[1])] if _both(single) else single
    for found in scratch.take(_AT):
        at = minutes(next(text for text in found.groups() if text))
        if not scratch.spans:
            scratch.spans.append(((at - _AROUND_MIN) % DAY, (at + _AROUND_MIN) % DAY))


def _both(single: list[Span]) -> bool:
    """`after 8:00 and before 10:00` is one span."""
    return len(single) == 2 and single[0][0] == DAWN and single[1][1] == DAWN - 1 and single[1][0] < single[0][1]  # noqa: PLR2004


_NIGHTS = (
    r"\b(?:at|by|every|each|in the|during the|all|the)? ?nights?\b"
    r"(?! (?:watch|watchm[ae]n|guards?|porters?|shifts?|nurses?|crew|staff|bus|buses))"
)
# fmt: off
_PARTS_OF_DAY: tuple[tuple[Span, str], ...] = (
    ((4 * 60, 9 * 60),       r"\bearly (?:in the )?mornings?\b|清晨|清早|一早"),
    ((9 * 60, 12 * 60),      r"\bmid-?mornings?\b"),
    ((5 * 60, 12 * 60 - 1),  r"\b(?:in the )?(?:late )?mornings?\b|上午|早上|早晨|早间"),
    ((11 * 60, 14 * 60),     r"\blunch ?(?:time|break|hour)?s?\b|\b(?:around |at )?(?:midday|noon)\b|中午|午间|午休"),
    ((12 * 60, 18 * 60 - 1), r"\bafternoons?\b|下午|午后"),
    ((17 * 60, 23 * 60 - 1), r"\bevenings?\b|傍晚"),
    ((21 * 60, 6 * 60 - 1),  r"\bovernight\b|\bnight[- ]?times?\b"),
    ((21 * 60, 6 * 60 - 1),  _NIGHTS),
    ((21 * 60, 6 * 60 - 1),  r"夜间|夜里|夜晚|深夜|晚上|晚间|半夜"),
    ((0, 5 * 60),            r"凌晨"),
    ((0, 12 * 60 - 1),       r"(?<=  )a\.?m\b\.?"),  # saturdays am; the day is blanked out by now
    ((12 * 60, 24 * 60 - 1), r"(?<=  )p\.?m\b\.?"),
)
# fmt: on
_PARTS = tuple((re.compile(pattern), span) for span, pattern in _PARTS_OF_DAY)
_ALWAYS = re.compile(
    r"\b(?:all )?day and (?:all )?night\b|\bnight and day\b|\bby day and (?:by )?night\b|\baround the clock\b"
    r"|\bround the clock\b|\b24 ?/ ?7\b|\b24 hours(?: a day)?\b"
    r"|\bat (?:any|all) (?:time|hour)s?(?: of (?:the )?day)?(?: or night)?\b|\bat all times\b|\balways\b"
    r"|\bany ?time\b|\bwhenever\b|任何时候|随时|全天|24小时|昼夜|日夜|白天黑夜|无论何时|任何时间|始终|一直"
)
_LIGHT = re.compile(
    r"\b(?:from |between )?(?:sunrise|dawn) (?:to|and|until|till) (?:sunset|dusk)\b|\b(?:until|till|before"
    r"|by) (?:dusk|dark|sunset|nightfall)\b"
    r"|\b(?:after|from|since) (?:dawn|sunrise)\b|\b(?:by day(?:light)?|daylight(?: hours)?"
    r"|day ?time|during the day|in daylight|while it is light)\b|日出到日落|白天|白昼|天亮"
)
_DARK = re.compile(
    r"\b(?:between |from )?(?:sunset|dusk) (?:to|and|until|till) (?:sunrise|dawn)\b|\b(?:until|till|before) (?:dawn"
    r"|sunrise)\b|\bafter (?:dark|sunset|nightfall|dusk)\b"
    r"|\bin the dark\b|\bonce it is dark\b"
    r"|\bwhen it(?:'s| is) dark\b|\bdarkness\b|\bfrom dusk\b|天黑以?后|日落以?后|天黑之后|入夜"
)
_AFTER_HOURS = re.compile(
    r"\b(?:outside|after)(?: of)? (?:the |our |normal )?(?:working|opening|business|office|school|visiting"
    r"|closing)? ?(?:hours|time)\b|\bafter closing\b|下班以?后|放学以?后|关门以?后|非工作时间|非营业时间"
)
_BREAKS = re.compile(
    r"\b(?:during|in|at) (?:the )?(?:breaks?|recess)\b|\bat (?:dawn|dusk|sunrise|sunset)\b|课间|休息时间"
)


_ROUND_THE_CLOCK = re.compile(
    r"(?<!up to )(?<!at most )(?<!than )(?<!for )\b24 hours a day\b|(?<!超过)(?<!最多)(?<!至多)(?:24"
    r"|二十四)小时(?!以内|之内|以上|内|后)"
)


def _round_the_clock(scratch: _Scratch) -> None:
    """Take it before it looks like a stay of a day."""
    for _ in scratch.take(_ROUND_THE_CLOCK):
        scratch.always = True


def _parts(scratch: _Scratch) -> None:
    for _ in scratch.take(_ALWAYS):
        scratch.always = True
    for found in scratch.take(_BREAKS):
        if not scratch.spans:  # with its hours beside it, the word adds nothing
            scratch.unread.append(found[0].strip())
    for _ in scratch.take(_LIGHT):
        scratch.dark = False
    for _ in scratch.take(_DARK):
        scratch.dark = True
    for _ in scratch.take(_AFTER_HOURS):
        scratch.parts += [] if scratch.spans else [(18 * 60, 7 * 60)]
    for pattern, span in _PARTS:
        for _ in scratch.take(pattern):
            scratch.parts.append(span)


def _unread(scratch: _Scratch) -> None:
    scratch.unread += [found[0].strip() for found in scratch.take(_SEASONS)]
