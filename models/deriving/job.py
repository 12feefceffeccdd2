"""Plan a conversion, and refuse everything that can be refused before native code runs."""

from __future__ import annotations

import importlib.util
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from models import catalog
from models.deriving import pictures, targets
from models.encoders import OURS, PictureFormat, artefact, onnxfile
from models.encoders.artefact import SERVES, ArtefactManifest, Calibration, Provenance
from models.encoders.commands import SOC, is_soc, make_command
from models.encoders.remedies import find_remedy
from models.store import name_from_file
from pipeline.core.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from models.deriving.targets import Target
    from models.encoders.onnxfile import OnnxGraph

DRAWN = "probes"
"""The name for drawn pictures instead of a folder; they show no real place, so ranges may be wrong."""

_PROBES = 16  # that are drawn where the operator asks for them
_PICTURE = 4  # axes
_LEAST_DEVIATION, _MOST = 1e-3, 255.0
_PACKAGES = {"onnxruntime_qnn": "onnxruntime-qnn"}


class EncoderJob(NamedTuple):
    """The request for a conversion.

    Attributes:
        model: An ONNX file.
        target: A row of `targets.TARGETS`.
        named: The operator's name of the model: the file, or a name of the catalogue.
        soc: The chip, as `soc_model` of its provider; empty: none.
        calibration: A folder of pictures, `probes`, or empty.
        reading: The picture format of the model.
        eight_bit: Whether to quantise, if the target leaves it open.
        keep: Layers to keep in higher precision: names, or one number of layers that a scan chooses.
        scan: Whether to measure the cost of quantising each layer.
        least: Least cosine with the source's answers after every pass, 0..1.
    """

    model: Path
    target: str
    named: str = ""
    soc: str = ""
    calibration: str = ""
    reading: PictureFormat = OURS
    eight_bit: bool = False
    keep: tuple[str, ...] = ()
    scan: bool = False
    least: float = 0.98

    @property
    def worst(self) -> int:
        """Number of layers that a scan chooses to keep; 0 if layers are named."""
        return int(self.keep[0]) if len(self.keep) == 1 and self.keep[0].isdecimal() else 0


class PlannedEncoder(NamedTuple):
    """A planned job.

    Attributes:
        job: The request.
        graph: The model's graph.
        steps: Names of the passes, in their order.
        pictures: Pictures for ranges, checked even if not needed; empty: they are drawn, or none are given.
        facts: Everything that changes the bytes.
        name: Name of the folder.
        command: The command that repeats it.
    """

    job: EncoderJob
    graph: OnnxGraph
    steps: tuple[str, ...]
    pictures: tuple[Path, ...]
    facts: Provenance
    name: str
    command: str


def plan(job: EncoderJob) -> PlannedEncoder:
    """Check a job and plan its passes.

    Raises:
        ConfigError: Options contradict each other, or one is missing.
        ModelError: The model cannot be converted, a package is missing, or there are no pictures.
    """
    check_name(job.model)
    _check_numbers(job)
    eight_bit = _check_eight_bit(job)
    steps = targets.steps_for(job.target, eight_bit=eight_bit)
    target = targets.TARGETS[job.target]
    _check_used(job, target, eight_bit=eight_bit)
    if target.soc and not job.soc and not _is_scan_only(job):
        raise ConfigError(f"{job.target} compiles for one chip: name it, e.g. --soc 43 for SM8550")
    check_packages(target.packages)
    source = catalog.hash_own_file(job.model, "")
    _check_encoder(job, source)
    graph = onnxfile.read(job.model)
    if graph.dynamic:
        raise ModelError(
            f"{job.model}: dimensions are not fixed ({', '.join(graph.dynamic)}): {find_remedy(job.target, 'dynamic')}"
        )
    if len(graph.inputs) == 1 and len(shape := graph.inputs[0].shape) == _PICTURE:
        _check_layout(job, [size for size in shape if isinstance(size, int)])
    files, calibration = _find_calibration(job, wanted=eight_bit and not graph.quantised)
    packages = sorted({"onnxruntime", *(_PACKAGES.get(name, name) for name in target.packages)})
    facts = Provenance(
        source=source,
        target=job.target,
        soc=job.soc,
        passes=tuple(f"{name}/{targets.PASSES[name].version}" for name in steps),
        layout=job.reading.layout,
        mean=tuple(map(float, job.reading.mean)),
        deviation=tuple(map(float, job.reading.deviation)),
        calibration=calibration,
        keep=job.keep,
        tools={name: artefact.installed_version(name) for name in packages},
    )
    name = artefact.folder_name(name_from_file(Path(job.named or job.model)), facts)
    return PlannedEncoder(job, graph, steps, files, facts, name, repeat_command(job))


def repeat_command(job: EncoderJob) -> str:
    """Return the command that repeats a job."""
    named, eight_bit = job.named or str(job.model), job.eight_bit
    return make_command(named, job.target, job.soc, job.calibration, job.reading, job.keep, eight_bit=eight_bit)


