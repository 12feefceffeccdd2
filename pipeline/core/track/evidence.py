"""What a thing amounts to: whether it is evidence now, whether it is certain, and when it is gone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pipeline.core.geometry import area, overlap, shared
from pipeline.core.track import movement
from pipeline.core.track.thing import Thing, is_leaving, seconds, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.track.regions import Region
    from pipeline.core.track.scene import Scene
    from pipeline.core.track.sight import TrackRules


_GONE_S = 0.9  # who was about to leave and is not seen after so long has left


def unnamed(things: list[Thing], born: int, scene: Scene) -> tuple[list[Thing], int]:
    """Take regions that are evidence by themselves, and in which nothing is known, for things."""
    known = {number for thing in things for number in thing.regions}
    for region in scene.regions:
        if region.number in known or not movement.is_evidence(region, scene.regions, scene.watch, scene.rules):
            continue
        if any(shared(region.box, thing.box) > 0.3 * area(region.box) for thing in things):  # it is that one
            continue
        born += 1
        travels = movement.gets_somewhere(region, scene.rules)
        since = region.born_ns if travels else scene.at_ns
        thing = Thing(born, region.box, region.first, since, scene.at_ns, moved_ns=scene.at_ns)
        things.append(thing._replace(regions=frozenset((region.number,))))
    return things, born


def judge(thing: Thing, scene: Scene) -> Thing:
    """Say whether it is evidence for an incident now, and whether it is a thing for certain."""
    rules, moves = scene.rules, scene.live(thing.regions)
    by_motion = any(movement.is_evidence(one, scene.regions, scene.watch, rules) for one in moves)
    if thing.now is not None and moves and _came(thing, moves, rules):
        thing = thing._replace(proof=thing.proof + thing.now.likelihood - rules.doubt_likelihood)
    recognised = thing.now is not None and bool(moves) and thing.proof >= rules.proof_likelihood
    evident = recognised or by_motion or (bool(moves) and _was_carried(thing, rules))
    thing = thing._replace(
        evident=evident, proven=thing.proven or evident, confirmed=thing.confirmed or _is_certain(thing, moves, rules)
    )
    return thing._replace(present=thing.proven and (by_motion or _shows(thing, moves, scene)))


def _is_certain(thing: Thing, moves: Sequence[Region], rules: TrackRules) -> bool:
    """Whether it was seen often enough, and moved far or often enough, to be no mistake of the detector."""
    if _was_carried(thing, rules):
        return True
    if thing.moving_hits < 2 or not _came(thing, moves, rules):  # noqa: PLR2004  # once may be luck
        return False
    if thing.travelled >= rules.sure_sizes:
        return True
    often = thing.group != "vehicle" and thing.moving_hits >= 6  # noqa: PLR2004  # two seconds
    return thing.hits >= rules.least_hits and (thing.travelled >= rules.came_sizes or often)


def _shows(thing: Thing, moves: Sequence[Region], scene: Scene) -> bool:
    """Whether it is seen now: it moves and was recognised of late, or it stands and was detected."""
    if thing.detected_ns is None:
        return False
    if moves:  # where a look misses it, what moves there may be another one
        return thing.misses == 0 and seconds(scene.at_ns - thing.detected_ns) < scene.rules.recognised_s
    return thing.now is not None and seconds(scene.at_ns - thing.rest_ns) < scene.rules.max_still_s


def _was_carried(thing: Thing, rules: TrackRules) -> bool:
    """Whether what was recognised once went on, as what it looks like, by more than its size."""
    return math.hypot(*thing.carried) >= rules.sure_sizes * size(thing.box)


def _came(thing: Thing, moves: Sequence[Region], rules: TrackRules) -> bool:
    """Whether it moved itself; light and shade that pass over parked vehicles move in their boxes, too.

    A vehicle moved where what looks like it did, or where a region as large as it is went on its way.
    """
    if thing.group != "vehicle":
        return True
    if thing.travelled >= rules.came_sizes and math.hypot(*thing.carried) >= rules.came_sizes * size(thing.box):
        return True
    return any(overlap(one.box, thing.box) >= 0.35 and one.travelled >= 0.5 * one.largest for one in moves)  # noqa: PLR2004  # a region that is it


def is_lost(thing: Thing, scene: Scene) -> bool:
    """Whether it is to be forgotten: it left, or too many looks or too long a time did not show it."""
    rules = scene.rules
    unseen_s = seconds(scene.at_ns - thing.seen_ns)
    if not thing.votes:
        return unseen_s >= rules.lost_s
    if thing.misses > (unseen_s < _GONE_S) and is_leaving(thing.box, thing.velocity):
        return True
    if thing.rests(scene.at_ns, rules):
        return thing.misses >= rules.most_misses or unseen_s > rules.lost_standing_s
    if thing.misses >= rules.most_misses_moving:
        return True
    if not thing.proven and thing.misses > 1 and thing.moved_ns < scene.at_ns:
        return True
    return unseen_s > rules.lost_thing_s
