"""Measure a language model on this device, compare with the last measurement, and save the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from models.llm import folder as models
from pipeline.core import files
from pipeline.core.bench import baseline, texts
from pipeline.core.bench.baseline import BenchOptions, Subject
from pipeline.core.errors import ConfigError
from pipeline.runtime import measuring

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from models.store import Installed
    from pipeline.app.site import Site
    from pipeline.core.bench.baseline import Baseline

JSON, MARKDOWN = "baseline.json", "baseline.md"


class Measurement(NamedTuple):
    """A measurement and its files.

    Attributes:
        baseline: The measured values.
        changes: Changes since the last measurement in percent, by threads and measure.
        files: The JSON file and the Markdown file.
    """

    baseline: Baseline
    changes: dict[int, dict[str, float]]
    files: tuple[Path, Path]


def measure(
    site: Site,
    name: str,
    out: Path | None,
    *,
    threads: tuple[int, ...],
    rounds: int,
    report: Callable[[str, int, int], None],
) -> Measurement:
    """Measure a language model, compare it with the last measurement on this device, and save the result.

    Args:
        site: The site whose models are used.
        name: NAME or NAME/VERSION of the model; empty: the one in use.
        out: Folder for both files; None: below the state folder.
        threads: Numbers of threads to measure with.
        rounds: Number of rounds; medians of them are reported.
        report: Called with the step's name, the number of finished steps and of all steps.

    Raises:
        ConfigError: There is no such model, or the saved measurement is of another device or model.
        ModelError: The model cannot be measured, or its manifest cannot be read.
        OSError: The result cannot be saved.
    """
    store = site.writable_models() if out is None else site.models
    chosen = store.choose(name)
    if chosen is None:
        raise ConfigError("no language model is in use: name one, or choose one with `pipeline models use NAME`")
    subject = _read_subject(chosen)
    folder = out or store.root.parent / "baselines" / chosen.name / chosen.version
    device = measuring.device()
    before = measuring.before(folder / JSON, device, subject.sha256)
    options = BenchOptions(threads, rounds, site.settings.describe.context_tokens)
    found = measuring.measure(chosen.path, subject, device, options, report)
    changes = baseline.changes(before, found)
    return Measurement(found, changes, save(found, changes, folder))


def save(found: Baseline, changes: dict[int, dict[str, float]], folder: Path) -> tuple[Path, Path]:
    """Write both files, each atomically. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    files.replace(folder / JSON, msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    files.replace(folder / MARKDOWN, texts.markdown(found, changes).encode())
    return folder / JSON, folder / MARKDOWN


def _read_subject(chosen: Installed) -> Subject:
    """Read from its manifest which model is measured. Raises ModelError if it cannot be read."""
    manifest = models.read(chosen.path)
    weights = manifest.weights
    return Subject(chosen.name, chosen.version, weights.sha256, manifest.recipe, weights.bytes)
