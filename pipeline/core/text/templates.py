"""The sentence of an incident without a language model: filled from the facts, so it is always true to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.events import Analysis, AnalysisStatus
from pipeline.core.incident.rules import listed
from pipeline.core.text.english import article, plural

if TYPE_CHECKING:
    from pipeline.core.facts import Facts

_MOVES = {
    "none": "",
    "along": "passing along",
    "in": "coming in",
    "out": "going out",
    "toward": "coming nearer",
    "away": "going away",
}
_PACES = {
    "still": "standing",
    "slow": "slowly",
    "walk": "at a walk",
    "medium": "at medium speed",
    "run": "running",
    "fast": "fast",
}
_TITLE_MOST, _SUMMARY_MOST = 80, 280


def describe(facts: Facts, reason: str, status: AnalysisStatus = "skipped") -> Analysis:
    """Return title and summary from the facts; `reason` says why no model wrote them."""
    return Analysis(
        status=status,
        reason=reason,
        schema_valid=True,
        grounded=True,
        language="en",
        title=_cut(_title(facts), _TITLE_MOST),
        summary=_cut(_summary(facts), _SUMMARY_MOST),
        scene_text=facts.scene_text,
    )


def _title(facts: Facts) -> str:
    return f"{_who(facts)} at {facts.zone}"


def _summary(facts: Facts) -> str:
    parts = [f"{_who(facts)} at {facts.zone} for {duration(facts.track.dwell_s)}"]
    if facts.object.class_ != "none":
        parts += [part for part in (_MOVES[facts.track.direction], _pace(facts)) if part]
    sentence = ", ".join(parts) + "."
    if facts.tags:
        sentence += f" The picture suggests: {', '.join(facts.tags)}."
    if facts.track.visits_last_hour > 1:
        sentence += f" {_ordinal(facts.track.visits_last_hour)} within an hour."
    rules = [rule.replace("_", " ") for rule in listed(facts.rules_hit)]
    return sentence + (f" Rules hit: {', '.join(rules)}." if rules else "")


def _who(facts: Facts) -> str:
    thing = facts.object
    if thing.class_ == "none":
        return "Movement"
    if thing.count == 1:
        return f"{article(thing.class_).capitalize()} {thing.class_}"
    return f"{thing.count} {plural(thing.class_)}"


def _pace(facts: Facts) -> str:
    return _PACES[facts.track.speed] if facts.track.dwell_s >= 1 else ""  # a glance shows no speed


def duration(seconds: int) -> str:
    """Say a duration as people do: 36 s, 12 min, 1.5 h."""
    if seconds < 90:  # noqa: PLR2004  # below that people count seconds
        return f"{seconds} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004  # 90 min


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
