"""What one look at a camera gives, and the rules that decide what it amounts to: values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.geometry import Box

NS_PER_S = 1_000_000_000

LABELS = ("person", "vehicle", "animal")
"""Groups that may name an incident; "other" is proof of an object but no name for it."""

RECOGNISABLE_PIXELS = 32
"""Height below which detectors trained on COCO find little; its evaluation calls up to 32x32 "small"."""


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
