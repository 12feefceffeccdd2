"""Draws scenes of known truth: people and cars that go through a still picture (long: how they look and what they do).

A scene is a list of movers with way points in time, and what they walk behind. Movers stand on a level ground that a
camera 3.5 m high looks over, so that they are smaller farther away. Each has its own colours and cloth, a walker's legs
swing, and every picture has its own noise. The same scene, seed and rate give the same pictures.
"""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # as a script it runs where nothing is installed, too

from pipeline.core.errors import SourceError  # noqa: E402  # as above
from pipeline.core.frames import Planes  # noqa: E402
from stages.sources.footage import Footage  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pipeline.core.geometry import Box

    Picture = NDArray[np.uint8]
    Way = tuple[tuple[float, float, float], ...]

WIDTH, HEIGHT = 640, 360
HORIZON = 0.15
"""Of the picture's height, from above."""
CAMERA_M = 3.5
WALK_M_S = 1.4
NOISE = 2.0
"""Standard deviation of the sensor's noise, grey levels."""
START_S = 3.0
"""Until then nothing moves: a camera's noise is learnt."""
STILL = ("hallway.mpg", "frigate_ir_static.mp4", "street_dusk.flv")
"""Clips whose median picture is empty enough to walk through; the same yard is drawn where they are not there."""

_STEP_M = 0.75
_SIZES = {"person": (0.62, 1.72), "vehicle": (4.3, 1.5)}  # metres across and up
_OUT = 0.12  # of the picture's width, how far outside a mover begins
_OCCLUDER = 255  # in the picture of who is where


class Mover(NamedTuple):
    """One that moves.

    Attributes:
        number: Its own; one that comes back is another one.
        group: person or vehicle.
        way: Where its feet or wheels are: seconds, and x and y in 0..1 of the picture. Outside of these times it is
            not there.
        look: Seed of its colours.
    """

    number: int
    group: str
    way: Way
    look: int

    def at(self, at_s: float) -> tuple[float, float] | None:
        """Where it stands at a time; None: it is not there."""
        if not self.way[0][0] <= at_s <= self.way[-1][0]:
            return None
        times, across, down = zip(*self.way, strict=True)
        return float(np.interp(at_s, times, across)), float(np.interp(at_s, times, down))


class Scene(NamedTuple):
    """What happens, how long, and what stands before it: boxes that reach down to where they stand."""

    kind: str
    movers: tuple[Mover, ...]
    seconds: float
    before: tuple[Box, ...] = ()


class Shown(NamedTuple):
    """The truth of one mover in one picture.

    Attributes:
        number: Whose.
        group: person or vehicle.
        box: Of all of it that lies in the picture, hidden or not.
        seen: Of its part that is seen; equal to `box` where nothing is.
        visible: Share of its pixels that is seen, 0..1.
    """

    number: int
    group: str
    box: Box
    seen: Box
    visible: float


class Drawn(NamedTuple):
    """A picture with its truth."""

    planes: Planes
    at_ns: int
    things: tuple[Shown, ...]


def pictures(scene: Scene, fps: float, seed: int, ground: Picture) -> Iterator[Drawn]:
    """Yield the pictures of a scene; the same options give the same ones.

    Args:
        scene: What happens.
        fps: Pictures a second.
        seed: Of the noise.
        ground: (HEIGHT, WIDTH, 3) uint8, blue, green, red; see `grounds`.
    """
    chance = np.random.default_rng((seed, 7))
    noise = np.asarray(np.rint(chance.normal(0, NOISE, (2 * HEIGHT, 2 * WIDTH))), np.int16)
    posts = cv2.GaussianBlur(yard(seed + 100), (5, 5), 0)
    for index in range(int(scene.seconds * fps)):
        at_s = index / fps
        canvas, things = _composed(scene, at_s, ground, posts)
        yield Drawn(_planes(canvas, noise, chance), round(at_s * 1e9), things)


