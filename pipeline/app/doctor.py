"""Examine this device: what helps the daemon, and what hinders it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from models import catalog
from models.encoders import OURS, PictureFormat, gate
from models.store import Store
from pipeline.core.device import diagnosis
from pipeline.core.device.diagnosis import Finding
from pipeline.core.errors import ConfigError, ModelError
from pipeline.runtime import cores, examining, folders
from pipeline.runtime.apart import apart
from pipeline.runtime.cores import HERE
from pipeline.runtime.examining import ExaminedDevice, ExaminedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from models.store import Installed
    from pipeline.app.site import Site
    from pipeline.core.settings import EncodeSettings

_TRACE_S = 10.0  # the same as in the stage
_SILENT = "none"  # the setting for no model


class Diagnosis(NamedTuple):
    """The examined device and all findings."""

    device: ExaminedDevice
    findings: tuple[Finding, ...]

    @property
    def troubles(self) -> int:
        """Number of findings that are troubles."""
        return diagnosis.troubles(self.findings)


def examine(site: Site, sysfs: Path | None) -> Diagnosis:
    """Examine everything that helps or hinders the daemon of a site; takes some seconds, changes nothing.

    Args:
        site: The configuration and the state folder.
        sysfs: A folder to read instead of /sys and its control groups; None: the device's own.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    settings = site.settings
    state = folders.state_dir(settings.runtime.state_dir)
    encoder = _check_encoder(settings.encode)  # in a child by fork, before anything here has threads
    voice, model = _check_language_model(settings.describe.model, state)
    roots = HERE if sysfs is None else HERE._replace(sys=sysfs, groups=sysfs / "fs/cgroup")
    machine = examining.machine(roots)
    device = ExaminedDevice(roots, machine, cores.planned(settings, machine), settings, state, model)
    exposed = site.find_exposure()
    shown = [Finding("note", "configuration", *exposed)] if exposed else []
    return Diagnosis(device, (*shown, *examining.findings(device), encoder, voice))


class _EncoderVerdict(msgspec.Struct, frozen=True):
    placement: str
    runs_on: str
    reasons: tuple[str, ...]


def _check_encoder(settings: EncodeSettings) -> Finding:
    """Run the gate on the configured encoder; in a child process, as native code may print or crash."""

    def work() -> Iterator[_EncoderVerdict]:
        model, reading = _encoder_file(settings)
        policy = gate.Policy.of(settings)
        _, found = gate.examine(model, settings, _TRACE_S, reading)
        placement = found.placement.verdict if found.placement else ""
        yield _EncoderVerdict(placement, gate.choose(found, policy), gate.find_problems(found, policy))

    try:
        (found,) = apart(f"the encoder on {settings.backend}", work, _EncoderVerdict)
    except ModelError as error:
        return diagnosis.encoder(settings.backend, "", "nothing", [str(error)])
    return diagnosis.encoder(settings.backend, found.placement, found.runs_on, found.reasons)


def _encoder_file(settings: EncodeSettings) -> tuple[Path, PictureFormat]:
    if not settings.own:
        return catalog.verified_path(settings.model), OURS
    file = Path(settings.model)
    catalog.hash_own_file(file, settings.sha256)
    return file, PictureFormat(settings.layout, settings.mean, settings.deviation)


def _check_language_model(name: str, state: Path) -> tuple[Finding, ExaminedModel]:
    """Check the language model that the daemon would use."""
    if name == _SILENT:
        return Finding("ok", "language model in use", "none, as configured: templates speak"), ExaminedModel()
    try:
        chosen = Store(state).choose(name)
    except ConfigError as error:
        return Finding("trouble", "language model in use", str(error), "`pipeline models list`"), ExaminedModel()
    if chosen is None:
        remedy = "`pipeline models pull smollm2-135m`, then `pipeline models use` it"
        return Finding("note", "language model in use", "none: templates speak", remedy), ExaminedModel()
    return _check_installed(chosen)


def _check_installed(chosen: Installed) -> tuple[Finding, ExaminedModel]:
    manifest, title = chosen.manifest, f"{chosen.name}/{chosen.version}"
    if manifest is None:
        remedy = "pull or convert it again"
        return Finding("trouble", "language model in use", f"{title} is damaged", remedy), ExaminedModel()
    found = Finding("ok", "language model in use", f"{title}, {manifest.size / 1e6:.0f} MB")
    return found, ExaminedModel(manifest.size / 1e6, manifest.weights.bytes / 1e6)
