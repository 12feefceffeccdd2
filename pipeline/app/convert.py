"""Convert an encoder for an accelerator, in a child process, one conversion at a time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from models import catalog
from models.deriving import job as planning
from models.deriving.job import EncoderJob
from models.deriving.progress import ConversionProgress
from models.deriving.targets import PASSES
from models.encoders import OURS, PictureFormat, artefact
from models.llm.folder import build_folder
from pipeline.core.errors import ConfigError, ModelError
from pipeline.runtime.apart import run_apart
from pipeline.runtime.folders import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.deriving.job import PlannedEncoder
    from models.deriving.progress import Scan
    from models.encoders.artefact import ArtefactManifest
    from pipeline.app.site import Site

_LOCK = ".lock"
_ROOM = 12  # times the model's bytes: a file for every pass, float32 beside 8 bit
_REMEDY = "nothing was left behind; the lines above may say why"


class PassResult(NamedTuple):
    """What one pass did to a model.

    Attributes:
        name: Name of the pass.
        what: What the pass does, in English.
        matched: Number of places that it changed.
        cosine: Least cosine of the answers after the pass with those of the source model.
        note: A remark for the operator; may be empty.
    """

    name: str
    what: str
    matched: int
    cosine: float
    note: str


class Conversion(NamedTuple):
    """The result of a conversion.

    Attributes:
        job: The request.
        path: The artefact's folder; None if layers were only scanned.
        made: Whether it was made now; else it was there before.
        manifest: The artefact's manifest; None if layers were only scanned.
        passes: Results of the passes, in their order.
        scan: The cost of quantising each layer; None if no scan was requested.
        given: Number of calibration pictures.
        stale: Outdated folders beside it, each with the reasons.
        configuration: The configuration table that uses the artefact, as lines of TOML.
    """

    job: EncoderJob
    path: Path | None
    made: bool
    manifest: ArtefactManifest | None
    passes: tuple[PassResult, ...]
    scan: Scan | None
    given: int
    stale: dict[str, list[str]]
    configuration: tuple[str, ...]


def artefact_folder(site: Site) -> Path:
    """Return the default folder for artefacts. Raises RunDirectoryError."""
    return site.writable_models().root.parent / "encoders"


def make_job(site: Site, file: str, target: str, options: dict[str, Any]) -> EncoderJob:
    """Make a conversion job from the options of the command and the configured picture format.

    Args:
        site: The site whose encoder settings are the defaults.
        file: An ONNX file, or a name of the catalogue.
        target: The accelerator.
        options: Fields of `EncoderJob` and `PictureFormat`; empty fields of the latter are taken from the settings.

    Raises:
        ModelError: There is neither such a file nor such a model.
    """
    settings, options = site.settings.encode, dict(options)
    if Path(file).exists():
        model, base = Path(file), PictureFormat.of(settings)
    else:
        try:
            model, base = catalog.verified_path(catalog.check_encoder_name(file)), OURS
        except ModelError as error:
            raise ModelError(f"{file}: no such file; {error}") from error
    reading = PictureFormat(*(options.pop(key) or getattr(base, key) for key in PictureFormat._fields))
    soc = options.pop("soc") or (settings.options.get("soc_model", "") if target == "qnn" else "")
    return EncoderJob(model, target, file, soc=soc, reading=reading, **options)


def convert(job: EncoderJob, out: Path, *, again: bool, report: Callable[[str, int, int], None]) -> Conversion:
    """Convert an encoder, unless the same artefact exists.

    Concurrent conversions wait for each other; the second one reuses the artefact of the first.

    Args:
        job: The request.
        out: The folder in which the artefact's folder is made.
        again: Convert even if the same artefact exists.
        report: Called with the step's name, the number of finished parts and of all parts (0: unknown).

    Raises:
        ConfigError: The options contradict each other, or `out` is no folder.
        ModelError: The conversion failed; it leaves no files.
    """
    ready = planning.plan(job)

    def report_step(what: str, done: int, most: int) -> None:
        at = f"{ready.steps.index(what) + 1}/{len(ready.steps)} " if what in ready.steps else ""
        report(at + what, done, most)

    if job.scan and not job.keep:
        with tempfile.TemporaryDirectory(prefix="fieldwatch-") as work:
            scan, _ = _run_in_child(ready, Path(work), report_step)
        return Conversion(job, None, False, None, (), scan, _count_pictures(ready), {}, ())
    planning.check_name(out)
    _make_room(out)
    report_step("waiting for another conversion", 0, 0)
    with one_at_a_time(out / _LOCK):
        return _convert_or_reuse(ready, out / ready.name, report_step, again=again)


def _convert_or_reuse(
    ready: PlannedEncoder, target: Path, report_step: Callable[[str, int, int], None], *, again: bool
) -> Conversion:
    """Make an artefact, or reuse the one that exists."""
    job, scan = ready.job, None
    manifest = None if again or job.scan else _read_existing(target, job.least)
    made = manifest is None
    if manifest is None:
        with build_folder(target, _ROOM * job.model.stat().st_size) as part:
            scan, manifest = _run_in_child(ready, part, report_step)
        assert manifest is not None
    passes = tuple(
        PassResult(one.name, PASSES[one.name].what if one.name in PASSES else "", one.matched, one.cosine, one.note)
        for one in manifest.passes
    )
    lines = tuple(planning.configuration_lines(ready, target, manifest))
    return Conversion(
        job, target, made, manifest, passes, scan, _count_pictures(ready), _find_outdated(target, ready), lines
    )


def _count_pictures(ready: PlannedEncoder) -> int:
    return ready.facts.calibration.count if ready.pictures and ready.facts.calibration else 0


def _make_room(out: Path) -> None:
    """Create the folder for artefacts. Raises ConfigError if it is a file, ModelError if it is not writable."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        os.close(os.open(out / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    except (FileExistsError, NotADirectoryError) as error:
        file = next(path for path in (out, *out.parents) if path.exists())
        raise ConfigError(f"{file} is a file: name a folder with --out; a new one is put into it") from error
    except OSError as error:
        raise ModelError(
            f"{error.filename or out}: {error.strerror}: choose a folder that you may write into, with --out or "
            "--state-dir"
        ) from error


