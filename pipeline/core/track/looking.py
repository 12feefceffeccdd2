"""Where the classifier looks: at what moves, and at known things where they were last. Boxes in 0..1 of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.geometry import area, around, shared
from pipeline.core.times import Pace
from pipeline.core.track.thing import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.geometry import Box
    from pipeline.core.track.sight import TrackRules
    from pipeline.core.track.thing import Thing
    from pipeline.core.track.tracker import Tracker

_GROWN = 0.15  # of a region's side, at either end: head and legs of a walker lie so far apart
_SHOWN = 0.8  # share of a region inside another that makes a look of its own needless
_PIECES = 1.3  # growth up to which regions that touch are pieces of one thing, or one shows the other (1 / _SHOWN)
_LOOSE = 4.0  # growth up to which regions are looked at together where there is no time for each
_ON_ITS_WAY_S = 1.0  # since it was last seen to move


class Looks:
    """When and where to look at one camera: at bounded rates, at what moves and at what stopped.

    Args:
        per_s: Looks a second of media time while something moves.
        still_per_s: Looks a second at what stopped.
        most: Regions looked at each time.
    """

    def __init__(self, per_s: float, still_per_s: float, most: int) -> None:
        self._pace, self._still_pace, self._most = Pace(per_s), Pace(still_per_s), most

    def regions(self, tracker: Tracker, moving: Sequence[Box], now_ns: int, rules: TrackRules) -> tuple[Box, ...]:
        """Where to look now; nowhere while it is not due."""
        on_its_way, stopped = known(tracker.things, moving, tracker.watch.at_ns, rules)
        regions: tuple[Box, ...] = ()
        if (moving or on_its_way) and self._pace.due(now_ns):
            regions = choose(moving, on_its_way, self._most)
        if stopped and self._still_pace.due(now_ns):
            regions += choose((), stopped, self._most)
        return regions


def known(
    things: Iterable[Thing], moving: Sequence[Box], now_ns: int, rules: TrackRules
) -> tuple[list[Box], list[Box]]:
    """Where to look for known things: those in which something moves, and those that stopped.

    A detector sees a thing best in its last whole box: what moves of somebody who stands is a hand. What stands for
    long belongs to the picture and is not looked for.
    """
    seen = [thing for thing in things if thing.hits > 1]
    stirring = [
        one
        for one in seen
        if seconds(now_ns - one.moved_ns) <= _ON_ITS_WAY_S or any(_holds(one.box, box) for box in moving)
    ]
    stopped = [one for one in seen if one not in stirring and seconds(now_ns - one.rest_ns) < rules.max_still_s]
    return [one.box for one in stirring], [one.box for one in stopped]


def choose(moving: Iterable[Box], known: Iterable[Box], most: int) -> tuple[Box, ...]:
    """Return up to `most` regions, largest first, without those that a look at another one shows as well.

    What is looked at by itself is seen largest; only pieces of one thing, and what there is no time for, are joined.

    Args:
        moving: Regions that move.
        known: Where known things were seen last.
        most: Looks that there is time for.
    """
    found = joined([*moving, *known], _PIECES)
    if len(found) > most:
        found = joined(found, _LOOSE, most)
    return tuple(sorted(found, key=lambda one: (-area(one), one))[:most])


def joined(boxes: Iterable[Box], most_growth: float, enough: int = 1) -> list[Box]:
    """Join regions that touch when they are grown a little, those first that together are least larger than apart.

    Args:
        boxes: Regions.
        most_growth: Greatest ratio of the area of two together to the sum of both; more shows each of them too small.
        enough: So few regions need no joining.
    """
    found = sorted(set(boxes))
    while len(found) > enough:
        pairs = [
            (growth(one, other), one, other)
            for number, one in enumerate(found)
            for other in found[number + 1 :]
            if shared(_grown(one), _grown(other))
        ]
        least = min(pairs, default=None)
        if least is None or least[0] > most_growth:
            break
        _, one, other = least
        found = [box for box in found if box not in {one, other}] + [around((one, other))]
    return found


def growth(one: Box, other: Box) -> float:
    """How much larger the region around two is than both."""
    return area(around((one, other))) / max(area(one) + area(other), 1e-9)


def _holds(larger: Box, smaller: Box) -> bool:
    """Whether a look at one shows the other one, large enough."""
    return area(larger) >= area(smaller) and shared(larger, smaller) > _SHOWN * area(smaller)


def _grown(box: Box) -> Box:
    across, down = _GROWN * (box[2] - box[0]), _GROWN * (box[3] - box[1])
    return (box[0] - across, box[1] - down, box[2] + across, box[3] + down)
