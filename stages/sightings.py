"""What the classifier saw lately, so that a thing that stops is still there, and where to look next. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.core.geometry import around, covers, overlap, shared
from pipeline.core.vocabulary import Nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.core.geometry import Box
    from pipeline.core.messages import Detection

_SAME = 0.4  # intersection over union of a thing that stands still, as the detector sees it twice
_MOVED = 0.3  # share of a thing that moved before it counts as having come, not as having stood there


class Standing(msgspec.Struct, frozen=True):
    """A thing that came, and was last seen here."""

    detection: Detection
    came_ns: Nanoseconds
    seen_ns: Nanoseconds


def crops(boxes: tuple[Box, ...], most: int) -> tuple[Box, ...]:
    """Join regions that lie close to one another, and return the largest few: one crop each."""
    joined = list(boxes)
    place = 0
    while place < len(joined):
        near = [other for other in joined if other is not joined[place] and _near(joined[place], other)]
        if not near:
            place += 1
            continue
        whole = around((joined[place], *near))
        joined = [box for box in joined if box is not joined[place] and box not in near]
        joined.insert(0, whole)
        place = 0
    return tuple(sorted(joined, key=lambda box: (box[0] - box[2]) * (box[3] - box[1]))[:most])


def moved(detection: Detection, boxes: Iterable[Box]) -> bool:
    """Whether what was seen is what moved, rather than something beside it."""
    own = (detection.box[2] - detection.box[0]) * (detection.box[3] - detection.box[1])
    return any(shared(detection.box, box) >= _MOVED * own or covers(box, detection.box) > 1 - _MOVED for box in boxes)


def noted(
    standing: tuple[Standing, ...], seen: Iterable[Detection], boxes: tuple[Box, ...], now: Nanoseconds
) -> tuple[Standing, ...]:
    """Add what came, move on what was seen again, and forget what was looked for and not seen."""
    kept: list[Standing] = []
    for detection in seen:
        if detection.group == "other":
            continue
        old = next((one for one in standing if _same(one.detection, detection)), None)
        if old is not None:
            kept.append(Standing(detection, old.came_ns, now))
        elif moved(detection, boxes):
            kept.append(Standing(detection, now, now))
    return tuple(kept)


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


def _near(one: Box, other: Box) -> bool:
    """Whether one crop of both is hardly larger than the larger: less than a third of it apart."""
    whole = around((one, other))
    longest = max(one[2] - one[0], one[3] - one[1], other[2] - other[0], other[3] - other[1])
    return max(whole[2] - whole[0], whole[3] - whole[1]) < 1.35 * longest  # see above
