"""Is something happening: from what moves and what was recognised to the start and the end of an incident.

Two things start an incident. Recognition: a classifier sees a person, a vehicle or an animal where something
moves, clearly once or weakly several times. Motion alone: one region stands out, keeps moving and gets
somewhere, or stays for long, although the classifier is silent; that is for what is too small or too strange
to be recognised. Foliage, rain, light and an insect at the lens do neither.

Pure and without a clock: the same observations give the same decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pipeline.core.geometry import area, shared
from pipeline.core.incident.regions import Region, followed
from pipeline.core.incident.sight import LABELS, NS_PER_S, Detected, Lent, PresenceRules, Sight

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.core.geometry import Box

Decision: TypeAlias = Literal["start", "stop"] | None


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
    regions = state.regions if sight.global_change else followed(state.regions, sight, rules)
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
