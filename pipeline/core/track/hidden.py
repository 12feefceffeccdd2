"""Things that went out of sight inside the picture, and how they are known again when they come out.

Who walks behind a car or a pillar comes out at a place that it can have reached, in the clothes that it wore; who left
over the border of the picture and comes back is somebody else as far as anybody can tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pipeline.core.geometry import centre, size
from pipeline.core.track.assignment import IMPOSSIBLE, assign
from pipeline.core.track.thing import Thing, at_edge, blended, change, difference, seconds
from pipeline.core.track.votes import add_votes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.track.scene import Scene
    from pipeline.core.track.sight import Detection

_FRESH_HITS = 3  # looks within which a new thing may turn out to be a known one
_ALIKE = 0.6  # least ratio of the sizes: what comes out is seen in part, but in its full height
_REACH, _REACH_PER_S = 0.5, 0.15  # of its size, from the way that it was on
_UNLIKE = 0.25  # greatest difference of the colours
_LIKER = 0.1  # difference of the differences: twice that of one thing in two looks
_MOST_WAY_S = 4.0  # for so long it is taken to have gone on


def remembered(hidden: Iterable[Thing], lost: Iterable[Thing], scene: Scene) -> tuple[Thing, ...]:
    """Return the certain things that are out of sight for a short time, and did not leave over the border."""
    since_ns = scene.at_ns - scene.rules.max_hidden_s * 1e9
    own = [thing for thing in (*hidden, *lost) if thing.confirmed and thing.seen_ns >= since_ns]
    return tuple(thing for thing in own if not at_edge(thing.box))


def known_again(things: list[Thing], hidden: Sequence[Thing], scene: Scene) -> tuple[list[Thing], tuple[Thing, ...]]:
    """Return the things, new ones replaced by the hidden ones that they turn out to be; and those still hidden."""
    fresh = [one for one in things if one.now is not None and not one.confirmed and one.hits <= _FRESH_HITS]
    if not fresh:
        return things, tuple(hidden)
    unseen = [*hidden, *(one for one in things if is_unseen(one, scene))]
    pairs = assign([[_cost(old, new, scene) for new in fresh] for old in unseen])
    came_out = {fresh[column].number: _taken_up(unseen[row], fresh[column], scene) for row, column in pairs}
    again = {unseen[row].number for row, _ in pairs}
    found = [came_out.get(one.number, one) for one in things if one.number not in again]
    return sorted(found, key=lambda one: one.number), tuple(old for old in hidden if old.number not in again)


def is_anothers(thing: Thing, detection: Detection, away: Iterable[Thing], scene: Scene) -> bool:
    """Whether a detection near a thing has much more of the colours of one that is away, and may be that one."""
    unlike = difference(thing.colours, detection.colours)
    if unlike < _UNLIKE / 2:
        return False
    return any(
        difference(one.colours, detection.colours) < unlike - _LIKER and _cost(one, detection, scene) != IMPOSSIBLE
        for one in away
    )


def is_unseen(thing: Thing, scene: Scene) -> bool:
    """Whether a thing is not there just now, though it is not lost yet."""
    return thing.confirmed and thing.misses > 0 and thing.seen_ns < scene.at_ns and not at_edge(thing.box)


def _cost(old: Thing, new: Thing | Detection, scene: Scene) -> float:
    """How unlikely it is that a new thing is one that was hidden; see `assign`."""
    small, large = sorted((size(old.box), size(new.box)))
    unlike = difference(old.colours, new.colours)
    if old.group != new.group or small < _ALIKE * large or unlike > _UNLIKE:
        return IMPOSSIBLE
    unseen_s = seconds(scene.at_ns - old.seen_ns)
    way = _off_its_way(old, new, min(unseen_s, _MOST_WAY_S)) / max(small, 1e-3)
    if way > _REACH + _REACH_PER_S * unseen_s:
        return IMPOSSIBLE
    return way + 2 * unlike


def _off_its_way(old: Thing, new: Thing | Detection, unseen_s: float) -> float:
    """Distance of the new one from the way that the old one has gone if it slowed down somewhere or did not."""
    (x, y), (x1, y1) = centre(new.box), centre(old.box)
    across, down = old.velocity[0] * unseen_s, old.velocity[1] * unseen_s
    length = across * across + down * down
    share = min(1.0, max(0.0, ((x - x1) * across + (y - y1) * down) / length)) if length else 0.0
    return math.dist((x, y), (x1 + share * across, y1 + share * down))


def _taken_up(old: Thing, new: Thing, scene: Scene) -> Thing:
    """The old thing with what the new one knows."""
    return old._replace(
        box=new.box,
        seen_ns=new.seen_ns,
        detected_ns=new.detected_ns,
        moved_ns=new.moved_ns,
        hits=old.hits + new.hits,
        moving_hits=old.moving_hits + new.moving_hits,
        misses=0,
        proof=new.proof,
        votes=add_votes(old.votes, new.votes),
        regions=new.regions,
        travelled=max(old.travelled, change(old.first, new.box)),
        mark=new.box,
        mark_ns=scene.at_ns,
        rest=new.box,
        rest_ns=scene.at_ns,
        pieces=0,
        colours=blended(old.colours, new.colours),
        now=new.now,
    )
