"""Show the conversion of an encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.core.printing import make_printable
from pipeline.view.output import console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.app.convert import Conversion

_WORST = 20  # rows of a scan that people are shown


def show(found: Conversion, *, as_json: bool) -> None:
    """Print the result of a conversion: the passes, the next steps, and lines for a configuration."""
    if as_json:
        content = {"path": str(found.path or ""), "made": found.made, "manifest": found.manifest, "scan": found.scan}
        say_json({**content, "stale": found.stale})
        return
    _show_scan(found)
    manifest, path = found.manifest, found.path
    if manifest is None or path is None:
        return
    _show_passes(found)
    how = "made" if found.made else "already made"
    say(f"{make_printable(str(path))}: {how}, {manifest.bytes / 1e6:.1f} MB, cosine {manifest.cosine:.4f}\n")
    for line in _list_advice(found):
        say(f"{line}\n")
    for name, reasons in found.stale.items():
        say(f"stale: {make_printable(name)}: {make_printable('; '.join(reasons))}\n")
    say("For the configuration:\n\n")
    for line in found.configuration:
        say(f"{make_printable(line)}\n")


def _show_passes(found: Conversion) -> None:
    table = Table("pass", "what it does", "places", "cosine", "")
    for one in found.passes:
        table.add_row(one.name, one.what, str(one.matched), f"{one.cosine:.5f}", make_printable(one.note))
    console().print(table)


def _list_advice(found: Conversion) -> Iterator[str]:
    """Yield remarks and next steps."""
    job, manifest, path = found.job, found.manifest, found.path
    if manifest is None or path is None:
        return
    calibration = manifest.facts.calibration
    if calibration is not None and not calibration.sha256:
        yield "Ranges were measured on drawn pictures: give --calibration a folder of what the cameras see before use."
    if calibration is None and job.calibration:
        yield f"--calibration {make_printable(job.calibration)} was not used: the model is quantised already."
    if manifest.kept:
        kept = make_printable(", ".join(manifest.kept))
        yield f"In higher precision: {_kept_phrase(len(manifest.kept), job.worst)}{kept}"
    if manifest.left:
        left = make_printable(", ".join(manifest.left))
        yield f"Stays on the CPU: {left}; the gate lets it pass only if that is allowed."
    if job.target == "rknn":
        yield (
            f"Give {make_printable(str(path / manifest.file))} to rknn-toolkit2 (load_onnx, build, export_rknn) on a "
            "machine that has it, and name the .rknn file in encode.artefact."
        )


def _kept_phrase(kept: int, chosen: int) -> str:
    """Say how many layers a scan chose, and how many had to be added."""
    beside = kept - chosen
    return f"{chosen} layers and {beside} beside them that share their numbers: " if chosen and beside > 0 else ""


def _show_scan(found: Conversion) -> None:
    scan = found.scan
    if scan is None:
        return
    say(
        f"All {len(scan.rows)} layers quantised cost {scan.whole:.6f} of cosine, on {scan.pictures} drawn pictures"
        + (f", as every layer is run with each; the {found.given} given were for ranges" if found.given else "")
        + ("" if scan.weights else "; the model came quantised, so rounding of its weights is not known")
        + "\n"
    )
    table = Table("layer", "kind", "quantised alone costs", "left out brings back")
    for row in scan.rows[:_WORST]:
        back = "not tried" if row.regained is None else f"{row.regained:+.6f}"
        back += f", with {len(row.near)} beside it" if row.near else ""
        table.add_row(make_printable(row.name), row.op, f"{row.alone:.6f}", back)
    console().print(table)
    if all(not row.regained or row.regained < 0 for row in scan.rows):
        say("Leaving any of them out brings nothing back\n")
    if len(scan.rows) > _WORST:
        say(f"{len(scan.rows) - _WORST} layers cost less; --json names them all\n")
