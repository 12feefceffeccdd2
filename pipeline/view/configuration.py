"""A checked configuration, with an example of what its settings do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from pipeline.core import secrets
from pipeline.core.incident import areas
from pipeline.core.printing import counted, printable
from pipeline.core.secrets import redacted
from pipeline.core.settings import retired
from pipeline.core.verdict import outcomes
from pipeline.view.output import complain, console, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.core.settings import CameraSettings, Settings
    from pipeline.core.verdict.outcomes import Outcome
    from pipeline.core.verdict.rulebook import Rulebook


def show(path: Path, settings: Settings, book: Rulebook, *, as_json: bool) -> None:
    """Print what a configuration means, without addresses' passwords, and what its rules make of who comes."""
    found = list(outcomes.outcomes(settings, book))
    if as_json:
        say_json(msgspec.to_builtins(_without_passwords(settings)) | {"outcomes": msgspec.to_builtins(found)})
        for told in (*filter(None, (secrets.exposed(path, settings.sources),)), *retired(path)):
            complain(f"warning: {told}")
        return
    screen = console()
    table = Table("camera", "source", "zone", "when somebody is there", title=str(path), title_justify="left")
    for name, camera in settings.cameras.items():
        for area in areas.areas(settings, name).values():
            zone = printable(area.name) if area.zone else "(elsewhere)"
            table.add_row(name, printable(_source(camera)), zone, _effect(area, settings))
    screen.print(table)
    if found:
        screen.print(_outcomes(found))
        for line in _silent(found, book):
            screen.print(line)
    rows = settings.trigger
    screen.print(
        f"An incident ends after {rows.gap_s:g} s without movement, or after {rows.max_s:g} s; a camera counts as "
        f"lost after {rows.lost_after_s:g} s without a picture. {settings.capture.frames_per_s:g} pictures a second "
        "are looked at."
    )
    for warning in _warnings(path, settings):
        screen.print(f"warning: {warning}", soft_wrap=True)
    screen.print(f"{path}: valid, {counted(len(settings.cameras), 'camera')}, configuration {settings.digest()}")


def _outcomes(found: list[Outcome]) -> Table:
    """A row an area and time, a column a kind."""
    kinds = [kind for kind, *_ in outcomes.KINDS]
    table = Table("camera", "zone", "time", *kinds, title="What it comes to, without notes", title_justify="left")
    for camera, place, zone, time in dict.fromkeys((one.camera, one.place, one.zone, one.time) for one in found):
        cells = {one.kind: _steps(one) for one in found if (one.camera, one.place, one.time) == (camera, place, time)}
        table.add_row(camera, printable(place) if zone else "(elsewhere)", time, *(cells[kind] for kind in kinds))
    return table


def _steps(one: Outcome) -> str:
    """`log, from 60 s notify`: an action is named where it changes."""
    said: list[tuple[int, str]] = []
    for step in one.steps:
        if not said or said[-1][1] != step.action:
            said.append((step.from_s, step.action))
    return ", ".join(f"from {from_s} s {action}" if from_s else action for from_s, action in said)


def _silent(found: list[Outcome], book: Rulebook) -> Iterator[str]:
    zones = {(one.camera, one.place): one.zone for one in found}
    loud = " or ".join(action for action in book.words.action if book.loud(action))
    for (camera, place), kinds in outcomes.silent(found).items():
        where = f"{camera}, {printable(place)}" if zones[camera, place] else f"{camera}, elsewhere"
        if kinds:
            yield f"{where}: never {loud}, unless a note says so: {', '.join(kinds)}"


def _warnings(path: Path, settings: Settings) -> Iterator[str]:
    """What is allowed, but hardly meant."""
    if told := secrets.exposed(path, settings.sources):
        yield str(told)
    yield from retired(path)
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
