"""What drawn scenes show is what their truth says."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.core.geometry import overlap, shared
from tools.draw_scenes import KINDS, Mover, Scene, pictures, scene_of, yard

LONG_S = 4.0


def scene(*movers, before=()):
    return Scene("test", movers, LONG_S, before)


def walker(number, across, down):
    return Mover(number, "person", ((0.0, across, down), (LONG_S, across, down)), number)


def first(scene):
    return next(pictures(scene, 1, 0, yard(0)))


def test_the_same_scene_and_seed_give_the_same_pictures():
    one, other = (list(pictures(scene_of("crossing", 1), 1, 1, yard(1))) for _ in range(2))
    assert all(np.array_equal(a.planes.y, b.planes.y) and a.things == b.things for a, b in zip(one, other, strict=True))


def test_somebody_alone_is_seen_whole_and_changes_the_picture_only_there():
    empty, drawn = first(scene()), first(scene(walker(1, 0.5, 0.8)))
    (one,) = drawn.things
    assert one.visible == 1
    assert one.seen == one.box
    changed = np.abs(drawn.planes.y.astype(int) - empty.planes.y) > 0
    rows, columns = np.nonzero(changed)
    height, width = changed.shape
    found = (columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height)
    assert overlap(found, one.box) > 0.9


def test_who_stands_behind_another_one_is_seen_in_part():
    far, near = first(scene(walker(1, 0.5, 0.8), walker(2, 0.51, 0.78))).things
    assert near.visible == 1
    assert 0 < far.visible < 0.7


def test_who_stands_behind_a_wall_is_not_seen():
    (one,) = first(scene(walker(1, 0.5, 0.7), before=((0.4, 0.2, 0.6, 0.9),))).things
    assert one.visible == 0


def test_what_is_nearer_is_larger():
    far, near = sorted(first(scene(walker(1, 0.3, 0.5), walker(2, 0.7, 0.9))).things, key=lambda one: one.number)
    assert near.box[3] - near.box[1] > 1.8 * (far.box[3] - far.box[1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_begins_empty_and_ends_when_all_are_gone(kind):
    made = scene_of(kind, 2)
    assert min(mover.way[0][0] for mover in made.movers) >= 2.5
    assert all(mover.at(made.seconds) is None for mover in made.movers)
    assert len({mover.number for mover in made.movers}) == len(made.movers)


def test_who_comes_back_looks_the_same_and_is_another_one():
    one, other = scene_of("return", 0).movers
    assert one.look == other.look
    assert other.way[0][0] - one.way[-1][0] == pytest.approx(10)


def test_there_are_ten_at_once():
    at_once = [sum(one.visible > 0 for one in drawn.things) for drawn in pictures(scene_of("many", 0), 2, 0, yard(0))]
    assert max(at_once) == 10


def test_somebody_walks_behind_a_wall_for_a_second_or_more():
    hidden = [
        sum(one.number == 1 and one.visible < 0.1 and shared(one.box, (0, 0, 1, 1)) > 0 for one in drawn.things)
        for drawn in pictures(scene_of("occlusion", 0), 10, 0, yard(0))
    ]
    assert 10 <= sum(hidden) <= 60
