"""Read durations, numbers of things, and how often something happens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.note.time_words.numbers import HOUR_WORD, NUMBER, NUMBER_ZH, read_number

if TYPE_CHECKING:
    from pipeline.core.note.time_words.state import ReadingState

_UNIT = r"(?P<unit>seconds?|secs?|s|minutes?|mins?|min|hours?|hrs?|h)\b"
_DURATION = re.compile(
    rf"(?P<least>at least |no less than |a minimum of )?"
    rf"(?P<limit>no (?:longer|more) than|not (?:longer|more) than|for up to|up to|at most|at the most|a maximum of|"
    rf"maximum|max\.?|longer than|more than|over|exceeding|beyond|for|within|not exceed(?:ing)?|less than"
    rf"|under)?\s*(?:about )?"
    rf"(?:(?P<half>half an? |a quarter(?: of an?)? |three quarters of an? )|(?<![a-z\d])"
    rf"(?P<n>\d+[.,]\d+|{NUMBER})(?:[ -]"
    rf"|(?<=\d))(?P<and>and a half )?){_UNIT}"
    r"(?P<after> and no (?:longer|more)| at most| at the most| maximum| max\.?| or less| or more| or longer)?"
)
_DURATION_ZH = re.compile(
    rf"(?P<least>至少|不少于)?(?P<limit>最多|不超过|不得超过|不能超过|至多|超过|多于|长于"
    rf"|大于)?(?:停留|停放|停靠|逗留|等候|待)?(?:时间)?(?:不?超过)?"
    rf"(?:(?P<half>半个?小时|半个?钟头|半分钟|一刻钟|三刻钟)|(?P<n>\d+\.\d+|{NUMBER_ZH})个?(?P<and>半)?(?P<unit>分钟"
    rf"|分(?!之|别)|小时|钟头|秒钟?))(?P<after>以内|之内|以上)?"
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "秒": 1, "分": 60, "小": 3600, "钟": 3600}
_SHARES = {"half": 1800, "a quarter": 900, "three": 2700, "半": 1800, "一刻": 900, "三刻": 2700}


def read_durations(state: ReadingState) -> None:
    """Read the longest allowed stay; a shortest stay is left unread, as it is known only at the end."""
    for pattern in (_DURATION, _DURATION_ZH):
        for found in state.take(pattern):
            before = state.rest[: found.start()].rstrip()
            if before.endswith(("every", "each", "per", "每", "每隔")):
                continue
            if found["least"]:  # a shortest stay is known only at its end
                state.unread.append(found[0].strip())
            elif seconds := _read_seconds(found):
                if state.values.setdefault("most_s", seconds) != seconds:
                    state.unread.append(f"{found[0].strip()}, a second limit")
            else:
                state.unread.append(found[0].strip())


def _read_seconds(found: re.Match[str]) -> int:
    size = _SECONDS[(found.groupdict().get("unit") or "h")[0]]
    if half := found["half"]:
        if half.startswith("半分"):
            return 30
        return round(next(value for start, value in _SHARES.items() if half.startswith(start)) * size / 3600)
    if "." in found["n"] or "," in found["n"]:
        return round(float(found["n"].replace(",", ".")) * size)
    return read_number(found["n"]) * size + (size // 2 if found["and"] else 0)


_MOST = re.compile(
    rf"\b(?:more than|over|above|exceeding) (?P<over>{NUMBER}) (?!minutes?|hours?|seconds?|mins?|o'clock"
    rf"|[ap]m\b)(?=[a-z])"
    rf"|\b(?:at most|no more than|not more than|up to|a maximum of) (?P<most>{NUMBER}) (?!minutes?|hours?|mins?)"
    rf"(?=[a-z])"
    rf"|(?<![-:.\d])\b(?P<most_bare>\d+|{HOUR_WORD}) (?=(?:[a-z]+ ){{1,2}}(?:may|can|are (?:allowed|permitted))\b)"
    rf"|(?P<most_bare_zh>[一二两三四五六七八九十\d]+)个?(?:人|名|辆车?|台)(?=[^，。]{{0,4}}(?:可以|允许|能))"
    rf"|\b(?P<most_of>{NUMBER}) at (?:the )?most\b"
    rf"|\b(?P<most_alone>one|two|three) at a time\b"
    rf"|\b(?:only )?(?P<most_time>{NUMBER})(?=(?: [a-z-]+){{1,2}} (?:at a|at one) time\b)"
    rf"|\bonly (?P<most_only>one)(?= [a-z]+ (?:may|can|at)\b)"
    rf"|每次(?:只能?|只准|最多)?(?P<most_each>{NUMBER_ZH})(?:个人|人|名|辆|只)"
    rf"|\b(?P<least>{NUMBER}) or more\b|\bat least (?P<atleast>{NUMBER}) (?=[a-z])"
    rf"|\bgroups? of (?P<group>{NUMBER})(?: or more)?\b"
    rf"|(?:超过|多于)(?P<over_zh>{NUMBER_ZH})(?:个人|人|名|辆|只)|最多(?P<most_zh>{NUMBER_ZH})(?:个人|人|名|辆|只)"
    rf"|(?P<least_zh>{NUMBER_ZH})(?:个人|人|名|辆|只)以上"
)


def read_counts(state: ReadingState) -> None:
    """Read the allowed numbers of things at once."""
    for found in state.take(_MOST):
        for name, text in found.groupdict().items():
            if not text:
                continue
            if not read_number(text):  # zero is no limit
                state.unread.append(found[0].strip())
                continue
            kind = "most" if name.startswith("most") else "least"
            state.values[kind] = read_number(text) + (1 if name.startswith("over") else 0)


_EVERY = re.compile(
    r"\b(?:every|each|at every|on the|at the|at) (?P<full>full hour|whole hour|hour on the hour|hour)\b"
    r"|\bon the hour\b|\bhourly\b"
    r"|\b(?P<half>every half(?: an)? hour|every 30 minutes|half-hourly|on the half hour)\b|(?P<zh>每个?整点|整点"
    r"|每小时|每隔一小时)|(?P<zhalf>每半个?小时)"
)


def read_every(state: ReadingState) -> None:
    """Read `every full hour` and `every half hour`."""
    for found in state.take(_EVERY):
        state.values["every_min"] = 30 if found["half"] or found["zhalf"] else 60
