"""Which regions are evidence though nobody recognises anything in them."""

from __future__ import annotations

import pytest

from pipeline.core.track import movement
from pipeline.core.track.movement import Watch
from pipeline.core.track.regions import Region, follow
from pipeline.core.track.sight import Sight, TrackRules
from tests.fakes import NS

RULES = TrackRules()


def square(left, top=0.4, size=0.1):
    return (left, top, left + size, top + size)


class Camera:
    """Sees moving regions at ten pictures a second and notes when one of them was evidence first."""

    def __init__(self, rules=RULES, *, interval_s=0.1, looks=True):
        self.rules, self.interval_s, self.looks = rules, interval_s, looks
        self.regions, self.watch, self.born = (), Watch(), 0
        self.since_s = None

    def see(self, *boxes, blurred=(), global_change=False):
        at_ns = self.watch.at_ns + round(self.interval_s * NS)
        self.watch = self.watch._replace(at_ns=at_ns)
        if self.looks:
            self.watch = self.watch._replace(looked_ns=at_ns)
        if global_change:
            self.watch = self.watch._replace(upset_ns=at_ns)
            return
        self.regions = follow(self.regions, Sight(at_ns, boxes, blurred=blurred), self.rules, self.born)
        self.born = max((self.born, *(region.number for region in self.regions)))
        evident = bool(movement.find_evidence(self.regions, self.watch, self.rules))
        if evident and self.since_s is None:
            self.since_s = pytest.approx(at_ns / NS)

    def see_at_rest(self, box, seconds, **more):
        for _ in range(round(seconds / self.interval_s)):
            self.see(box, **more)

    def see_travel(self, seconds=3.0, size=0.1, beside=()):
        for step in range(round(seconds / self.interval_s)):
            self.see(square(0.1 + 0.11 * step * self.interval_s, 0.4, size), *beside)


def region(**changes):
    """A region that went from left to right for two seconds, by more than its size."""
    made = Region(
        1, square(0.5), square(0.3), 0, 2 * NS, 0.1, sightings=20, chances=20, path=0.2, prominent=20
    )  # fmt: skip
    return made._replace(**changes)


def test_what_gets_far_for_long_enough_gets_somewhere():
    assert movement.gets_somewhere(region(), RULES)


@pytest.mark.parametrize(
    "changes",
    [{"seen_ns": NS // 2}, {"first": square(0.45)}, {"largest": 0.3}, {"path": 0.9}],
    ids=["too short a time", "too short a way", "large for its way", "to and fro"],
)
def test_what_goes_too_little_gets_nowhere(changes):
    assert not movement.gets_somewhere(region(**changes), RULES)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, True), ({"seen_ns": 7 * NS}, False), ({"prominent": 11}, False), ({"path": 0.41}, False)],
    ids=["stays", "too short a time", "did not stand out", "sways"],
)
def test_what_moves_in_one_place_stays(changes, expected):
    still = region(first=square(0.5), seen_ns=9 * NS, path=0.2)
    assert movement.stays(still._replace(**changes), RULES, 8.0) is expected


def test_a_region_that_travels_is_evidence_without_being_recognised():
    camera = Camera()
    camera.see_travel()
    assert camera.since_s == 1.1


def test_a_branch_that_sways_is_no_evidence():
    camera = Camera()
    for count in range(70):
        camera.see(square(0.4 + 0.05 * (count % 4 - 1.5)))
    assert camera.since_s is None


def test_a_branch_that_sways_for_long_is_no_evidence():
    camera = Camera()
    for count in range(600):
        camera.see(square(0.4 + 0.02 * (count % 4 - 1.5)))
    assert camera.since_s is None


def test_flicker_all_over_the_picture_is_no_evidence():
    camera = Camera()
    for count in range(300):
        camera.looks = count % 3 == 0
        camera.see(
            *(square((0.37 * count + 0.13 * k * k) % 0.9, (0.61 * count + 0.29 * k) % 0.9, 0.03) for k in range(8))
        )
    assert camera.since_s is None


