"""Recordings replay_worker."""

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
"""How far a replay is."""
Recording: TypeAlias = inputs.Recording
"""One input."""


class ReplaySummary(msgspec.Struct, frozen=True):
    """What became of all inputs, as programs read it."""

    coverage_percent: float
    elapsed_s: float
    inputs: list[replay_worker.RecordingOutcome]


class Replayed(NamedTuple):
    """What a replay left behind.

    Attributes:
        summary: Also in summary.json, beside the events.
        elapsed_s: How long it took.
        events_file: The events.
    """

    summary: ReplaySummary
    elapsed_s: float
    events_file: Path


def recordings(paths: Sequence[Path]) -> list[Recording]:
    """Find recordings: files, and what is below folders, in sorted order. Raises ConfigError: there is none."""
    return inputs.find(paths)


@contextmanager
def output_folder(out: Path | None) -> Iterator[Path]:
    """Lend the folder asked for, or a temporary one that goes afterwards."""
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
) -> Replayed:
    """Run recordings through all stages: the same give the same events, byte for byte, in every run on a machine.

    Args:
        site: Whose settings, notes and models.
        found: The recordings.
        out: Folder for events.jsonl, evidence and summary.json.
        camera: Of the site, whose zones and rules hold for them; empty: none.
        began: When they began, in RFC 3339; None: as each file says, else 1970.
        jobs: Recordings at once; None: as many as there are cores.
        heat: The board that each warms up, BOARD or BOARD@AMBIENT; None: none.
        report: Called a few times a second with how far it is.

    Raises:
        ConfigError: There is no such camera or board, the time is none, or a daemon keeps its events there.
        RunDirectoryError: Another process writes there.
        OSError: The folder cannot be written.
    """
    board = None if heat is None else boards.place(heat)
    jobs = jobs or len(os.sched_getaffinity(0))
    run = replaying.Replay(site.settings, found, out, jobs, camera, heat=board)
    done = run.run(moment(began), report)
    coverage = replaying.coverage(done.outcomes)
    summary = ReplaySummary(coverage, round(done.elapsed_s, 3), done.outcomes)
    (out / _SUMMARY).write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n")
    return Replayed(summary, done.elapsed_s, done.events_file)


def moment(text: str | None) -> int | None:
    """Nanoseconds since 1970 of an RFC 3339 time. Raises ConfigError."""
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
