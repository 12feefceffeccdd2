"""An encoder's conversion for an accelerator: done in a process of its own, one at a time, and shown."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from models.deriving import job as planning
from models.deriving.targets import PASSES
from models.deriving.told import Told
from models.encoders import artefact
from models.llm import folder as folders
from pipeline.core.errors import ConfigError, ModelError
from pipeline.core.printing import printable
from pipeline.runtime.apart import told_apart
from pipeline.runtime.folders import one_at_a_time
from pipeline.view.output import console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from models.deriving.job import Job, Ready
    from models.deriving.told import Scan
    from models.encoders.artefact import Manifest

_LOCK = ".lock"
_WORST = 20  # rows of a scan that people are shown
_ROOM = 12  # times the model's bytes: a file for every pass, float32 beside 8 bit
_REMEDY = "nothing was left behind; the lines above may say why"


def convert(job: Job, out: Path, *, again: bool, as_json: bool, quiet: bool) -> None:
    """Convert an encoder unless that was done before, and print what came of it.

    Two at once wait for one another; the second finds what the first made.

    Args:
        job: What is asked for.
        out: Where the artefact's folder comes to be.
        again: Do it even if it was done before.
        as_json: As one JSON object.
        quiet: No progress.

    Raises:
        ConfigError: Options that do not go together, or `out` is no folder.
        ModelError: It cannot be converted; nothing is left behind.
    """
    ready = planning.plan(job)
    if job.scan and not job.keep:
        with tempfile.TemporaryDirectory(prefix="fieldwatch-") as work, _progress(ready, quiet=quiet) as draw:
            found, _ = _made(ready, Path(work), draw)
        _show(ready, None, None, found, as_json=as_json, made=False)
        return
    target = out / ready.name
    planning.check_name(out)
    _make_room(out)
    with _progress(ready, quiet=quiet) as draw:
        draw("waiting for another conversion", 0, 0)
        with one_at_a_time(out / _LOCK):
            there = None if again or job.scan else _there(target, job.least)
            found = None
            if there is None:
                with folders.building(target, _ROOM * job.model.stat().st_size) as part:
                    found, manifest = _made(ready, part, draw)
                assert manifest is not None
            else:
                manifest = there
    _show(ready, target, manifest, found, as_json=as_json, made=there is None)


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


def _there(target: Path, least: float) -> Manifest | None:
    """The manifest of what was made before, if it is whole. Raises ModelError: it is, and not good enough."""
    try:
        manifest = artefact.read(target)
        artefact.whole(target, manifest)
    except ModelError:
        return None
    if (worst := min(one.cosine for one in manifest.passes)) < least:
        raise ModelError(f"{target} was made before, with a cosine of {worst:.6f}; at least {least:g} is asked")
    return manifest


def _made(ready: Ready, folder: Path, draw: Callable[[str, int, int], None]) -> tuple[Scan | None, Manifest | None]:
    """Do it in a child process, as native code may die or print."""

    def work(told: Callable[[Told], None]) -> None:
        from models.deriving.derive import run  # noqa: PLC0415  # native code, and packages of an extra

        run(ready, folder, told)

    scan, manifest = None, None
    for told in told_apart(f"the conversion of {ready.job.model}", work, Told, _REMEDY, quiet=True):
        draw(told.what, told.done, told.all)
        scan, manifest = told.scan or scan, told.manifest or manifest
    return scan, manifest


@contextmanager
def _progress(ready: Ready, *, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Lend a function that draws how far it is; on a terminal only."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _what, _done, _all: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bars:

        def draw(what: str, done: int, most: int) -> None:
            at = f"{ready.steps.index(what) + 1}/{len(ready.steps)} " if what in ready.steps else ""
            for task in bars.task_ids:
                if bars.tasks[0].description != at + what:
                    bars.remove_task(task)  # a task cannot forget how much there was to do
            task = bars.task_ids[0] if bars.task_ids else bars.add_task(at + what, total=None)
            bars.update(task, completed=done, total=most or None)

        yield draw


def _show(
    ready: Ready, target: Path | None, manifest: Manifest | None, scan: Scan | None, *, as_json: bool, made: bool
) -> None:
    older = _older(target, ready) if target is not None else {}
    if as_json:
        content = {"path": str(target or ""), "made": made, "manifest": manifest, "scan": scan, "stale": older}
        say_json(content)
        return
    if scan is not None:
        _show_scan(scan, ready.facts.calibration.count if ready.pictures and ready.facts.calibration else 0)
    if manifest is None or target is None:
        return
    _show_passes(manifest)
    how = "made" if made else "already made"
    say(f"{printable(str(target))}: {how}, {manifest.bytes / 1e6:.1f} MB, cosine {manifest.cosine:.4f}\n")
    for line in _advice(ready, target, manifest):
        say(f"{line}\n")
    for name, reasons in older.items():
        say(f"stale: {printable(name)}: {printable('; '.join(reasons))}\n")
    say("For the configuration:\n\n")
    for line in planning.configuration(ready, target, manifest):
        say(f"{printable(line)}\n")


def _show_passes(manifest: Manifest) -> None:
    table = Table("pass", "what it does", "places", "cosine", "")
    for one in manifest.passes:
        what = PASSES[one.name].what if one.name in PASSES else ""
        table.add_row(one.name, what, str(one.matched), f"{one.cosine:.5f}", printable(one.note))
    console().print(table)


def _advice(ready: Ready, target: Path, manifest: Manifest) -> Iterator[str]:
    """What is to be known, and done, next."""
    calibration = manifest.facts.calibration
    if calibration is not None and not calibration.sha256:
        yield "Ranges were measured on drawn pictures: give --calibration a folder of what the cameras see before use."
    if calibration is None and ready.job.calibration:
        yield f"--calibration {printable(ready.job.calibration)} was not used: the model is quantised already."
    if manifest.kept:
        yield f"In higher precision: {_kept(manifest, ready.job.worst)}{printable(', '.join(manifest.kept))}"
    if manifest.left:
        yield f"Stays on the CPU: {printable(', '.join(manifest.left))}; the gate lets it pass only if that is allowed."
    if ready.job.target == "rknn":
        yield (
            f"Give {printable(str(target / manifest.file))} to rknn-toolkit2 (load_onnx, build, export_rknn) on a "
            "machine that has it, and name the .rknn file in encode.artefact."
        )


def _kept(manifest: Manifest, chosen: int) -> str:
    """Of how many layers a scan chose, and how many had to go with them."""
    beside = len(manifest.kept) - chosen
    return f"{chosen} layers and {beside} beside them that share their numbers: " if chosen and beside > 0 else ""


def _show_scan(scan: Scan, given: int) -> None:
    say(
        f"All {len(scan.rows)} layers quantised cost {scan.whole:.6f} of cosine, on {scan.pictures} drawn pictures"
        + (f", as every layer is run with each; the {given} given were for ranges" if given else "")
        + ("" if scan.weights else "; the model came quantised, so rounding of its weights is not known")
        + "\n"
    )
    table = Table("layer", "kind", "quantised alone costs", "left out brings back")
    for row in scan.rows[:_WORST]:
        back = "not tried" if row.regained is None else f"{row.regained:+.6f}"
        back += f", with {len(row.near)} beside it" if row.near else ""
        table.add_row(printable(row.name), row.op, f"{row.alone:.6f}", back)
    console().print(table)
    if all(not row.regained or row.regained < 0 for row in scan.rows):
        say("Leaving any of them out brings nothing back\n")
    if len(scan.rows) > _WORST:
        say(f"{len(scan.rows) - _WORST} layers cost less; --json names them all\n")


def _older(target: Path, ready: Ready) -> dict[str, list[str]]:
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
