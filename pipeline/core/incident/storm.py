"""Many incidents at once: counted from the first to the last, and summed up in one event."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pipeline.core.events import Details

WINDOW_S = 10.0
_SUMMED_UP_S = 600.0  # a storm that goes on is told of so often
_ANSWERS_S = 30.0  # what is not answered so long after a storm is counted as unanswered


class Storm(NamedTuple):
    """What has come lately, and what of it is a storm.

    Attributes:
        starts_s: When incidents began, within the window.
        began_s: When the storm did; None: there is none.
        counts: Of incidents, by class of urgency.
        open: Incidents of the storm whose answer is not there yet.
        answers: By what became of them: ok, skipped, timeout and so on.
    """

    starts_s: tuple[float, ...] = ()
    began_s: float | None = None
    told_s: float = 0.0
    calm_s: float | None = None
    counts: tuple[tuple[str, int], ...] = ()
    open: frozenset[str] = frozenset()
    answers: tuple[tuple[str, int], ...] = ()


def started(storm: Storm, incident: str, priority: str, now_s: float, least: int) -> Storm:
    """An incident begins. `least` in a window make a storm; those before it in the window are not counted again."""
    starts = (*(at for at in storm.starts_s if at > now_s - WINDOW_S), now_s)
    storm = storm._replace(starts_s=starts)
    if storm.began_s is None and len(starts) < least:
        return storm
    return storm._replace(
        began_s=now_s if storm.began_s is None else storm.began_s,
        told_s=now_s if storm.began_s is None else storm.told_s,
        calm_s=None,
        counts=_more(storm.counts, priority),
        open=storm.open | {incident},
    )


def answered(storm: Storm, incident: str, status: str) -> Storm:
    """It is known what became of an incident: the first answer that is more than a promise."""
    if incident not in storm.open:
        return storm
    return storm._replace(open=storm.open - {incident}, answers=_more(storm.answers, status))


def passed(storm: Storm, now_s: float, least: int) -> tuple[Storm, Details | None]:
    """Time goes by; return what there is to sum up: when it is over and its incidents are answered, or so far."""
    began_s = storm.began_s
    if began_s is None:
        return storm, None
    starts = tuple(at for at in storm.starts_s if at > now_s - WINDOW_S)
    storm = storm._replace(starts_s=starts)
    calm = len(starts) < max(1, least // 2)
    calm_s = storm.calm_s if storm.calm_s is not None and calm else now_s if calm else None
    storm = storm._replace(calm_s=calm_s)
    over = calm_s is not None and (not storm.open or now_s - calm_s > _ANSWERS_S)
    if not over and now_s - storm.told_s < _SUMMED_UP_S:
        return storm, None
    answers = dict(storm.answers)
    details: Details = {
        "incidents": sum(count for _, count in storm.counts),
        **dict(storm.counts),
        "seconds": round(now_s - began_s, 1),
        "described": answers.get("ok", 0),
        "skipped": answers.get("skipped", 0),
        "otherwise": sum(answers.values()) - answers.get("ok", 0) - answers.get("skipped", 0),
        "unanswered": len(storm.open),
        "over": over,
    }
    if over:
        return Storm(starts), details
    return storm._replace(told_s=now_s), details


def _more(counts: tuple[tuple[str, int], ...], name: str) -> tuple[tuple[str, int], ...]:
    counted = Counter(dict(counts))
    counted[name] += 1
    return tuple(sorted(counted.items()))
