"""Read spans of hours, parts of the day, and words for any time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.core.note.when import DAWN, DAY, NOON, parse_clock

if TYPE_CHECKING:
    from pipeline.core.note.time_words.state import ReadingState
    from pipeline.core.note.when import Span

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


def read_spans(state: ReadingState) -> None:
    """Read spans of hours."""
    for found in state.take(_BETWEEN):
        state.outside |= bool(_OUTSIDE.search(state.rest[: found.start()].rstrip() + " "))
        state.spans.append((parse_clock(found[1]), parse_clock(found[2])))
    single: list[Span] = []
    for found in state.take(_BEFORE):
        end = parse_clock(next(text for text in found.groups() if text))
        single.append((DAWN if end > DAWN else NOON, end))
    for found in state.take(_AFTER):
        start = parse_clock(next(text for text in found.groups() if text))
        single.append((start, DAWN - 1 if start >= DAWN else NOON))
    state.one_ended = bool(single) and not state.spans
    state.spans += [(max(single)[0], min(single)[1])] if _is_one_span(single) else single
    for found in state.take(_AT):
        at = parse_clock(next(text for text in found.groups() if text))
        if not state.spans:
            state.spans.append(((at - _AROUND_MIN) % DAY, (at + _AROUND_MIN) % DAY))


def _is_one_span(single: list[Span]) -> bool:
    """Tell whether two one-ended spans are one span: `after 8:00 and before 10:00`."""
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
    ((0, 12 * 60 - 1),       r"(?<=  )a\.?m\b\.?"),  # `saturdays am`; the day is already blanked out
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


def read_round_the_clock(state: ReadingState) -> None:
    """Read `24 hours a day`, before it is read as a duration."""
    for _ in state.take(_ROUND_THE_CLOCK):
        state.always = True


def read_parts(state: ReadingState) -> None:
    """Read parts of the day, daylight, and words for any time."""
    for _ in state.take(_ALWAYS):
        state.always = True
    for found in state.take(_BREAKS):
        if not state.spans:  # with hours given, the word adds nothing
            state.unread.append(found[0].strip())
    for _ in state.take(_LIGHT):
        state.dark = False
    for _ in state.take(_DARK):
        state.dark = True
    for _ in state.take(_AFTER_HOURS):
        state.parts += [] if state.spans else [(18 * 60, 7 * 60)]
    for pattern, span in _PARTS:
        for _ in state.take(pattern):
            state.parts.append(span)
