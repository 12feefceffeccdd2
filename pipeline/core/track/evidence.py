"""What a thing amounts to: whether it is evidence now, whether it is certain, and when it is gone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pipeline.core.geometry import area, overlap, shared, size
from pipeline.core.track import movement
from pipeline.core.track.thing import Thing, is_leaving, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.track.regions import Region
    from pipeline.core.track.scene import Scene
    from pipeline.core.track.sight import TrackRules


_SAME_BOX = (
    0.35  # intersection over union of a thing and a region, from which on the region is that thing and no shadow
)
_TRAVEL_OF_LARGEST = 0.5  # of its own greatest size, how far a region must have got
_GONE_S = 0.9  # after so long unseen, one look in vain is enough to forget who was about to leave


def with_unnamed_movers(things: list[Thing], born: int, scene: Scene) -> tuple[list[Thing], int]:
    """Return the things, and one more for each region that is evidence by itself and in which nothing is known."""
    known = {number for thing in things for number in thing.regions}
    for region in scene.regions:
        if region.number in known or region.number not in scene.evidence:
            continue
        if any(shared(region.box, thing.box) > 0.3 * area(region.box) for thing in things):  # a known thing moves there
            continue
        born += 1
        travels = movement.gets_somewhere(region, scene.rules)
        since = region.born_ns if travels else scene.at_ns
        thing = Thing(born, region.box, region.first, since, scene.at_ns, moved_ns=scene.at_ns)
        things.append(thing._replace(regions=frozenset((region.number,))))
    return things, born


def judge(thing: Thing, scene: Scene) -> Thing:
    """Set what follows for a thing from this observation: `evident`, `proven`, `confirmed`, `present` and `stirs`."""
    rules, moving = scene.rules, scene.live(thing.regions)
    moved_itself = _moved_itself(thing, moving, rules)
    may_show = moved_itself or not thing.votes or thing.group in {"person", "animal"}  # else light moves in its box
    by_motion = may_show and any(one.number in scene.evidence for one in moving)
    sure = thing.now is not None and thing.now.likelihood >= rules.likelihood
    if thing.now is not None and sure and moving and moved_itself:
        thing = thing._replace(proof=thing.proof + thing.now.likelihood - rules.doubt_likelihood)
    recognised = sure and bool(moving) and thing.proof >= rules.proof_likelihood
    evident = recognised or by_motion or (bool(moving) and _followed_by_look(thing, rules))
    certain = thing.confirmed or _is_certain(thing, rules, moved_itself=moved_itself)
    thing = thing._replace(evident=evident, proven=thing.proven or evident or certain, confirmed=certain)
    seen = by_motion or _is_seen_now(thing, moving, scene)
    return thing._replace(
        present=thing.proven and seen, stirs=thing.proven and (seen or _moves_there(thing, moving, scene))
    )


def _is_certain(thing: Thing, rules: TrackRules, *, moved_itself: bool) -> bool:
    """Whether it was seen often enough, and moved far or often enough, to be no mistake of the detector."""
    if _followed_by_look(thing, rules) and (thing.hits > 1 or thing.group == "vehicle"):  # wheels look like people
        return True
    if thing.moving_hits < 2 or not moved_itself:  # noqa: PLR2004  # once may be luck
        return False
    if thing.travelled >= rules.sure_sizes:
        return True
    often = thing.group != "vehicle" and thing.moving_hits >= 6  # noqa: PLR2004  # two seconds
    return thing.hits >= rules.least_hits and (thing.travelled >= rules.came_sizes or often)


def _is_seen_now(thing: Thing, moving: Sequence[Region], scene: Scene) -> bool:
    """Whether it is seen now: it moves and was recognised of late, or it stands and was detected."""
    if thing.detected_ns is None:
        return False
    if moving:  # where a look misses it, what moves there may be another one
        return thing.misses == 0 and _moves_there(thing, moving, scene)
    return thing.now is not None and seconds(scene.at_ns - thing.rest_ns) < scene.rules.max_still_s


def _moves_there(thing: Thing, moving: Sequence[Region], scene: Scene) -> bool:
    """Whether something moves where it was recognised of late."""
    recognised_ns = thing.detected_ns
    return (
        bool(moving) and recognised_ns is not None and seconds(scene.at_ns - recognised_ns) < scene.rules.recognised_s
    )


def _followed_by_look(thing: Thing, rules: TrackRules) -> bool:
    """Whether what was recognised once went on, as what it looks like, by more than its size."""
    return math.hypot(*thing.carried) >= rules.sure_sizes * size(thing.box)


def _went_nowhere(thing: Thing, rules: TrackRules) -> bool:
    """Whether what looks like it was followed for a while, and went nowhere: what moves there is light or shade."""
    grown = size(thing.box) / max(size(thing.first), 1e-6)
    near = math.hypot(*thing.carried) < rules.came_sizes * size(thing.box)
    return thing.carried_s >= rules.carried_s and near and 1 / rules.came_growth < grown < rules.came_growth


def _moved_itself(thing: Thing, moving: Sequence[Region], rules: TrackRules) -> bool:
    """Whether it moved itself; light and shade that pass over parked vehicles move in their boxes, too.

    A vehicle, or a chair, moved where what looks like it did, or where a region as large as it is went on its way.
    People and animals may move in their place, where they are seen clearly.
    """
    if thing.group in {"person", "animal"}:
        best = max((vote.best for vote in thing.votes), default=0.0)
        return (
            best >= rules.still_likelihood or thing.travelled >= rules.stirred_sizes or not _went_nowhere(thing, rules)
        )
    if _went_nowhere(thing, rules):
        return False
    seen_often = thing.carried_s >= rules.carried_s or thing.hits >= rules.least_hits
    if thing.travelled >= (rules.came_sizes if thing.carried_s else rules.sure_sizes) and seen_often:
        return True
    return thing.hits > 1 and any(
        overlap(one.box, thing.box) >= _SAME_BOX and one.travelled >= _TRAVEL_OF_LARGEST * one.largest for one in moving
    )


def is_lost(thing: Thing, scene: Scene) -> bool:
    """Whether it is to be forgotten: it left, or too many looks or too long a time did not show it.

    What was never evidence is forgotten after two looks in vain.
    """
    rules = scene.rules
    unseen_s = seconds(scene.at_ns - thing.seen_ns)
    if not thing.votes:
        return unseen_s >= rules.lost_s
    if thing.misses > _patience(thing, scene, unseen_s) and is_leaving(thing.box, thing.velocity):
        return True
    if thing.rests(scene.at_ns, rules):
        return thing.misses >= rules.most_misses or unseen_s > rules.lost_standing_s
    if thing.misses >= rules.most_misses_moving:
        return True
    if not thing.proven and thing.misses > 1 and thing.moved_ns < scene.at_ns:
        return True
    return unseen_s > rules.lost_thing_s


def _patience(thing: Thing, scene: Scene, unseen_s: float) -> int:
    """Looks in vain that a thing which is about to leave is given; it is there as long as it moves."""
    if thing.moved_ns == scene.at_ns:
        return 3
    return 1 if unseen_s < _GONE_S else 0
