"""An encoder's conversion for an accelerator: done in a process of its own, one at a time."""

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
from models.llm.folder import building
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
        name: Of the pass.
        what: It does.
        matched: At so many places.
        cosine: Of the answers behind it with the model's own.
        note: What is to be known of it.
    """

    name: str
    what: str
    matched: int
    cosine: float
    note: str


class Conversion(NamedTuple):
    """What came of a conversion.

    Attributes:
        job: What was asked for.
        path: The artefact's folder; None: layers were scanned, and nothing else.
        made: Whether it was made now; else it was there.
        manifest: Of the artefact; None where there is none.
        passes: Of the artefact, in their order.
        scan: What quantising each layer costs; None: nobody asked.
        given: How many pictures were given for ranges.
        stale: Folders beside it that are no longer true, and why.
        configuration: The table of a configuration that uses it; lines of TOML.
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


def folder_of(site: Site) -> Path:
    """Where artefacts are put unless something else is said. Raises RunDirectoryError."""
    return site.writable_models().root.parent / "encoders"


def job_of(site: Site, file: str, target: str, options: dict[str, Any]) -> EncoderJob:
    """Say what is asked for; how pictures are read is the configuration's, where the options do not say it.

    Args:
        site: Whose settings of the encoder.
        file: An ONNX file, or a name of the catalogue.
        target: The accelerator.
        options: Fields of `EncoderJob` and of `PictureFormat`; what is empty among the latter is as configured.

    Raises:
        ModelError: There is no such file, and no such model.
    """
    settings, options = site.settings.encode, dict(options)
    if Path(file).exists():
        model, base = Path(file), PictureFormat.of(settings)
    else:
        try:
            model, base = catalog.verified(catalog.encoder(file)), OURS
        except ModelError as error:
            raise ModelError(f"{file}: no such file; {error}") from error
    reading = PictureFormat(*(options.pop(key) or getattr(base, key) for key in PictureFormat._fields))
    soc = options.pop("soc") or (settings.options.get("soc_model", "") if target == "qnn" else "")
    return EncoderJob(model, target, file, soc=soc, reading=reading, **options)


def convert(job: EncoderJob, out: Path, *, again: bool, report: Callable[[str, int, int], None]) -> Conversion:
    """Convert an encoder unless that was done before.

    Two at once wait for one another; the second finds what the first made.

    Args:
        job: What is asked for.
        out: Where the artefact's folder comes to be.
        again: Do it even if it was done before.
        report: Called with what is being done, how many steps of it are done, and of how many; 0: nobody knows.

    Raises:
        ConfigError: Options that do not go together, or `out` is no folder.
        ModelError: It cannot be converted; nothing is left behind.
    """
    ready = planning.plan(job)

    def tell(what: str, done: int, most: int) -> None:
        at = f"{ready.steps.index(what) + 1}/{len(ready.steps)} " if what in ready.steps else ""
        report(at + what, done, most)

    if job.scan and not job.keep:
        with tempfile.TemporaryDirectory(prefix="fieldwatch-") as work:
            scan, _ = _made(ready, Path(work), tell)
        return Conversion(job, None, False, None, (), scan, _given(ready), {}, ())
    planning.check_name(out)
    _make_room(out)
    tell("waiting for another conversion", 0, 0)
    with one_at_a_time(out / _LOCK):
        return _converted(ready, out / ready.name, tell, again=again)


def _converted(
    ready: PlannedEncoder, target: Path, tell: Callable[[str, int, int], None], *, again: bool
) -> Conversion:
    """Make an artefact, or find it made."""
    job, scan = ready.job, None
    manifest = None if again or job.scan else _there(target, job.least)
    made = manifest is None
    if manifest is None:
        with building(target, _ROOM * job.model.stat().st_size) as part:
            scan, manifest = _made(ready, part, tell)
        assert manifest is not None
    passes = tuple(
        PassResult(one.name, PASSES[one.name].what if one.name in PASSES else "", one.matched, one.cosine, one.note)
        for one in manifest.passes
    )
    lines = tuple(planning.configuration(ready, target, manifest))
    return Conversion(job, target, made, manifest, passes, scan, _given(ready), _older(target, ready), lines)


def _given(ready: PlannedEncoder) -> int:
    return ready.facts.calibration.count if ready.pictures and ready.facts.calibration else 0


def _make_room(out: Path) -> None:
    """Make the folder for the new folder. Raises ConfigError: it is a file; ModelError: it cannot be written into."""
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


def _there(target: Path, least: float) -> ArtefactManifest | None:
    """The manifest of what was made before, if it is whole. Raises ModelError: it is, and not good enough."""
    try:
        manifest = artefact.read(target)
        artefact.whole(target, manifest)
    except ModelError:
        return None
    if (worst := min(one.cosine for one in manifest.passes)) < least:
        raise ModelError(f"{target} was made before, with a cosine of {worst:.6f}; at least {least:g} is asked")
    return manifest


def _made(
    ready: PlannedEncoder, folder: Path, draw: Callable[[str, int, int], None]
) -> tuple[Scan | None, ArtefactManifest | None]:
    """Do it in a child process, as native code may die or print."""

    def work(report: Callable[[ConversionProgress], None]) -> None:
        from models.deriving.derive import run  # noqa: PLC0415  # native code, and packages of an extra

        run(ready, folder, report)

    scan, manifest = None, None
    for told in run_apart(f"the conversion of {ready.job.model}", work, ConversionProgress, _REMEDY, quiet=True):
        draw(told.what, told.done, told.all)
        scan, manifest = told.scan or scan, told.manifest or manifest
    return scan, manifest


def _older(target: Path, ready: PlannedEncoder) -> dict[str, list[str]]:
    """What was made of the same model for the same target and is no longer true, and why.

    What was made of it with other options is no such thing.
    """
    found = {}
    stem = target.name.rpartition("-")[0]
    for folder in sorted(target.parent.glob(f"{stem}-????????")):
        if folder == target:
            continue
        try:
            found[folder.name] = artefact.outdated(artefact.read(folder).facts, ready.facts)
        except ModelError as error:
            found[folder.name] = [str(error)]
    return {name: reasons for name, reasons in found.items() if reasons}
