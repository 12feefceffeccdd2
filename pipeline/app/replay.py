"""Replay recordings through all stages."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from pipeline.core.device import heat as boards
from pipeline.core.errors import ConfigError
from pipeline.runtime import recordings as inputs
from pipeline.runtime import replay as replaying
from pipeline.runtime import replay_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pipeline.app.site import Site

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2262, 1, 1, tzinfo=UTC) - _EPOCH  # later nanoseconds do not fit 63 bits
_SUMMARY = "summary.json"

Progress: TypeAlias = replaying.Progress
"""The progress of a replay."""
Recording: TypeAlias = inputs.Recording
"""A recording to replay."""


class ReplaySummary(msgspec.Struct, frozen=True):
    """The outcome of all recordings, as `summary.json` has it."""

    coverage_percent: float
    elapsed_s: float
    inputs: list[replay_worker.RecordingOutcome]


class ReplayResult(NamedTuple):
    """The result of a replay.

    Attributes:
        summary: The outcome; also in summary.json, beside the events.
        elapsed_s: Its duration in seconds.
        events_file: The file of events.
    """

    summary: ReplaySummary
    elapsed_s: float
    events_file: Path


def find_recordings(paths: Sequence[Path]) -> list[Recording]:
    """Find recordings: the files, and all files below the folders, sorted. Raises ConfigError if there are none."""
    return inputs.find(paths)


@contextmanager
def output_folder(out: Path | None) -> Iterator[Path]:
    """Yield the folder `out`, or a temporary one that is removed afterwards."""
    if out is not None:
        yield out
        return
    folder = tempfile.mkdtemp(prefix="fieldwatch-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def replay(
    site: Site,
    found: list[Recording],
    out: Path,
    *,
    camera: str,
    began: str | None,
    jobs: int | None,
    heat: str | None,
    report: Callable[[Progress], None],
) -> ReplayResult:
    """Run recordings through all stages; the same recordings give the same bytes of events on the same machine.

    Args:
        site: The site whose settings, notes and models are used.
        found: The recordings.
        out: Folder for events.jsonl, evidence and summary.json.
        camera: Name of the camera whose zones and rules are used; empty: none.
        began: When the recordings began, in RFC 3339; None: the time in each file, else 1970.
        jobs: Number of recordings at once; None: as many as there are cores.
        heat: The simulated board, BOARD or BOARD@AMBIENT; None: none.
        report: Called a few times a second with the progress.

    Raises:
        ConfigError: There is no such camera or board, the time is invalid, or the folder is in use by a daemon.
        RunDirectoryError: Another process writes into the folder.
        OSError: The folder cannot be written.
    """
    board = None if heat is None else boards.place(heat)
    jobs = jobs or len(os.sched_getaffinity(0))
    run = replaying.Replay(site.settings, found, out, jobs, camera, heat=board)
    done = run.run(parse_time_ns(began), report)
    coverage = replaying.coverage(done.outcomes)
    summary = ReplaySummary(coverage, round(done.elapsed_s, 3), done.outcomes)
    (out / _SUMMARY).write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n")
    return ReplayResult(summary, done.elapsed_s, done.events_file)


def parse_time_ns(text: str | None) -> int | None:
    """Parse an RFC 3339 time into nanoseconds since 1970; None stays None. Raises ConfigError."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"--began {text}: write it as 2026-11-29T08:00:00Z") from error
    since = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)) - _EPOCH
    if not timedelta(0) <= since < _LATEST:
        raise ConfigError(f"--began {text}: recordings are from 1970 to 2261")
    return since // timedelta(microseconds=1) * 1000
