"""A checked configuration, with an example of what its settings do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from pipeline.core import areas, secrets
from pipeline.core.printing import printable
from pipeline.core.redaction import redacted
from pipeline.view.output import complain, console, counted, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.core.settings import CameraSettings, Settings


def show(path: Path, settings: Settings, *, as_json: bool) -> None:
    """Print what a configuration means, without addresses' passwords."""
    if as_json:
        say_json(_without_passwords(settings))
        if told := secrets.exposed(path, settings):
            complain(f"warning: {told}")
        return
    screen = console()
    table = Table("camera", "source", "zone", "when somebody is there", title=str(path), title_justify="left")
    for name, camera in settings.cameras.items():
        for area in areas.areas(settings, name).values():
            zone = printable(area.name) if area.zone else "(elsewhere)"
            table.add_row(name, printable(_source(camera)), zone, _effect(area, settings))
    screen.print(table)
    rows = settings.trigger
    screen.print(
        f"An incident ends after {rows.gap_s:g} s without movement, or after {rows.max_s:g} s; a camera counts as "
        f"lost after {rows.lost_after_s:g} s without a picture. {settings.capture.frames_per_s:g} pictures a second "
        "are looked at."
    )
    for warning in _warnings(path, settings):
        screen.print(f"warning: {warning}", soft_wrap=True)
    screen.print(f"{path}: valid, {counted(len(settings.cameras), 'camera')}, configuration {settings.digest()}")


def _warnings(path: Path, settings: Settings) -> Iterator[str]:
    """What is allowed, but hardly meant."""
    if told := secrets.exposed(path, settings):
        yield str(told)
    if not settings.cameras:
        yield "no cameras: nothing to run"
    if settings.encode.artefact and settings.encode.backend == "cpu":
        yield "encode.artefact is not used: encode.backend is cpu, which runs the model itself"
    for name, camera in settings.cameras.items():
        named = ":" not in camera.source
        if named and not os.path.exists(camera.source):  # noqa: PTH110  # raises nothing, however long the name
            yield f"cameras.{name}.source: {_source(camera)}: no such file or device"


def _effect(area: areas.Area, settings: Settings) -> str:
    rows = settings.priority
    level = area.priority or (rows.restricted if area.restricted else rows.person)
    parts = [f"a person is an incident of priority {level}", f"staying {area.loiter_s:g} s is loitering"]
    parts += ["nobody may be here"] if area.restricted else []
    parts += [f"outside {area.open_hours} is after hours"] if area.open_hours else []
    return "; ".join(parts)


def _source(camera: CameraSettings) -> str:
    return redacted(camera.source)


def _without_passwords(settings: Settings) -> Settings:
    cameras = {
        name: msgspec.structs.replace(camera, source=_source(camera)) for name, camera in settings.cameras.items()
    }
    return msgspec.structs.replace(settings, cameras=cameras)
