"""Select the notes for a place by the names of the site: a permission for one named place is none for another.

Similar words match the same zone ("dock" and "loading bay" are one kind of place). But a name that the site itself
gives to another zone or camera has priority over similarity.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.core.facts import Facts
    from pipeline.core.note.notebook import Entry
    from pipeline.core.note.notes import Reading
    from pipeline.core.settings import CameraSettings, Settings


class _Area(NamedTuple):
    camera: str
    zone: str  # its name in facts
    names: frozenset[str]  # its names and those of its camera, in lower case


class Places:
    """The names of a site's cameras and zones."""

    def __init__(self, settings: Settings) -> None:
        self._areas = [area for name, row in settings.cameras.items() for area in _make_areas(name, row)]
        names = sorted({name for area in self._areas for name in area.names}, key=lambda name: (-len(name), name))
        self._names = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names) or r"(?!)")

    def select(self, entries: Iterable[Entry], facts: Facts) -> tuple[Entry, ...]:
        """Return the notes that apply to an incident: all but permissions for other named places."""
        return tuple(one for one in entries if not self.is_elsewhere(one.readings, facts.camera, facts.zone))

    def is_elsewhere(self, readings: Iterable[Reading], camera: str, zone: str) -> bool:
        """Tell whether a note permits something only at other named places of this site.

        Args:
            readings: The readings of the note.
            camera: The camera of the incident.
            zone: The zone of the incident, as named in its facts.
        """
        allowing = [reading for reading in readings if reading.effect == "allowed"]
        own = frozenset[str]().union(*(one.names for one in self._areas if (one.camera, one.zone) == (camera, zone)))
        return bool(allowing and own) and all(self._names_others(reading.where, own) for reading in allowing)

    def _names_others(self, where: Iterable[str], own: frozenset[str]) -> bool:
        named = {name for text in where for name in self._names.findall(text.casefold())}
        return bool(named) and not named & own


def _make_areas(camera: str, row: CameraSettings) -> Iterable[_Area]:
    whole = frozenset(name.casefold() for name in (camera, row.place) if name)
    yield _Area(camera, row.place or camera, whole)
    for key, zone in row.zones.items():
        yield _Area(camera, zone.name or key, whole | {name.casefold() for name in (key, zone.name) if name})
