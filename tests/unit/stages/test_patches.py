"""Things are found again by what they look like. All pictures are synthetic, with fixed seeds."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from pipeline.core.frames import Planes
from pipeline.core.geometry import upright
from stages.patches import Patches

HEIGHT, WIDTH = 240, 320
CHROMA = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)


def texture(height, width, seed):
    """Smooth blots of light and dark."""
    noise = np.random.default_rng(seed).uniform(0, 255, (height, width))
    blurred = cv2.GaussianBlur(noise, (0, 0), 4)
    return cv2.normalize(blurred, None, 40, 220, cv2.NORM_MINMAX).astype(np.uint8)


YARD, SQUARE, OTHER = texture(HEIGHT, WIDTH, 1), texture(48, 48, 2), texture(48, 48, 3)


def planes(*things, still=YARD):
    """A picture of a yard with things at (left, top) in pixels."""
    luma = still.copy()
    for pixels, left, top in things:
        luma[top : top + pixels.shape[0], left : left + pixels.shape[1]] = pixels
    return Planes(luma, CHROMA, CHROMA)


def square(left, top, side=48):
    return (left / WIDTH, top / HEIGHT, (left + side) / WIDTH, (top + side) / HEIGHT)


def found(before, after, boxes, rotation=0):
    """What is found of boxes of the upright picture in the next one."""
    patches = Patches()
    patches.keep(before, rotation, boxes)
    return patches.find(after, rotation)


def near(box):
    return pytest.approx(box, abs=0.015)


@pytest.mark.parametrize("way", [(0, 0), (12, 0), (-20, 8), (15, -15)])
def test_a_textured_square_is_found_where_it_went(way):
    before, after = planes((SQUARE, 100, 100)), planes((SQUARE, 100 + way[0], 100 + way[1]))
    carried = found(before, after, {7: square(100, 100)})[7]
    assert carried.box == near(square(100 + way[0], 100 + way[1]))
    assert carried.likeness > 0.9


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_square_is_found_in_a_picture_that_stands_on_its_side(rotation):
    before, after = planes((SQUARE, 100, 60)), planes((SQUARE, 116, 68))
    carried = found(before, after, {7: upright(square(100, 60), rotation)}, rotation)[7]
    assert carried.box == near(upright(square(116, 68), rotation))
    assert carried.likeness > 0.9


def test_a_square_is_as_large_as_it_was():
    carried = found(planes((SQUARE, 100, 100)), planes((SQUARE, 112, 100)), {7: square(100, 100)})[7]
    assert (carried.box[2] - carried.box[0], carried.box[3] - carried.box[1]) == pytest.approx((0.15, 0.2))


def test_two_that_cross_are_told_apart():
    before = planes((SQUARE, 90, 100), (OTHER, 140, 100))
    after = planes((SQUARE, 110, 100), (OTHER, 120, 155))
    carried = found(before, after, {1: square(90, 100)})
    assert carried[1].box == near(square(110, 100))


def test_what_looks_otherwise_is_not_like_it():
    carried = found(planes((SQUARE, 100, 100)), planes((OTHER, 100, 100)), {7: square(100, 100)})
    assert carried[7].likeness < 0.7


def test_what_went_too_far_is_not_like_anything_there():
    carried = found(planes((SQUARE, 40, 100)), planes((SQUARE, 240, 100)), {7: square(40, 100)})
    assert carried[7].likeness < 0.7


def test_light_does_not_hide_a_square():
    after = planes((SQUARE, 112, 100))
    brighter = Planes((after.y * 0.6 + 40).astype(np.uint8), CHROMA, CHROMA)
    assert found(planes((SQUARE, 100, 100)), brighter, {7: square(100, 100)})[7].likeness > 0.9


def test_on_a_flat_picture_nothing_is_kept():
    flat = planes(still=np.full((HEIGHT, WIDTH), 90, np.uint8))
    assert found(flat, flat, {7: square(100, 100)}) == {}


def test_in_a_flat_picture_nothing_is_found():
    flat = planes(still=np.full((HEIGHT, WIDTH), 90, np.uint8))
    carried = found(planes((SQUARE, 100, 100)), flat, {7: square(100, 100)})
    assert all(one.likeness < 0.7 for one in carried.values())


def test_of_what_is_too_small_no_patch_is_kept():
    picture = planes((SQUARE, 100, 100))
    assert found(picture, picture, {7: square(100, 100, side=3)}) == {}


def test_of_what_is_thin_no_patch_is_kept():
    picture = planes((SQUARE, 100, 100))
    assert found(picture, picture, {7: (0.3, 0.2, 0.31, 0.9)}) == {}


@pytest.mark.parametrize(
    "box", [(-0.2, 0.3, 0.1, 0.6), (0.9, 0.8, 1.2, 1.1), (1.1, 0.2, 1.3, 0.5), (0.0, 0.0, 1.0, 1.0)]
)
def test_what_lies_over_the_border_does_no_harm(box):
    picture = planes((SQUARE, 100, 100))
    assert len(found(picture, picture, {7: box})) <= 1


def test_a_thing_that_is_not_kept_again_is_forgotten():
    patches, picture = Patches(), planes((SQUARE, 100, 100))
    patches.keep(picture, 0, {1: square(100, 100), 2: square(30, 30)})
    patches.keep(picture, 0, {2: square(30, 30)})
    assert set(patches.find(picture, 0)) == {2}


def test_a_picture_of_another_size_does_no_harm():
    patches = Patches()
    patches.keep(planes((SQUARE, 100, 100)), 0, {1: square(100, 100)})
    small = Planes(texture(30, 40, 4), CHROMA[:15, :20], CHROMA[:15, :20])
    assert set(patches.find(small, 0)) <= {1}