def grounds(footage: Path | None) -> list[Picture]:
    """Return what there is to walk through: the median pictures of clips, or drawn yards where there are none."""
    found = []
    for place, name in enumerate(STILL):
        median = _median(footage / "clips" / name) if footage is not None else None
        found.append(yard(place) if median is None else median)
    return found


def yard(seed: int) -> Picture:
    """Draw a wall above a paved ground."""
    chance = np.random.default_rng((seed, 3))
    picture = np.empty((HEIGHT, WIDTH, 3), np.float32)
    line = round(HEIGHT * HORIZON * 1.6)
    picture[:line], picture[line:] = chance.uniform(90, 150, 3), chance.uniform(70, 130, 3)
    for side, weight in ((12, 12), (40, 10), (160, 6)):
        grain = chance.normal(0, weight, (side * HEIGHT // WIDTH + 1, side)).astype(np.float32)
        picture += cv2.resize(grain, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)[..., None]
    return np.asarray(np.clip(picture, 0, 255), np.uint8)


def _median(path: Path) -> Picture | None:
    """The median of pictures of the first seconds of a clip; None where it cannot be read."""
    kept: list[Picture] = []
    try:
        source = Footage(path)
        for picture in source.pictures():
            if picture.index % 12 == 0:
                kept.append(_coloured(picture))
            if len(kept) >= 15:  # noqa: PLR2004  # enough that who walks by is outvoted
                break
        source.close()
    except SourceError:
        return None
    return np.asarray(np.median(np.stack(kept), axis=0), np.uint8) if kept else None


def _coloured(picture: Any) -> Picture:
    """A decoded picture in the size of the scenes."""
    rows, columns = picture.height, picture.width
    half = ((rows + 1) // 2, (columns + 1) // 2)
    planes = Planes(np.empty((rows, columns), np.uint8), np.empty(half, np.uint8), np.empty(half, np.uint8))
    picture.copy_to(planes)
    parts = [cv2.resize(one, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA) for one in (planes.y, planes.v, planes.u)]
    return np.asarray(cv2.cvtColor(cv2.merge(parts), cv2.COLOR_YCrCb2BGR), np.uint8)


def _composed(scene: Scene, at_s: float, ground: Picture, posts: Picture) -> tuple[Picture, tuple[Shown, ...]]:
    """Draw who is there, the farthest first, and see what is left of each."""
    canvas, owner = ground.copy(), np.zeros((HEIGHT, WIDTH), np.uint8)
    layers: list[tuple[float, Any]] = [(box[3], box) for box in scene.before]
    for mover in scene.movers:
        place = mover.at(at_s)
        if place is not None:
            layers.append((place[1], (mover, place)))
    placed = []
    for _, what in sorted(layers, key=lambda layer: layer[0]):
        if len(what) == len(("left", "top", "right", "bottom")):
            left, top, right, bottom = _pixels(what)
            canvas[top:bottom, left:right] = posts[top:bottom, left:right]
            owner[top:bottom, left:right] = _OCCLUDER
            continue
        mover, place = what
        drawn = _paste(canvas, owner, mover, place, _walked(mover, at_s))
        if drawn is not None:
            placed.append((mover, *drawn))
    return canvas, tuple(_truth(mover, box, pixels, owner) for mover, box, pixels in placed)


def _truth(mover: Mover, box: tuple[int, int, int, int], pixels: int, owner: Picture) -> Shown:
    left, top, right, bottom = box
    rows, columns = np.nonzero(owner[top:bottom, left:right] == mover.number)
    whole = _shares(left, top, right, bottom)
    if not rows.size:
        return Shown(mover.number, mover.group, whole, whole, 0.0)
    seen = _shares(left + columns.min(), top + rows.min(), left + columns.max() + 1, top + rows.max() + 1)
    return Shown(mover.number, mover.group, whole, seen, rows.size / pixels)


def _paste(
    canvas: Picture, owner: Picture, mover: Mover, place: tuple[float, float], walked_m: float
) -> tuple[tuple[int, int, int, int], int] | None:
    """Draw a mover; return its box in the picture and how many pixels all of it has."""
    metre = (place[1] - HORIZON) / CAMERA_M * HEIGHT  # pixels
    across, up = (max(4, round(length * metre)) for length in _SIZES[mover.group])
    leftward = mover.way[-1][1] < mover.way[0][1]
    colours, mask = _SHAPES[mover.group](mover.look, across, up, walked_m)
    if leftward:
        colours, mask = colours[:, ::-1], mask[:, ::-1]
    left, top = round(place[0] * WIDTH - across / 2), round(place[1] * HEIGHT) - up
    x1, y1, x2, y2 = max(0, left), max(0, top), min(WIDTH, left + across), min(HEIGHT, top + up)
    if x2 <= x1 or y2 <= y1:
        return None
    part = mask[y1 - top : y2 - top, x1 - left : x2 - left]
    rows, columns = np.nonzero(part)
    if not rows.size:
        return None
    canvas[y1:y2, x1:x2][part] = colours[y1 - top : y2 - top, x1 - left : x2 - left][part]
    owner[y1:y2, x1:x2][part] = mover.number
    box = (x1 + columns.min(), y1 + rows.min(), x1 + columns.max() + 1, y1 + rows.max() + 1)
    return box, int(np.count_nonzero(mask))  # type: ignore[return-value]  # four of them


def _person(look: int, across: int, up: int, walked_m: float) -> tuple[Picture, NDArray[np.bool_]]:
    """Head, torso, arms and two legs, seen from the side."""
    shirt, trousers, skin, hair = _cloth(look, 4)
    swing = math.sin(math.pi * walked_m / _STEP_M)
    colours, drawn = np.zeros((up, across, 3), np.uint8), np.zeros((up, across), np.uint8)
    middle, hip, shoulder = 0.5, 0.52, 0.16

    def limb(root: tuple[float, float], end: tuple[float, float], wide: float, cloth: Picture) -> None:
        part = np.zeros((up, across), np.uint8)
        points = [(round(x * across), round(y * up)) for x, y in (root, end)]
        cv2.line(part, points[0], points[1], 255, max(2, round(wide * up)))
        _lay(colours, drawn, part, cloth)

    for side in (-1, 1):
        limb((middle, hip), (middle + side * swing * 0.27, 0.97), 0.085, trousers)
    for side in (-1, 1):
        limb((middle, shoulder + 0.05), (middle + side * swing * 0.25, 0.5), 0.055, shirt)
    torso = np.zeros((up, across), np.uint8)
    cv2.rectangle(
        torso,
        (round(0.22 * across), round(shoulder * up)),
        (round(0.78 * across), round((hip + 0.04) * up)),
        255,
        cv2.FILLED,
    )
    _lay(colours, drawn, torso, shirt)
    for height, cloth in ((0.07, hair), (0.085, skin)):
        head = np.zeros((up, across), np.uint8)
        size = (max(1, round(0.055 * up)), max(1, round((0.07 if height < 0.08 else 0.055) * up)))  # noqa: PLR2004
        cv2.ellipse(head, (round(middle * across), round(height * up)), size, 0, 0, 360, 255, cv2.FILLED)
        _lay(colours, drawn, head, cloth)
    return colours, drawn > 0


def _car(look: int, across: int, up: int, _driven_m: float) -> tuple[Picture, NDArray[np.bool_]]:
    """Body, cabin, window and two wheels, seen from the side."""
    paint, glass, rubber = _cloth(look, 3)
    colours, drawn = np.zeros((up, across, 3), np.uint8), np.zeros((up, across), np.uint8)
    for outline, cloth in (
        (((0, 0.45), (0.98, 0.5), (1, 0.85), (0, 0.85)), paint),
        (((0.12, 0.48), (0.22, 0.02), (0.62, 0.02), (0.8, 0.48)), paint),
        (((0.2, 0.44), (0.26, 0.1), (0.58, 0.1), (0.7, 0.44)), glass // 2),
    ):
        part = np.zeros((up, across), np.uint8)
        points = np.asarray([[(round(x * across), round(y * up)) for x, y in outline]], np.int32)
        cv2.fillPoly(part, points, 255)
        _lay(colours, drawn, part, cloth)
    for x in (0.2, 0.8):
        wheel = np.zeros((up, across), np.uint8)
        cv2.circle(wheel, (round(x * across), round(0.82 * up)), max(1, round(0.17 * up)), 255, cv2.FILLED)
        _lay(colours, drawn, wheel, rubber // 3)
    return colours, drawn > 0


_SHAPES: dict[str, Callable[[int, int, int, float], tuple[Picture, NDArray[np.bool_]]]] = {
    "person": _person,
    "vehicle": _car,
}


def _lay(colours: Picture, drawn: Picture, part: Picture, cloth: Picture) -> None:
    """Cut a shape out of cloth, onto what is drawn already."""
    rows, columns = part.shape
    inside = part > 0
    colours[inside] = cv2.resize(cloth, (columns, rows), interpolation=cv2.INTER_LINEAR)[inside]
    drawn[inside] = 255


def _cloth(look: int, pieces: int) -> list[Picture]:
    """Pieces of cloth, each of a colour of its own, with folds and a pattern."""
    chance = np.random.default_rng((look, 11))
    made = []
    for _ in range(pieces):
        folds = cv2.resize(chance.normal(0, 14, (8, 5)).astype(np.float32), (16, 24), interpolation=cv2.INTER_CUBIC)
        stripes = 12 * chance.random() * np.sin(np.arange(24) * chance.uniform(0.3, 1.2))[:, None]
        colour = chance.uniform(25, 220) + chance.normal(0, 22, 3)  # most clothes are nearly grey
        cloth = colour + (folds + stripes)[..., None]
        made.append(np.asarray(np.clip(cloth, 0, 255), np.uint8))
    return made


def _walked(mover: Mover, at_s: float) -> float:
    """Metres gone so far, for the legs; who stands has them together."""
    gone = 0.0
    for (t1, x1, y1), (t2, x2, y2) in itertools.pairwise(mover.way):
        if at_s <= t1:
            break
        share = min(1.0, (at_s - t1) / max(t2 - t1, 1e-6))
        gone += share * way_m((x1, y1), (x2, y2))
    return gone


def way_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Metres between two places on the ground."""
    (x1, y1), (x2, y2) = one, other
    metre = ((y1 + y2) / 2 - HORIZON) / CAMERA_M  # of the picture's height
    depth = abs(CAMERA_M / max(y1 - HORIZON, 0.02) - CAMERA_M / max(y2 - HORIZON, 0.02)) / 2
    return math.hypot((x2 - x1) * WIDTH / HEIGHT / metre, depth)


def _planes(canvas: Picture, noise: NDArray[np.int16], chance: np.random.Generator) -> Planes:
    """Luma with noise, and chroma at half the size."""
    stacked = cv2.cvtColor(canvas, cv2.COLOR_BGR2YUV_I420).ravel()
    down, across = (int(one) for one in chance.integers(0, (HEIGHT, WIDTH)))
    luma = stacked[: HEIGHT * WIDTH].reshape(HEIGHT, WIDTH) + noise[down : down + HEIGHT, across : across + WIDTH]
    chroma = stacked[HEIGHT * WIDTH :].reshape(2, HEIGHT // 2, WIDTH // 2)
    return Planes(np.asarray(np.clip(luma, 16, 235), np.uint8), chroma[0], chroma[1])


def _pixels(box: Box) -> tuple[int, int, int, int]:
    left, top, right, bottom = box
    return round(left * WIDTH), round(top * HEIGHT), round(right * WIDTH), round(bottom * HEIGHT)


def _shares(left: int, top: int, right: int, bottom: int) -> Box:
    return (float(left / WIDTH), float(top / HEIGHT), float(right / WIDTH), float(bottom / HEIGHT))


# What happens, by kind.


class _Cast:
    """Makes movers with numbers and looks of their own."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng((seed, 23))
        self.made: list[Mover] = []

    def walk(self, *stops: tuple[float, float], start_s: float = START_S, speed: float = WALK_M_S) -> Mover:
        """A person who walks from stop to stop."""
        return self.add("person", _timed(start_s, speed, stops))

    def drive(self, *stops: tuple[float, float], start_s: float = START_S, speed: float = 3.5) -> Mover:
        """A car that drives from stop to stop."""
        return self.add("vehicle", _timed(start_s, speed, stops))

    def add(self, group: str, way: Way, look: int | None = None) -> Mover:
        """A mover on a way whose times are known."""
        number = len(self.made) + 1
        mover = Mover(number, group, way, int(self.chance.integers(1 << 30)) if look is None else look)
        self.made.append(mover)
        return mover

    def near(self, value: float, by: float = 0.03) -> float:
        """A value that differs a little by seed."""
        return value + float(self.chance.uniform(-by, by))

    def scene(self, kind: str, before: tuple[Box, ...] = ()) -> Scene:
        """What was made, until two seconds after all are gone."""
        return Scene(kind, tuple(self.made), max(mover.way[-1][0] for mover in self.made) + 2, before)


def _timed(start_s: float, speed: float, stops: tuple[tuple[float, float], ...]) -> Way:
    way = [(start_s, *stops[0])]
    for one, other in itertools.pairwise(stops):
        way.append((way[-1][0] + max(way_m(one, other) / speed, 0.1), *other))
    return tuple(way)


def _crossing(cast: _Cast) -> None:
    near, far = cast.near(0.85), cast.near(0.74)
    cast.walk((-_OUT, near), (1 + _OUT, near))
    cast.walk((1 + _OUT, far), (-_OUT, far), speed=cast.near(1.4, 0.15))
    start_s = cast.made[0].way[-1][0] + 1
    cast.walk((-_OUT, 0.8), (0.5, 0.8), (1 + _OUT, 0.66), start_s=start_s)
    cast.walk((1 + _OUT, 0.8), (0.5, 0.79), (-_OUT, 0.9), start_s=start_s + cast.near(0.0, 0.3))


def _occlusion(cast: _Cast) -> tuple[Box, ...]:
    cast.walk((-_OUT, 0.78), (1 + _OUT, 0.78))
    cast.walk((1 + _OUT, 0.68), (-_OUT, 0.72), start_s=START_S + cast.near(4, 1))
    post, wall = cast.near(0.3), cast.near(0.68)
    return ((post - 0.05, 0.1, post + 0.05, 0.88), (wall - 0.11, 0.3, wall + 0.11, 0.87))


def _group(cast: _Cast) -> None:
    leftward, size = bool(cast.chance.integers(2)), int(cast.chance.integers(3, 5))
    for place in range(size):
        off, y = cast.near(0.075 * place, 0.01), cast.near(0.72 + 0.05 * (place % 2), 0.015)
        stops = [(-_OUT - off, y), (0.5 - off, y + cast.near(0.0, 0.02)), (1.35 - off, y)]
        if leftward:
            stops = [(1 - x, one) for x, one in stops]
        cast.walk(*stops, speed=cast.near(1.35, 0.03))


def _stop(cast: _Cast) -> None:
    place, y = cast.near(0.45, 0.1), cast.near(0.8)
    come = _timed(START_S, WALK_M_S, ((-_OUT, y), (place, y)))
    go = _timed(come[-1][0] + 20, WALK_M_S, ((place, y), (1 + _OUT, y)))
    cast.add("person", (*come, *go))
    cast.walk((1 + _OUT, y - 0.12), (-_OUT, y - 0.12), start_s=START_S + 10)


def _return(cast: _Cast) -> None:
    y = cast.near(0.8)
    first = cast.walk((-_OUT, y), (cast.near(0.5), y), (-_OUT, y))
    back_s = first.way[-1][0] + 10
    cast.add("person", _timed(back_s, WALK_M_S, ((-_OUT, y), (1 + _OUT, y))), first.look)


def _cars(cast: _Cast) -> None:
    for place in range(4):
        y = cast.near(0.72, 0.005)
        cast.drive((-0.3, y), (1.3, y), start_s=START_S + cast.near(3.0, 0.3) * place, speed=cast.near(3.5, 0.1))
    cast.drive((1.3, 0.9), (-0.3, 0.9), start_s=START_S + 3)


def _parking(cast: _Cast) -> None:
    place, y = cast.near(0.5, 0.08), cast.near(0.75)
    come = _timed(START_S, 4.0, ((-0.3, y), (place - 0.15, y)))
    slow = _timed(come[-1][0], 1.5, ((place - 0.15, y), (place, y)))
    go = _timed(slow[-1][0] + 20, 4.0, ((place, y), (1.3, y)))
    cast.add("vehicle", (*come, *slow[1:], *go))
    cast.walk((-_OUT, y + 0.12), (1 + _OUT, y + 0.12), start_s=slow[-1][0] + 3)


def _many(cast: _Cast) -> None:
    for place in range(8):
        leftward, y = place % 2, cast.near(0.47 + 0.065 * place, 0.01)
        stops = [(-_OUT - 0.02 * place, y), (0.5, cast.near(y, 0.02)), (1 + _OUT, y)]
        if leftward:
            stops = [(1 - x, one) for x, one in stops]
        cast.walk(*stops, start_s=START_S + cast.near(0.5, 0.5), speed=cast.near(1.3, 0.2))
    cast.drive((-0.3, 0.42), (1.3, 0.42), start_s=START_S + 2)
    cast.drive((1.3, 0.4), (-0.3, 0.4), start_s=START_S + 3)


_KINDS: dict[str, Callable[[_Cast], tuple[Box, ...] | None]] = {
    "crossing": _crossing,
    "occlusion": _occlusion,
    "group": _group,
    "stop": _stop,
    "return": _return,
    "cars": _cars,
    "parking": _parking,
    "many": _many,
}
KINDS = tuple(_KINDS)


def scene_of(kind: str, seed: int) -> Scene:
    """Return a scene of a kind; places and speeds differ a little by seed."""
    cast = _Cast(seed)
    before = _KINDS[kind](cast)
    return cast.scene(kind, before or ())


def main() -> None:
    """Write one picture a second of each kind to look at: python tools/draw_scenes.py FOLDER [FOOTAGE]."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    ground = grounds(Path(sys.argv[2]) if len(sys.argv) > 2 else None)  # noqa: PLR2004
    for place, kind in enumerate(KINDS):
        for drawn in pictures(scene_of(kind, 0), 1, 0, ground[place % len(ground)]):
            stacked = np.concatenate([plane.ravel() for plane in drawn.planes[:3]]).reshape(-1, WIDTH)
            picture = cv2.cvtColor(stacked, cv2.COLOR_YUV2BGR_I420)
            for one in drawn.things:
                left, top, right, bottom = _pixels(one.seen)
                cv2.rectangle(picture, (left, top), (right, bottom), (0, 255, 0) if one.visible > 0.9 else (0, 0, 255))  # noqa: PLR2004
            cv2.imwrite(str(target / f"{kind}-{drawn.at_ns // 10**9:03d}.png"), picture)


if __name__ == "__main__":
    main()