def _check_numbers(job: EncoderJob) -> None:
    """Raise ConfigError for numbers that cannot be right."""
    if job.soc and not is_soc(job.soc):
        raise ConfigError(f"--soc {job.soc}: the chip is {SOC}")
    if job.keep == ("0",):
        raise ConfigError("--keep 0 keeps none: leave it, name layers, or say how many a scan may choose, 1 or more")
    if not all(math.isfinite(value) and 0 <= value <= _MOST for value in job.reading.mean):
        raise ConfigError("--mean is what is taken away from R, G and B: three numbers of 0..255, e.g. 127 127 127")
    if not all(math.isfinite(value) and value >= _LEAST_DEVIATION for value in job.reading.deviation):
        raise ConfigError(
            "--deviation is what R, G and B are divided by: three numbers, 0.001 at least, e.g. 128 128 128"
        )


def _check_used(job: EncoderJob, target: Target, *, eight_bit: bool) -> None:
    """Raise ConfigError for an option that the target does not use."""
    if job.soc and not target.soc:
        raise ConfigError(f"--soc is of qnn, which compiles for one chip: leave it for {job.target}")
    if job.calibration and not eight_bit:
        how = "by its own toolkit: leave it" if target.eight_bit is False else "only with --int8: add that, or leave it"
        raise ConfigError(f"--calibration is for 8 bit, and what is made for {job.target} is quantised {how}")


def check_name(path: Path) -> None:
    """Raise ConfigError for a file name that is not UTF-8, as tools cannot open it."""
    if not str(path).isprintable():
        raise ConfigError(f"{os.fsencode(path)!r}: a name that can be written as text is wanted: rename it")


def _check_encoder(job: EncoderJob, source: str) -> None:
    """Raise ModelError for a bundled model that is no encoder."""
    for row in catalog.CATALOG:
        if row.sha256 == source and row.name not in catalog.ENCODERS:
            raise ModelError(f"{job.model} is {row.name}, no encoder ({row.what}): convert what [encode] model names")


def _check_layout(job: EncoderJob, shape: list[int]) -> None:
    try:
        job.reading.side(shape)
    except ModelError as error:
        raise ModelError(f"{job.model}: {error}") from error


def _check_eight_bit(job: EncoderJob) -> bool:
    """Tell whether the model will be quantised. Raises ConfigError if the target does not allow the request."""
    if job.target not in targets.TARGETS:
        return False  # `steps` says which there are
    fixed = targets.TARGETS[job.target].eight_bit
    if fixed is False and (job.eight_bit or job.scan or job.keep):
        raise ConfigError(
            f"what is made for {job.target} is quantised by its own toolkit: leave --int8, --scan, --keep"
        )
    found = bool(fixed) or job.eight_bit or job.scan
    if job.keep and not found:
        raise ConfigError("--keep leaves layers in higher precision, but nothing is quantised: add --int8")
    return found


def _is_scan_only(job: EncoderJob) -> bool:
    return job.scan and not job.keep


def check_packages(packages: dict[str, str]) -> None:
    """Raise ModelError if a package is missing; `packages` maps import names to our extras."""
    missing = {name: extra for name, extra in packages.items() if importlib.util.find_spec(name) is None}
    if missing:
        names, extras = ", ".join(missing).replace("_", "-"), ",".join(sorted(set(missing.values())))
        raise ModelError(f"converting needs {names}: pip install 'fieldwatch[{extras}]'")


def _find_calibration(job: EncoderJob, *, wanted: bool) -> tuple[tuple[Path, ...], Calibration | None]:
    if job.calibration and job.calibration != DRAWN:
        folder = Path(job.calibration)
        found = pictures.find_pictures(folder)
        return found, Calibration(folder.name, pictures.hash_pictures(found, folder), len(found)) if wanted else None
    if not wanted:
        return (), None
    if not job.calibration:
        raise ConfigError(
            "quantising measures ranges on pictures: give --calibration FOLDER, a hundred or more of what the cameras "
            f"see (.jpg, .png), or --calibration {DRAWN} for drawn ones, which is for trying out"
        )
    return (), Calibration(DRAWN, "", _PROBES)


def configuration_lines(ready: PlannedEncoder, folder: Path, manifest: ArtefactManifest) -> list[str]:
    """Return the `[encode]` table that uses an artefact, with absolute paths, as lines of TOML.

    Args:
        ready: What was converted.
        folder: Of the artefact.
        manifest: Of it.
    """
    job, served = ready.job, SERVES[ready.job.target]
    backend = job.target if job.target in served else "openvino"
    others = sorted(served - {backend, "plugin_ep"}) + ["plugin_ep with its plugin"] * ("plugin_ep" in served)
    ours = job.named in catalog.ENCODERS and not Path(job.named).exists()
    file, remark = folder.resolve(), ""
    if job.target == "rknn":
        file, remark = (file / manifest.file).with_suffix(".rknn"), "  # that rknn-toolkit2 makes"
    lines = ["[encode]", f"model = {_quote(job.named if ours else str(job.model.resolve()))}"]
    if job.reading != OURS and not ours:
        lines.append(f'layout = "{job.reading.layout}"')
        lines += [
            f"{name} = {[float(value) for value in getattr(job.reading, name)]}" for name in ("mean", "deviation")
        ]
    lines.append(f'backend = "{backend}"' + (f"  # or {', or '.join(others)}" if others else ""))
    lines.append(f"artefact = {_quote(str(file))}{remark}")
    lines += [f"options = {{ soc_model = {_quote(job.soc)} }}"] if job.soc else []
    return lines


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
