"""Find times that cannot be checked (seasons, dates, single plans), and texts that only look like times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.note.time_words.weekdays import DAY_NAME

if TYPE_CHECKING:
    from pipeline.core.note.time_words.state import ReadingState

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
    rf"|{DAY_NAME}))\b"
    r"|\b(?:on |at )?(?:the |an? )?(?:every )?(?:other|second|third|fourth|first|last|alternate) "
    rf"(?:days?|weeks?|weekends?|months?|{DAY_NAME}s?)\b(?: (?:of|in) (?:the|each|every|a) (?:month|year|quarter))?"
    r"|\bin may\b(?=\s*(?:$|[.,;]))|\b(?:in|of|since|as of|from|until|by) (?:19|20)\d\d\b(?!\s*(?:-|–|to|until|till|h"
    r"|:))"
    r"|\bon (?!any|all|every|each|week|work|school|business|the|these|those|some|most)[a-z]+ days?\b"
    r"|\bfor (?:the )?(?:next |last |coming )?(?:\d+|a|one|two|three|four|five|six|seven|ten) (?:days?|weeks?|months?"
    r"|years?|nights?)\b"
    r"|(?:[一二两三四五六七八九十]|\d)+(?:天|周(?![一二三四五六日末])|个?星期(?![一二三四五六日天])|个月|年)"
    r"|\b(?:just |only )?this (?:time|once)\b|\bone last time\b|\bjust once\b|\bonly once\b|(?:就|只)?这一次"
    r"|(?<!每)一次(?!最多|只)"
    rf"|\b(?:until|till|by|from|since|before|after) {DAY_NAME}\b(?!\s*(?:to|through|thru|until|till|-|–|—)\s*"
    rf"{DAY_NAME})"
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
NO_CLOCK = re.compile(r"(?<!\d)(?:(?:2[5-9]|[3-9]\d):\d\d|24:(?!00)\d\d|\d{1,2}:[6-9]\d)(?!\d)")
NO_LIMIT = re.compile(r"\b(?:at most|no more than|not more than|up to|a maximum of) [^\s\w]*[^\Wa-z\u4e00-\u9fff]\S*")


def read_impossible(state: ReadingState, pattern: re.Pattern[str]) -> None:
    """Record matches that look like a time or a limit and are invalid, so that the author sees them."""
    state.unread.extend(found[0].strip() for found in state.take(pattern))


def read_unread(state: ReadingState) -> None:
    """Record and blank out times that cannot be checked."""
    state.unread += [found[0].strip() for found in state.take(_SEASONS)]
