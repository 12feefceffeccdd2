"""Encoders on any onnxruntime plug-in execution provider: one class, whatever wheel brings the provider.

Devices are given to a session, never names of providers: a session that is asked for a name it does not know, or whose
provider fails, runs on the CPU and says so in a warning at best.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

import onnxruntime as ort

from models.encoders.bound import FAULTS, BoundEncoder, make_options, open_session
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ERRORS = 3


class ProviderDevice(NamedTuple):
    """A device that a provider offers: its kind (CPU, GPU, NPU), who made it, and the runtime's own object."""

    kind: str
    vendor: str
    handle: Any


class Provider(NamedTuple):
    """A provider whose library is loaded, with the devices it offers here; there may be none."""

    name: str
    devices: tuple[ProviderDevice, ...]

    @property
    def best(self) -> ProviderDevice | None:
        """An NPU before a GPU before anything else."""
        order = {"NPU": 0, "GPU": 1}
        return min(self.devices, key=lambda device: order.get(device.kind, 2), default=None)


def load_provider(module: str) -> Provider:
    """Load a wheel's library into onnxruntime and ask what devices it offers.

    Args:
        module: What the wheel is imported as; it has `get_library_path()` and `get_ep_name()`, as all of them have.

    Raises:
        ModelError: The wheel is not installed, or its library cannot be loaded.
    """
    try:
        wheel = importlib.import_module(module)
    except ImportError as error:
        raise ModelError(f"package {module} is not installed: {error}") from error
    name = str(wheel.get_ep_name())
    if name not in {device.ep_name for device in ort.get_ep_devices()}:
        try:
            ort.register_execution_provider_library(name, str(wheel.get_library_path()))
        except FAULTS as error:
            if "already registered" not in str(error):  # by an earlier call, with no device on offer
                raise ModelError(f"the library of {module} cannot be loaded: {error}") from error
    found = (one for one in ort.get_ep_devices() if one.ep_name == name)
    return Provider(name, tuple(ProviderDevice(one.device.type.name, one.device.vendor, one) for one in found))


def open_plugin_session(
    chosen: Provider, model: Path | bytes, settings: Mapping[str, str], profile: Path | None = None
) -> Any:
    """An `InferenceSession` that was given one of the provider's devices.

    Args:
        chosen: The provider.
        model: An ONNX file, or its bytes.
        settings: The provider's own options, such as `soc_model`.
        profile: See `make_options`.

    Raises:
        ModelError: The provider offers no device here, or does not take the model.
    """
    if chosen.best is None:
        raise ModelError(f"{chosen.name} offers no device on this machine: it supports another maker's processors")
    made = make_options(profile)
    made.log_severity_level = _ERRORS  # what is left out is in the record, which is asked for
    try:
        made.add_provider_for_devices([chosen.best.handle], dict(settings))
        return open_session(model, made)
    except FAULTS as error:
        raise ModelError(f"{chosen.name} does not take the model: {error}") from error


class PluginEncoder(BoundEncoder):
    """A model on a plug-in execution provider; `placement()` says how much of it.

    Args:
        module: See `load_provider`.
        model: An ONNX file, or its bytes.
        settings: The provider's own options.
        rim: See `Placement`.

    Raises:
        ModelError: As `load_provider` and `open_plugin_session`.
    """

    def __init__(
        self, module: str, model: Path | bytes, settings: Mapping[str, str], rim: frozenset[str] = frozenset()
    ) -> None:
        chosen = load_provider(module)
        super().__init__(open_plugin_session(chosen, model, settings), chosen.name, rim)
