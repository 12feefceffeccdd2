"""Measures a language model: every configuration in a fresh process, whose memory is its own and which may die."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pipeline.core import files
from pipeline.core.bench import baseline
from pipeline.core.bench.baseline import Baseline, Device, Task
from pipeline.core.decoding import decode
from pipeline.core.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.core.bench.baseline import BenchOptions, MeasuredRow, Subject

_MODULE = "models.asking.measuring"
_PATIENCE_S = 900.0  # for one process; a prompt of a 1.5B model takes a minute on the slowest boards
_SCRATCH = ".measuring-"


def before(file: Path, device: Device, sha256: str) -> Baseline | None:
    """What was measured before; None: nothing.

    Args:
        file: baseline.json.
        device: This one.
        sha256: Of the weights to be measured.

    Raises:
        ConfigError: It is of another device or model, or cannot be read: it is not to be written over.
    """
    try:
        found = decode(files.read_bounded(file), Baseline)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): remove it, or choose another --out") from error
    if found.format != baseline.FORMAT:
        raise ConfigError(f"{file} is of format {found.format}: remove it, or choose another --out")
    if not (found.device.same(device) and found.model.sha256 == sha256):
        whose = f"{found.model.name}/{found.model.version} on {found.device.cpu}"
        raise ConfigError(f"{file} is of {whose}: choose another --out")
    return found


def measure(
    model: Path, subject: Subject, device: Device, options: BenchOptions, report: Callable[[str, int, int], None]
) -> Baseline:
    """Measure a model; takes about ten sentences a round and number of threads.

    Args:
        model: Its folder.
        subject: What it is.
        device: This one.
        options: How.
        report: Called with what is being done, how many steps are done, and how many there are.

    Raises:
        ModelError: No process gave an answer; the text says what became of the first.
    """
    taken = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    _sweep(model)
    kinds = ("bandwidth", *("answers" for _ in range(options.rounds)))
    steps = 1 + len(kinds) * len(options.threads)
    answers: dict[int, list[dict[str, float]]] = {threads: [] for threads in options.threads}
    failed: dict[int, list[str]] = {threads: [] for threads in options.threads}
    tasks = [("loading", options.threads[0]), *((kind, threads) for kind in kinds for threads in options.threads)]
    for done, (kind, threads) in enumerate(tasks):
        report(f"{kind}, threads: {threads}", done, steps)
        task = {"what": kind, "model": str(model), "threads": threads, "context_tokens": options.context_tokens}
        try:
            answers[threads].append(_answer(model, task))
        except ModelError as error:
            failed[threads].append(f"{kind}: {error}")
    report("measured", steps, steps)
    rows = tuple(baseline.row(threads, answers[threads], failed[threads], subject.bytes) for threads in options.threads)
    _check(subject, rows)
    return Baseline(taken=taken, device=device, model=subject, options=options, rows=rows)


def device() -> Device:
    """What this device is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Device(
        cpu=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_mb=round(memory / 1e6),
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        engine=f"MNN {importlib.metadata.version('MNN')}",
    )


def _answer(model: Path, task: dict[str, object]) -> dict[str, float]:
    """Let a fresh process do a task. Raises ModelError: what became of it."""
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=model, ignore_cleanup_errors=True) as scratch:
        asked = msgspec.json.encode(msgspec.convert(task | {"scratch": scratch}, Task))
        command = [sys.executable, "-m", _MODULE]
        try:
            done = subprocess.run(command, input=asked, capture_output=True, timeout=_PATIENCE_S, check=False)  # noqa: S603  # of our own
        except subprocess.TimeoutExpired as error:
            raise ModelError(f"no answer within {_PATIENCE_S:.0f} s") from error
    if done.returncode:
        raise ModelError(_end(done.returncode, done.stderr.decode(errors="replace")))
    values: dict[str, float] = msgspec.json.decode(done.stdout)
    if "error" in values:
        raise ModelError(str(values["error"]))
    return values


def _end(status: int, said: str) -> str:
    if status < 0:
        return f"the process died: {signal.Signals(-status).name}"
    last = said.strip().rpartition("\n")[2]
    return f"the process ended with status {status}: {last:.200}"


def _check(subject: Subject, rows: tuple[MeasuredRow, ...]) -> None:
    """A baseline without one answer is none."""
    if not any("decode_tok_s" in row.values for row in rows):
        reason = next((reason for row in rows for reason in row.failed), "")
        raise ModelError(f"{subject.name}/{subject.version} cannot be measured: {reason}")


def _sweep(model: Path) -> None:
    """Remove what a killed measurement left."""
    for left in model.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)


def _processor() -> str:
    """What the kernel calls the processor, or the board where it gives no name."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    try:
        return names[0] if names else Path("/proc/device-tree/model").read_text(encoding="utf-8").strip("\0\n ")
    except OSError:
        return platform.machine()
