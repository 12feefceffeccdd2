"""Title and summary of an incident without a language model, filled in from the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.events import Analysis, AnalysisStatus
from pipeline.core.incident.rules import listed
from pipeline.core.text.english import choose_article, pluralise

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
_MAX_TITLE, _MAX_SUMMARY = 80, 280


def describe(facts: Facts, reason: str, status: AnalysisStatus = "skipped") -> Analysis:
    """Return title and summary from the facts; `reason` says why no model wrote them."""
    return Analysis(
        status=status,
        reason=reason,
        schema_valid=True,
        grounded=True,
        language="en",
        title=_shorten(_write_title(facts), _MAX_TITLE),
        summary=_shorten(_write_summary(facts), _MAX_SUMMARY),
        scene_text=facts.scene_text,
    )


def _write_title(facts: Facts) -> str:
    return f"{_name_subject(facts)} at {facts.zone}"


def _write_summary(facts: Facts) -> str:
    parts = [f"{_name_subject(facts)} at {facts.zone} for {short_duration(facts.track.dwell_s)}"]
    if facts.object.class_ != "none":
        parts += [part for part in (_MOVES[facts.track.direction], _speed_phrase(facts)) if part]
    sentence = ", ".join(parts) + "."
    if facts.tags:
        sentence += f" The picture suggests: {', '.join(facts.tags)}."
    if facts.track.visits_last_hour > 1:
        sentence += f" {_format_ordinal(facts.track.visits_last_hour)} within an hour."
    rules = [rule.replace("_", " ") for rule in listed(facts.rules_hit)]
    return sentence + (f" Rules hit: {', '.join(rules)}." if rules else "")


def _name_subject(facts: Facts) -> str:
    thing = facts.object
    if thing.class_ == "none":
        return "Movement"
    if thing.count == 1:
        return f"{choose_article(thing.class_).capitalize()} {thing.class_}"
    return f"{thing.count} {pluralise(thing.class_)}"


def _speed_phrase(facts: Facts) -> str:
    return _PACES[facts.track.speed] if facts.track.dwell_s >= 1 else ""  # shorter sights show no speed


def short_duration(seconds: int) -> str:
    """Return a duration with a short unit: 36 s, 12 min, 1.5 h."""
    if seconds < 90:  # noqa: PLR2004  # below that people count seconds
        return f"{seconds} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004  # 90 min


def _format_ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
