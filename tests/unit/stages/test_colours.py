from __future__ import annotations

import numpy as np
import pytest

from pipeline.core.frames import Planes
from stages.colours import colours

HEIGHT, WIDTH = 120, 160
BOX = (0.25, 0.25, 0.5, 0.75)  # 40 x 60 pixels
ABOVE, BELOW = (200, 90, 180), (60, 140, 100)


def planes(box=BOX):
    """A grey picture with somebody in it who wears one colour above and another one below."""
    picture = [np.full(shape, 128, np.uint8) for shape in ((HEIGHT, WIDTH), *[(HEIGHT // 2, WIDTH // 2)] * 2)]
    left, top, right, bottom = box
    for plane, above, below in zip(picture, ABOVE, BELOW, strict=True):
        height, width = plane.shape
        columns = slice(round(left * width), round(right * width))
        plane[round(top * height) : round((top + bottom) / 2 * height), columns] = above
        plane[round((top + bottom) / 2 * height) : round(bottom * height), columns] = below
    return Planes(*picture)


def test_luma_and_chroma_of_both_halves_are_told():
    assert colours(planes(), BOX, 0) == (*ABOVE, *BELOW)


def test_what_lies_beside_it_in_its_box_is_left_out():
    left, top, right, bottom = BOX
    assert colours(planes(), (left - 0.06, top, right + 0.06, bottom), 0) == (*ABOVE, *BELOW)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_above_is_above_in_the_upright_picture(rotation):
    stored = Planes(*(np.rot90(plane, rotation // 90) for plane in planes()[:3]))  # as a camera that hangs so sees it
    assert colours(stored, BOX, rotation) == (*ABOVE, *BELOW)


def test_of_a_large_thing_not_every_pixel_is_read_but_the_mean_is_right():
    picture = Planes(*(np.full(shape, 77, np.uint8) for shape in ((1080, 1920), (540, 960), (540, 960))))
    assert colours(picture, (0.0, 0.0, 1.0, 1.0), 0) == (77,) * 6


@pytest.mark.parametrize(
    "box",
    [(0.5, 0.5, 0.5, 0.5), (0.999, 0.999, 1.0, 1.0), (0.0, 0.0, 0.001, 0.001), (1.0, 1.0, 1.0, 1.0)],
)
def test_of_a_tiny_thing_there_are_six_values_as_well(box):
    found = colours(planes(), box, 0)
    assert len(found) == 6
    assert all(0 <= value <= 255 for value in found)
