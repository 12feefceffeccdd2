"""What one look at a camera gives, and the rules that decide what it amounts to: values."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.geometry import Box
from pipeline.core.vocabulary import Group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NS_PER_S = 1_000_000_000

RECOGNISABLE_PIXELS = 32
"""Height below which detectors trained on COCO find little; its evaluation calls up to 32x32 "small"."""


class Detection(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A thing the classifier saw."""

    label: str  # the detector's own class: truck, dog, boat
    group: Group
    likelihood: float  # 0..1
    box: Box  # upright, 0..1 of the whole picture
    colours: tuple[int, ...] = ()  # mean luma and chroma, 0..255, of its upper and lower half; empty: not measured


class Carried(NamedTuple):
    """Where a thing of the last picture is in this one, by what it looks like.

    Attributes:
        box: As large as it was.
        likeness: Normalised correlation, -1..1.
    """

    box: Box
    likeness: float


class Sight(NamedTuple):
    """One observation of a camera.

    Attributes:
        at_ns: Media time in nanoseconds; it never goes back.
        boxes: Moving regions, 0..1 of the picture, largest first.
        global_change: Most of the picture changed at once, so the boxes say nothing.
        detections: What the classifier found, whole things as far as they can be seen, each once; None where it did
            not look.
        weak: What it is less sure of: it keeps known things, and begins none.
        blurred: Those of `boxes` that are out of focus, right at the lens.
        looked_at: Where it looked.
        carried: Things of the last picture that were found by what they look like, by number.
    """

    at_ns: int
    boxes: tuple[Box, ...] = ()
    global_change: bool = False
    detections: Sequence[Detection] | None = None
    weak: Sequence[Detection] = ()
    blurred: tuple[Box, ...] = ()
    looked_at: tuple[Box, ...] = ()
    carried: Mapping[int, Carried] = MappingProxyType({})


class TrackRules(NamedTuple):
    """When a thing counts and when it is forgotten. Sizes and distances are shares of the picture's side.

    Attributes:
        likelihood: Least likelihood of a detection of one of `votes.GROUPS` that counts.
        weak_ratio: Share of that likelihood from which on a detection keeps a known thing where it was.
        weak_overlap: Intersection over union that such a one must have with it;
        weak_overlap_moving: with one that moves.
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
        max_unseen_s: Longest that it is taken to have gone on at that speed while nobody saw it.
        size_ratio: Least ratio of the sizes of one region in two observations.
        lost_s: A region not found for so long is gone.
        recognised_s: How long a region counts as what it was recognised as.
        prominent_ratio: Share of its sightings in which a region that stays must have stood out.
        sway_sizes: Longest way of a region that stays in one place, in its own greatest sizes; more is swaying.
        most_reach_sizes: Farthest that a thing may be from where it was expected, in its own sizes.
        settle_way_s: Steps shorter in time than this are mostly jitter of the detector's box.
        rest_sizes: A thing that stays within this change of place and size, in its own sizes, stands still;
        rest_s: after so long.
        max_still_s: What stands for longer belongs to the picture.
        came_sizes: Way that shows that a thing came and was not there all along, in its own sizes.
        came_growth: Change of its size that shows the same.
        carried_s: So long a thing must have been followed by what it looks like before its way says anything.
        still_likelihood: Likelihood from which on a person or an animal counts that moves in its place.
        stirred_sizes: The same where they got so far.
        sure_sizes: Way after which two looks are enough to count a thing.
        least_hits: Looks that must have shown a thing before it is counted.
        least_likeness: Correlation from which on a thing is where what looks like it is.
        most_growth: Greatest ratio of the areas of a thing in two looks.
        colour_weight: Cost of a detection of quite other colours, beside 1 for one that does not overlap.
        most_doubt: Cost above which a detection is rather of another thing, new or not.
        most_unlike: Difference of the colours above which two are not the same thing; 1: 64 codes.
            Of one thing in two looks it is 0.05 in the median and 0.2 in one of twenty.
        max_hidden_s: Longest that a thing that went out of sight inside the picture is waited for.
        most_misses_moving: A thing on its way is gone after so many looks at it that did not show it.
        most_misses: A thing that stands still is gone after so many looks that did not show it.
        lost_standing_s: Likewise, after so long without a look at it.
        lost_thing_s: A thing on its way is gone after so long without a sign of it.
    """

    likelihood: float = 0.35
    weak_ratio: float = 0.6
    weak_overlap: float = 0.3
    weak_overlap_moving: float = 0.5
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
    max_unseen_s: float = 2.0
    size_ratio: float = 0.25
    lost_s: float = 1.0
    recognised_s: float = 5.0
    prominent_ratio: float = 0.6
    sway_sizes: float = 4.0
    most_reach_sizes: float = 1.2
    settle_way_s: float = 0.4
    rest_sizes: float = 0.2
    rest_s: float = 2.0
    max_still_s: float = 900.0
    came_sizes: float = 0.35
    came_growth: float = 2.0
    carried_s: float = 0.25
    still_likelihood: float = 0.55
    stirred_sizes: float = 0.25
    sure_sizes: float = 1.0
    least_hits: int = 3
    least_likeness: float = 0.7
    most_growth: float = 4.0
    colour_weight: float = 3.0
    most_doubt: float = 1.9
    most_unlike: float = 0.4
    max_hidden_s: float = 5.0
    most_misses_moving: int = 6
    most_misses: int = 4
    lost_standing_s: float = 15.0
    lost_thing_s: float = 3.0

    def for_height(self, pixels: int) -> TrackRules:
        """The same rules for pictures so many pixels high: in a thumbnail nobody recognises a large share."""
        return self._replace(small_size=max(self.small_size, RECOGNISABLE_PIXELS / pixels))
