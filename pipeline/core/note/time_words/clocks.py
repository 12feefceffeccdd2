"""Rewrite all times of day in a sentence as HH:MM."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.note.time_words.numbers import HOUR_WORD, read_number
from pipeline.core.note.when import DAY, format_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core.note.time_words.state import ReadingState

_AMPM = re.compile(
    rf"\b(?P<h>\d{{1,2}}"
    rf"|{HOUR_WORD})(?:[:.](?P<m>\d\d))?\s*(?P<half>[ap])\.?\s?m\b\.?"
)
_AMPM_RANGE = re.compile(
    r"\b(\d{1,2})(?:[:.](\d\d))?(?=\s*(?:-|–|—|to|until|till|and)\s*\d{1,2}(?:[:.]\d\d)?\s*([ap])\.?\s?m\b)"
)
_OCLOCK = re.compile(
    rf"\b(?P<past>half past|quarter past|quarter to )?\s*(?P<h>\d{{1,2}}"
    rf"|{HOUR_WORD})\s*"
    r"(?:o'?\s?clock|o’clock)(?P<part> in the morning| in the afternoon| in the evening| at night)?"
)
_PAST = re.compile(
    rf"\b(?P<past>half past|quarter past|a quarter past|quarter to|a quarter to) (?P<h>\d{{1,2}}"
    rf"|{HOUR_WORD})\b"
    r"(?P<part> in the morning| in the afternoon| in the evening| at night)?"
)
_WORD_PART = re.compile(
    rf"\b(?P<lead>(?:at|until|till|before|after|from|between|and|to|by|since|around|about) )"
    rf"(?P<h>\d{{1,2}}|{HOUR_WORD})(?P<part> in the morning"
    rf"| in the afternoon| in the evening| at night)\b"
)
_HOUR_H = re.compile(r"\b(?P<h>[01]?\d|2[0-4])\s?h(?P<m>[0-5]\d)?\b(?!\w)")
_MILITARY = re.compile(
    r"\b([01]\d|2[0-3])([0-5]\d)(?=\s*(?:-|–|—|to|until|till|and|h\b|hrs\b|hours\b)\s*(?:[01]\d|2[0-3])[0-5]\d\b)"
)
_MILITARY_END = re.compile(r"(?<=\d\d:\d\d)(\s*(?:-|–|—|to|until|till|and)\s*)([01]\d|2[0-4])([0-5]\d)\b")
_BARE_RANGE = re.compile(
    rf"\b(?P<lead>from|between)\s+(?P<a>\d{{1,2}}|{HOUR_WORD})(?P<join>\s*(?:-|–|—|to|until|till|and)\s*)(?P<b>\d{{1,2}}"
    rf"|{HOUR_WORD})\b"
    r"(?!\s*(?:minutes?|mins?|hours?|people|persons|metres|m\b|:|\.\d|o'"
    r"|[ap]\.?m))(?P<part>\s+(?:in the morning|in the afternoon|in the evening|at night))?"
)
_BARE_SPAN = re.compile(
    rf"(?:^|(?<=[\s,(]))(?P<lead>)(?P<a>\d{{1,2}}|{HOUR_WORD})(?P<join>\s?[-\u2013]\s?| to | until "
    rf"| till )(?P<b>\d{{1,2}}|{HOUR_WORD})"
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
"""`8.30 to 18.00`: a full stop between hours and minutes."""
_HALF_RANGE_END = re.compile(
    r"(?P<begin>\b(?P<a>\d{1,2}):\d\d(?P<join>\s*(?:-|\u2013|\u2014|to|until|till)\s*))(?P<b>\d{1,2})(?![\d:.]|\s*[ap]\.?\s?m\b)"
    r"(?=\s*(?:$|[.,;!)]|on\b|every\b|and\b|\s))"
)
_HALF_RANGE = re.compile(
    rf"(?<![:.\d])\b(?P<a>\d{{1,2}}|{HOUR_WORD})(?P<join>\s*(?:-|–|—|to|until|till|and)\s*)(?=(?P<b>\d{{1,2}}):\d\d)"
)
_BARE_AFTER = re.compile(
    r"\b(?P<lead>until|till|before|after|by|since|from|past|to|and|at|around|about|-|–) (?P<a>\d{1,2}|"
    + HOUR_WORD
    + r")\b(?=\s*(?:$|[.,;!)]|on\b|every\b|at the\b|in the (?:morning|afternoon|evening)"
    r"|at night))(?P<part>\s+(?:in the morning|in the afternoon|in the evening|at night))?"
)
_NOON = re.compile(
    r"(?:\b(?P<lead>until|till|before|after|by|since|from|to|and|between)\s+|(?P<dash>[-–])\s*)(?P<what>noon|midday|midnight"
    r"|lunch ?time)\b"
)
_NOON_FIRST = re.compile(r"\b(?P<what>noon|midnight)(?=\s*(?:-|–|to|until|till|and)\s)")
HOURS_WITH_UNIT = re.compile(
    r"(?:(?<=from )|(?<=to )|(?<=till )|(?<=until )|(?<=at )|(?<=and )|(?<=- )|(?<=-)|(?<=after )|(?<=before )"
    r"|(?<=since )|(?<=by )|(?<=past ))(?P<h>[01]?\d"
    r"|2[0-4])\s?h(?P<m>[0-5]\d)?\b"
    r"|\b(?P<h2>[01]\d|2[0-3])(?P<m2>[0-5]\d) ?(?:hrs|hours)\b"
)
"""`8h30 to 17h`, `0800 hrs`: times of day that would else be read as durations."""
_PERIOD = r"(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜间|晚|早)?"
_CLOCK_ZH = re.compile(
    rf"{_PERIOD}(?P<next>次日|第二天)?(?P<h>\d{{1,2}}"
    rf"|[零〇一二两三四五六七八九十]{{1,3}})(?:点钟?|时(?!间|候))(?:(?P<half>半)"
    rf"|(?P<q>[一三])刻|(?P<m>[0-5]?\d|[零一二三四五十]{{1,3}})分?)?"
)
_CLOCK_ZH_PLAIN = re.compile(rf"{_PERIOD}(?=(?P<h>\d{{1,2}})[:：](?P<m>\d\d))(?:\d{{1,2}}[:：]\d\d)")
_LATE = ("下午", "傍晚", "晚上", "夜里", "夜间", "晚", " in the afternoon", " in the evening", " at night")


def read_clocks(state: ReadingState) -> None:
    """Rewrite every time of day in the text as HH:MM."""
    state.rest = state.rest.replace("\uff1a", ":")
    state.replace(_DOTTED, lambda found: f"{found['h'] or found['h2']}:{found['m'] or found['m2']}")
    state.replace(_AMPM_RANGE, lambda found: _from_12_hours(read_number(found[1]), int(found[2] or 0), found[3]))
    state.replace(_AMPM, lambda found: _from_12_hours(read_number(found["h"]), int(found["m"] or 0), found["half"]))
    state.replace(_BARE_RANGE, _record_guess(state, _convert_bare_range))
    for pattern in (_PAST, _OCLOCK, _WORD_PART):
        state.replace(pattern, _convert_words)
    state.replace(_MILITARY, lambda found: f"{found[1]}:{found[2]}")
    state.replace(_MILITARY_END, lambda found: f"{found[1]}{found[2]}:{found[3]}")
    state.replace(_HOUR_H, lambda found: f"{int(found['h']):02d}:{found['m'] or '00'}")
    state.replace(_HALF_RANGE_END, _convert_range_end)
    state.replace(_BARE_SPAN, _record_guess(state, _convert_bare_range))
    state.replace(_BARE_AFTER, _record_guess(state, _convert_bare_hour))
    noon = {"noon": "12:00", "midday": "12:00", "midnight": "24:00"}
    state.replace(_NOON, lambda found: f"{found['lead'] or found['dash']} {noon.get(found['what'], '12:00')}")
    state.replace(_HALF_RANGE, _convert_range_begin)
    state.replace(_NOON_FIRST, lambda found: "00:00" if found["what"] == "midnight" else "12:00")
    late, begin = False, 0

    def convert_zh(found: re.Match[str]) -> str:
        nonlocal late, begin
        hour, part = read_number(found["h"]), found["part"] or ""
        if part:
            late = part in _LATE
        rest = _read_minutes_zh(found) if "half" in found.re.groupindex else int(found["m"])
        ends = state.rest[: found.start()].rstrip().endswith(("到", "至", "-", "–", "~", "—"))
        shift = part in _LATE or (part == "中午" and hour < 3)  # noqa: PLR2004  # 中午一点
        if not part and ends:  # 十二点到一点, 晚上八点到十点; not 晚上十点到六点
            shift = hour <= begin < hour + 12 and (late or begin <= 12)  # noqa: PLR2004  # of a clock
            if hour == 12 and begin > 12:  # noqa: PLR2004  # 晚上八点到十二点
                hour = 24
        if shift and hour < 12:  # noqa: PLR2004  # of a clock
            hour += 12
        begin = hour
        return f"{hour:02d}:{rest:02d}"

    state.replace(_CLOCK_ZH, convert_zh)
    state.replace(_CLOCK_ZH_PLAIN, convert_zh)


def _record_guess(state: ReadingState, make: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """Wrap a replacement function so that guesses of morning or evening are recorded."""

    def made(found: re.Match[str]) -> str:
        if _is_guess(found):
            state.guesses.append(f"by day or by night: `{' '.join(found[0].split())}`")
        return make(found)

    return made


def _is_small_hour(hour: int, part: str) -> bool:
    """Tell whether an hour at night is after midnight, such as `three at night`."""
    return part.strip() == "at night" and hour < _EARLY


def _is_guess(found: re.Match[str]) -> bool:
    """Tell whether an hour may be in the morning or in the evening, and no word says which."""
    if (found["part"] or "").strip():
        return False
    if found.re is _BARE_AFTER:
        begun = _BEGUN.search(found.string[: found.start()])
        other_end = begun is not None and found["lead"] in _ENDING
        return found["lead"] not in _MOMENT and not other_end and 0 < read_number(found["a"]) <= _LAST_BARE
    first, last = read_number(found["a"]), read_number(found["b"])
    return 0 < first < _EARLY and last <= _LAST_BARE


_MOMENT = ("at", "around", "about")
_ENDING = ("to", "until", "till", "-", "–", "and")
_EARLY, _LAST_BARE = 6, 12  # hours: work hardly ever begins before six; hours up to twelve occur twice a day


def _convert_range_end(found: re.Match[str]) -> str:
    """Convert `8:30-18`, whose second hour has no minutes."""
    first, last = int(found["a"]), int(found["b"])
    if last > 24:  # noqa: PLR2004  # no hour
        return found[0]
    if last < first <= 12 or (last == 12 and first > 12):  # noqa: PLR2004  # 8:30 to 5, 22:00 to 12
        last += 12
    return f"{found['begin']}{last:02d}:00"


def hours_to_clock(found: re.Match[str]) -> str:
    """Return `8h30` as HH:MM, padded to the length of the match."""
    hour, minute = (found["h"], found["m"] or "00") if found["h"] else (found["h2"], found["m2"])
    return f"{int(hour):02d}:{minute}".ljust(len(found[0]))


def _read_minutes_zh(found: re.Match[str]) -> int:
    if found["half"]:
        return 30
    if found["q"]:
        return 15 * read_number(found["q"])
    return read_number(found["m"]) if found["m"] else 0


def _from_12_hours(hour: int, minute: int, half: str) -> str:
    return f"{hour % 12 + (12 if half == 'p' else 0):02d}:{minute:02d}"


def _convert_words(found: re.Match[str]) -> str:
    hour, past = read_number(found["h"]), (found.groupdict().get("past") or "").strip()
    if found["part"] in _LATE and hour < 12 and not _is_small_hour(hour, found["part"]):  # noqa: PLR2004  # of a clock
        hour += 12
    shift = {"half past": 30, "quarter past": 15, "a quarter past": 15, "quarter to": -15, "a quarter to": -15}.get(
        past, 0
    )
    return found.groupdict().get("lead", "") + format_clock((hour * 60 + shift) % DAY)


def _convert_bare_range(found: re.Match[str]) -> str:
    """Convert `8-18`, `from ten to five`: hours without morning or evening; 9 to 5 is a working day."""
    first, last = read_number(found["a"]), read_number(found["b"])
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


def _convert_range_begin(found: re.Match[str]) -> str:
    """Convert the first hour of `from 3 to 05:00` to the last such hour before the second."""
    first, last = read_number(found["a"]), int(found["b"])
    noon = 12
    if first < noon and first + noon < last:
        first += noon
    return f"{first:02d}:00{found['join']}" if first <= 2 * noon else found[0]


def _convert_bare_hour(found: re.Match[str]) -> str:
    hour = read_number(found["a"])
    if hour > 24:  # noqa: PLR2004  # no hour
        return found[0]
    part = (found["part"] or "").strip()
    if part in [late.strip() for late in _LATE] and hour < 12 and not _is_small_hour(hour, part):  # noqa: PLR2004
        hour += 12
    begun = _BEGUN.search(found.string[: found.start()])
    if hour == 12 and begun and int(begun[1]) > 12:  # noqa: PLR2004  # from 10 pm to 12
        hour = 24
    elif begun and hour <= int(begun[1]) <= 12 and found["lead"] in ("to", "until", "till", "-", "–"):  # noqa: PLR2004  # 8 am to 5
        hour += 12
    return f"{found['lead']} {hour:02d}:00"


_BEGUN = re.compile(r"(\d\d):\d\d\s*$")
