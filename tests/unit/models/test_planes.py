from __future__ import annotations

import cv2
import numpy as np
import pytest

from models.planes import GREY, CropReader
from pipeline.core.frames import Planes


def planes_of(bgr, *, full_range=False):
    """4:2:0 planes of a BGR picture of even size."""
    height, width = bgr.shape[:2]
    flat = cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420).reshape(-1)
    luma, half = height * width, (height // 2, width // 2)
    u = flat[luma : luma + luma // 4].reshape(half)
    v = flat[luma + luma // 4 :].reshape(half)
    return Planes(flat[:luma].reshape(height, width), u, v, full_range=full_range)


def quartered(width=640, height=480):
    """A picture whose quarters are red, green, blue and white, clockwise from the top left."""
    bgr = np.empty((height, width, 3), np.uint8)
    bgr[: height // 2, : width // 2] = (0, 0, 255)
    bgr[: height // 2, width // 2 :] = (0, 255, 0)
    bgr[height // 2 :, width // 2 :] = (255, 0, 0)
    bgr[height // 2 :, : width // 2] = (255, 255, 255)
    return bgr


def flat_planes(height, width, luma=114, chroma=128):
    half = ((height + 1) // 2, (width + 1) // 2)
    planes = np.full((height, width), luma, np.uint8), np.full(half, chroma, np.uint8)
    return Planes(planes[0], planes[1], planes[1])


def quarters(square):
    """Colours in the middle of the quarters, clockwise from the top left."""
    low, high = len(square) // 4, len(square) * 3 // 4
    return np.array([square[y, x] for y, x in ((low, low), (low, high), (high, high), (high, low))], int)


COLOURS = np.array([(0, 0, 255), (0, 255, 0), (255, 0, 0), (255, 255, 255)])


def test_colours_survive_the_way_through_the_planes():
    square = CropReader(160).bgr(planes_of(quartered()), 0, 0, 640, 480)
    assert np.abs(quarters(square) - COLOURS).max() <= 4


@pytest.mark.parametrize(("rotation", "turns"), [(0, 0), (90, 1), (180, 2), (270, 3)])
def test_a_crop_is_turned_clockwise_by_its_rotation(rotation, turns):
    square = CropReader(160).bgr(planes_of(quartered()), 0, 0, 640, 480, rotation=rotation)
    assert np.abs(quarters(square) - np.roll(COLOURS, turns, axis=0)).max() <= 4


def test_a_crop_shows_the_part_that_was_asked_for():
    square = CropReader(32).bgr(planes_of(quartered()), 320, 0, 640, 240)
    assert np.abs(square.astype(int) - (0, 255, 0)).max() <= 4


def test_a_crop_partly_outside_the_picture_is_padded_grey():
    square = CropReader(160).bgr(planes_of(quartered()), 0, -80, 640, 560)
    assert np.abs(square[:15].astype(int) - GREY).max() <= 1
    assert np.abs(square[-15:].astype(int) - GREY).max() <= 1
    assert np.abs(quarters(square) - COLOURS).max() <= 4


def test_a_crop_wholly_outside_the_picture_is_grey():
    square = CropReader(32).bgr(planes_of(quartered()), 700, 500, 800, 600)
    assert np.abs(square.astype(int) - GREY).max() <= 1


def test_padding_of_an_earlier_crop_does_not_stay():
    reader, planes = CropReader(160), planes_of(quartered())
    fresh = CropReader(160).bgr(planes, 0, 0, 640, 480).copy()
    reader.bgr(planes, -640, -480, 640, 480)
    assert np.array_equal(reader.bgr(planes, 0, 0, 640, 480), fresh)


def test_full_range_codes_are_translated():
    planes = flat_planes(64, 64, luma=255)._replace(full_range=True)
    assert CropReader(32).bgr(planes, 0, 0, 64, 64).min() >= 254
    dark = flat_planes(64, 64, luma=16)._replace(full_range=True)
    assert abs(int(CropReader(32).bgr(dark, 0, 0, 64, 64)[16, 16, 0]) - 16) <= 1


@pytest.mark.parametrize(("height", "width"), [(16, 16), (15, 17), (1, 1), (2, 333), (1081, 1923)])
def test_any_size_of_picture_can_be_read(height, width):
    square = CropReader(160).bgr(flat_planes(height, width), 0, 0, width, height)
    assert np.abs(square.astype(int) - GREY).max() <= 1


@pytest.mark.parametrize("crop", [(3, 5, 4, 6), (-7, -7, 2, 2), (60, 60, 131, 131), (63, 0, 64, 64)])
def test_any_crop_of_a_uniform_picture_is_uniform(crop):
    square = CropReader(96).bgr(flat_planes(64, 64), *crop)
    assert np.abs(square.astype(int) - GREY).max() <= 1


def test_rows_may_be_strided():
    wide = flat_planes(64, 128, luma=200)
    strided = Planes(wide.y[:, :64], wide.u[:, :32], wide.v[:, :32])
    packed = Planes(*(np.ascontiguousarray(plane) for plane in strided[:3]))
    reader = CropReader(32)
    expected = reader.bgr(packed, 0, 0, 64, 64).copy()
    assert np.array_equal(reader.bgr(strided, 0, 0, 64, 64), expected)


def test_a_small_object_survives_strong_reduction():
    planes = flat_planes(1920, 1920, luma=16)
    planes.y[1001:1009, 1001:1009] = 235
    assert CropReader(160).bgr(planes, 0, 0, 1920, 1920).max() >= 60


def test_the_picture_is_not_written_to():
    planes = planes_of(quartered())
    for plane in planes[:3]:
        plane.flags.writeable = False
    CropReader(160).bgr(planes, -10, -10, 700, 700, rotation=90)


def test_the_result_lives_in_the_readers_own_buffer():
    reader, planes = CropReader(160), planes_of(quartered())
    assert reader.bgr(planes, 0, 0, 64, 64) is reader.bgr(planes, 9, 9, 99, 99)


def test_an_empty_crop_is_refused():
    with pytest.raises(ValueError, match="empty"):
        CropReader(32).bgr(flat_planes(64, 64), 5, 5, 5, 9)


def test_an_odd_side_is_refused():
    with pytest.raises(ValueError, match="even"):
        CropReader(33)
