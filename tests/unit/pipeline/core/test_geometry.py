from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.geometry import (
    WHOLE,
    area,
    around,
    centre,
    covers,
    foot,
    inside,
    overlap,
    rounded,
    shared,
    upright,
)

SQUARE = ((0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8))
HOOK = ((0.0, 0.0), (1.0, 0.0), (1.0, 0.2), (0.2, 0.2), (0.2, 1.0), (0.0, 1.0))

edges = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
boxes = st.tuples(edges, edges).map(lambda two: (two[0][0], two[1][0], two[0][1], two[1][1]))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_box_turns_as_the_pixels_under_it_do(rotation):
    stored = np.zeros((40, 100))
    stored[10:14, 70:90] = 1
    turned = np.rot90(stored, -rotation // 90)
    rows, columns = np.nonzero(turned)
    height, width = turned.shape
    expected = (
        columns.min() / width,
        rows.min() / height,
        (columns.max() + 1) / width,
        (rows.max() + 1) / height,
    )
    assert upright((0.7, 0.25, 0.9, 0.35), rotation) == pytest.approx(expected)


@given(boxes, st.sampled_from([90, 270]))
def test_four_quarter_turns_give_the_box_back(box, rotation):
    turned = box
    for _ in range(4):
        turned = upright(turned, rotation)
    assert turned == pytest.approx(box)


def test_an_inside_out_box_has_no_area():
    assert area((0.6, 0.1, 0.4, 0.9)) == 0
    assert area(WHOLE) == 1


def test_boxes_that_only_touch_share_nothing():
    assert shared((0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)) == 0


def test_overlap_is_intersection_over_union():
    assert overlap((0.0, 0.0, 0.5, 1.0), (0.25, 0.0, 0.75, 1.0)) == pytest.approx(1 / 3)


@given(boxes, boxes)
def test_overlap_is_a_share_and_does_not_depend_on_the_order(one, other):
    assert 0 <= overlap(one, other) <= 1 + 1e-9
    assert overlap(one, other) == pytest.approx(overlap(other, one))


def test_empty_boxes_overlap_and_cover_nothing():
    empty = (0.5, 0.5, 0.5, 0.5)
    assert overlap(empty, empty) == 0
    assert covers(empty, WHOLE) == 0


def test_a_box_within_another_is_covered_wholly_in_either_order():
    small = (0.4, 0.4, 0.5, 0.5)
    assert covers(small, WHOLE) == pytest.approx(1)
    assert covers(WHOLE, small) == pytest.approx(1)


def test_the_box_around_boxes_holds_them_all_and_no_more():
    assert around(((0.1, 0.2, 0.3, 0.4), (0.2, 0.1, 0.6, 0.3))) == (0.1, 0.1, 0.6, 0.4)


def test_there_is_no_box_around_nothing():
    with pytest.raises(ValueError, match="empty"):
        around(())


def test_a_thing_stands_on_the_middle_of_its_lower_edge():
    assert foot((0.2, 0.1, 0.4, 0.9)) == pytest.approx((0.3, 0.9))
    assert centre((0.2, 0.1, 0.4, 0.9)) == pytest.approx((0.3, 0.5))


@pytest.mark.parametrize(
    ("point", "expected"), [((0.5, 0.5), True), ((0.1, 0.5), False), ((0.5, 0.9), False), ((0.2, 0.2), True)]
)
def test_a_point_lies_in_a_square_or_not(point, expected):
    assert inside(point, SQUARE) is expected


@pytest.mark.parametrize(("point", "expected"), [((0.1, 0.9), True), ((0.9, 0.1), True), ((0.9, 0.9), False)])
def test_the_notch_of_a_hook_does_not_belong_to_it(point, expected):
    assert inside(point, HOOK) is expected


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_direction_in_which_a_polygon_is_drawn_does_not_matter(x, y):
    assert inside((x, y), HOOK) == inside((x, y), HOOK[::-1])


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_a_point_lies_on_one_side_of_a_common_edge_only(x, y):
    left = ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0))
    right = ((0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0))
    assert inside((x, y), left) != inside((x, y), right)


def test_a_box_is_clipped_to_the_picture_and_rounded():
    assert rounded((-0.1, 0.123456, 1.7, 0.99999)) == (0.0, 0.1235, 1.0, 1.0)
