from __future__ import annotations

import pytest

from pipeline.core.incident import track
from tests.fakes import NS


def box(x, y=0.5, width=0.1, height=0.2):
    """A box around a centre."""
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def walked(boxes, step_s=1.0):
    """The track along boxes that were seen at even distances in time."""
    path = track.begin(boxes[:1], 0)
    for number, seen in enumerate(boxes[1:], 1):
        path = track.follow(path, (seen,), round(number * step_s * NS))
    return path


def test_nothing_has_no_track():
    assert track.begin((), 0) is None


def test_a_track_begins_at_the_largest_box():
    assert track.begin((box(0.2), box(0.8, width=0.3)), 5).first == box(0.8, width=0.3)


def test_a_track_follows_the_nearest_box():
    path = track.follow(track.begin((box(0.3),), 0), (box(0.9), box(0.35)), NS)
    assert path.last == box(0.35)


def test_a_track_does_not_leap_to_something_far_away():
    path = track.begin((box(0.1),), 0)
    assert track.follow(path, (box(0.9),), NS) == path


def test_a_longer_time_allows_a_longer_way():
    path = track.begin((box(0.1),), 0)
    assert track.follow(path, (box(0.9),), 4 * NS).last == box(0.9)


def test_a_track_stays_when_nothing_is_seen():
    path = track.begin((box(0.1),), 0)
    assert track.follow(path, (), 9 * NS) == path


def test_jitter_between_two_looks_is_no_way():
    path = track.begin((box(0.5),), 0)
    assert track.follow(path, (box(0.52),), NS // 10) == path


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ([box(0.5), box(0.51)], "none"),
        ([box(0.3), box(0.5), box(0.7)], "along"),
        ([box(0.05), box(0.3)], "in"),
        ([box(0.7), box(0.95)], "out"),
        ([box(0.5, 0.3), box(0.5, 0.6, 0.2, 0.4)], "toward"),
        ([box(0.5, 0.6, 0.2, 0.4), box(0.5, 0.3)], "away"),
        ([box(0.05), box(0.5), box(0.95)], "along"),
    ],
)
def test_a_direction_is_told_from_the_ends_of_the_way(boxes, expected):
    assert track.direction(walked(boxes, step_s=3.0)) == expected


@pytest.mark.parametrize(
    ("group", "metres_a_second", "expected"),
    [
        ("person", 0.05, "still"),
        ("person", 0.4, "slow"),
        ("person", 1.4, "walk"),
        ("person", 4.0, "run"),
        ("vehicle", 0.2, "still"),
        ("vehicle", 5.0, "medium"),
        ("vehicle", 14.0, "fast"),
        ("animal", 1.0, "walk"),
    ],
)
def test_a_speed_is_told_over_the_ground_by_the_size_of_its_kind(group, metres_a_second, expected):
    metres = {"person": 1.7, "vehicle": 4.5, "animal": 0.8}[group]
    path = track.Track(box(0.1), box(0.9), 0, 10 * NS, sizes=10 * metres_a_second / metres, seconds=10)
    assert track.speed(path, group) == expected


def test_a_walk_across_the_picture_is_measured_in_sizes_of_the_walker():
    path = walked([box(0.1 + 0.1 * number) for number in range(9)])
    assert path.sizes == pytest.approx(4)
    assert path.seconds == pytest.approx(8)
    assert track.speed(path, "person") == "walk"


def test_what_was_seen_once_stands_still():
    assert track.speed(track.begin((box(0.5),), 0), "person") == "still"
