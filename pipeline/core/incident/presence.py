"""Is something happening: from what moves and what was recognised to the start and the end of an incident.

Two things start an incident. Recognition: a classifier sees a person, a vehicle or an animal where something
moves, clearly once or weakly several times. Motion alone: one region stands out, keeps moving and gets
somewhere, or stays for long, although the classifier is silent; that is for what is too small or too strange
to be recognised. Foliage, rain, light and an insect at the lens do neither.

Pure and without a clock: the same observations give the same decisions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from pipeline.core.geometry import area, shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.geometry import Box

NS_PER_S = 1_000_000_000

LABELS = ("person", "vehicle", "animal")
"""Groups that may name an incident; "other" is proof of an object but no name for it."""

RECOGNISABLE_PIXELS = 32
"""Height below which detectors trained on COCO find little; its evaluation calls up to 32x32 "small"."""

Decision: TypeAlias = Literal["start", "stop"] | None


class Detected(Protocol):
    """What is read of a detection."""

    @property
    def group(self) -> str:
        """One of `LABELS`, or "other"."""

    @property
    def likelihood(self) -> float:
        """0..1."""

    @property
    def box(self) -> Box:
        """Where, in the same picture as the moving regions."""


class Lent(NamedTuple):
    """What is known beside an observation of a part of the picture, from the rest of it; see `things`.

    Attributes:
        proven: Those detections of the observation that count, seen in the whole picture.
        telling: Moving regions whose way through the whole picture is evidence by itself.
        recognised: Moving regions in which something was recognised, and when last.
        elsewhere: What counts and was seen of the same things where they have gone since.
        proof: Proof of the things that are here, wherever it was gathered, as it has faded by now.
        sums: Likelihoods added up of things that are new here, before this observation, in the order of `LABELS`.
    """

    proven: tuple[Detected, ...] = ()
    telling: frozenset[Box] = frozenset()
    recognised: tuple[tuple[Box, int], ...] = ()
    elsewhere: tuple[Detected, ...] = ()
    proof: float = 0.0
    sums: tuple[float, ...] = (0.0,) * len(LABELS)


class Sight(NamedTuple):
    """One observation of a camera.

    Attributes:
        at_ns: Media time in nanoseconds; it never goes back.
        boxes: Moving regions, 0..1 of the picture, largest first.
        area_ratio: Share of the picture that moves, 0..1.
        global_change: Most of the picture changed at once, so the boxes say nothing.
        detections: What the classifier found in and around the largest boxes; None where it did not look.
        blurred: Those of `boxes` that are out of focus, right at the lens.
        lent: What is known beside it, where it is of a part of the picture; None: it is all there is.
    """

    at_ns: int
    boxes: tuple[Box, ...] = ()
    area_ratio: float = 0.0
    global_change: bool = False
    detections: Sequence[Detected] | None = None
    blurred: tuple[Box, ...] = ()
    lent: Lent | None = None


class PresenceRules(NamedTuple):
    """When to start, when to stop and what to call it. Sizes and distances are shares of the picture's side.

    Attributes:
        likelihood: Least likelihood of a detection of one of `LABELS` that counts.
        other_likelihood: The same for "other": 60 classes of furniture and fruit err more often than three
            groups, so one of them counts only where it clearly is, and only if it has moved.
        other_travel_sizes: How far, in its own greatest sizes: more than a box trembles.
        coverage_ratio: Share of a detection's box in which something must move; a shadow that crosses a
            parked car moves in less.
        doubt_likelihood: Likelihood that proves nothing; the excess over it is added up as proof.
        proof_likelihood: Sum of excesses that starts: one sighting at 0.5 or two at 0.4.
        proof_half_life_s: How fast proof is forgotten.
        persistence_ratio: Share of the observations in which a region must have been found again.
        least_sightings: Observations that make movement on its own credible, however slow the camera.
        most_regions: More regions at once are weather, foliage or shake; motion alone then starts nothing.
        prominence_ratio: Share that a region must have of the area of all regions.
        travel_s: Least time that a region on its way must have been followed.
        travel_sizes: Least way, in its own greatest sizes.
        straight_ratio: Least ratio of the distance got to the way gone; swaying comes back.
        linger_s: After so long a region counts though it has not travelled: an animal that feeds.
        small_size: Up to this size the classifier's silence means little, above it means "nothing known".
        unrecognised_s: After so long a large region that nobody recognises and that does not travel counts as well.
        unwatched_s: Without a look for so long (model missing, overload) no silence counts against a region.
        settle_s: Rest after a global change, while exposure settles, before motion alone counts.
        speed_per_s: Greatest speed at which a region is followed; a runner crosses the picture in 4 s.
        size_ratio: Least ratio of the sizes of one region in two observations.
        lost_s: A region not found for so long is gone.
        recognised_s: How long a region counts as what it was recognised as.
        run_up_s: How far the start may be put back; what moved before then was not this.
        quiet_gap_s: An incident ends after so long without evidence.
        label_likelihood: Least sum of likelihoods that gives an incident its name.
        label_lead_ratio: Least ratio to the sum of the second best, unless the evidence is as strong as the next.
        label_sure: Sum of likelihoods that names an incident in which there is more than one kind of thing.
    """

    likelihood: float = 0.35
    other_likelihood: float = 0.5
    other_travel_sizes: float = 0.4
    coverage_ratio: float = 0.3
    doubt_likelihood: float = 0.3
    proof_likelihood: float = 0.2
    proof_half_life_s: float = 2.0
    persistence_ratio: float = 0.7
    least_sightings: int = 4
    most_regions: int = 4
    prominence_ratio: float = 0.5
    travel_s: float = 1.0
    travel_sizes: float = 1.0
    straight_ratio: float = 0.6
    linger_s: float = 8.0
    small_size: float = 0.2
    unrecognised_s: float = 10.0
    unwatched_s: float = 5.0
    settle_s: float = 1.0
    speed_per_s: float = 0.25
    size_ratio: float = 0.25
    lost_s: float = 1.0
    recognised_s: float = 5.0
    run_up_s: float = 10.0
    quiet_gap_s: float = 3.0
    label_likelihood: float = 0.5
    label_lead_ratio: float = 1.3
    label_sure: float = 2.0

    def for_height(self, pixels: int) -> PresenceRules:
        """The same rules for pictures so many pixels high: in a thumbnail nobody recognises a large share."""
        return self._replace(small_size=max(self.small_size, RECOGNISABLE_PIXELS / pixels))


class Region(NamedTuple):
    """A moving region that is followed.

    Attributes:
        box: Where it was seen last.
        first: Where it was seen first.
        born_ns: Media time of that.
        seen_ns: Media time of the last sighting.
        largest: Its greatest size.
        sightings: How often it was seen.
        chances: How often it could have been seen since.
        blurred: How often it was out of focus.
        path: Length of the way of its centre.
        recognised_ns: When the classifier last saw an object here.
    """

    box: Box
    first: Box
    born_ns: int
    seen_ns: int
    largest: float
    sightings: int = 1
    chances: int = 1
    blurred: int = 0
    path: float = 0.0
    recognised_ns: int | None = None

    @property
    def age_s(self) -> float:
        """Seconds from the first to the last sighting."""
        return (self.seen_ns - self.born_ns) / NS_PER_S

    @property
    def travelled(self) -> float:
        """Distance of its centre from where it was first."""
        return _distance(self.first, self.box)


class Presence(NamedTuple):
    """All that is remembered between two observations.

    Attributes:
        active: An incident goes on.
        began_ns: Media time of the first evidence of this incident, or of the last one.
        last_ns: Media time of its latest evidence so far.
        at_ns: Media time of the last observation.
        looked_ns: When the classifier last looked.
        upset_ns: When the whole picture last changed.
        proof: Excess likelihood added up, fading.
        sums: Likelihoods added up for this incident, in the order of `LABELS`.
        regions: What is followed.
    """

    active: bool = False
    began_ns: int = 0
    last_ns: int = 0
    at_ns: int = 0
    looked_ns: int | None = None
    upset_ns: int | None = None
    proof: float = 0.0
    sums: tuple[float, ...] = (0.0,) * len(LABELS)
    regions: tuple[Region, ...] = ()

    def label(self, rules: PresenceRules, named: str | None = None) -> str | None:
        """Name of the incident, also just after its end; None where the evidence is weak, or little and divided.

        An incident that was `named` keeps its name until another leads clearly, so that it is not renamed to and fro.
        """
        (best, name), (second, _), *_ = sorted(zip(self.sums, LABELS, strict=True), reverse=True)
        clear = best >= rules.label_likelihood and (best >= rules.label_lead_ratio * second or best >= rules.label_sure)
        if named in LABELS and best < rules.label_lead_ratio * self.sums[LABELS.index(named)]:
            return named
        return name if clear else None


def step(state: Presence, sight: Sight, rules: PresenceRules) -> tuple[Presence, Decision]:
    """Take one observation into account.

    Args:
        state: Result of the last step, `Presence()` at first.
        sight: The observation.
        rules: Thresholds; the same ones all along.

    Returns:
        The new state and what to do. At "start", `began_ns` is when the evidence began; at "stop", `last_ns`
        is when it ended, earlier than the observation by the quiet gap.
    """
    state, _ = observed(state, sight, rules)
    telling = sight.lent.telling if sight.lent else frozenset()
    return _go_on(state, rules, telling) if state.active else _wait(state, rules, telling)


def observed(state: Presence, sight: Sight, rules: PresenceRules) -> tuple[Presence, tuple[Detected, ...]]:
    """Follow what moves, without deciding anything; and return which detections count, too."""
    regions = state.regions if sight.global_change else _followed(state.regions, sight, rules)
    lent = sight.lent or Lent()
    found = tuple(d for d in sight.detections or () if d in lent.proven or _counts(d, regions, sight.at_ns, rules))
    state = _with_proof(state, found, sight, rules)._replace(
        at_ns=sight.at_ns,
        regions=tuple(_recognised(_informed(region, lent), found, sight.at_ns, rules) for region in regions),
        looked_ns=state.looked_ns if sight.detections is None else sight.at_ns,
        upset_ns=sight.at_ns if sight.global_change else state.upset_ns,
    )
    return state, found


def telling(state: Presence, rules: PresenceRules) -> frozenset[Box]:
    """Return the boxes of the regions whose motion alone is evidence."""
    return frozenset(region.box for region in state.regions if _tells(region, state, rules))


def _wait(state: Presence, rules: PresenceRules, telling: frozenset[Box]) -> tuple[Presence, Decision]:
    causes: list[Region] = []
    if state.proof >= rules.proof_likelihood:
        causes = [region for region in state.regions if region.recognised_ns == state.at_ns]
    if not causes:
        causes = [region for region in state.regions if _tells(region, state, rules, telling)]
    if not causes:
        return state, None
    earliest_ns = state.at_ns - int(rules.run_up_s * NS_PER_S)
    began_ns = max(min(region.born_ns for region in causes), state.last_ns, earliest_ns)
    return state._replace(active=True, began_ns=began_ns, last_ns=state.at_ns), "start"


def _go_on(state: Presence, rules: PresenceRules, telling: frozenset[Box]) -> tuple[Presence, Decision]:
    if any(_sustains(region, state, rules, telling) for region in state.regions):
        return state._replace(last_ns=state.at_ns), None
    if state.at_ns - state.last_ns < rules.quiet_gap_s * NS_PER_S:
        return state, None
    return state._replace(active=False, proof=0.0, regions=()), "stop"


def _with_proof(state: Presence, found: Iterable[Detected], sight: Sight, rules: PresenceRules) -> Presence:
    """Adds the best detection of each group; what led to nothing is forgotten with its proof."""
    lent = sight.lent or Lent()
    excess = max((d.likelihood - rules.doubt_likelihood for d in found), default=0.0)
    passed_s = (sight.at_ns - state.at_ns) / NS_PER_S
    proof = state.proof * 0.5 ** (passed_s / rules.proof_half_life_s)
    # Things bring what they are known as with them, at the latest when an incident begins.
    kept = state.active or (sight.lent is None and proof > rules.proof_likelihood / 10)  # above a tenth: not negligible
    old = state.sums if kept else (0.0,) * len(LABELS)
    best = {d.group: d.likelihood for d in sorted((*found, *lent.elsewhere), key=lambda d: d.likelihood)}
    rows = zip(old, lent.sums, LABELS, strict=True)
    return state._replace(
        proof=max(proof + excess, lent.proof),
        sums=tuple(total + more + best.get(group, 0.0) for total, more, group in rows),
    )


def _informed(region: Region, lent: Lent) -> Region:
    """Whatever was recognised in a region is known wherever it moves."""
    known = [at_ns for box, at_ns in lent.recognised if box == region.box]
    return region._replace(recognised_ns=max((*known, region.recognised_ns or 0))) if known else region


def _counts(detected: Detected, regions: Iterable[Region], at_ns: int, rules: PresenceRules) -> bool:
    """Whether a detection is likely and is of something that moves."""
    if detected.group in LABELS:
        return detected.likelihood >= rules.likelihood and any(
            _moves(detected, region, at_ns, rules) for region in regions
        )
    return detected.likelihood >= rules.other_likelihood and any(
        _moves(detected, region, at_ns, rules) and region.travelled >= rules.other_travel_sizes * region.largest
        for region in regions
    )


def _moves(detected: Detected, region: Region, at_ns: int, rules: PresenceRules) -> bool:
    covered = shared(detected.box, region.box)
    return region.seen_ns == at_ns and covered > 0 and covered >= rules.coverage_ratio * area(detected.box)


def _recognised(region: Region, found: Iterable[Detected], at_ns: int, rules: PresenceRules) -> Region:
    if any(_moves(detected, region, at_ns, rules) for detected in found):
        return region._replace(recognised_ns=at_ns)
    return region


def _sustains(region: Region, state: Presence, rules: PresenceRules, telling: frozenset[Box]) -> bool:
    """Whether a region keeps an incident going that has begun."""
    if region.seen_ns != state.at_ns:
        return False
    known = region.recognised_ns
    if known is not None and state.at_ns - known < rules.recognised_s * NS_PER_S:
        return True
    return _tells(region, state, rules, telling)


def _tells(region: Region, state: Presence, rules: PresenceRules, telling: frozenset[Box] = frozenset()) -> bool:
    """Whether a region's motion alone is evidence; `telling` names those of which that is known already."""
    if region.seen_ns == state.at_ns and region.box in telling:
        return True
    if not _credible(region, state, rules):
        return False
    if _watched(state, rules):
        if not _prominent(region, state, rules):
            return False
        if region.largest > rules.small_size:
            return region.age_s >= rules.unrecognised_s or _travels(region, rules)
    return region.age_s >= rules.linger_s or _travels(region, rules)


