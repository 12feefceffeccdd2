"""Drawn footage: sensor noise and things that walk through it. The same seed gives the same pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from pipeline.core.errors import SourceError
from stages.sources.picture import SourceReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pipeline.core.frames import Plane, Planes
    from pipeline.core.geometry import Rotation


class DrawnScene(NamedTuple):
    """What is drawn; every field may be given in the address: synthetic://?width=640&walks=2."""

    width: int = 640
    height: int = 360
    fps: float = 10.0
    seconds: float = 30.0
    walks: int = 1  # how often something walks across
    pause_s: float = 8.0  # before each walk
    walk_s: float = 6.0
    size: float = 0.3  # height of the walker, share of the picture
    noise: float = 2.0  # standard deviation of the luma
    seed: int = 1


# What can be drawn: least and most of each field.
_BOUNDS = {
    "width": (16, 8192),
    "height": (16, 8192),
    "fps": (0.1, 120),
    "seconds": (0.1, 86400),
    "walks": (0, 10000),
    "pause_s": (0, 3600),
    "walk_s": (0.1, 3600),
    "size": (0.01, 1),
    "noise": (0, 50),
    "seed": (0, 2**31),
}


class DrawnPicture:
    """One drawn picture."""

    rotation: Rotation = 0
    full_range = False

    def __init__(self, scene: DrawnScene, ground: Plane, index: int) -> None:
        self._scene = scene
        self._ground = ground
        self.index = index
        self.pts_ns = round(index * 1e9 / scene.fps)
        self.height, self.width = ground.shape

    def copy_to(self, planes: Planes) -> None:
        """Draw luma, and neutral chroma with a trace of blue, so that it does not pass for infra-red.

        Only here: a picture that nobody looks at costs nothing, and each has noise of its own, whatever came before.
        """
        generator = np.random.default_rng((self._scene.seed, self.index))
        np.copyto(planes.y, _draw(self._scene, self._ground, generator, self.pts_ns / 1e9))
        planes.u.fill(136)
        planes.v.fill(124)


class Synthetic:
    """A drawing instead of a camera. Raises SourceError for a field that does not exist."""

    began_utc_ns: int | None = None

    def __init__(self, url: str) -> None:
        self.scene = parse(url)
        self.declared: int | None = round(self.scene.seconds * self.scene.fps)
        self._drawn = 0

    def pictures(self) -> Iterator[DrawnPicture]:
        """Yield the pictures as fast as they are asked for."""
        scene = self.scene
        ground = _ground(scene, np.random.default_rng(scene.seed))
        for index in range(round(scene.seconds * scene.fps)):
            yield DrawnPicture(scene, ground, index)
            self._drawn += 1

    def report(self) -> SourceReport:
        """All of it was there."""
        return SourceReport(self._drawn, self.declared, 0, None)

    def close(self) -> None:
        """Nothing is held."""


def parse(url: str) -> DrawnScene:
    """Read a scene from its address. Raises SourceError naming the field."""
    fields: dict[str, float] = {}
    for name, text in parse_qsl(urlsplit(url).query):
        if name not in DrawnScene._fields:
            raise SourceError(f"synthetic://: no field `{name}`; there are {', '.join(DrawnScene._fields)}")
        try:
            number = float(text)
        except ValueError as error:
            raise SourceError(f"synthetic://: `{name}={text}` is no number") from error
        if not math.isfinite(number):
            raise SourceError(f"synthetic://: `{name}={text}` is no number")
        fields[name] = int(number) if isinstance(DrawnScene._field_defaults[name], int) else number
    scene = DrawnScene(**fields)  # type: ignore[arg-type]  # each was made the type of its default
    for name, (least, most) in _BOUNDS.items():
        if not least <= getattr(scene, name) <= most:
            raise SourceError(f"synthetic://: `{name}` lies between {least:g} and {most:g}")
    return scene


def _ground(scene: DrawnScene, generator: np.random.Generator) -> Plane:
    """Blotches of light and dark at an eighth of the size, as grass or gravel has."""
    small = generator.normal(110, 14, (scene.height // 8 + 1, scene.width // 8 + 1))
    large = np.kron(small, np.ones((8, 8)))[: scene.height, : scene.width]
    ground: Plane = np.clip(large, 16, 235).astype(np.uint8)
    return ground


def _draw(scene: DrawnScene, ground: Plane, generator: np.random.Generator, at_s: float) -> Plane:
    picture: NDArray[np.float64] = ground + generator.normal(0, scene.noise, ground.shape)
    turn, into = divmod(at_s, scene.pause_s + scene.walk_s)
    if turn < scene.walks and into >= scene.pause_s:
        _walker(scene, picture, (into - scene.pause_s) / scene.walk_s)
    return np.clip(picture, 16, 235).astype(np.uint8)


def _walker(scene: DrawnScene, picture: NDArray[np.float64], way: float) -> None:
    """Draw an upright dark figure with a light head, `way` of the way across."""
    height, width = scene.height, scene.width
    tall, wide = round(scene.size * height), max(1, round(scene.size * height * 0.35))
    left, top = round(way * (width + wide)) - wide, round(0.85 * height) - tall
    body, head = slice(max(0, left), max(0, left + wide)), tall // 5
    picture[top : top + tall, body] = 45
    picture[top : top + head, max(0, left + wide // 4) : max(0, left + 3 * wide // 4)] = 190
