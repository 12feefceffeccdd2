"""The figures that a comparison comes to: shares, medians and rates, by name, as programs read them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.core.eval.found import NAMED
from pipeline.core.eval.scoring import add_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.eval.scoring import CountScore, Score, ScoredClip


def figures_of(score: Score) -> dict[str, Any]:
    """The figures of a score; None where there is nothing to divide by."""
    return {
        "footage_s": round(score.footage_s, 2),
        "empty_s": round(score.empty_s, 2),
        "visits": score.visits,
        "hits": score.hits,
        "missed": score.visits - score.hits,
        "incidents": score.incidents,
        "false": score.false,
        "false_per_hour": rate_false(score),
        "merged": score.merged,
        "split": score.split,
        "start_error_s": _median(score.start_errors_s),
        "end_error_s": _median(score.end_errors_s),
        "labelled": score.labelled,
        "labels_right": score.labels_right,
        "unnamed": score.unnamed,
        "label_accuracy": _share(score.labels_right, score.labelled),
        "stays": sum(one.stays for one in score.counts),
        "stays_right": sum(one.stays_right for one in score.counts),
        "groups": {group: _figures_of_group(own) for group in NAMED if (own := _of_group(score.counts, group))},
    }


def figures_of_clip(clip: ScoredClip) -> dict[str, Any]:
    """The figures of a recording, with its counts by group and what each incident is worth."""
    told = (
        {
            "id": one.incident.id,
            "from_s": one.incident.from_s,
            "to_s": one.incident.to_s,
            "group": one.incident.group,
            "group_is": one.group_is,
            "judgement": one.judgement,
        }
        for one in clip.incidents
    )
    return {**figures_of(clip.score), "counts": msgspec.to_builtins(clip.score.counts), "told": list(told)}


def figures_of_tags(clips: Sequence[ScoredClip]) -> dict[str, dict[str, Any]]:
    """For each tag of nuisance the false incidents of the clips that have it."""
    tags = sorted({tag for clip in clips for tag in clip.truth.nuisance})
    found = {}
    for tag in tags:
        own = [clip for clip in clips if tag in clip.truth.nuisance]
        score = add_up(clip.score for clip in own)
        found[tag] = {
            "clips": len(own),
            "empty_s": round(score.empty_s, 2),
            "false": score.false,
            "false_per_hour": rate_false(score),
        }
    return found


def rate_false(score: Score) -> float | None:
    """False incidents an hour in which nobody was there; None: somebody always was."""
    return round(3600 * score.false / score.empty_s, 2) if score.empty_s > 0 else None


def _of_group(counts: Iterable[CountScore], group: str) -> list[CountScore]:
    return [one for one in counts if one.group == group]


def _figures_of_group(own: Sequence[CountScore]) -> dict[str, Any]:
    return {
        "clips": len(own),
        "at_once_right": sum(one.at_once_right for one in own),
        "total_right": sum(one.total_right for one in own),
        "stays": sum(one.stays for one in own),
        "stays_right": sum(one.stays_right for one in own),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 2) if values else None
