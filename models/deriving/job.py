"""What is to be converted, planned: everything that can be refused before any native code runs has been."""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from models import catalog
from models.deriving import pictures, targets
from models.encoders import OURS, Reading, artefact, onnxfile
from models.encoders.artefact import Calibration, Facts
from models.encoders.remedies import remedy
from models.store import name_of
from pipeline.core.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from models.encoders.onnxfile import Graph

DRAWN = "probes"
"""In place of a folder: pictures from the gate's seed. They show no place, so ranges may be too narrow or too wide."""

_PROBES = 16  # that are drawn where the operator asks for them
_QUANTISED = frozenset({"QuantizeLinear", "DequantizeLinear"})
_PACKAGES = {"onnxruntime_qnn": "onnxruntime-qnn"}


class Job(NamedTuple):
    """What an operator asks for.

    Attributes:
        model: An ONNX file.
        target: A row of `targets.TARGETS`.
        named: What the operator calls the model: the file, or a name of the catalogue.
        soc: The chip, as its provider's `soc_model` has it.
        calibration: A folder of pictures, `probes`, or nothing.
        reading: How the model wants its picture.
        eight_bit: Quantise it where the target leaves that open.
        keep: Layers to leave in higher precision: names, or one number, of those that a scan finds most worth it.
        scan: Find out what quantising each layer costs.
        least: Of the cosine with the source's answers behind every pass, 0..1.
    """

    model: Path
    target: str
    named: str = ""
    soc: str = ""
    calibration: str = ""
    reading: Reading = OURS
    eight_bit: bool = False
    keep: tuple[str, ...] = ()
    scan: bool = False
    least: float = 0.98

    @property
    def worst(self) -> int:
        """So many layers are kept as a scan finds; 0: those that are named."""
        return int(self.keep[0]) if len(self.keep) == 1 and self.keep[0].isdecimal() else 0


class Ready(NamedTuple):
    """A job that was planned.

    Attributes:
        job: What was asked for.
        graph: Of the model.
        steps: Names of passes, in their order.
        pictures: For ranges; empty: they are drawn, or not needed.
        quantised: The model is so already.
        facts: All that changes the bytes.
        name: Of the folder.
        command: What does it again.
    """

    job: Job
    graph: Graph
    steps: tuple[str, ...]
    pictures: tuple[Path, ...]
    quantised: bool
    facts: Facts
    name: str
    command: str


def plan(job: Job) -> Ready:
    """Check a job and find out what it will do.

    Raises:
        ConfigError: Options that do not go together, or one that is missing.
        ModelError: The model cannot be converted, a package is missing, or there are no pictures.
    """
    eight_bit = _eight_bit(job)
    steps = targets.steps(job.target, eight_bit=eight_bit)
    target = targets.TARGETS[job.target]
    if target.soc and not job.soc and not _only_scanned(job):
        raise ConfigError(f"{job.target} compiles for one chip: name it, e.g. --soc 43 for SM8550")
    check_packages(target.packages)
    source = catalog.own(job.model, "")
    graph = onnxfile.read(job.model)
    if graph.dynamic:
        raise ModelError(
            f"{job.model}: dimensions are not fixed ({', '.join(graph.dynamic)}): {remedy(job.target, 'dynamic')}"
        )
    quantised = any(one.op in _QUANTISED for one in graph.operations)
    files, calibration = _calibration(job, wanted=eight_bit and not quantised)
    packages = sorted({"onnxruntime", *(_PACKAGES.get(name, name) for name in target.packages)})
    facts = Facts(
        source=source,
        target=job.target,
        soc=job.soc,
        passes=tuple(f"{name}/{targets.PASSES[name].version}" for name in steps),
        layout=job.reading.layout,
        mean=tuple(map(float, job.reading.mean)),
        deviation=tuple(map(float, job.reading.deviation)),
        calibration=calibration,
        keep=job.keep,
        tools={name: artefact.version(name) for name in packages},
    )
    name = artefact.folder_name(name_of(Path(job.named or job.model)), facts)
    return Ready(job, graph, steps, files, quantised, facts, name, command(job))


def _eight_bit(job: Job) -> bool:
    """Whether it will be quantised. Raises ConfigError: that is asked for where it cannot be."""
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


def _only_scanned(job: Job) -> bool:
    return job.scan and not job.keep


def check_packages(packages: dict[str, str]) -> None:
    """Raise ModelError unless packages are there, given as import name to the extra of ours that brings it."""
    missing = {name: extra for name, extra in packages.items() if importlib.util.find_spec(name) is None}
    if missing:
        names, extras = ", ".join(missing).replace("_", "-"), ",".join(sorted(set(missing.values())))
        raise ModelError(f"converting needs {names}: pip install 'fieldwatch[{extras}]'")


def _calibration(job: Job, *, wanted: bool) -> tuple[tuple[Path, ...], Calibration | None]:
    if not wanted:
        return (), None
    if not job.calibration:
        raise ConfigError(
            "quantising measures ranges on pictures: give --calibration FOLDER, a hundred or more of what the cameras "
            f"see (.jpg, .png), or --calibration {DRAWN} for drawn ones, which is for trying out"
        )
    if job.calibration == DRAWN:
        return (), Calibration(DRAWN, "", _PROBES)
    folder = Path(job.calibration)
    found = pictures.files(folder)
    return found, Calibration(folder.name, pictures.digest(found, folder), len(found))


def command(job: Job) -> str:
    """What an operator writes to have it done again."""
    words = ["pipeline", "models", "convert", job.named or str(job.model), "--target", job.target]
    words += ["--soc", job.soc] if job.soc else []
    words += ["--calibration", job.calibration] if job.calibration else []
    words += ["--int8"] if job.eight_bit else []
    words += ["--keep", ",".join(job.keep)] if job.keep else []
    if job.reading != OURS:
        words += ["--layout", job.reading.layout]
        for name in ("mean", "deviation"):
            words += [f"--{name}", *(f"{value:g}" for value in getattr(job.reading, name))]
    return shlex.join(words)
