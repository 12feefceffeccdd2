"""Follows things from look to look and, between looks, by what moves.

Three kinds of evidence tie a thing together. Moving regions, seen in every picture, carry it on between looks and over
looks that miss it. Detections, a few a second, say where it is as a whole and vote what it is; they are given to things
by the assignment of least cost. Movement alone makes a thing without a name of what no classifier knows.

Trackers that want 15 looks a second predict by velocity; at one to five looks a second things go farther than their
own size between looks, so the region in which a thing moves decides before its predicted place does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.geometry import area, centre, covers, shared
from pipeline.core.track import pieces
from pipeline.core.track.evidence import is_lost, judge, with_unnamed_movers
from pipeline.core.track.hidden import reidentify, still_hidden
from pipeline.core.track.matching import match, predicted
from pipeline.core.track.movement import Watch, find_evidence
from pipeline.core.track.regions import Region, follow
from pipeline.core.track.scene import Scene
from pipeline.core.track.thing import Thing, change, seconds, shifted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.core.geometry import Box
    from pipeline.core.track.sight import Sight, TrackRules


_MOVED_OF_LATE_S = 1.0
_HIDES = 0.5  # of a thing, from which on what stands before it may be taken for it
_SLOW_S = 0.4  # between two pictures; a walker goes farther than its width


class Tracker(NamedTuple):
    """All that is followed in a camera's picture.

    Attributes:
        watch: When it was observed and looked at.
        regions: Moving regions, oldest first.
        things: Oldest first.
        hidden: Things that went out of sight inside the picture a short time ago.
        regions_born: How many regions there were.
        things_born: How many things there were.
    """

    watch: Watch = Watch()
    regions: tuple[Region, ...] = ()
    things: tuple[Thing, ...] = ()
    hidden: tuple[Thing, ...] = ()
    regions_born: int = 0
    things_born: int = 0


def step(tracker: Tracker, sight: Sight, rules: TrackRules) -> Tracker:
    """Take one observation into account.

    Args:
        tracker: Result of the last step, `Tracker()` at first.
        sight: The observation.
        rules: Thresholds; the same ones all along.
    """
    watch = Watch(
        sight.at_ns,
        tracker.watch.looked_ns if sight.detections is None else sight.at_ns,
        sight.at_ns if sight.global_change else tracker.watch.upset_ns,
    )
    regions = tracker.regions if sight.global_change else follow(tracker.regions, sight, rules, tracker.regions_born)
    before = {region.number: region for region in tracker.regions}
    scene = Scene(watch, regions, find_evidence(regions, watch, rules), before, tracker.watch.at_ns, sight, rules)
    remembered_s = rules.lost_standing_s  # what moves where a thing was so long ago is another one
    fresh = (thing for thing in tracker.things if seconds(sight.at_ns - thing.seen_ns) <= remembered_s)
    here, gone = _parted(_carried(fresh, scene), scene)
    things, hidden, born = here, still_hidden(tracker.hidden, gone, scene), tracker.things_born
    if sight.detections is not None:
        things, born = match(things, hidden, born, scene)
        things, hidden = reidentify(_without_doubles(things), hidden, scene)
    things, born = with_unnamed_movers(things, born, scene)
    here, gone = _parted(things, scene)
    return Tracker(
        watch,
        regions,
        tuple(judge(thing, scene) for thing in here),
        still_hidden(hidden, gone, scene),
        max((tracker.regions_born, *(region.number for region in regions))),
        born,
    )


def _parted(things: Iterable[Thing], scene: Scene) -> tuple[list[Thing], list[Thing]]:
    """Those that are still there, and those that are lost."""
    parts: tuple[list[Thing], list[Thing]] = ([], [])
    for thing in things:
        parts[is_lost(thing, scene)].append(thing)
    return parts


def on_their_way(tracker: Tracker) -> dict[int, Box]:
    """Where the things are that moved of late, by number."""
    return {
        thing.number: thing.box
        for thing in tracker.things
        if thing.votes and seconds(tracker.watch.at_ns - thing.moved_ns) < _MOVED_OF_LATE_S
    }


def _without_doubles(things: list[Thing]) -> list[Thing]:
    """Leave out the uncertain that a look did not show where it showed an older thing of their kind."""
    kept: list[Thing] = []
    for thing in things:
        older = [one for one in kept if one.group == thing.group and one.now is not None]
        double = thing.now is None and any(covers(one.box, thing.box) > pieces.INSIDE for one in older)
        if thing.confirmed or not double:
            kept.append(thing)
    return kept


def _carried(things: Iterable[Thing], scene: Scene) -> list[Thing]:
    """Move things on with the regions that they are in, and find their regions again."""
    things = list(things)
    numbers = [number for thing in things for number in thing.regions]
    shared_by = {number: numbers.count(number) for number in numbers}
    return [_carry(thing, shared_by, scene, behind=_is_behind(thing, things)) for thing in things]


def _is_behind(thing: Thing, things: Iterable[Thing]) -> bool:
    """Whether a nearer thing hides part of it: then what looks like it may be the nearer one."""
    least = _HIDES * area(thing.box)
    nearer = (other.box for other in things if other.confirmed and other.box[3] > thing.box[3])
    return any(shared(box, thing.box) > least for box in nearer)


def _carry(thing: Thing, shared_by: Mapping[int, int], scene: Scene, *, behind: bool) -> Thing:
    thing = thing._replace(now=None, evident=False)
    expected = predicted(thing, scene)
    live = [
        one
        for one in scene.live(thing.regions)
        if not thing.votes
        or _touches(one.box, thing.box)
        or _touches(one.box, expected)
        or _leapt(one, thing, shared_by, scene)
    ]
    if not live:
        live = [one for one in scene.moving(_expected(thing, scene)) if one.number not in shared_by]
        if not live:
            hidden = {one.number for one in scene.regions if one.seen_ns != scene.at_ns}
            return thing._replace(regions=thing.regions & hidden)
    numbers = frozenset(one.number for one in live)
    thing = thing._replace(regions=numbers, seen_ns=scene.at_ns, moved_ns=scene.at_ns)
    own = [one for one in live if shared_by.get(one.number, 0) <= 1]
    if not thing.votes:
        return thing._replace(box=live[0].box, travelled=max(thing.travelled, change(thing.first, live[0].box)))
    region = max(own, key=lambda one: area(one.box), default=None)
    before = scene.before.get(region.number) if region else None
    leapt = region is not None and not _touches(region.box, thing.box)
    passed_s = seconds(scene.at_ns - scene.before_ns)
    carried = scene.sight.carried.get(thing.number)
    if not leapt and not behind and carried is not None and carried.likeness >= scene.rules.least_likeness:
        way = tuple(new - old for old, new in zip(centre(thing.box), centre(carried.box), strict=True))
        total = (thing.carried[0] + way[0], thing.carried[1] + way[1])
        return thing._replace(box=carried.box, carried=total, carried_s=thing.carried_s + passed_s)
    if behind or region is None or before is None or not _keeps_size(before.box, region.box):
        return thing._replace(box=thing.after(passed_s))
    return thing._replace(box=_moved_on(thing.box, before.box, region.box))


def _touches(region: Box, box: Box) -> bool:
    """Whether what moves in a region may still be the thing that did."""
    return shared(region, box) > 0.1 * min(area(region), area(box))  # less is a neighbour


def _expected(thing: Thing, scene: Scene) -> Box:
    """Where it would be in the next picture of a slow camera; of others it is still where it was."""
    passed_s = seconds(scene.at_ns - scene.before_ns)
    return thing.box if passed_s < _SLOW_S or thing.rests(scene.at_ns, scene.rules) else thing.after(passed_s)


def _leapt(region: Region, thing: Thing, shared_by: Mapping[int, int], scene: Scene) -> bool:
    """Whether a thing's own region went farther than itself from one picture of a slow camera to the next."""
    before = scene.before.get(region.number)
    return (
        before is not None
        and seconds(scene.at_ns - scene.before_ns) >= _SLOW_S
        and shared_by.get(region.number, 0) <= 1
        and _keeps_size(before.box, region.box)
        and _touches(before.box, thing.box)
    )


def _keeps_size(before: Box, after: Box) -> bool:
    """Whether a region is as large as it was: else it took in, or lost, something else that moves."""
    small, large = sorted((area(before), area(after)))
    return small > 0.6 * large  # a walker's legs open and close


def _moved_on(box: Box, before: Box, after: Box) -> Box:
    """Where a thing is after what moves in it went on; a region much larger than it holds others, too."""
    if area(after) > 3 * area(box):  # more than it and its shadow
        return box
    (x1, y1), (x2, y2) = centre(before), centre(after)
    moved = shifted(box, x2 - x1, y2 - y1)
    if shared(moved, after):
        return moved
    (x1, y1) = centre(moved)
    return shifted(moved, x2 - x1, y2 - y1)