def _travels(region: Region, rules: PresenceRules) -> bool:
    way = max(rules.travel_sizes * region.largest, rules.straight_ratio * region.path)
    return region.age_s >= rules.travel_s and region.travelled >= way


def _credible(region: Region, state: Presence, rules: PresenceRules) -> bool:
    """Whether it is seen now and was all along, in focus, and long enough after a global change."""
    return (
        region.seen_ns == state.at_ns
        and region.sightings >= max(rules.least_sightings, rules.persistence_ratio * region.chances)
        and region.blurred <= region.sightings / 2
        and not _within(state.upset_ns, state, rules.settle_s)
    )


def _prominent(region: Region, state: Presence, rules: PresenceRules) -> bool:
    areas = [area(other.box) for other in state.regions if other.seen_ns == state.at_ns]
    return len(areas) <= rules.most_regions and area(region.box) >= rules.prominence_ratio * sum(areas)


def _watched(state: Presence, rules: PresenceRules) -> bool:
    return _within(state.looked_ns, state, rules.unwatched_s)


def _within(then_ns: int | None, state: Presence, seconds: float) -> bool:
    return then_ns is not None and state.at_ns - then_ns < seconds * NS_PER_S


def _followed(regions: tuple[Region, ...], sight: Sight, rules: PresenceRules) -> tuple[Region, ...]:
    """Finds every region again, oldest first, and takes what is left for new."""
    free = list(sight.boxes)
    kept: list[Region] = []
    for region in regions:
        box = _nearest(region, free, sight.at_ns, rules)
        if box is not None:
            free.remove(box)
            kept.append(_seen(region, box, sight))
        elif sight.at_ns - region.seen_ns < rules.lost_s * NS_PER_S or region.chances == region.sightings:
            # A slow camera may miss once; lost_s may be less than its interval.
            kept.append(region._replace(chances=region.chances + 1))
    born = (Region(box, box, sight.at_ns, sight.at_ns, _size(box), blurred=int(box in sight.blurred)) for box in free)
    return (*kept, *born)


