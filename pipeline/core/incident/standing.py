"""What the classifier saw lately, so that a thing that stops is still there, and where to look next. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.core.geometry import area, covers, overlap, shared
from pipeline.core.messages import Detection
from pipeline.core.vocabulary import Nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.core.geometry import Box

_SHOWN = 0.8  # share of a region inside another that makes a look of its own needless
_LOOKED_FOR = 0.5  # share of a thing inside a region that was looked at
_UNSEEN_NS = 5_000_000_000
_MOST = 16  # things a camera that are looked for; in traffic there is no end to those that came
_SAME = 0.4  # intersection over union of a thing that stands still, as the detector sees it twice
_MOVED = 0.3  # share of a thing that moved before it counts as having come, not as having stood there


class Standing(msgspec.Struct, frozen=True):
    """A thing that came, and was last seen here."""

    detection: Detection
    came_ns: Nanoseconds
    seen_ns: Nanoseconds


def crops(boxes: tuple[Box, ...], most: int) -> tuple[Box, ...]:
    """Return the largest few regions, without those that a look at a larger one shows as well."""
    chosen: list[Box] = []
    for box in sorted(boxes, key=area, reverse=True):
        if len(chosen) < most and not any(covers(larger, box) > _SHOWN for larger in chosen):
            chosen.append(box)
    return tuple(chosen)


def apart(found: Iterable[Detection]) -> tuple[Detection, ...]:
    """Return every thing once: two crops that overlap show the same one twice, perhaps cut off by the edge of one.

    Likeliest first; of a group, what is mostly the same or mostly inside a likelier one is that one.
    """
    kept: list[Detection] = []
    for one in sorted(found, key=lambda detection: -detection.likelihood):
        rivals = (other for other in kept if other.group == one.group)
        if not any(overlap(one.box, other.box) > _SAME or covers(one.box, other.box) > _SHOWN for other in rivals):
            kept.append(one)
    return tuple(kept)


def moved(detection: Detection, boxes: Iterable[Box]) -> bool:
    """Whether what was seen is what moved, rather than something beside it."""
    own = area(detection.box)
    return any(shared(detection.box, box) >= _MOVED * own or covers(box, detection.box) > 1 - _MOVED for box in boxes)


def noted(
    standing: tuple[Standing, ...],
    seen: Iterable[Detection],
    boxes: tuple[Box, ...],
    looked: tuple[Box, ...],
    now: Nanoseconds,
) -> tuple[Standing, ...]:
    """Add what came, move on what was seen again, and forget what was looked for (in `looked`) and not seen.

    What nobody could look for is forgotten after a while: it went on while others moved.
    """
    seen = tuple(detection for detection in seen if detection.group != "other")
    fresh = [one for one in standing if now - one.seen_ns < _UNSEEN_NS]
    kept = [
        one
        for one in fresh
        if not any(_same(one.detection, detection) for detection in seen)
        and not any(covers(region, one.detection.box) > _LOOKED_FOR for region in looked)
    ]
    for detection in seen:
        old = next((one for one in fresh if _same(one.detection, detection)), None)
        if old is not None:
            kept.append(Standing(detection, old.came_ns, now))
        elif moved(detection, boxes):
            kept.append(Standing(detection, now, now))
    return tuple(kept[-_MOST:])


def still_there(
    standing: tuple[Standing, ...], boxes: tuple[Box, ...], now: Nanoseconds, most_s: float
) -> tuple[Standing, ...]:
    """Return those that nothing moves at any more, and that have not stood so long that they belong to the picture."""
    return tuple(
        one
        for one in standing
        if (now - one.came_ns) / 1e9 < most_s and not any(covers(one.detection.box, box) > 0.5 for box in boxes)  # noqa: PLR2004  # half
    )


def _same(one: Detection, other: Detection) -> bool:
    return one.group == other.group and overlap(one.box, other.box) >= _SAME
