"""The parts of a camera's picture that have rules of their own, and which part a thing stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.geometry import Box, Polygon, centre, foot, inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.core.settings import CameraSettings, PriorityName, Settings
    from pipeline.core.vocabulary import CameraId

OUTSIDE = ""  # the key of what lies in no zone


class Area(NamedTuple):
    """A zone, or what lies outside all zones, with the rules that hold there."""

    key: str
    name: str  # what people call it
    zone: bool  # whether it was drawn by somebody, rather than being the rest of the picture
    polygon: Polygon | None
    restricted: bool
    open_hours: str
    loiter_s: float
    crowd: int
    priority: PriorityName | None


def areas(settings: Settings, camera: CameraId) -> dict[str, Area]:
    """Return the camera's areas by key: its zones in the order of the file, then the rest unless it is ignored."""
    row = settings.cameras[camera]
    hours = row.open_hours or settings.trigger.open_hours
    found = {
        key: Area(
            key, zone.name or key, True, zone.polygon, zone.restricted, zone.open_hours or hours,
            zone.loiter_s, zone.crowd, zone.priority or row.priority,
        )
        for key, zone in row.zones.items()
    }  # fmt: skip
    if row.outside_zones == "watch" or not row.zones:
        found[OUTSIDE] = Area(
            OUTSIDE, row.place or camera, False, None, row.restricted, hours, row.loiter_s, row.crowd, row.priority
        )  # fmt: skip
    return found


def gone(camera: CameraId, key: str) -> Area:
    """Return the area of an incident whose camera or zone is in the configuration no more."""
    return Area(key, key or camera, False, None, False, "", 60.0, 8, None)


def unmasked(boxes: Iterable[Box], camera: CameraSettings) -> tuple[Box, ...]:
    """Return the boxes whose middle lies in no mask."""
    masks = tuple(camera.masks.values())
    return tuple(box for box in boxes if not any(inside(centre(box), mask) for mask in masks))


def area_of(box: Box, places: dict[str, Area]) -> str | None:
    """Return the key of the area a thing stands in, by its foot point: the first zone that holds it, else the rest."""
    for place in places.values():
        if place.polygon is not None and inside(foot(box), place.polygon):
            return place.key
    return OUTSIDE if OUTSIDE in places else None
