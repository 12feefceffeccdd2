"""Encoder back ends and what they make of a model, as people and programs read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from models import catalog
from models.encoders import OURS, Reading, backends, gate, offload
from pipeline.core.errors import ModelError
from pipeline.core.printing import printable
from pipeline.runtime.apart import apart
from pipeline.view.output import console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.settings import EncodeSettings


def show_backends(*, as_json: bool) -> None:
    """Print every back end: what is installed, what can be used, and why not. The libraries are loaded in a child."""

    def work() -> Iterator[list[backends.State]]:
        yield backends.survey()

    (states,) = apart("the back ends", work, list[backends.State], quiet=True)
    if as_json:
        _json([{**state._asdict(), "what": backends.BACKENDS[state.name].what} for state in states])
        return
    table = Table("back end", "hardware", "installed", "usable", "devices or reason")
    for state in states:
        why = state.reason or ", ".join(state.devices) or "known once a model is opened"
        yes = "yes" if state.usable else "no"
        table.add_row(state.name, backends.BACKENDS[state.name].what, state.version or "-", yes, printable(why))
    console().print(table)


def unopened(settings: EncodeSettings) -> tuple[str, str] | None:
    """What of the operator's own files cannot be opened, see `gate.unopened`; tried in a child, as it may end that."""
    if not (settings.own or (settings.artefact and settings.backend == "mnn")):
        return None
    model = Path(settings.model) if settings.own else catalog.verified(settings.model)
    reading = Reading.of(settings) if settings.own else OURS

    def work() -> Iterator[tuple[str, str]]:
        if found := gate.unopened(model, settings, reading):
            yield found

    named = "encode.artefact" if settings.artefact and settings.backend == "mnn" else "encode.model"
    try:
        return next(apart("the encoder", work, tuple[str, str], quiet=True), None)
    except ModelError as error:
        return named, f"it is damaged, or native code is: {error}"


def offloaded(model: str, settings: EncodeSettings, *, as_json: bool) -> bool:
    """Print what an accelerator makes of a model, a file or a name of the catalogue. Returns whether it passes."""
    path = Path(model) if Path(model).exists() else catalog.verified(model)

    def work() -> Iterator[offload.Report]:
        yield offload.report(path, model, settings)

    (found,) = apart(f"{model} on {settings.backend}", work, offload.Report, quiet=True)
    if as_json:
        _json(found)
    else:
        _print(found)
    return found.accepted


def _print(found: offload.Report) -> None:
    similar = "" if found.cosine is None else f", cosine {found.cosine:.5f} with the CPU's answers"
    say(f"{printable(found.model)} on {found.backend}: {found.verdict or 'not opened'}{similar}\n")
    screen = console()
    if found.shares:
        table = Table("provider", "nodes", "pieces", "ms a run")
        for share in found.shares:
            took = "-" if share.run_ms is None else f"{share.run_ms:.2f}"
            table.add_row(share.provider, str(share.nodes), str(share.parts), took)
        screen.print(table)
    if found.left:
        table = Table("stays on the CPU", "count", "nodes", "what to change")
        for left in found.left:
            table.add_row(left.op, str(left.count), printable(", ".join(left.names[:4])), left.change)
        screen.print(table)
    if found.casts:
        say(f"In order on the CPU, at the graph's rim: {printable(', '.join(found.casts))}\n")
    if found.first_wrong:
        say(f"First wrong node: {printable(found.first_wrong)}, cosine {found.first_wrong_cosine}\n")
    for reason in found.reasons:
        say(f"- {printable(reason)}\n")
    say(f"The daemon would use: {found.runs_on}\n")


def _json(content: object) -> None:
    say_json(content)
