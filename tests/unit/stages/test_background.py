"""The background finds what moves and nothing else. All pictures are synthetic, with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

from stages.background import Background, Movement

HEIGHT, WIDTH = 270, 480
INTERVAL_NS = 100_000_000


class Scene:
    """A still, textured scene seen by a noisy sensor at 10 pictures a second."""

    def __init__(self, height=HEIGHT, width=WIDTH, noise=3.0, seed=1, **options):
        self.random = np.random.default_rng(seed)
        coarse = self.random.uniform(70, 150, (height // 15 + 1, width // 15 + 1))
        self.still = np.kron(coarse, np.ones((15, 15)))[:height, :width]
        self.noise = noise
        self.background = Background(**options)
        self.at_ns = 0

    def picture(self, *, gain=1.0, offset=0.0, walker=None, paint=None):
        picture = self.still.copy()
        if walker is not None:
            top, left, height, width = walker
            picture[top : top + height, left : left + width] += 60
        if paint is not None:
            paint(picture)
        picture = picture * gain + offset + self.random.normal(0, self.noise, picture.shape)
        return np.clip(picture, 0, 255).astype(np.uint8)

    def show(self, *, interval_ns=INTERVAL_NS, **what) -> Movement:
        self.at_ns += interval_ns
        return self.background.measure(self.picture(**what), self.at_ns)

    def rest(self, pictures=30, **what):
        return [self.show(**what) for _ in range(pictures)]


def touches(movement, walker, height=HEIGHT, width=WIDTH):
    top, left, tall, wide = walker
    return any(
        box[0] * width < left + wide
        and box[2] * width > left
        and box[1] * height < top + tall
        and box[3] * height > top
        for box in movement.boxes
    )


def walk(scene, pictures=20, height=24, **what):
    """Movement and place of a walker for every picture."""
    places = [(120, 60 + 5 * step, height, height // 2) for step in range(pictures)]
    return [(scene.show(walker=place, **what), place) for place in places]


def test_a_still_scene_with_noise_does_not_move():
    assert not any(movement.boxes for movement in Scene().rest(60))


def test_a_walker_is_found_in_every_picture():
    scene = Scene()
    scene.rest()
    assert all(touches(movement, place) for movement, place in walk(scene))


def test_the_box_of_a_walker_is_little_larger_than_the_walker():
    scene = Scene()
    scene.rest()
    movement, _ = walk(scene, height=40)[-1]
    left, top, right, bottom = movement.boxes[0]
    assert (bottom - top) * HEIGHT == pytest.approx(40, abs=8)
    assert (right - left) * WIDTH < 60


def test_boxes_come_largest_first():
    scene = Scene()
    scene.rest()

    def two(picture):
        picture[20:40, 20:40] += 60
        picture[150:220, 300:360] += 60

    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in scene.show(paint=two).boxes]
    assert len(areas) == 2
    assert areas == sorted(areas, reverse=True)


def test_the_first_picture_has_no_movement_and_is_not_settled():
    assert Scene().show() == Movement((), 0.0, global_change=False, settled=False)


def test_it_is_settled_after_two_seconds():
    assert Scene().rest(21)[-1].settled


def test_an_object_that_is_put_down_and_stays_is_absorbed():
    scene = Scene()
    scene.rest()
    movements = scene.rest(30, walker=(100, 200, 40, 40))
    assert movements[0].boxes
    assert not any(movement.boxes for movement in movements[-15:])


def test_an_object_of_the_first_picture_that_leaves_is_no_lasting_ghost():
    scene = Scene()
    scene.rest(2, walker=(100, 200, 40, 40))
    assert not any(movement.boxes for movement in scene.rest(40)[-25:])


def test_what_was_absorbed_moves_again_when_it_leaves():
    scene = Scene()
    scene.rest()
    scene.rest(150, walker=(100, 200, 40, 40))
    assert touches(scene.show(), (100, 200, 40, 40))


def test_a_step_in_exposure_does_not_move():
    scene = Scene()
    scene.rest()
    assert not any(movement.boxes for movement in scene.rest(20, gain=1.25))


def test_dusk_does_not_move():
    scene = Scene()
    scene.rest()
    movements = [scene.show(gain=1 - 0.5 * step / 200) for step in range(200)]
    assert not any(movement.boxes for movement in movements)


def test_a_walker_is_found_while_it_grows_dark():
    scene = Scene()
    scene.rest()
    found = [touches(*walk(scene, pictures=1, gain=1 - 0.4 * step / 20)[0]) for step in range(20)]
    assert sum(found[:3]) >= 2  # it then stands still, which is no movement


def test_a_cut_to_another_scene_is_a_global_change_without_boxes():
    scene = Scene()
    scene.rest()
    scene.still = scene.still[::-1, ::-1]
    movement = scene.show()
    assert movement.global_change
    assert movement.boxes == ()


def test_after_a_cut_the_new_scene_is_quiet():
    scene = Scene()
    scene.rest()
    scene.still = scene.still[::-1, ::-1]
    assert not any(movement.boxes for movement in scene.rest(30))


def test_a_flash_with_a_walker_inside_hides_the_walker_hardly_longer_than_it_lasts():
    scene = Scene()
    scene.rest()
    places = [(120, 60 + 5 * step, 24, 12) for step in range(20)]
    flash = {8, 9}
    found = [
        touches(scene.show(walker=place, offset=100 if step in flash else 0), place)
        for step, place in enumerate(places)
    ]
    assert found.count(False) <= len(flash) + 1


def test_foliage_is_taken_for_noise_in_the_end():
    scene = Scene()

    def leaves(picture):
        picture[30:90, 30:110] = scene.random.uniform(40, 160, (60, 80))

    movements = scene.rest(400, paint=leaves)
    assert sum(bool(movement.boxes) for movement in movements[-50:]) < 5


def test_a_walker_beside_foliage_is_found():
    scene = Scene()

    def leaves(picture):
        picture[10:70, 30:110] = scene.random.uniform(40, 160, (60, 80))

    scene.rest(200, paint=leaves)
    assert all(touches(movement, place) for movement, place in walk(scene, paint=leaves))


def test_a_place_that_is_passed_for_a_third_of_the_time_is_not_taken_for_noise():
    scene = Scene()
    scene.rest()
    for _ in range(20):
        scene.rest(2, walker=(120, 100, 24, 12))
        scene.rest(5)
    assert touches(scene.show(walker=(120, 100, 24, 12)), (120, 100, 24, 12))


def test_a_small_shake_of_the_camera_does_not_move():
    scene = Scene()
    still = scene.still
    scene.rest()
    for step in range(30):
        scene.still = np.pad(still, ((0, 0), (1, 0)), mode="edge")[:, :-1] if step % 2 else still
        assert not scene.show().boxes


def test_a_pulse_of_noise_over_the_whole_picture_does_not_move():
    scene = Scene()
    scene.rest()
    scene.noise *= 2
    assert not any(movement.boxes for movement in scene.rest(5))


def test_a_soft_bright_blob_is_blurred():
    scene = Scene()
    scene.rest()
    down, across = np.mgrid[:HEIGHT, :WIDTH]

    def blob(picture):
        picture += 120 * np.exp(-((down - 120) ** 2 + (across - 240) ** 2) / (2 * 20**2))

    movement = scene.show(paint=blob)
    assert movement.boxes
    assert movement.blurred == movement.boxes


def test_a_walker_is_not_blurred():
    scene = Scene()
    scene.rest()
    movement, _ = walk(scene, height=60)[-1]
    assert movement.boxes
    assert movement.blurred == ()


def test_higher_sensitivity_finds_fainter_objects():
    def finds(sensitivity):
        scene = Scene(noise=2.0, sensitivity=sensitivity)
        scene.rest()

        def faint(picture):
            picture[100:160, 200:260] += 7

        return bool(scene.show(paint=faint).boxes)

    assert finds(1.0)
    assert not finds(0.2)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.01])
def test_a_sensitivity_out_of_range_is_refused(sensitivity):
    with pytest.raises(ValueError, match="sensitivity"):
        Background(sensitivity=sensitivity)


def test_one_picture_a_second_is_enough_to_find_an_animal():
    scene = Scene(height=60, width=106)
    scene.rest(4, interval_ns=10**9)
    found = [
        touches(
            scene.show(interval_ns=10**9, walker=(30, 10 + 9 * step, 6, 8)),
            (30, 10 + 9 * step, 6, 8),
            60,
            106,
        )
        for step in range(8)
    ]
    assert all(found)


def test_a_gap_of_an_hour_does_not_move():
    scene = Scene()
    scene.rest()
    assert not scene.show(interval_ns=3600 * 10**9).boxes


def test_a_new_size_starts_anew():
    scene = Scene()
    scene.rest()
    other = np.full((120, 160), 90, np.uint8)
    assert not scene.background.measure(other, scene.at_ns + INTERVAL_NS).settled


@pytest.mark.parametrize("shape", [(16, 16), (238, 318), (271, 483), (433, 77), (1081, 1921), (4320, 7680)])
def test_pictures_of_any_size_are_measured(shape):
    background = Background()
    grey = np.full(shape, 100, np.uint8)
    bright = grey.copy()
    bright[: shape[0] // 4, : shape[1] // 4] = 200
    background.measure(grey, 1)
    movement = background.measure(bright, 1 + INTERVAL_NS)
    assert all(0 <= side <= 1 for box in movement.boxes for side in box)
    assert movement.boxes


def test_black_and_white_pictures_are_measured():
    background = Background()
    for step, level in enumerate([0, 0, 255, 255, 0]):
        background.measure(np.full((120, 160), level, np.uint8), step * INTERVAL_NS)


def test_a_thousand_black_pictures_in_between_do_no_harm():
    background = Background()
    grey, black = np.full((32, 32), 100, np.uint8), np.zeros((32, 32), np.uint8)
    for count in range(2000):
        background.measure(black if count % 2 else grey, count * INTERVAL_NS)
    after = [background.measure(grey, (2000 + count) * INTERVAL_NS) for count in range(60)]
    assert not any(movement.boxes or movement.global_change for movement in after[-10:])


def test_a_strided_read_only_picture_is_read_in_place():
    scene = Scene()
    padded = np.zeros((HEIGHT, WIDTH + 32), np.uint8)
    for step in range(30):
        padded[:, :WIDTH] = scene.picture()
        view = padded[:, :WIDTH]
        view.flags.writeable = False
        movement = scene.background.measure(view, step * INTERVAL_NS)
    assert movement.boxes == ()


def test_the_same_pictures_give_the_same_movement():
    def film():
        scene = Scene()
        scene.rest(10)
        return [movement for movement, _ in walk(scene)]

    assert film() == film()
