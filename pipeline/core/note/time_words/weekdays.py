"""Read days of the week."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.note.when import WEEKDAYS

if TYPE_CHECKING:
    from pipeline.core.note.time_words.state import ReadingState

DAY_NAME = r"(?:mon|tues?|wednes|wed|thurs?|thur|thu|fri|satur|sat|sun)(?:day)?"
_DAY_NAMES = {
    "mon": 0, "monday": 0, "tue": 1, "tues": 1, "tuesday": 1, "wed": 2, "wednesday": 2, "thu": 3, "thur": 3, "thurs": 3,
    "thursday": 3, "fri": 4, "friday": 4, "sat": 5, "saturday": 5, "sun": 6, "sunday": 6,
}  # fmt: skip
_DAY_ZH = {**{name: at for at, name in enumerate("一二三四五六日")}, "天": 6, **{str(at + 1): at for at in range(6)}}
_WEEK = r"(?:星期|礼拜|周)"
_DAYS = rf"(?:{DAY_NAME}s?|周[一二三四五六日末]|weekends?|weekdays)"
EACH_ITS_HOURS = re.compile(rf"{_DAYS}[^.;]*?\d[^.;]*?{_DAYS}[^.;]*?\d")
_DAYS_RANGE = re.compile(rf"\b(?P<a>{DAY_NAME})s?\.?\s*(?:to|through|thru|until|till|-|–|—)\s*(?P<b>{DAY_NAME})s?\b\.?")
_DAYS_RANGE_SHORT = re.compile(r"\b(?P<a>mo|tu|we|th|fr|sa|su)\.?\s?[-\u2013\u2014]\s?(?P<b>mo|tu|we|th|fr|sa|su)\b\.?")
_DAYS_RANGE_ZH = re.compile(
    rf"{_WEEK}(?P<a>[一二三四五六日天1-6])\s*(?:到|至|-|–|—|~)\s*{_WEEK}?(?P<b>[一二三四五六日天1-6])"
)
_DAYS_ONE = re.compile(rf"\b(?P<a>{DAY_NAME})s?\b")
_DAYS_ONE_ZH = re.compile(rf"{_WEEK}(?P<a>[一二三四五六日天](?:[、和及,，]?(?:{_WEEK})?[一二三四五六日天])*)")
_DAYS_KIND = re.compile(
    r"\b(?P<work>weekdays?|working days?|work days?|workdays?|school days?|business days?|during the week)\b"
    r"|\b(?P<end>weekends?)\b|\b(?P<all>every day|daily|each day|all week|seven days a week|any day)\b"
    r"|(?P<work_zh>工作日|平日|上班日|上学日|教学日)|(?P<end_zh>周末|双休日)|(?P<all_zh>每天|每日|天天)"
)
_NOT_ON = re.compile(
    r"(?:except|but not|other than|apart from|excluding|not)\s*(?:on|at|for|the)?\s*$|(?:除了?|除去)\s*$"
)


def read_weekdays(state: ReadingState) -> None:
    """Read days of the week, without those that are excluded."""
    named: set[int] = set()
    without: set[int] = set()

    def add(found: re.Match[str], days: set[int]) -> None:
        (without if _NOT_ON.search(state.rest[: found.start()].rstrip() + " ") else named).update(days)

    for pattern in (_DAYS_RANGE, _DAYS_RANGE_SHORT, _DAYS_RANGE_ZH):
        for found in state.take(pattern):
            first, last = _day_number(found["a"]), _day_number(found["b"])
            add(found, {(first + step) % 7 for step in range((last - first) % 7 + 1)})
    for found in state.take(_DAYS_KIND):
        state.always |= bool(found["all"] or found["all_zh"])
        kind = next(name for name, text in found.groupdict().items() if text).partition("_")[0]
        add(found, {"work": set(range(5)), "end": {5, 6}, "all": set(range(7))}[kind])
    for found in state.take(_DAYS_ONE):
        add(found, {_day_number(found["a"])})
    for found in state.take(_DAYS_ONE_ZH):
        add(found, {_DAY_ZH[one] for one in found["a"] if one in _DAY_ZH})
    if without:
        named = (named or set(range(7))) - without
    state.days = named


def _day_number(name: str) -> int:
    if name in _DAY_ZH:
        return _DAY_ZH[name]
    return next(at for at, full in enumerate(WEEKDAYS) if full.startswith(name[:3]))
