"""What of this device helps the daemon, and what is in its way."""

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

_TRACE_S = 10.0  # as the stage does
_SILENT = "none"  # what the configuration calls no model


class Diagnosis(NamedTuple):
    """All that was found, and what it means for the stages."""

    device: ExaminedDevice
    findings: tuple[Finding, ...]

    @property
    def troubles(self) -> int:
        """How many there are."""
        return diagnosis.troubles(self.findings)


def examine(site: Site, sysfs: Path | None) -> Diagnosis:
    """Look at everything that helps the daemon of a site, or is in its way; takes some seconds, changes nothing.

    Args:
        site: The configuration and the state folder.
        sysfs: A made tree instead of /sys and its control groups; None: the device's own.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    settings = site.settings
    state = folders.state_dir(settings.runtime.state_dir)
    encoder = _encoder(settings.encode)  # in a child by fork, before anything here has threads
    voice, model = _voice(settings.describe.model, state)
    roots = HERE if sysfs is None else HERE._replace(sys=sysfs, groups=sysfs / "fs/cgroup")
    machine = examining.machine(roots)
    device = ExaminedDevice(roots, machine, cores.planned(settings, machine), settings, state, model)
    told = site.exposed()
    shown = [Finding("note", "configuration", *told)] if told else []
    return Diagnosis(device, (*shown, *examining.findings(device), encoder, voice))


class _Verdict(msgspec.Struct, frozen=True):
    placement: str
    runs_on: str
    reasons: tuple[str, ...]


def _encoder(settings: EncodeSettings) -> Finding:
    """What the gate says of the configured encoder; native code is opened in a child, as it may write or die."""

    def work() -> Iterator[_Verdict]:
        model, reading = _file(settings)
        policy = gate.Policy.of(settings)
        _, found = gate.examined(model, settings, _TRACE_S, reading)
        placement = found.placement.verdict if found.placement else ""
        yield _Verdict(placement, gate.choice(found, policy), gate.problems(found, policy))

    try:
        (found,) = apart(f"the encoder on {settings.backend}", work, _Verdict)
    except ModelError as error:
        return diagnosis.encoder(settings.backend, "", "nothing", [str(error)])
    return diagnosis.encoder(settings.backend, found.placement, found.runs_on, found.reasons)


def _file(settings: EncodeSettings) -> tuple[Path, PictureFormat]:
    if not settings.own:
        return catalog.verified(settings.model), OURS
    file = Path(settings.model)
    catalog.own(file, settings.sha256)
    return file, PictureFormat(settings.layout, settings.mean, settings.deviation)


def _voice(name: str, state: Path) -> tuple[Finding, ExaminedModel]:
    """The language model that the daemon would use."""
    if name == _SILENT:
        return Finding("ok", "language model in use", "none, as configured: templates speak"), ExaminedModel()
    try:
        chosen = Store(state).chosen(name)
    except ConfigError as error:
        return Finding("trouble", "language model in use", str(error), "`pipeline models list`"), ExaminedModel()
    if chosen is None:
        remedy = "`pipeline models pull smollm2-135m`, then `pipeline models use` it"
        return Finding("note", "language model in use", "none: templates speak", remedy), ExaminedModel()
    return _installed(chosen)


def _installed(chosen: Installed) -> tuple[Finding, ExaminedModel]:
    manifest, title = chosen.manifest, f"{chosen.name}/{chosen.version}"
    if manifest is None:
        remedy = "pull or convert it again"
        return Finding("trouble", "language model in use", f"{title} is damaged", remedy), ExaminedModel()
    found = Finding("ok", "language model in use", f"{title}, {manifest.size / 1e6:.0f} MB")
    return found, ExaminedModel(manifest.size / 1e6, manifest.weights.bytes / 1e6)
