"""Encoder back ends, and what they make of a model; native code is run in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from models import catalog
from models.encoders import OURS, PictureFormat, gate, offload
from models.encoders.backends import BACKENDS, BackendState, survey
from pipeline.core.errors import ConfigError, ModelError
from pipeline.core.settings import EncodeSettings
from pipeline.runtime.apart import apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.app.site import Site


Report: TypeAlias = offload.OffloadReport
"""What an accelerator makes of a model."""


class BackEnd(NamedTuple):
    """A back end, and whether it can be used here; see `models.encoders.backends.State`."""

    name: str
    version: str
    usable: bool
    devices: tuple[str, ...]
    reason: str
    what: str


def back_ends() -> list[BackEnd]:
    """Find out which back ends are installed, which can be used, and why not; their libraries are loaded in a child.

    Raises:
        ModelError: The child ended.
    """

    def work() -> Iterator[list[BackendState]]:
        yield survey()

    (states,) = apart("the back ends", work, list[BackendState], quiet=True)
    return [BackEnd(*state, what=BACKENDS[state.name].what) for state in states]


def unopened(settings: EncodeSettings) -> tuple[str, str] | None:
    """What of the operator's own files cannot be opened, see `gate.unopened`; tried in a child, as it may end that."""
    if not (settings.own or (settings.artefact and settings.backend == "mnn")):
        return None
    model = Path(settings.model) if settings.own else catalog.verified(settings.model)
    reading = PictureFormat.of(settings) if settings.own else OURS

    def work() -> Iterator[tuple[str, str]]:
        if found := gate.unopened(model, settings, reading):
            yield found

    named = "encode.artefact" if settings.artefact and settings.backend == "mnn" else "encode.model"
    try:
        return next(apart("the encoder", work, tuple[str, str], quiet=True), None)
    except ModelError as error:
        return named, f"it is damaged, or native code is: {error}"


def offloaded(site: Site, model: str, backend: str, options: dict[str, str]) -> Report:
    """Find out what an accelerator makes of a model.

    Args:
        site: Whose settings of the encoder.
        model: A file, or a name of the catalogue.
        backend: Which back end; empty: as configured.
        options: The back end's own, beside the configured ones.

    Raises:
        ConfigError: There is no such back end, or it has no such options.
        ModelError: There is no such model, it cannot be read, or the process of the back end ended.
    """
    settings = _changed(site.settings.encode, backend, options)
    path = Path(model) if Path(model).exists() else catalog.verified(model)

    def work() -> Iterator[Report]:
        yield offload.report(path, model, settings)

    (found,) = apart(f"{model} on {settings.backend}", work, Report, quiet=True)
    return found


def _changed(configured: EncodeSettings, backend: str, options: dict[str, str]) -> EncodeSettings:
    changed = {"backend": backend or configured.backend, "options": {**configured.options, **options}}
    try:
        return msgspec.convert({**msgspec.to_builtins(configured), **changed}, EncodeSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{backend}: {error}; `pipeline models backends` lists the back ends") from error
