"""Show a checked configuration and its consequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from pipeline.core.printing import counted, make_printable
from pipeline.core.verdict import outcomes
from pipeline.view.output import complain, console, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.app.check import CheckedConfiguration
    from pipeline.core.incident.areas import Area
    from pipeline.core.settings import Settings
    from pipeline.core.verdict.outcomes import Outcome


def show(checked: CheckedConfiguration, *, as_json: bool) -> None:
    """Print the settings of a configuration, its areas, and the verdicts of its rules."""
    if as_json:
        settings, found = msgspec.to_builtins(checked.settings), msgspec.to_builtins(checked.outcomes)
        say_json(settings | {"outcomes": found})
        for warning in checked.of_file:
            complain(f"warning: {warning}")
        return
    screen = console()
    screen.print(_areas_table(checked))
    if checked.outcomes:
        screen.print(_outcomes_table(checked.outcomes))
        for line in _quiet_lines(checked):
            screen.print(line)
    rows = checked.settings.trigger
    screen.print(
        f"An incident ends after {rows.gap_s:g} s without movement, or after {rows.max_s:g} s; a camera counts as "
        f"lost after {rows.lost_after_s:g} s without a picture. {checked.settings.capture.frames_per_s:g} pictures a "
        "second are looked at."
    )
    for warning in (*checked.of_file, *checked.of_settings):
        screen.print(f"warning: {warning}", soft_wrap=True)
    cameras = counted(len(checked.settings.cameras), "camera")
    screen.print(f"{checked.path}: valid, {cameras}, configuration {checked.digest}")


def _areas_table(checked: CheckedConfiguration) -> Table:
    title = str(checked.path)
    table = Table("camera", "source", "zone", "when somebody is there", title=title, title_justify="left")
    for name, area in checked.areas:
        zone = make_printable(area.name) if area.zone else "(elsewhere)"
        source = checked.settings.cameras[name].source
        table.add_row(name, make_printable(source), zone, _area_effect(area, checked.settings))
    return table


def _outcomes_table(found: list[Outcome]) -> Table:
    """Make a table of verdicts: a row for each area and time, a column for each kind."""
    kinds = [kind for kind, *_ in outcomes.KINDS]
    table = Table("camera", "zone", "time", *kinds, title="What it comes to, without notes", title_justify="left")
    for camera, place, zone, time in dict.fromkeys((one.camera, one.place, one.zone, one.time) for one in found):
        cells = {
            one.kind: _steps_phrase(one) for one in found if (one.camera, one.place, one.time) == (camera, place, time)
        }
        table.add_row(camera, make_printable(place) if zone else "(elsewhere)", time, *(cells[kind] for kind in kinds))
    return table


def _steps_phrase(one: Outcome) -> str:
    """Describe actions by length of stay: `log, from 60 s notify`."""
    said: list[tuple[int, str]] = []
    for step in one.steps:
        if not said or said[-1][1] != step.action:
            said.append((step.from_s, step.action))
    return ", ".join(f"from {from_s} s {action}" if from_s else action for from_s, action in said)


def _quiet_lines(checked: CheckedConfiguration) -> Iterator[str]:
    loud = " or ".join(checked.loud)
    for camera, place, zone, kinds in checked.silent:
        where = f"{camera}, {make_printable(place)}" if zone else f"{camera}, elsewhere"
        if kinds:
            yield f"{where}: never {loud}, unless a note says so: {', '.join(kinds)}"


def _area_effect(area: Area, settings: Settings) -> str:
    rows = settings.priority
    level = area.priority or (rows.restricted if area.restricted else rows.person)
    parts = [f"a person is an incident of priority {level}", f"staying {area.loiter_s:g} s is loitering"]
    parts += ["nobody may be here"] if area.restricted else []
    parts += [f"outside {area.open_hours} is after hours"] if area.open_hours else []
    return "; ".join(parts)
