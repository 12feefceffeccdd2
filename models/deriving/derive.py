"""Run a conversion pass by pass; the result of each pass is compared with the source model."""

from __future__ import annotations

import logging
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import onnx
import onnxruntime as ort

from models.deriving import scan as scanning
from models.deriving import targets
from models.deriving.calibration import CalibrationPictures, read
from models.deriving.passes import PASSES, PassTools, open_on_qnn
from models.deriving.progress import ConversionProgress, Scan
from models.encoders import artefact, backends, gate, onnxfile
from models.encoders.artefact import ArtefactManifest, PassOutcome
from models.encoders.bound import FAULTS, BoundEncoder, read_placement
from models.encoders.commands import SOC
from models.encoders.plugin_ep import load_provider
from models.llm.folder import describe
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from models.deriving.job import EncoderJob, PlannedEncoder
    from models.encoders.placement import Placement

MODEL = "model.onnx"
_QUANTISING = frozenset({"quantise", "quantise_qnn"})
_COMPILED = "compile_qnn"
_WORK = ".work"
_WARNINGS, _ERRORS = 2, 3  # of onnxruntime's log
_FAULTS = (
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Errors of tools on unexpected graphs; they have no error classes of their own."""


def run(ready: PlannedEncoder, folder: Path, report: Callable[[ConversionProgress], None]) -> None:
    """Make an artefact in an empty folder. In a process of its own: native code may end it.

    Args:
        ready: What was planned.
        folder: Where; what is written meanwhile lies in it, too, and is removed.
        report: Called with how far it is, and at the end with what came of it.

    Raises:
        ModelError: A pass left operations that it should replace, the answers differ too much, or a runtime failed.
    """
    with _quiet_tools(folder / _WORK):
        try:
            _Conversion(ready, folder, report).run()
        except (*FAULTS, *_FAULTS) as error:
            raise ModelError(f"{ready.job.model} cannot be converted: {type(error).__name__}: {error}") from error


@contextmanager
def _quiet_tools(work: Path) -> Iterator[None]:
    """Let tools write into a temporary folder, and hide their harmless warnings."""
    before, level = tempfile.tempdir, logging.getLogger().level
    work.mkdir()
    tempfile.tempdir = str(work)
    logging.getLogger().setLevel(logging.ERROR)  # the quantiser warns of steps that were done before
    ort.set_default_logger_severity(_ERRORS)
    try:
        yield
    finally:
        tempfile.tempdir = before
        logging.getLogger().setLevel(level)
        ort.set_default_logger_severity(_WARNINGS)
        shutil.rmtree(work, ignore_errors=True)


class _Conversion:
    """A running conversion."""

    def __init__(self, ready: PlannedEncoder, folder: Path, report: Callable[[ConversionProgress], None]) -> None:
        self._ready, self._folder, self._work, self._report = ready, folder, folder / _WORK, report
        self._job: EncoderJob = ready.job
        _check_whole(ready.job.model)
        baseline = backends.open_baseline(ready.job.model)
        self._probes = gate.make_probes(baseline.input.shape, gate.PROBES, ready.job.reading)
        self._truth = gate.collect_answers(baseline, self._probes)
        self._keep = () if ready.job.worst else ready.job.keep
        self._passed: list[PassOutcome] = []
        self._placement: Placement | None = None  # where it was compiled

    def run(self) -> None:
        at = self._job.model
        self._look_at_unused()
        for number, name in enumerate(self._ready.steps):
            self._report(ConversionProgress(name))
            if name in _QUANTISING and (self._job.scan or self._job.worst):
                found = self._scan_layers(name, at)
                self._report(ConversionProgress(scan=found))
                if not self._job.keep:
                    return
                if self._job.worst:
                    self._keep = found.choose(self._job.worst)
            into = self._work / f"{number}-{name}.onnx"
            change = PASSES[name](at, into, self._pass_tools(name))
            self._check_treated(name, into)
            self._compare(name, into, change.matched, change.note)
            at = into
        self._finish(at)

    def _look_at_unused(self) -> None:
        """Read pictures that no pass needs, as the operator expects a check. Raises ModelError for a damaged one."""
        if self._ready.facts.calibration is None:
            for file in self._ready.pictures:
                read(file, 2)

    def _pass_tools(self, name: str) -> PassTools:
        ready, shape = self._ready, [size for size in self._ready.graph.inputs[0].shape if isinstance(size, int)]

        def pictures() -> CalibrationPictures:
            calibration = ready.facts.calibration
            return CalibrationPictures(
                ready.graph.inputs[0].name,
                shape,
                self._job.reading,
                ready.pictures,
                lambda given, most: self._report(ConversionProgress(name, given, most)),
                drawn=calibration.count if calibration else 0,
            )

        return PassTools(pictures, self._keep, self._job.soc)

    def _check_treated(self, name: str, made: Path) -> None:
        """Raise a ModelError that names operations which the pass should have replaced."""
        treats = targets.PASSES[name].treats
        left = [one for one in onnxfile.read(made).operations if one.op in treats]
        if not left:
            return
        names = ", ".join(f"{one.name or one.outputs[0]} ({one.op})" for one in left)
        why = (
            "it is quantised already: give the model in float32"
            if self._ready.graph.quantised
            else ("they stand in an expression that is not known: export the model with GELU as torch writes it")
        )
        raise ModelError(
            f"{self._job.model}: pass {name} left {len(left)} operations that it is there to replace: {names}; {why}"
        )

    def _compare(self, name: str, made: Path, matched: int, note: str) -> None:
        similar = gate.min_cosine(gate.collect_answers(self._open_encoder(name, made), self._probes), self._truth)
        if similar < self._job.least:
            why = ": `--scan` names the layers that cost most, --keep leaves them in higher precision"
            raise ModelError(
                f"{self._job.model}: behind pass {name} the answers are no longer the source's: cosine {similar:.6f}, "
                f"at least {self._job.least:g} is asked (--min-cosine){why if name in _QUANTISING else ''}"
            )
        self._passed.append(PassOutcome(name, matched, round(similar, 6), note))

    def _open_encoder(self, name: str, made: Path) -> Any:
        """Open the result of a pass where it runs."""
        if name != _COMPILED:
            return backends.open_baseline(made)
        session = open_on_qnn(made, self._job.soc)
        chosen = load_provider(backends.BACKENDS["qnn"].module).name
        encoder = BoundEncoder(session, chosen, onnxfile.read(made).rim)
        self._placement = read_placement(session, chosen, onnxfile.read(made).rim)
        if self._placement.verdict == "none":
            raise ModelError(
                f"{self._job.model}: {chosen} took no node of it for soc_model {self._job.soc}: it may not know that "
                f"chip: --soc is {SOC}"
            )
        return encoder

    def _scan_layers(self, name: str, at: Path) -> Scan:
        trial = self._work / "trial.onnx"
        PASSES[name](at, trial, self._pass_tools(name)._replace(keep=()))

        def report(done: int, most: int) -> None:
            self._report(ConversionProgress("scan", done, most))

        return scanning.scan(trial, at, self._probes, report)

    def _finish(self, made: Path) -> None:
        made.rename(self._folder / MODEL)
        found, ready = describe(self._folder / MODEL), self._ready
        placement = self._placement
        manifest = ArtefactManifest(
            format=artefact.FORMAT,
            source=self._job.model.name,
            facts=ready.facts,
            digest=ready.facts.digest,
            command=ready.command,
            passes=tuple(self._passed),
            kept=self._keep,
            verdict=placement.verdict if placement else "",
            left=tuple(f"{node.name} ({node.op})" for node in placement.left) if placement else (),
            cosine=self._passed[-1].cosine,
            file=MODEL,
            sha256=found.sha256,
            bytes=found.bytes,
        )
        shutil.rmtree(self._work)
        self._report(ConversionProgress(manifest=artefact.write(self._folder, manifest)))


def _check_whole(model: Path) -> None:
    """Raise ModelError if weights are in a separate file, which the hash would not cover."""
    tensors = onnx.load(model, load_external_data=False).graph.initializer
    if any(onnx.external_data_helper.uses_external_data(tensor) for tensor in tensors):
        raise ModelError(f"{model} keeps its weights in another file: save it as one, by onnx.load and onnx.save")