def _nearest(region: Region, boxes: Iterable[Box], at_ns: int, rules: PresenceRules) -> Box | None:
    """The box that may be this region now: of like size and not farther away than it can have gone."""
    reach = rules.speed_per_s * (at_ns - region.seen_ns) / NS_PER_S
    alike = (box for box in boxes if _alike(region.box, box, rules) and _gap(region.box, box) <= reach)
    return min(alike, key=lambda box: _distance(region.box, box), default=None)


def _seen(region: Region, box: Box, sight: Sight) -> Region:
    return region._replace(
        box=box,
        seen_ns=sight.at_ns,
        largest=max(region.largest, _size(box)),
        sightings=region.sightings + 1,
        chances=region.chances + 1,
        blurred=region.blurred + (box in sight.blurred),
        path=region.path + _distance(region.box, box),
    )


def _alike(one: Box, other: Box, rules: PresenceRules) -> bool:
    small, large = sorted((_size(one), _size(other)))
    return small >= rules.size_ratio * large


def _gap(one: Box, other: Box) -> float:
    """Width of the strip between two boxes along the axis where it is wider; 0 or less where they meet."""
    across = max(one[0] - other[2], other[0] - one[2])
    down = max(one[1] - other[3], other[1] - one[3])
    return max(across, down)


def _size(box: Box) -> float:
    return max(box[2] - box[0], box[3] - box[1])


def _distance(one: Box, other: Box) -> float:
    """Distance of the centres."""
    return math.dist(
        ((one[0] + one[2]) / 2, (one[1] + one[3]) / 2), ((other[0] + other[2]) / 2, (other[1] + other[3]) / 2)
    )
