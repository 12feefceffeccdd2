from __future__ import annotations

import pytest

from pipeline.core.track.movement import Watch
from pipeline.core.track.regions import Region
from pipeline.core.track.scene import Scene
from pipeline.core.track.sight import Sight, TrackRules
from tests.fakes import NS

HERE = (0.4, 0.4, 0.5, 0.7)


def scene(*boxes, seen_s=1.0):
    """An observation at the first second, of regions that were seen last then."""
    regions = tuple(
        Region(number, box, box, 0, round(seen_s * NS), 0.1) for number, box in enumerate(boxes, 1)
    )  # fmt: skip
    return Scene(Watch(NS), regions, frozenset(), {}, 0, Sight(NS, boxes), TrackRules())


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ([HERE], [1]),
        ([(0.41, 0.41, 0.51, 0.71)], [1]),
        ([(0.1, 0.1, 0.9, 0.9)], [1]),
        ([(0.1, 0.1, 0.2, 0.3)], []),
        ([(0.43, 0.45, 0.47, 0.55)], []),
        ([(0.0, 0.0, 1.0, 0.42)], []),
        ([(0.42, 0.40, 0.48, 0.48), (0.42, 0.60, 0.48, 0.70), (0.8, 0.1, 0.9, 0.2)], [1, 2]),
    ],
    ids=["it", "nearly it", "all around it", "beside", "a hand", "a strip at its edge", "head and legs"],
)
def test_a_thing_moves_where_enough_of_it_does(boxes, expected):
    assert [one.number for one in scene(*boxes).moving(HERE)] == expected


def test_what_was_seen_earlier_does_not_move_now():
    assert scene(HERE, seen_s=0.9).moving(HERE) == []
    assert scene(HERE, seen_s=0.9).live([1]) == []


def test_regions_are_found_by_number():
    assert [one.number for one in scene(HERE, (0.1, 0.1, 0.2, 0.2)).live([2, 7])] == [2]
