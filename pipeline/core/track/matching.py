"""Gives detections to the things that they are of, and says what a thing learns of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.geometry import area, centre, overlap, shared, size
from pipeline.core.track import pieces
from pipeline.core.track.assignment import IMPOSSIBLE, assign
from pipeline.core.track.hidden import fits_hidden_better, is_missed_now
from pipeline.core.track.thing import Thing, blended, change, difference, distance, is_leaving, seconds
from pipeline.core.track.votes import GROUPS, Vote, add_votes, sum_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.geometry import Box
    from pipeline.core.track.scene import Scene
    from pipeline.core.track.sight import Detection

_SMALLEST_PART = 0.04  # of a whole thing's area: a head is 0.1
_MISSED_VEHICLE, _MISSED = 0.2, 0.08  # cost of a look that did not show it; other vehicles pass where one was
_MOST_SPEED = 0.6  # shares of the picture a second


def match(things: list[Thing], hidden: Iterable[Thing], born: int, scene: Scene) -> tuple[list[Thing], int]:
    """Give detections to things; what is left and moves is a new thing, or, as `reidentify` finds, a hidden one."""
    counted = [one for one in scene.sight.detections or () if _counts(one, scene)]
    cycles = pieces.ridden(counted)
    found = [one for one in counted if one not in cycles]
    pairs = assign([[_cost(thing, one, scene) for one in found] for thing in things])
    matched = {row for row, _ in pairs}
    away = [*hidden, *(one for row, one in enumerate(things) if row not in matched and is_missed_now(one, scene))]
    given = {row: column for row, column in pairs if not fits_hidden_better(things[row], found[column], away, scene)}
    kept = dict(_weakly([(row, thing) for row, thing in enumerate(things) if row not in given], scene))
    result = [
        _update(thing, found[given[row]], scene)
        if row in given
        else _kept(thing, kept[row], scene)
        if row in kept
        else _missed(thing, scene)
        for row, thing in enumerate(things)
    ]
    for column in sorted(set(range(len(found))) - set(given.values())):
        if scene.moving(found[column].box):
            born += 1
            result.append(_new(born, found[column], result, scene))
    return [_mounted(thing, cycles) for thing in result], born


def _weakly(things: Sequence[tuple[int, Thing]], scene: Scene) -> list[tuple[int, Detection]]:
    """Give detections that are little sure to things where they were; return (row, detection) for each that has one.

    Association in two passes, the sure detections first: Y. Zhang et al. 2022, "ByteTrack".
    """
    rows = [(row, thing) for row, thing in things if thing.hits >= scene.rules.least_hits]
    costs = [
        [
            IMPOSSIBLE
            if weak.group != thing.group or overlap(thing.box, weak.box) < _weak_overlap(thing, scene)
            else 1 - overlap(thing.box, weak.box)
            for weak in scene.sight.weak
        ]
        for _, thing in rows
    ]
    return [(rows[row][0], scene.sight.weak[column]) for row, column in assign(costs)]


def _weak_overlap(thing: Thing, scene: Scene) -> float:
    """Intersection over union with a thing from which on; more of one that moves, as others may be where it was."""
    rules = scene.rules
    return rules.weak_overlap if thing.moved_ns < scene.at_ns else rules.weak_overlap_moving


def _kept(thing: Thing, weak: Detection, scene: Scene) -> Thing:
    """A thing that is still there, of which a look was little sure: nothing else is learnt of it."""
    return thing._replace(seen_ns=scene.at_ns, detected_ns=scene.at_ns, misses=0, now=weak, proof=_faded(thing, scene))


def _mounted(thing: Thing, cycles: Iterable[Detection]) -> Thing:
    """Note what a person rides."""
    if thing.now is None or thing.now.group != "person":
        return thing
    own = next((one for one in cycles if pieces.rides(thing.now.box, one.box)), None)
    return thing if own is None else thing._replace(rides=own.label)


def _counts(detection: Detection, scene: Scene) -> bool:
    """Whether it is likely enough; one of no group must be of what has moved somewhere."""
    rules = scene.rules
    if detection.group in GROUPS:
        return detection.likelihood >= rules.likelihood
    return detection.likelihood >= rules.other_likelihood and any(
        one.travelled >= rules.other_travel_sizes * one.largest for one in scene.moving(detection.box)
    )


def _cost(thing: Thing, detection: Detection, scene: Scene) -> float:
    """How unlikely it is that a detection is of a thing; see `assign`."""
    unseen_s = seconds(scene.at_ns - (thing.detected_ns or thing.seen_ns))
    box = thing.box if thing.moved_ns == scene.at_ns else predicted(thing, scene)
    if _is_far(box, detection.box, scene.rules.most_reach_sizes):
        return IMPOSSIBLE
    common, way = overlap(box, detection.box), distance(box, detection.box)
    small, large = sorted((size(box), size(detection.box)))
    ratio = area(detection.box) / max(area(box), 1e-6)
    part = pieces.is_piece(detection.box, box) and ratio > _SMALLEST_PART
    if not (part or 1 / scene.rules.most_growth < ratio < scene.rules.most_growth):
        return IMPOSSIBLE
    piece = part or pieces.is_piece(box, detection.box)
    near = way <= min(scene.rules.most_reach_sizes, 0.6 + 0.5 * unseen_s) and small >= 0.4 * large  # see reach
    if not (common > 0.1 or piece or (near and not is_leaving(box, thing.velocity))):  # noqa: PLR2004  # less is a neighbour
        return IMPOSSIBLE
    unlike = difference(thing.colours, detection.colours)
    if unlike > scene.rules.most_unlike:
        return IMPOSSIBLE
    mismatch = _mismatch(thing, detection)
    doubt = 1 - common + 0.5 * way + mismatch + scene.rules.colour_weight * unlike + _doubt_of_misses(thing)
    return IMPOSSIBLE if doubt > scene.rules.most_doubt else doubt - 0.03 * min(thing.hits, 10)


def _doubt_of_misses(thing: Thing) -> float:
    return thing.misses * (_MISSED_VEHICLE if thing.group == "vehicle" else _MISSED)


def _is_far(one: Box, other: Box, sizes: float) -> bool:
    """Whether two boxes are too far apart for everything, found out in a fifth of the time that the cost takes."""
    reach = sizes * max(one[2] - one[0], one[3] - one[1], other[2] - other[0], other[3] - other[1])
    return (
        abs(one[0] + one[2] - other[0] - other[2]) > 2 * reach or abs(one[1] + one[3] - other[1] - other[3]) > 2 * reach
    )


def _mismatch(thing: Thing, detection: Detection) -> float:
    """Cost of a detection of another kind: cheap while little is known, impossible once much speaks against it."""
    if detection.group not in GROUPS or thing.group in {None, detection.group}:
        return 0.0
    sums = sum_evidence(thing.votes)
    if thing.hits <= 3:  # noqa: PLR2004  # looks; the first ones often err
        return 0.3
    return IMPOSSIBLE if sums[detection.group] < 0.15 * sum(sums.values()) else 0.6  # one look in seven errs


def predicted(thing: Thing, scene: Scene) -> Box:
    """Where it is if it went on as it did, for at most a second."""
    return thing.after(min(seconds(scene.at_ns - thing.seen_ns), 1.0))


def _new(number: int, detection: Detection, things: Sequence[Thing], scene: Scene) -> Thing:
    """A thing that is seen for the first time; it came with the region in which it moves, unless others did."""
    taken = {one for thing in things for one in thing.regions}
    own = [
        one.born_ns
        for one in scene.moving(detection.box)
        if one.number not in taken and overlap(one.box, detection.box) > 0.3  # noqa: PLR2004  # it is what moves there
    ]
    thing = Thing(number, detection.box, detection.box, min((scene.at_ns, *own)), scene.at_ns)
    return _update(thing, detection, scene)


def _update(thing: Thing, detection: Detection, scene: Scene) -> Thing:
    at_ns, moving = scene.at_ns, scene.moving(detection.box)
    part = thing.hits > 0 and thing.pieces < 3 and pieces.is_piece(detection.box, thing.box)  # noqa: PLR2004  # then it is small
    box = thing.box if part else detection.box
    unnamed = thing.detected_ns is None and thing.hits == 0
    thing = thing._replace(
        box=box,
        first=box if unnamed else thing.first,
        travelled=0.0 if unnamed else thing.travelled,
        pieces=thing.pieces + 1 if part else 0,
        seen_ns=at_ns,
        detected_ns=at_ns,
        hits=thing.hits + 1,
        moving_hits=thing.moving_hits + bool(moving),
        misses=0,
        now=detection,
        regions=frozenset(one.number for one in moving) or thing.regions,
        moved_ns=at_ns if moving else thing.moved_ns,
        votes=add_votes(thing.votes, (_vote_of(detection),)),
        proof=_faded(thing, scene),
        colours=blended(thing.colours, detection.colours),
    )
    return _along(thing, scene)


def _along(thing: Thing, scene: Scene) -> Thing:
    """Measure its way between two detections that are far enough apart in time to be more than jitter."""
    at_ns = scene.at_ns
    if thing.mark is None:
        return thing._replace(mark=thing.box, mark_ns=at_ns, rest=thing.box, rest_ns=at_ns)
    passed_s = seconds(at_ns - thing.mark_ns)
    if passed_s >= scene.rules.settle_way_s:
        (x1, y1), (x2, y2) = centre(thing.mark), centre(thing.box)
        speeds = tuple(
            max(-_MOST_SPEED, min((old + new / passed_s) / 2, _MOST_SPEED))
            for old, new in zip(thing.velocity, (x2 - x1, y2 - y1), strict=True)
        )
        thing = thing._replace(
            velocity=speeds,  # type: ignore[arg-type]  # two of them
            path=thing.path + distance(thing.mark, thing.box),
            path_s=thing.path_s + passed_s,
            mark=thing.box,
            mark_ns=at_ns,
        )
    if thing.rest is None or change(thing.rest, thing.box) > scene.rules.rest_sizes:
        thing = thing._replace(rest=thing.box, rest_ns=at_ns)
    return thing._replace(travelled=max(thing.travelled, change(thing.first, thing.box)))


def _missed(thing: Thing, scene: Scene) -> Thing:
    """A look at where it is did not show it; a look at something small before it is none at all of it."""
    shown = any(shared(one, thing.box) > 0.5 * area(thing.box) for one in scene.sight.looked_at)  # half
    return thing._replace(misses=thing.misses + 1) if shown else thing


def _vote_of(detection: Detection) -> Vote:
    return Vote(detection.label, detection.group, detection.likelihood, detection.likelihood)


def _faded(thing: Thing, scene: Scene) -> float:
    passed_s = seconds(scene.at_ns - (scene.at_ns if thing.detected_ns is None else thing.detected_ns))
    return float(thing.proof * 0.5 ** (passed_s / scene.rules.proof_half_life_s))
