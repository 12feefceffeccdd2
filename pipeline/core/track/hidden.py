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
_LEAST_SIZE_RATIO = 0.6  # what comes out is seen in part, but in its full height
_REACH, _REACH_PER_S = 0.5, 0.15  # allowed distance from its expected path, in its own sizes
_MOST_COLOUR_DIFFERENCE = 0.25  # see `thing.difference`
_COLOUR_MARGIN = 0.1  # so much closer in its colours: twice what one thing differs from look to look
_EXTRAPOLATE_S = 4.0  # for so long it is taken to have gone on


def still_hidden(hidden: Iterable[Thing], lost: Iterable[Thing], scene: Scene) -> tuple[Thing, ...]:
    """Return the certain things that are out of sight for a short time, and did not leave over the border."""
    since_ns = scene.at_ns - scene.rules.max_hidden_s * 1e9
    own = [thing for thing in (*hidden, *lost) if thing.confirmed and thing.seen_ns >= since_ns]
    return tuple(thing for thing in own if not at_edge(thing.box))


def reidentify(things: list[Thing], hidden: Sequence[Thing], scene: Scene) -> tuple[list[Thing], tuple[Thing, ...]]:
    """Return the things, new ones replaced by the hidden ones that they turn out to be; and those still hidden."""
    newcomers = [one for one in things if one.now is not None and not one.confirmed and one.hits <= _FRESH_HITS]
    if not newcomers:
        return things, tuple(hidden)
    unseen = [*hidden, *(one for one in things if is_missed_now(one, scene))]
    pairs = assign([[_cost(old, new, scene) for new in newcomers] for old in unseen])
    came_out = {newcomers[column].number: _merge(unseen[row], newcomers[column], scene) for row, column in pairs}
    again = {unseen[row].number for row, _ in pairs}
    found = [came_out.get(one.number, one) for one in things if one.number not in again]
    return sorted(found, key=lambda one: one.number), tuple(old for old in hidden if old.number not in again)


def fits_hidden_better(thing: Thing, detection: Detection, away: Iterable[Thing], scene: Scene) -> bool:
    """Whether a detection that was given to a thing is closer in its colours to one that is away, and may be that."""
    unlike = difference(thing.colours, detection.colours)
    if unlike < _MOST_COLOUR_DIFFERENCE / 2:
        return False
    return any(
        difference(one.colours, detection.colours) < unlike - _COLOUR_MARGIN
        and _cost(one, detection, scene) != IMPOSSIBLE
        for one in away
    )


def is_missed_now(thing: Thing, scene: Scene) -> bool:
    """Whether a thing is not there just now, though it is not lost yet."""
    return thing.confirmed and thing.misses > 0 and thing.seen_ns < scene.at_ns and not at_edge(thing.box)


def _cost(old: Thing, new: Thing | Detection, scene: Scene) -> float:
    """How unlikely it is that a new thing is one that was hidden; see `assign`."""
    small, large = sorted((size(old.box), size(new.box)))
    unlike = difference(old.colours, new.colours)
    if old.group != new.group or small < _LEAST_SIZE_RATIO * large or unlike > _MOST_COLOUR_DIFFERENCE:
        return IMPOSSIBLE
    unseen_s = seconds(scene.at_ns - old.seen_ns)
    way = _off_its_way(old, new, min(unseen_s, _EXTRAPOLATE_S)) / max(small, 1e-3)
    if way > _REACH + _REACH_PER_S * unseen_s:
        return IMPOSSIBLE
    return way + 2 * unlike


def _off_its_way(old: Thing, new: Thing | Detection, unseen_s: float) -> float:
    """Distance to the segment from where the old one was last seen to where its velocity would have taken it."""
    (x, y), (x1, y1) = centre(new.box), centre(old.box)
    across, down = old.velocity[0] * unseen_s, old.velocity[1] * unseen_s
    length_squared = across * across + down * down
    share = min(1.0, max(0.0, ((x - x1) * across + (y - y1) * down) / length_squared)) if length_squared else 0.0
    return math.dist((x, y), (x1 + share * across, y1 + share * down))


def _merge(old: Thing, new: Thing, scene: Scene) -> Thing:
    """The old thing where the new one is, with the votes and looks of both; its proof is that of the new looks."""
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