def test_a_region_that_comes_and_goes_is_no_evidence():
    camera = Camera()
    for count in range(300):
        camera.see(*[square(0.4)] * (count % 4 == 0))
    assert camera.since_s is None


def test_a_small_region_that_stays_is_evidence_after_the_linger_time():
    camera = Camera()
    camera.see_at_rest(square(0.4), 9)
    assert camera.since_s == RULES.linger_s + 0.1


def test_a_large_region_that_nobody_recognises_is_evidence_late():
    camera = Camera()
    camera.see_at_rest(square(0.2, 0.2, 0.4), 11)
    assert camera.since_s == RULES.unrecognised_s + 0.1


def test_a_large_region_that_travels_is_evidence_though_nobody_recognises_it():
    camera = Camera(RULES.for_height(1080))
    camera.see_travel(seconds=5, size=0.3)
    assert camera.since_s == 2.9


def test_in_a_thumbnail_a_large_region_that_stays_is_evidence_as_soon_as_a_small_one():
    camera = Camera(RULES.for_height(60))
    camera.see_at_rest(square(0.2, 0.2, 0.4), 9)
    assert camera.since_s == RULES.linger_s + 0.1


def test_one_of_many_regions_is_no_evidence():
    camera = Camera()
    camera.see_travel(beside=[square(0.2 * k, 0.8, 0.01) for k in range(4)])
    assert camera.since_s is None


def test_a_small_one_beside_a_large_one_is_no_evidence():
    camera = Camera()
    camera.see_travel(size=0.05, beside=(square(0.4, 0.6, 0.3),))
    assert camera.since_s is None


def test_without_looks_a_region_among_many_is_evidence():
    camera = Camera(looks=False)
    camera.see_travel(beside=[square(0.2 * k, 0.8, 0.01) for k in range(4)])
    assert camera.since_s == 1.1


def test_without_looks_a_large_region_that_stays_is_evidence_as_soon_as_a_small_one():
    camera = Camera(looks=False)
    camera.see_at_rest(square(0.2, 0.2, 0.4), 11)
    assert camera.since_s == RULES.linger_s + 0.1


def test_silence_counts_for_so_long_after_the_last_look():
    camera = Camera()
    beside = [square(0.2 * k, 0.8, 0.01) for k in range(4)]
    camera.see(square(0.1), *beside)
    camera.looks = False
    camera.see_travel(seconds=6, beside=beside)
    assert camera.since_s == 0.1 + RULES.unwatched_s


def test_a_blurred_region_is_no_evidence():
    camera = Camera()
    for count in range(80):
        box = square(0.01 * count)
        camera.see(box, blurred=(box,))
    assert camera.since_s is None


def test_a_global_change_is_no_evidence():
    camera = Camera()
    for _ in range(100):
        camera.see(square(0, 0, 1), global_change=True)
    assert camera.since_s is None


def test_motion_alone_waits_until_the_exposure_has_settled():
    camera = Camera()
    camera.see_travel(seconds=0.9)
    camera.see(global_change=True)
    for step in range(20):
        camera.see(square(0.2 + 0.01 * step))
    assert camera.since_s == 1.0 + RULES.settle_s


def test_a_flash_does_not_forget_who_moves():
    camera = Camera()
    camera.see_at_rest(square(0.4), 5)
    camera.see(global_change=True)
    camera.see_at_rest(square(0.4), 5)
    assert camera.since_s == RULES.linger_s + 0.1


def test_what_is_not_seen_now_is_no_evidence():
    camera = Camera()
    camera.see_travel(seconds=0.9)
    for _ in range(5):
        camera.see()
    assert camera.since_s is None


def test_on_a_slow_camera_four_sightings_are_evidence():
    camera = Camera(interval_s=1.0)
    for count in range(4):
        camera.see(square(0.1 + 0.1 * count, 0.4, 0.08))
    assert camera.since_s == 4.0
