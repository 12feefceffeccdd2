"""Find the words that allow something, forbid it, or ask for a report.

English and Chinese. Negated phrases come before what they negate ("no need to report" before "report"), as what a row
has read is blanked out for the rows after it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

Effect: TypeAlias = Literal["allowed", "forbidden", "report"]


class Statement(NamedTuple):
    """What a clause says outright.

    Attributes:
        effect: Its effect; None: none, it may still describe a habit.
        both: Whether it first allows and then forbids.
        weak: Whether its word of permission, such as `can`, may mean something else.
    """

    effect: Effect | None
    both: bool = False
    weak: bool = False


def _any(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


# fmt: off
_NO = _any(
    r"no need to", r"need not", r"needn't", r"do(?:es)? not (?:need|have) to (?:be )?",
    r"don't (?:need|have) to", r"doesn't (?:need|have) to", r"do not", r"don't",
    r"no reason (?:to|for)(?: an?)?", r"without", r"not necessary to", r"never", r"not to be", r"not be",
    r"must not", r"mustn't", r"should not", r"shouldn't", r"not worth", r"nobody (?:has|needs) to",
    r"no one (?:has|needs) to", r"rather not", r"please don't", r"no point in",
)
_TELLING = _any(
    r"report(?:ed|ing|s)?", r"call(?:ed|ing)?(?! at\b)(?: me| us)?", r"tell(?:ing)?(?: me| us)?",
    r"notif(?:y|ied|ying)", r"alert(?:ed|ing)?(?! to)", r"alarm(?:ed|ing|s)?", r"warn(?:ed|ing)?",
    r"bother(?:ed|ing)?", r"worr(?:y|ied|ying)", r"disturb(?:ed|ing)?", r"wake", r"waking", r"ring(?:ing)?",
    r"trigger(?:ed|ing)?", r"raise", r"raising", r"flag(?:ged|ging)?", r"mind", r"care", r"message",
    r"messag(?:e|ing)", r"concern(?:ed)?", r"mention(?:ed|ing)?", r"be reported", r"be alarmed",
    r"log(?:ged|ging)?", r"send(?:ing)?", r"pay attention", r"count(?:ed)? as",
)
_ROWS: tuple[tuple[Effect, tuple[str, ...]], ...] = (
    ("allowed", (
        rf"\b{_NO}\s*(?:to\s+)?(?:be\s+)?{_TELLING}\b(?:\s+(?:an? |the |any )?(?:alarms?|alerts?|reports?|about))?",
    )),
    ("allowed", (
        r"\bnever mind\b",
        (
            r"\bno (?:alarms?|reports?|alerts?|notifications?|problem|harm|issue|objections?|restrictions?"
            r"|worry|worries|cause for|threat|danger|big deal|concern|need)\b(?: (?:is |are )?(?:needed"
            r"|necessary|required))?"
        ),
        r"\bnothing (?:to (?:report|worry|see|do)|unusual|wrong|special|suspicious|out of the ordinary)\b",
        r"\b(?:is|are|it's|that's|means?|was) nothing\b",
        r"\bnot (?:a|an) (?:problem|issue|intruder|threat|concern|alarm|incident|intrusion)\b",
        (
            r"\bnot (?:unusual|suspicious|forbidden|prohibited|unexpected|uncommon|dangerous|a problem"
            r"|alarming|banned|worrying|unwelcome)\b"
        ),
        r"\b(?:nobody|no one) minds\b", r"\bneed(?:s)? no (?:alarm|report|attention|alert)\b",
        r"\bno (?:longer )?(?:forbidden|prohibited)\b", r"\bfalse (?:alarms?|triggers?|positives?)\b",
        r"\bharmless\b",
        r"\b(?:do(?:es)? not|don't|doesn't|no longer) (?:matter|count|interest|concern|need (?:any )?attention)\b",
        r"\b(?:irrelevant|insignificant|unimportant)\b",
        r"\bof no (?:interest|importance|concern|consequence)\b",
        r"\bnot (?:interested|interesting|important|relevant)\b",
    )),
    ("allowed", (
        r"不用(?:管|报告|上报|通知|理会|理|报警|担心|在意|处理|告诉|叫)?",
        r"无需(?:报告|上报|通知|报警|理会|处理|关注)?",
        r"不必(?:报告|上报|通知|报警|理会|在意|管)?", r"不需要(?:报告|上报|通知|报警|理会)?",
        r"没事", r"没关系", r"没问题",
        (
            r"(?:别|不要|不用|不必|无需)(?:再)?(?:报警|报告|上报|管|通知"
            r"|理会|打电话|给我打电话|叫我|提醒|告诉|吵|烦|打扰|担心)(?:给?我)?"
        ),
        r"不算(?:异常|问题|违规|入侵)", r"不是(?:问题|异常|入侵)", r"误报", r"属于?正常",
        r"无妨", r"不属于异常", r"可以?忽略", r"不予理会",
    )),
    ("forbidden", (
        r"\b(?:at no time|under no circumstances?|in no case|on no account|by no means|in no way|not on any account)\b",
        r"不(?:太|很|怎么|是很|大)?正常|很不正常|不(?:太|是很)?(?:合适|妥|好)",
        (r"\b(?:not yet|anything but|nowhere|no longer) (?:allowed|permitted|normal|fine|ok|okay|usual|expected"
        r"|welcome)\b"),
        r"绝不|决不|一律不|谁[也都](?:不|别)|别(?:进|来|去|停|靠|让|放|碰|爬|走|开)",
        (
            r"\b(?:nobody|no one|no-one|none|not anyone|nothing (?=may|must|should|can|is allowed"
            r"|shall))\b(?:[^,.;]{0,60}?\b(?:allowed|permitted|may|can|should|must|welcome|has any business|is"
            r" to)\b)?"
        ),
        (
            r"\b(?:is|are|be|was|it's|that's)?\s*(?:strictly |absolutely |not )?(?:forbidden|prohibited|banned"
            r"|barred|off[- ]limits|out of bounds|illegal|unacceptable|undesirable|unwanted|no[- ]go)\b"
        ),
    )),
    ("forbidden", (
        (
            r"\b(?:must|may|can|should|shall|could|will|is|are|do|does|has|have|be|ought)\s*(?:never|not|n't"
            r"|no)\b(?:\s+(?:ever|be|to))*(?:\s+(?:allowed|permitted|welcome|wanted|supposed|meant|acceptable"
            r"|okay|ok|fine|tolerated|authori[sz]ed|belong|be here|normal|usual|expected|entitled|enter|any"
            r" business))?"
        ),
        (
            r"\b(?:mustn't|can't|cannot|shouldn't|mayn't|isn't|aren't|don't|doesn't|won't|mustn’t|can’t"
            r"|shouldn’t|don’t)\b(?:\s+(?:be\s+)?(?:allowed|permitted|welcome|wanted|supposed|belong))?"
        ),
        (
            r"\bnot (?:allowed|permitted|welcome|wanted|supposed|tolerated|acceptable|okay|ok|authori[sz]ed"
            r"|for|meant to)\b"
        ),
        r"\bnever\b",
    )),
    ("forbidden", (
        (
            r"\b(?:keep|stay|kept|keeps|stays|remain)s?\b[^,.;]{0,40}?\b(?:away|out|off|clear|empty|closed"
            r"|locked|shut|free of)\b"
        ),
        (
            r"\b(?:must|should|has to|have to|is to|are to)\s+(?:be|stay|remain|lie|stand)\s+(?:\w+ )?(?:empty"
            r"|deserted|closed|locked|shut|clear|free|vacant|unoccupied)\b"
        ),
        r"\b(?:is|are|stays?|remains?) (?:\w+ )?(?:closed|locked|shut)(?: to| for)?\b",
        (
            r"\bno (?:entry|access|admittance|trespassing|parking|stopping|loitering|entering|standing|waiting"
            r"|swimming|fishing|smoking|driving|cycling|riding|playing|climbing)\b"
        ),
        r"^\s*no (?!need|alarm|problem|harm|worr)\w+",
        (
            r"\b(?:trespass\w*|intruders?|unauthori[sz]ed|has no business|have no business|without"
            r" (?:permission|authori[sz]ation))\b"
        ),
        r"\brefrain\b", r"\b(?:denied|refused|blocked for)\b", r"\bkeep\b[^,.;]{0,40}?\bfree\b",
        r"\bhands off\b",
    )),
    ("forbidden", (
        r"不允许", r"不行", r"不给", r"不准", r"不许", r"不得", r"不能",
        r"不可以?", r"禁止", r"严禁", r"不应该?", r"不该", r"请?勿", r"谢绝",
        r"禁入", r"禁停", r"非请莫入", r"不让", r"不要(?!紧)",
        r"没有?人(?:应该?|可以)?", r"不应有", r"不会有人", r"无人", r"远离", r"违规",
        r"不欢迎", r"闲人免进", r"止步", r"关闭", r"封闭",
    )),
    ("report", (
        (
            r"\b(?:please )?(?:report|call(?! at\b)|phone|ring|wake|page|text|message|notify|alert|alarm|warn"
            r"|inform)\b(?: me| us| the| at| any| every| all| if| when| it| them| somebody| security| everyone"
            r"| anyone| anybody| people| vehicles?)?"
        ),
        (
            r"\b(?:to be|must be|should be|be|is|are|has to be|have to be|gets?) (?:reported|notified|alarmed"
            r"|flagged|alerted|announced)\b"
        ),
        r"\btell (?:me|us|the)\b", r"\blet (?:me|us) know\b",
        r"\b(?:i|we) (?:want|need|would like|wish|have) to (?:know|hear|be told)\b",
        r"\b(?:raise|sound|trigger|give|set off) (?:an? |the )?(?:alarm|alert)\b", r"\bcase for\b",
        r"\b(?:is|are) (?:\w+ )?(?:a problem|suspicious|an emergency|not normal|alarming|dangerous|a matter for)\b",
        r"\bsuspicious\b", r"\blook out for\b", r"\bwatch out for\b", r"\bkeep an eye\b", r"\binterested in\b",
        r"\bof interest\b", r"\bsend (?:me|us) (?:a|an)\b",
    )),
    ("report", (
        r"报告", r"上报", r"通知", r"报警", r"告诉我", r"告知", r"提醒我?",
        r"打电话", r"叫我", r"喊我", r"警报", r"可疑", r"汇报", r"告警",
        r"联系我", r"立即处理", r"要注意", r"需注意", r"派人",
    )),
    ("allowed", (
        (
            r"\b(?:may|can|allowed|permitted|fine|okay|ok|all right|alright|normal(?:ly)?"
            r"|usual(?:ly)?|expected|common(?:ly)?|welcome|ignore|disregard|skip|overlook|belongs?|acceptable"
            r"|authori[sz]ed|entitled|open to|open for|regular(?:ly)?|as a rule|routine(?:ly)?|in order|legitimate"
            r"|tolerated|free to|(?:is|are|am) used to|has permission|have permission|part of the job|leave (?:it"
            r"|them|him|her) (?:alone|be|in peace)|dismiss|supposed to|scheduled|planned)\b"
        ),
    )),
    ("allowed", (
        r"可以", r"只能", r"只可", r"只准", r"仅可", r"允许", r"正常", r"忽略", r"准许",
        r"欢迎", r"能够", r"照常", r"许可", r"同意",
        r"习惯", r"平常", r"有权", r"例行", r"按时", r"定期", r"固定",
    )),
)
# fmt: on
_CUES = tuple((effect, re.compile("|".join(alternatives), re.IGNORECASE)) for effect, alternatives in _ROWS)
_LEAVE_BY = re.compile(
    (
        r"\b(?:must|have to|has to|should|need to)\s+(?:be gone|leave"
        r"|be out|be done|finish|have left|be finished|be over)\b"
    ),
    re.IGNORECASE,
)
"""A time until which something is allowed."""
_WEAK = re.compile(
    r"\b(?:may|can|could|might|always|often|normal\w*|usual\w*)\b|可以|会在|会到|会来|会有|会从", re.IGNORECASE
)
_WORD = re.compile(r"[a-z]+|[\u3400-\u9fff]{2}", re.IGNORECASE)


def read_statement(clause: str) -> Statement:
    """Read what a clause says outright. A prohibition wins over a permission, as a guess must not silence an alarm."""
    found, _ = _find_cues(clause)
    weak = bool(_WEAK.search(clause))
    wanted: tuple[Effect, ...] = ("forbidden", "report")
    bad = [effect for effect in wanted if effect in found]
    if not bad:
        return Statement("allowed" if "allowed" in found else None, weak=weak)
    first = min(found[effect] for effect in bad)
    word = _WORD.match(clause, found.get("allowed", len(clause)))
    outright = word is not None and not _WEAK.fullmatch(word[0])
    return Statement(bad[0], both=outright and found.get("allowed", first) < first, weak=weak)


def blank_cues(clause: str) -> str:
    """Return a clause with its words of permission, prohibition and report blanked out, of the same length."""
    return _find_cues(clause)[1]


def _find_cues(clause: str) -> tuple[dict[Effect, int], str]:
    """Return the effects of a clause with their first positions, and the clause with these words blanked out."""
    rest = _LEAVE_BY.sub(lambda hit: " may".ljust(len(hit[0])), clause)  # which is shorter than any of its phrases
    found: dict[Effect, int] = {}
    for effect, pattern in _CUES:
        for hit in pattern.finditer(rest):
            if hit[0].strip():
                found[effect] = min(found.get(effect, len(rest)), hit.start())
        rest = pattern.sub(lambda hit: " " * len(hit[0]), rest)
    return found, rest
