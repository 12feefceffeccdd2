"""Replays one recording in a worker process; if heat matters, on a simulated device of its own."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from pipeline.core.decoding import decode
from pipeline.core.device.limits import Held
from pipeline.core.errors import FrameTooLargeError, PipelineError, SourceError
from pipeline.core.frames import FramePool
from pipeline.core.messages import EventRaised, FrameCaptured
from pipeline.core.stage import StageContext
from pipeline.core.vocabulary import Nanoseconds
from pipeline.eventlog import entries
from pipeline.runtime import folders
from pipeline.runtime.clocks import MediaClock
from pipeline.runtime.heated import HeatedRun
from pipeline.runtime.lockstep import Lockstep
from pipeline.runtime.recordings import address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pipeline.core.device.heat import WarmBoard
    from pipeline.core.messages import AnyMessage
    from pipeline.core.settings import CameraSettings, Settings
    from pipeline.runtime.recordings import Recording

Status = Literal["whole", "damaged", "truncated", "unreadable", "failed"]

STARTED = "fieldwatch.incident.start.v1"
HEAT = "heat.jsonl"
_RESERVE_MB = 0.25  # of a recording's event log: it is read as it is written


class RecordingOutcome(msgspec.Struct, kw_only=True):
    """What became of one input."""

    name: str
    status: Status
    reason: str = ""
    frames: int = 0  # pictures decoded
    declared: int | None = None  # pictures that the container says it has
    corrupt: int = 0
    media_s: float = 0.0
    incidents: int = 0
    events: int = 0
    latency_ms: dict[str, tuple[float, float, int]] = {}  # per stage: median, 95th percentile, messages
    heat: dict[str, float] = {}  # on a board that warms up: temp_c_first, temp_c_most, level_most, queue_s_most


class Column(IntEnum):
    """Columns of the status row in which a worker reports its progress."""

    FRAMES = 0
    MEDIA_NS = 1
    INCIDENTS = 2
    PERMILLE = 3  # of the recording, as far as the container says how long it is


class ReplayOptions(NamedTuple):
    """What a worker needs to know beside its recording.

    Attributes:
        settings: As configured.
        like: The camera whose zones and rules hold.
        stands_for: Its name, for the notes; empty: none.
        heat: The simulated device that warms up; None: heat does not matter.
        began_utc_ns: When the recordings began; None: as each file says.
    """

    settings: Settings
    like: CameraSettings
    stands_for: str
    heat: WarmBoard | None
    began_utc_ns: int | None


def replay_recording(
    recording: Recording, part: Path, given: ReplayOptions, row: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> RecordingOutcome:
    """Replay one recording.

    Args:
        recording: Which.
        part: The folder for its events and pictures.
        given: What is the same for all.
        row: Its row of the status board, by `Column`.
    """
    limits = Held()
    heated = HeatedRun(given.heat, limits, part / "board") if given.heat else None
    settings = _settings(recording, part, given)
    context = _context(recording, part, given, heated.governed(settings) if heated else settings, limits)

    def watch(message: AnyMessage) -> None:
        if isinstance(message, FrameCaptured):
            row[Column.FRAMES] = message.frame.index + 1
            row[Column.MEDIA_NS] = message.frame.pts_ns
            row[Column.PERMILLE] = round(1000 * run.source.share)
        elif isinstance(message, EventRaised):
            row[Column.INCIDENTS] += message.kind == STARTED

    run = Lockstep(context, watch, heated.seen) if heated else Lockstep(context, watch)
    outcome = RecordingOutcome(name=recording.name, status="whole")
    try:
        run.run()
    except (SourceError, FrameTooLargeError) as error:
        outcome.status, outcome.reason = "unreadable", str(error).removeprefix(f"{recording.path.name}: ")
    except PipelineError as error:
        outcome.status, outcome.reason = "failed", str(error)
    if heated:
        _close_board(heated, outcome, part)
    _fill(outcome, run, row)
    counted = count_types(part / "events.jsonl")
    outcome.events = sum(counted.values())
    outcome.incidents = counted.get(STARTED, 0)
    row[Column.PERMILLE] = 1000
    return outcome


def _settings(recording: Recording, part: Path, given: ReplayOptions) -> Settings:
    camera = msgspec.structs.replace(given.like, source=address(recording.path))
    emit = msgspec.structs.replace(
        given.settings.emit,
        folder=str(part),
        sinks=("jsonl",),
        fsync="never",
        rotate_mb=1e9,
        reserve_mb=_RESERVE_MB,
    )
    return msgspec.structs.replace(given.settings, cameras={recording.camera: camera}, emit=emit)


def _context(recording: Recording, part: Path, given: ReplayOptions, settings: Settings, limits: Held) -> StageContext:
    frames, began = given.settings.frames, given.began_utc_ns
    return StageContext(
        settings=settings,
        rings={recording.camera: FramePool.create("replay", frames.slots, frames.largest)},
        keyframes=FramePool.create("keyframes", frames.keyframes, frames.largest),
        clock=MediaClock(),
        camera=recording.camera,
        config_hash=given.settings.digest(),
        uris={recording.camera: recording.name},
        log_dir=part / entries.FOLDER,
        models_dir=folders.state_dir(given.settings.runtime.state_dir),
        stands_for=given.stands_for,
        limits=limits,
        began_utc_ns=None if began is None else Nanoseconds(began),
    )


def _close_board(heated: HeatedRun, outcome: RecordingOutcome, part: Path) -> None:
    """Write down how warm the board was, a row a second."""
    heated.close()
    outcome.heat = heated.summed_up()
    rows = (msgspec.json.encode({"recording": outcome.name, **row._asdict()}) for row in heated.rows)
    (part / HEAT).write_bytes(b"".join(row + b"\n" for row in rows))


def _fill(outcome: RecordingOutcome, run: Lockstep, row: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    outcome.latency_ms = _latencies(run.work_ms)
    outcome.media_s = round(int(row[Column.MEDIA_NS]) / 1e9, 3)
    report = getattr(run.source, "report", None)
    if report is None:
        return
    outcome.frames, outcome.declared, outcome.corrupt = report.frames, report.declared, report.corrupt
    row[Column.FRAMES] = report.frames
    if outcome.status == "whole" and report.truncated:
        outcome.status, outcome.reason = "truncated", report.truncated
    elif outcome.status == "whole" and report.corrupt:
        outcome.status, outcome.reason = "damaged", f"{report.corrupt} pictures were corrupt"


def _latencies(work_ms: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float, int]]:
    return {
        stage: (round(float(np.median(times)), 3), round(float(np.percentile(times, 95)), 3), len(times))
        for stage, times in work_ms.items()
        if times
    }


def count_types(path: Path) -> dict[str, int]:
    """Count the events of a file by type; none where there is no file."""
    counts: dict[str, int] = {}
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                kind = decode(line, _Kind).type
                counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


class _Kind(msgspec.Struct):
    type: str
