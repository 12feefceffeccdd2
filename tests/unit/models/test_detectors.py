from __future__ import annotations

import av
import numpy as np
import pytest

from models import catalog
from models.detectors import COCO_LABELS, GROUPS, FoundObject, NanoDet, Square, _remove_doubles, make_square
from pipeline.core.frames import Planes
from pipeline.core.geometry import WHOLE, overlap
from tests.paths import SHARED

CLIPS = SHARED / "footage" / "clips"


@pytest.fixture(scope="module")
def detector():
    return NanoDet(catalog.verified_path("nanodet-g-160-int8"))


def grey(height=480, width=640):
    half = np.full(((height + 1) // 2, (width + 1) // 2), 128, np.uint8)
    return Planes(np.full((height, width), 114, np.uint8), half, half)


def read_clip(name, number):
    """The planes of one picture of a clip, packed."""
    if not (CLIPS / name).exists():
        pytest.skip(f"{CLIPS / name} is not there")
    with av.open(str(CLIPS / name)) as container:
        for index, frame in enumerate(container.decode(video=0)):
            if index == number:
                flat = frame.to_ndarray(format="yuv420p").reshape(-1)
                break
    luma, half = frame.height * frame.width, (frame.height // 2, frame.width // 2)
    u = flat[luma : luma * 5 // 4].reshape(half)
    return Planes(flat[:luma].reshape(frame.height, frame.width), u, flat[luma * 5 // 4 :].reshape(half))


def stored(planes, rotation):
    """The picture as a camera would store it that needs `rotation` to be upright."""
    return Planes(*(np.ascontiguousarray(np.rot90(plane, rotation // 90)) for plane in planes[:3]))


def test_the_labels_are_the_80_of_coco_in_their_groups():
    assert len(set(COCO_LABELS)) == len(GROUPS) == 80
    assert [GROUPS[COCO_LABELS.index(name)] for name in ("person", "boat", "bird", "giraffe", "bench")] == [
        "person", "vehicle", "animal", "animal", "other",
    ]  # fmt: skip


def test_a_box_as_large_as_the_picture_gives_the_whole_picture_letterboxed():
    assert make_square(WHOLE, 640, 360, margin=0.3, smallest=128) == Square(0, -140, 640)


def test_a_small_box_gets_a_square_of_the_least_side_around_it():
    square = make_square((0.49, 0.49, 0.51, 0.51), 1000, 1000, margin=0.3, smallest=128)
    assert square == Square(436, 436, 128)


def test_a_box_at_the_edge_gets_a_square_inside_the_picture():
    square = make_square((0.9, 0.9, 1.0, 1.0), 1000, 1000, margin=0.3, smallest=200)
    assert square == Square(800, 800, 200)


def test_a_picture_smaller_than_the_least_side_is_seen_whole():
    assert make_square((0.2, 0.2, 0.4, 0.4), 16, 12, margin=0.3, smallest=128) == Square(0, -2, 16)


@pytest.mark.parametrize(
    ("rotation", "expected"),
    [(0, (10, 20, 40, 50)), (90, (20, 50, 50, 80)), (180, (160, 40, 190, 70)), (270, (150, 10, 180, 40))],
)
def test_a_square_of_the_upright_picture_is_found_in_the_stored_one(rotation, expected):
    width, height = (200, 90)
    assert Square(10, 20, 30).to_stored(width, height, rotation) == expected


def test_of_two_boxes_at_one_place_the_likelier_of_a_group_stays():
    car = FoundObject("car", "vehicle", 0.9, (0.1, 0.1, 0.5, 0.5))
    truck = FoundObject("truck", "vehicle", 0.8, (0.1, 0.1, 0.5, 0.52))
    driver = FoundObject("person", "person", 0.7, (0.1, 0.1, 0.5, 0.5))
    assert _remove_doubles([car, truck, driver], 0.5) == [car, driver]


def test_an_empty_picture_has_nothing_in_it(detector):
    detector.warm_up()
    assert detector.detect(grey(), WHOLE) == []


@pytest.mark.parametrize(("height", "width"), [(16, 16), (15, 17), (1080, 1920), (1920, 1080)])
def test_pictures_of_any_size_are_looked_at(detector, height, width):
    for rotation in (0, 90, 180, 270):
        assert detector.detect(grey(height, width), (0.9, 0.9, 1, 1), rotation) == []


def test_a_lower_limit_lets_more_through_and_boxes_stay_in_the_picture():
    eager = NanoDet(catalog.model_path("nanodet-g-160-int8"), min_likelihood=0.01)
    noise = np.random.default_rng(0).integers(0, 256, (480, 640), np.uint8)
    found = eager.detect(grey()._replace(y=noise), WHOLE)
    assert found
    assert all(0 <= one.box[0] <= one.box[2] <= 1 and 0 <= one.box[1] <= one.box[3] <= 1 for one in found)
    assert [one.likelihood for one in found] == sorted((one.likelihood for one in found), reverse=True)


def test_another_model_is_refused():
    with pytest.raises(ValueError, match="not a NanoDet"):
        NanoDet(catalog.model_path("efficientnet-lite0-224-int8"))


@pytest.mark.shared
def test_a_person_in_a_hallway_is_found_in_place(detector):
    best = detector.detect(read_clip("hallway.mpg", 100), (0.55, 0.4, 0.75, 0.9))[0]
    assert best.group == "person"
    assert best.likelihood > 0.6
    assert overlap(best.box, (0.585, 0.42, 0.695, 0.875)) > 0.7


@pytest.mark.shared
@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_turned_camera_sees_the_same(detector, rotation):
    planes = read_clip("hallway.mpg", 100)
    expected = detector.detect(planes, (0.55, 0.4, 0.75, 0.9))[0]
    best = detector.detect(stored(planes, rotation), (0.55, 0.4, 0.75, 0.9), rotation)[0]
    assert best.label == expected.label
    assert overlap(best.box, expected.box) > 0.9


@pytest.mark.shared
def test_cars_on_a_road_are_found(detector):
    found = detector.detect(read_clip("road_cars.h264", 50), WHOLE)
    assert sum(one.group == "vehicle" for one in found) >= 3


@pytest.mark.shared
def test_looking_at_a_region_is_surer_than_looking_at_the_whole(detector):
    planes = read_clip("pets_walkers.avi", 200)
    near = detector.detect(planes, (0.6, 0.3, 0.7, 0.8))[0]
    far = detector.detect(planes, WHOLE)[0]
    assert near.likelihood > far.likelihood + 0.1
