"""What is known of each thing in a camera's picture, gathered over all of it and lent to the area that the thing is in.

An area sees what stands in it, and for as long as it does. What a thing is was perhaps seen before it came, or is seen
after it went on: so evidence is added up by thing. A thing is what detections that overlap from look to look are of;
between looks, and where the classifier is silent, it is wherever the region moves in which it was recognised.

Pure, as `presence` is, whose rules decide here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.geometry import area, shared
from pipeline.core.incident import presence
from pipeline.core.incident.incidents import Tally, moving, tallied, together
from pipeline.core.incident.presence import Presence
from pipeline.core.incident.sight import LABELS, NS_PER_S, Lent, PresenceRules, Sight

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipeline.core.geometry import Box
    from pipeline.core.incident.regions import Region
    from pipeline.core.messages import Detection

_LOOK_S = 1.0  # so long a thing stands where the classifier saw it; then, where what moves with it is
_NONE = (0.0,) * len(LABELS)


class Thing(NamedTuple):
    """Something that was recognised while it moved.

    Attributes:
        number: Its own, from 1.
        box: Where it was recognised last.
        seen_ns: Media time of that.
        areas: In which areas it is: where the classifier saw it, or where what moves with it is.
        now: The detection of this very observation, if there is one; it is not added up yet.
        proof: Excess likelihood added up, as faded when it was last seen, this observation included.
        sums: Likelihoods added up before this observation, in the order of `LABELS`.
        tallies: By class, before this observation.
    """

    number: int
    box: Box
    seen_ns: int
    areas: frozenset[str | None]
    now: Detection | None
    proof: float = 0.0
    sums: tuple[float, ...] = _NONE
    tallies: tuple[tuple[str, Tally], ...] = ()


class Known(NamedTuple):
    """All that is known of a camera's picture.

    Attributes:
        whole: What moves in it; its regions are followed and never start an incident.
        things: What was recognised.
        born: How many there were.
        carried: By region, the numbers of the things that were recognised in it.
    """

    whole: Presence = Presence()
    things: tuple[Thing, ...] = ()
    born: int = 0
    carried: tuple[tuple[_Key, frozenset[int]], ...] = ()


class LentShare(NamedTuple):
    """What an area is lent.

    Attributes:
        lent: For `presence`.
        boxes: What moves in the area though the lower edge of its region lies beyond it: things seen in it.
        tallies: Of things that are new here, and of what was seen of its things elsewhere.
        members: When each of its things was in it last, by number: for the next time.
    """

    lent: Lent
    boxes: tuple[Box, ...]
    tallies: dict[str, Tally]
    members: dict[int, int]


_Key = tuple[int, "Box"]  # of a region: when and where it was first seen


def watch(
    known: Known,
    sight: Sight,
    where: Mapping[Box, str | None],
    rules: PresenceRules,
    standing: Iterable[Detection] = (),
) -> Known:
    """Take an observation of the whole picture into account.

    Args:
        known: Result of the last call, `Known()` at first.
        sight: The observation; of a detection in it, a label is read too.
        where: In which area each of its boxes and detections is.
        rules: Thresholds.
        standing: Detections of what came and stands still: it is seen, and stays known, but proves nothing more.
    """
    whole, found = presence.observed(known.whole, sight, rules)
    live = {_key(region) for region in whole.regions}
    carried = {key: numbers for key, numbers in known.carried if key in live}
    known = known._replace(things=tuple(_added_up(thing) for thing in known.things))
    things = _matched(known, found, carried, whole, rules)  # type: ignore[arg-type]  # what was given comes back
    things = _waiting(things, [one for one in standing if one not in found], whole, rules)
    for thing in things:
        for region in whole.regions:
            if thing.now is not None and region.seen_ns == whole.at_ns and moving(thing.now, (region.box,)):
                carried[_key(region)] = carried.get(_key(region), frozenset()) | {thing.number}
    kept = (thing for thing in things if not _lost(thing, whole, carried, rules))
    placed = tuple(_placed(thing, where, whole, carried) for thing in kept)
    return Known(whole, placed, max((known.born, *(thing.number for thing in things))), tuple(carried.items()))


def lend(
    known: Known,
    members: Mapping[int, int],
    key: str,
    sight: Sight,
    rules: PresenceRules,
    *,
    active: bool,
) -> LentShare:
    """Say what an area is to know beside what it sees.

    Args:
        known: Of the camera, this observation included.
        members: The area's things: `LentShare.members` of its last observation.
        key: Of the area.
        sight: What the area sees by itself.
        rules: Thresholds.
        active: Whether an incident goes on in the area.
    """
    at_ns = known.whole.at_ns
    inside = [thing for thing in known.things if key in thing.areas]
    was = {number: last_ns for number, last_ns in members.items() if active and _recent(last_ns, at_ns, rules)}
    new = [thing for thing in inside if thing.number not in was]
    now_in = was | dict.fromkeys((thing.number for thing in inside), at_ns)
    seen_in = [thing.now for thing in inside if thing.now is not None]
    elsewhere = [
        thing.now
        for thing in known.things
        if thing.now is not None and thing.number in now_in and key not in thing.areas
    ]
    lent = Lent(
        proven=tuple(seen_in),
        telling=presence.telling(known.whole, rules),
        recognised=tuple((one.box, one.recognised_ns) for one in known.whole.regions if one.recognised_ns is not None),
        elsewhere=tuple(elsewhere),
        proof=max((_faded(thing, at_ns, rules) for thing in inside), default=0.0),
        sums=_total(new),
    )
    boxes = tuple(one.box for one in seen_in if not moving(one, sight.boxes))
    return LentShare(lent, boxes, tallied(_tallies(new), elsewhere), now_in)


def _matched(
    known: Known,
    found: Iterable[Detection],
    carried: Mapping[_Key, frozenset[int]],
    whole: Presence,
    rules: PresenceRules,
) -> list[Thing]:
    """Give every detection that counts to the thing that it is of, likeliest first; others are new things."""
    free, things, born = list(known.things), list[Thing](), known.born
    for detection in sorted(found, key=lambda one: -one.likelihood):
        thing = _nearest(detection, free, whole, rules) or _moved(detection, free, carried, whole)
        if thing is not None:
            free.remove(thing)
        else:
            born += 1
            thing = Thing(born, detection.box, whole.at_ns, frozenset(), None)
        things.append(_seen(thing, detection, whole.at_ns, rules))
    return [*free, *things]


def _waiting(things: list[Thing], standing: list[Detection], whole: Presence, rules: PresenceRules) -> list[Thing]:
    """Keep in mind the things that stand still."""
    seen: dict[int, Detection] = {}
    for detection in standing:
        thing = _nearest(detection, [one for one in things if one.now is None], whole, rules)
        if thing is not None:
            seen[thing.number] = detection
    at_ns = whole.at_ns
    return [
        one._replace(seen_ns=at_ns, box=seen[one.number].box, proof=_faded(one, at_ns, rules))
        if one.number in seen
        else one
        for one in things
    ]


def _nearest(detection: Detection, things: Iterable[Thing], whole: Presence, rules: PresenceRules) -> Thing | None:
    """The thing of like size that it overlaps most, where that was seen of late."""
    near = [
        thing
        for thing in things
        if whole.at_ns - thing.seen_ns < rules.recognised_s * NS_PER_S
        and shared(thing.box, detection.box) > 0
        and _alike(thing.box, detection.box, rules)
    ]
    return max(near, key=lambda thing: shared(thing.box, detection.box), default=None)


def _moved(
    detection: Detection, things: Iterable[Thing], carried: Mapping[_Key, frozenset[int]], whole: Presence
) -> Thing | None:
    """The only thing that is left of those that were recognised in the region in which it moves."""
    numbers = {
        number
        for region in whole.regions
        if region.seen_ns == whole.at_ns and moving(detection, (region.box,))
        for number in carried.get(_key(region), ())
    }
    left = [thing for thing in things if thing.number in numbers]
    return left[0] if len(left) == 1 else None


def _seen(thing: Thing, detection: Detection, at_ns: int, rules: PresenceRules) -> Thing:
    proof = _faded(thing, at_ns, rules) + detection.likelihood - rules.doubt_likelihood
    return thing._replace(box=detection.box, seen_ns=at_ns, now=detection, proof=proof)


def _added_up(thing: Thing) -> Thing:
    """Add the detection of the observation before to what is known."""
    if thing.now is None:
        return thing
    votes = (thing.now.likelihood if thing.now.group == label else 0.0 for label in LABELS)
    return thing._replace(
        now=None,
        sums=tuple(old + vote for old, vote in zip(thing.sums, votes, strict=True)),
        tallies=tuple(tallied(dict(thing.tallies), [thing.now]).items()),
    )


def _lost(thing: Thing, whole: Presence, carried: Mapping[_Key, frozenset[int]], rules: PresenceRules) -> bool:
    recent = _recent(thing.seen_ns, whole.at_ns, rules, rules.recognised_s)
    return not recent and not any(thing.number in numbers for numbers in carried.values())


def _recent(then_ns: int, at_ns: int, rules: PresenceRules, within_s: float | None = None) -> bool:
    """Whether it is no longer ago than an incident waits for more; or than was said."""
    return at_ns - then_ns <= (rules.quiet_gap_s if within_s is None else within_s) * NS_PER_S


def _placed(
    thing: Thing, where: Mapping[Box, str | None], whole: Presence, carried: Mapping[_Key, frozenset[int]]
) -> Thing:
    """Say where it is: where it was recognised, and a while later where what moves with it is."""
    if thing.seen_ns == whole.at_ns:
        return thing._replace(areas=frozenset((where[thing.box],)))
    if whole.at_ns - thing.seen_ns <= _LOOK_S * NS_PER_S:
        return thing
    live = (region for region in whole.regions if region.seen_ns == whole.at_ns)
    found = (where[one.box] for one in live if thing.number in carried.get(_key(one), ()))
    return thing._replace(areas=frozenset(found))


def _faded(thing: Thing, at_ns: int, rules: PresenceRules) -> float:
    return float(thing.proof * 0.5 ** ((at_ns - thing.seen_ns) / NS_PER_S / rules.proof_half_life_s))


def _total(things: Iterable[Thing]) -> tuple[float, ...]:
    return tuple(map(sum, zip(_NONE, *(thing.sums for thing in things), strict=True)))


def _tallies(things: Iterable[Thing]) -> dict[str, Tally]:
    found: dict[str, Tally] = {}
    for thing in things:
        for label, tally in thing.tallies:
            found[label] = together(found.get(label), tally)
    return found


def _key(region: Region) -> _Key:
    return region.born_ns, region.first


def _alike(one: Box, other: Box, rules: PresenceRules) -> bool:
    small, large = sorted((area(one) ** 0.5, area(other) ** 0.5))
    return bool(small >= rules.size_ratio * large)