def _read_existing(target: Path, least: float) -> ArtefactManifest | None:
    """Return the manifest of an existing, undamaged artefact; None if there is none.

    Raises:
        ModelError: It exists, but its answers are less similar than `least`.
    """
    try:
        manifest = artefact.read(target)
        artefact.check_file(target, manifest)
    except ModelError:
        return None
    if (worst := min(one.cosine for one in manifest.passes)) < least:
        raise ModelError(f"{target} was made before, with a cosine of {worst:.6f}; at least {least:g} is asked")
    return manifest


def _run_in_child(
    ready: PlannedEncoder, folder: Path, draw: Callable[[str, int, int], None]
) -> tuple[Scan | None, ArtefactManifest | None]:
    """Run the conversion in a child process, as native code may crash or print."""

    def work(report: Callable[[ConversionProgress], None]) -> None:
        from models.deriving.derive import run  # noqa: PLC0415  # native code, and packages of an extra

        run(ready, folder, report)

    scan, manifest = None, None
    for progress in run_apart(f"the conversion of {ready.job.model}", work, ConversionProgress, _REMEDY, quiet=True):
        draw(progress.what, progress.done, progress.all)
        scan, manifest = progress.scan or scan, progress.manifest or manifest
    return scan, manifest


def _find_outdated(target: Path, ready: PlannedEncoder) -> dict[str, list[str]]:
    """Find outdated artefacts of the same model and target beside `target`; return the reasons by folder name.

    Artefacts with other options are not outdated.
    """
    found = {}
    stem = target.name.rpartition("-")[0]
    for folder in sorted(target.parent.glob(f"{stem}-????????")):
        if folder == target:
            continue
        try:
            found[folder.name] = artefact.find_outdated(artefact.read(folder).facts, ready.facts)
        except ModelError as error:
            found[folder.name] = [str(error)]
    return {name: reasons for name, reasons in found.items() if reasons}
