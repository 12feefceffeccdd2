"""The table of encoder back ends: what each needs, and whether it can be used on this machine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from models.encoders import OURS, PictureFormat, artefact, onnxfile
from models.foreign import catch_library_errors
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from models.encoders import Encoder
    from models.encoders.onnxfile import OnnxGraph
    from pipeline.core.settings import EncodeSettings

Engine = Literal["cpu", "plugin_ep", "mnn", "rknn"]


class Backend(NamedTuple):
    """A row of the table.

    Attributes:
        engine: The kind of encoder class that runs it.
        module: Import name of the runtime.
        package: Package name of the runtime.
        extra: The extra of this project that installs it; empty: none.
        options: Default options of the provider.
        what: The hardware.
    """

    engine: Engine
    module: str
    package: str
    extra: str
    options: dict[str, str]
    what: str


# fmt: off
BACKENDS: dict[str, Backend] = {
    "cpu":       Backend("cpu",       "onnxruntime",             "onnxruntime",             "",         {},                      "the processor: the baseline"),
    "qnn":       Backend("plugin_ep", "onnxruntime_qnn",         "onnxruntime-qnn",         "qnn",      {"backend_type": "htp"}, "Qualcomm's Hexagon; on x86-64 its emulator"),
    "openvino":  Backend("plugin_ep", "onnxruntime_ep_openvino", "onnxruntime-ep-openvino", "openvino", {},                      "Intel's processors, GPUs and NPUs"),
    "plugin_ep": Backend("plugin_ep", "",                        "",                        "",         {},                      "any other provider: its module is encode.plugin"),
    "mnn":       Backend("mnn",       "MNN",                     "mnn",                     "",         {"backend": "OPENCL"},   "GPUs, by way of OpenCL or Vulkan"),
    "rknn":      Backend("rknn",      "rknnlite",                "rknn-toolkit-lite2",      "",         {},                      "Rockchip's NPUs"),
}
# fmt: on


class BackendState(NamedTuple):
    """Whether a back end can be used here.

    Attributes:
        name: Name of the back end.
        version: Version of the package; empty if it is not installed.
        usable: Whether it is installed, loads, and offers a device.
        devices: Kind and maker of each device.
        reason: Why it cannot be used, with the remedy; empty if it can.
    """

    name: str
    version: str
    usable: bool
    devices: tuple[str, ...]
    reason: str


def find_backend(name: str, plugin: str = "") -> Backend:
    """Return the row of a back end; for `plugin_ep` with the given module.

    Raises:
        ModelError: There is no such back end, or the module of the plug-in is missing.
    """
    if name not in BACKENDS:
        raise ModelError(f"no encoder back end {name!r}; there are {', '.join(BACKENDS)}")
    found = BACKENDS[name]
    if found.module:
        return found
    if not plugin:
        raise ModelError("back end plugin_ep needs encode.plugin: what the provider's wheel is imported as")
    return found._replace(module=plugin, package=plugin)


def configured_backend(settings: EncodeSettings) -> Backend:
    """Return the configured row, with the configured options. Raises ModelError, see `find_backend`."""
    found = find_backend(settings.backend, settings.plugin)
    return found._replace(options={**found.options, **settings.options})


def file_to_open(settings: EncodeSettings, model: Path, reading: PictureFormat = OURS) -> Path:
    """Return the file to open: the configured artefact, else the model itself.

    Raises:
        ModelError: It is missing, damaged, or made from another model; see `artefact.find_file`.
    """
    return artefact.find_file(settings, model, reading) if settings.artefact else model


def open_encoder(found: Backend, model: Path, made: Path, graph: OnnxGraph) -> Any:
    """Open an encoder without a proof of where it runs; only for the gate and the report.

    Args:
        found: The back end.
        model: The ONNX file.
        made: The artefact for this back end; else the model itself.
        graph: The model's graph.

    Returns:
        An `Encoder` that is also `Answers`.

    Raises:
        ModelError: The back end cannot be used, or does not take the model.
    """
    if found.engine == "cpu":
        return open_baseline(model)
    if found.engine == "plugin_ep":
        from models.encoders.plugin_ep import PluginEncoder  # noqa: PLC0415  # native code that only some boards need

        rim = graph.rim if made == model else onnxfile.read(made).rim
        return PluginEncoder(found.module, made, found.options, rim)
    if found.engine == "mnn":
        from models.encoders.mnn import MnnEncoder  # noqa: PLC0415  # the same

        return MnnEncoder(made, found.options)
    from models.encoders.rknn import RknnEncoder  # noqa: PLC0415  # the same

    shape = [size for size in graph.inputs[0].shape if isinstance(size, int)]
    return RknnEncoder(made, shape, [value.name for value in graph.outputs])


def open_baseline(model: Path) -> Encoder:
    """Open the encoder on the CPU, which needs no proof.

    Raises:
        ModelError: The model cannot be read.
    """
    from models.encoders.cpu import CpuEncoder  # noqa: PLC0415  # native code, not needed to read the table

    with catch_library_errors(f"onnxruntime cannot open {model}"):
        return CpuEncoder(model)


def survey() -> list[BackendState]:
    """Examine all rows of the table. It loads native code, so it must run in a child process."""
    return [_examine(name, found) for name, found in BACKENDS.items() if found.module]


def _examine(name: str, found: Backend) -> BackendState:
    try:
        version = importlib.metadata.version(found.package)
    except importlib.metadata.PackageNotFoundError:
        remedy = (
            f"pip install 'fieldwatch[{found.extra}]'" if found.extra else f"install {found.package} for this board"
        )
        return BackendState(name, "", usable=False, devices=(), reason=f"not installed: {remedy}")
    try:
        devices, reason = _list_devices(found)
    except ModelError as error:
        devices, reason = (), str(error)
    return BackendState(name, version, usable=not reason, devices=devices, reason=reason)


def _list_devices(found: Backend) -> tuple[tuple[str, ...], str]:
    """Return the devices, and the reason if there are none."""
    if found.engine == "plugin_ep":
        from models.encoders.plugin_ep import load_provider  # noqa: PLC0415  # as above

        offer = load_provider(found.module)
        names = tuple(f"{device.kind} ({device.vendor})" for device in offer.devices)
        return names, "" if names else f"{offer.name} offers no device on this machine"
    if found.engine == "cpu":
        return ("CPU",), ""
    if importlib.util.find_spec(found.module) is None:
        return (), f"{found.package} is installed but not as {found.module}"
    return (), ""  # MNN and RKNN report devices only for a model
