"""How well things that are followed keep their identities: the scores of `tests.bench.tracks`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.geometry import overlap
from pipeline.core.track.assignment import IMPOSSIBLE, assign

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pipeline.core.geometry import Box
    from tools.draw_scenes import Shown

VISIBLE = 1 / 3
MATCH = 0.5
"""Intersection over union."""
THIRD = 3
"""Looks from which on a mover has to be known."""

Boxes = dict[int, "Box"]


class Moment(NamedTuple):
    """One picture: when, the truth, how often each mover was looked at before, and what trackers say."""

    at_ns: int
    truth: tuple[Shown, ...]
    looks: Mapping[int, int]
    said: Mapping[str, Boxes]


class Score(NamedTuple):
    """What a scene or many of them amount to."""

    together: int = 0  # pictures in which a mover and its thing agree
    truth: int = 0
    said: int = 0
    switches: int = 0
    minutes: float = 0.0  # of all movers together
    wrong_count: int = 0
    true_count: int = 0

    def plus(self, other: Score) -> Score:
        """Both together."""
        return Score(*(one + more for one, more in zip(self, other, strict=True)))

    @property
    def idf1(self) -> float:
        return 2 * self.together / max(self.truth + self.said, 1)

    @property
    def switches_a_minute(self) -> float:
        return self.switches / max(self.minutes, 1e-9)

    @property
    def count_error(self) -> float:
        return self.wrong_count / max(self.true_count, 1)


def scored(moments: Iterable[Moment], name: str, last_ns: Mapping[int, int], true: int, every_s: float) -> Score:
    """Compare what a tracker said with the truth."""
    together: dict[tuple[int, int], int] = defaultdict(int)
    pairs: dict[int, int] = {}
    truth = said = switches = 0
    for moment in moments:
        boxes = {key: box for key, box in moment.said[name].items() if moment.at_ns <= last_ns[key]}
        counted = {one.number for one in moment.truth if one.visible >= VISIBLE and moment.looks[one.number] >= THIRD}
        matched = _matched(moment.truth, boxes, pairs)
        idle = {key for number, key in matched.items() if number not in counted}
        truth, said = truth + len(counted), said + len(boxes) - len(idle)
        for one in moment.truth:
            if one.number not in counted:
                continue
            for key, box in boxes.items():
                together[one.number, key] += key not in idle and _agreement(one, box) >= MATCH
        for number in counted & set(matched):
            switches += pairs.get(number, matched[number]) != matched[number]
            pairs[number] = matched[number]
    return Score(_together(together), truth, said, switches, truth * every_s / 60, abs(len(last_ns) - true), true)


def _matched(truth: Sequence[Shown], boxes: Boxes, before: Mapping[int, int]) -> dict[int, int]:
    """Which thing is which mover in a picture: as before where that still holds, else by overlap."""
    keys = list(boxes)

    def cost(one: Shown, key: int) -> float:
        agreement = _agreement(one, boxes[key])
        if agreement < MATCH:
            return IMPOSSIBLE
        return 1 - agreement - (5 if before.get(one.number) == key else 0)

    pairs = assign([[cost(one, key) for key in keys] for one in truth])
    return {truth[row].number: keys[column] for row, column in pairs}


def _agreement(one: Shown, box: Box) -> float:
    """Overlap with a mover, as far as it can be seen or as a whole: what is hidden may be known or not."""
    return max(overlap(one.box, box), overlap(one.seen, box))


def _together(counts: Mapping[tuple[int, int], int]) -> int:
    """Pictures in which movers and things agree, each mover given the one thing that makes the sum largest."""
    movers, things = (sorted({pair[place] for pair in counts}) for place in (0, 1))
    most = max(counts.values(), default=0) or 1
    pairs = assign([[1 - counts.get((mover, thing), 0) / most for thing in things] for mover in movers])
    return sum(counts.get((movers[row], things[column]), 0) for row, column in pairs)
