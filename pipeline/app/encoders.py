"""Survey encoder back ends and examine models on them; native code runs in a child process."""

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
"""How an accelerator runs a model."""


class BackEnd(NamedTuple):
    """A back end, and whether it can be used here; see `models.encoders.backends.BackendState`."""

    name: str
    version: str
    usable: bool
    devices: tuple[str, ...]
    reason: str
    what: str


def list_back_ends() -> list[BackEnd]:
    """List the back ends: whether each is installed and usable, and why not; libraries are loaded in a child process.

    Raises:
        ModelError: The child process ended.
    """

    def work() -> Iterator[list[BackendState]]:
        yield survey()

    (states,) = apart("the back ends", work, list[BackendState], quiet=True)
    return [BackEnd(*state, what=BACKENDS[state.name].what) for state in states]


def find_broken_file(settings: EncodeSettings) -> tuple[str, str] | None:
    """Find a file of the operator that cannot be opened; see `gate.find_broken_file`, which runs in a child process."""
    if not (settings.own or (settings.artefact and settings.backend == "mnn")):
        return None
    model = Path(settings.model) if settings.own else catalog.verified_path(settings.model)
    reading = PictureFormat.of(settings) if settings.own else OURS

    def work() -> Iterator[tuple[str, str]]:
        if found := gate.find_broken_file(model, settings, reading):
            yield found

    named = "encode.artefact" if settings.artefact and settings.backend == "mnn" else "encode.model"
    try:
        return next(apart("the encoder", work, tuple[str, str], quiet=True), None)
    except ModelError as error:
        return named, f"it is damaged, or native code is: {error}"


def report_offload(site: Site, model: str, backend: str, options: dict[str, str]) -> Report:
    """Examine how an accelerator runs a model.

    Args:
        site: The site whose encoder settings are used.
        model: A file, or a name of the catalogue.
        backend: Name of the back end; empty: the configured one.
        options: Options of the back end, in addition to the configured ones.

    Raises:
        ConfigError: There is no such back end, or it has no such options.
        ModelError: There is no such model, it cannot be read, or the child process ended.
    """
    settings = _override_settings(site.settings.encode, backend, options)
    path = Path(model) if Path(model).exists() else catalog.verified_path(model)

    def work() -> Iterator[Report]:
        yield offload.make_report(path, model, settings)

    (found,) = apart(f"{model} on {settings.backend}", work, Report, quiet=True)
    return found


def _override_settings(configured: EncodeSettings, backend: str, options: dict[str, str]) -> EncodeSettings:
    changed = {"backend": backend or configured.backend, "options": {**configured.options, **options}}
    try:
        return msgspec.convert({**msgspec.to_builtins(configured), **changed}, EncodeSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{backend}: {error}; `pipeline models backends` lists the back ends") from error
