"""A language model measured on this device, compared with the last time, and kept."""

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


class Measured(NamedTuple):
    """What was measured.

    Attributes:
        baseline: All of it.
        changes: To what was measured before, in percent, by threads and measure.
        files: Where it is kept: for programs, for people.
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
) -> Measured:
    """Measure a language model, compare it with what was measured before on this device, and keep it.

    Args:
        site: Whose models.
        name: Which, NAME or NAME/VERSION; empty: the one in use.
        out: Folder of both files; None: below the state folder.
        threads: Numbers of threads to compute with.
        rounds: Of which medians are taken.
        report: Called with what is being done, how many steps are done, and of how many.

    Raises:
        ConfigError: There is no such model, or what is kept there is of another device or model.
        ModelError: It cannot be measured, or its manifest cannot be read.
        OSError: It cannot be kept.
    """
    store = site.writable_models() if out is None else site.models
    chosen = store.chosen(name)
    if chosen is None:
        raise ConfigError("no language model is in use: name one, or choose one with `pipeline models use NAME`")
    subject = _subject(chosen)
    folder = out or store.root.parent / "baselines" / chosen.name / chosen.version
    device = measuring.device()
    before = measuring.before(folder / JSON, device, subject.sha256)
    options = BenchOptions(threads, rounds, site.settings.describe.context_tokens)
    found = measuring.measure(chosen.path, subject, device, options, report)
    changes = baseline.changes(before, found)
    return Measured(found, changes, keep(found, changes, folder))


def keep(found: Baseline, changes: dict[int, dict[str, float]], folder: Path) -> tuple[Path, Path]:
    """Write both files; whoever reads them meanwhile sees the old ones or the new ones. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    files.replace(folder / JSON, msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    files.replace(folder / MARKDOWN, texts.markdown(found, changes).encode())
    return folder / JSON, folder / MARKDOWN


def _subject(chosen: Installed) -> Subject:
    """What is said of a model that is measured. Raises ModelError: its manifest cannot be read."""
    manifest = models.read(chosen.path)
    weights = manifest.weights
    return Subject(chosen.name, chosen.version, weights.sha256, manifest.recipe, weights.bytes)
