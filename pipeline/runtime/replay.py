"""Replay of many recordings: one process each, as many at once as there are cores, one file of events in the end."""

from __future__ import annotations

import hashlib
import os
import re
import select
import shutil
import signal
import time
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote

import msgspec
import numpy as np

from pipeline.core import events
from pipeline.core.decoding import decode
from pipeline.core.device.limits import Held
from pipeline.core.errors import ConfigError, FrameTooLargeError, PipelineError, SourceError
from pipeline.core.frames import FramePool
from pipeline.core.incident import telling
from pipeline.core.messages import EventRaised, FrameCaptured, Priority
from pipeline.core.secrets import redacted
from pipeline.core.settings import CameraSettings, Settings
from pipeline.core.stage import StageContext
from pipeline.core.vocabulary import CameraId, Nanoseconds
from pipeline.eventlog import entries
from pipeline.runtime import folders, forking, logs
from pipeline.runtime.board import Board
from pipeline.runtime.clocks import MediaClock
from pipeline.runtime.heated import HeatedRun
from pipeline.runtime.loading import preload
from pipeline.runtime.lockstep import Lockstep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pipeline.core.device.heat import WarmBoard
    from pipeline.core.messages import AnyMessage

Status = Literal["whole", "damaged", "truncated", "unreadable", "failed"]

_RESERVE_MB = 0.25  # of a recording's event log: it is read as it is written
# What is taken from a folder; a file that is named is always tried.
SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in (
        *("avi", "flv", "mkv", "mov", "mp4", "m4v", "mpeg", "mpg", "ts", "webm", "wmv", "3gp", "asf"),
        *("h264", "264", "h265", "265", "hevc", "mjpeg"),  # raw streams
    )
)
_STARTED = "fieldwatch.incident.start.v1"
_PARTS = ".parts"
_HEAT = "heat.jsonl"
_PICTURES = "inc-*.jpg"
_CAMERA_MOST = 60  # characters: a camera's name is part of the names of sockets and pictures


class Recording(NamedTuple):
    """One input: where it lies, and what it is called below the argument it was found under."""

    path: Path
    name: str

    @property
    def camera(self) -> CameraId:
        """The name as a camera's: a source in its own right, with a sequence of its own."""
        name = re.sub(r"[^A-Za-z0-9._~-]", "_", self.name.replace("/", "~"))
        if len(name) > _CAMERA_MOST:
            digest = hashlib.sha256(self.name.encode()).hexdigest()[:8]
            name = f"{name[: _CAMERA_MOST - len(digest) - 1]}~{digest}"
        return CameraId(name)


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
    """What a worker tells of its recording on the board."""

    FRAMES = 0
    MEDIA_NS = 1
    INCIDENTS = 2
    PERMILLE = 3  # of the recording, as far as the container says how long it is


class Progress(NamedTuple):
    """How far a replay is."""

    done: int
    total: int
    share: float  # of all recordings, each counting alike
    frames: int
    media_s: float
    incidents: int
    elapsed_s: float


class ReplayReport(NamedTuple):
    """How a replay went."""

    outcomes: list[RecordingOutcome]
    elapsed_s: float
    events_file: Path


def find(paths: Iterable[Path]) -> list[Recording]:
    """Return the recordings under files and folders: folders in sorted order, hidden files left out.

    What may not be read, and a link that leads nowhere, is among them, so that it is told of like any other that
    cannot be used. Raises ConfigError for a path that does not exist or a folder without recordings.
    """
    found: list[Recording] = []
    taken: set[str] = set()
    for path in paths:
        if _absent(path):
            raise ConfigError(f"{_told(redacted(str(path)))}: no such file or folder")
        below = _below(path) if os.path.isdir(path) else [Recording(path, _told(path.name))]  # noqa: PTH112  # raises nothing
        if not below:
            raise ConfigError(f"{path}: holds no recording ({', '.join(sorted(SUFFIXES))})")
        for recording in below:
            name, number = recording.name, 2
            while Recording(recording.path, name).camera in taken:
                name, number = f"{recording.name}~{number}", number + 1
            taken.add(Recording(recording.path, name).camera)
            found.append(Recording(recording.path, name))
    return found


def address(path: Path) -> str:
    """Return a file's address as a source, whatever bytes its name is made of."""
    return f"file://{quote(os.fsencode(path.absolute()))}"


def like(settings: Settings, camera: str) -> CameraSettings:
    """Return the camera whose zones and rules hold for recordings; none for no name. Raises ConfigError."""
    if not camera:
        return CameraSettings(source="")
    if camera not in settings.cameras:
        known = ", ".join(settings.cameras) or "it has none"
        raise ConfigError(f"no camera `{camera}` in the configuration: {known}")
    return settings.cameras[CameraId(camera)]


class Replay:
    """Runs recordings through the stages, and joins what they say in the order of the inputs."""

    def __init__(
        self,
        settings: Settings,
        recordings: list[Recording],
        out: Path,
        jobs: int,
        camera: str,
        *,
        heat: WarmBoard | None = None,
    ) -> None:
        """Raises ConfigError.

        Args:
            settings: How.
            recordings: What.
            out: Where events go.
            jobs: Recordings at once.
            camera: Whose settings (zones, hours) hold for all recordings; empty for none.
            heat: The board that each of them warms up; None: none.
        """
        self._heat = heat
        self._settings = settings
        self._like = like(settings, camera)
        self._stands_for = camera
        self._recordings = recordings
        self._out = out
        self._jobs = max(1, jobs)
        self._running: dict[int, tuple[int, int]] = {}  # pidfd: pid, index
        self._outcomes: dict[int, RecordingOutcome] = {}

    def run(self, began_utc_ns: int | None, told: Callable[[Progress], None]) -> ReplayReport:
        """Replay everything; `told` hears of the progress a few times a second. Raises OSError, PipelineError."""
        started = time.monotonic()
        self._out.mkdir(parents=True, exist_ok=True)
        if (self._out / entries.FOLDER).exists():
            raise ConfigError(f"{self._out}: a daemon keeps its events here: choose another --out")
        with folders.held(self._out, "choose another --out"):
            try:
                outcomes = self._run(began_utc_ns, told, started)
            except BaseException:
                self._kill()
                raise
        return ReplayReport(outcomes, time.monotonic() - started, self._out / "events.jsonl")

    def _run(
        self, began_utc_ns: int | None, told: Callable[[Progress], None], started: float
    ) -> list[RecordingOutcome]:
        """All is made in a folder of its own: what an earlier replay left stays until there is something better."""
        shutil.rmtree(self._out / _PARTS, ignore_errors=True)
        (self._out / _PARTS).mkdir()
        board = Board(self._out / _PARTS / "board", [str(n) for n in range(len(self._recordings))], create=True)
        preload()
        forking.freeze()
        waiting = list(range(len(self._recordings)))
        joined = 0
        while waiting or self._running:
            while waiting and len(self._running) < self._jobs:
                self._start(waiting.pop(0), board, began_utc_ns)
            self._wait()
            joined = self._join(joined)
            told(self._progress(board, started))
        outcomes = [self._outcomes[index] for index in range(len(self._recordings))]
        self._finish(outcomes)
        return outcomes

    def _start(self, index: int, board: Board, began_utc_ns: int | None) -> None:
        recording = self._recordings[index]
        part = self._out / _PARTS / str(index)
        part.mkdir()

        def run() -> int:
            logs.configure("warning", recording=recording.name)
            row = board.row(str(index))
            outcome = self._replayed(recording, part, began_utc_ns, row)
            (part / "outcome.json").write_bytes(msgspec.json.encode(outcome))
            return 0

        with forking.undisturbed():  # a child that nobody knows of would go on writing into what is cleared up
            pid = forking.fork(f"replay-{index}", run)
            self._running[os.pidfd_open(pid)] = (pid, index)

    def _for(self, recording: Recording, part: Path) -> Settings:
        camera = msgspec.structs.replace(self._like, source=address(recording.path))
        emit = msgspec.structs.replace(
            self._settings.emit,
            folder=str(part),
            sinks=("jsonl",),
            fsync="never",
            rotate_mb=1e9,
            reserve_mb=_RESERVE_MB,
        )
        return msgspec.structs.replace(self._settings, cameras={recording.camera: camera}, emit=emit)

    def _replayed(
        self,
        recording: Recording,
        part: Path,
        began_utc_ns: int | None,
        row: np.ndarray[tuple[int], np.dtype[np.int64]],
    ) -> RecordingOutcome:
        """In the worker: replay one recording, on a board of its own where heat matters."""
        frames, limits = self._settings.frames, Held()
        heated = HeatedRun(self._heat, limits, part / "board") if self._heat else None
        settings = self._for(recording, part)
        context = StageContext(
            settings=heated.governed(settings) if heated else settings,
            rings={recording.camera: FramePool.create("replay", frames.slots, frames.largest)},
            keyframes=FramePool.create("keyframes", frames.keyframes, frames.largest),
            clock=MediaClock(),
            camera=recording.camera,
            config_hash=self._settings.digest(),
            uris={recording.camera: recording.name},
            log_dir=part / entries.FOLDER,
            models_dir=folders.state_dir(self._settings.runtime.state_dir),
            stands_for=self._stands_for,
            limits=limits,
            began_utc_ns=None if began_utc_ns is None else Nanoseconds(began_utc_ns),
        )

        def watch(message: AnyMessage) -> None:
            if isinstance(message, FrameCaptured):
                row[Column.FRAMES] = message.frame.index + 1
                row[Column.MEDIA_NS] = message.frame.pts_ns
                row[Column.PERMILLE] = round(1000 * run.source.share)
            elif isinstance(message, EventRaised):
                row[Column.INCIDENTS] += message.kind == _STARTED

        run = Lockstep(context, watch, heated.seen) if heated else Lockstep(context, watch)
        outcome = RecordingOutcome(name=recording.name, status="whole")
        try:
            run.run()
        except (SourceError, FrameTooLargeError) as error:
            outcome.status, outcome.reason = "unreadable", str(error).removeprefix(f"{recording.path.name}: ")
        except PipelineError as error:
            outcome.status, outcome.reason = "failed", str(error)
        if heated:
            heated.close()
            outcome.heat = heated.summed_up()
            rows = (msgspec.json.encode({"recording": recording.name, **row._asdict()}) for row in heated.rows)
            (part / _HEAT).write_bytes(b"".join(row + b"\n" for row in rows))
        _fill(outcome, run, row)
        counted = _count_types(part / "events.jsonl")
        outcome.events = sum(counted.values())
        outcome.incidents = counted.get(_STARTED, 0)
        row[Column.PERMILLE] = 1000
        return outcome

    def _wait(self) -> None:
        poller = select.poll()
        for pidfd in self._running:
            poller.register(pidfd, select.POLLIN)
        for pidfd, _ in poller.poll(100):
            pid, index = self._running.pop(pidfd)
            os.close(pidfd)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            self._outcomes[index] = self._outcome(index, status)

    def _outcome(self, index: int, status: int) -> RecordingOutcome:
        """Read what a worker left; one that died is the outcome of its recording, not of the replay."""
        path = self._out / _PARTS / str(index) / "outcome.json"
        if status == 0 and path.exists():
            return decode(path.read_bytes(), RecordingOutcome)
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return RecordingOutcome(
            name=self._recordings[index].name,
            status="failed",
            reason=f"its process was {how}" if status < 0 else f"its process {how}",
        )

    def _join(self, joined: int) -> int:
        """Append the events of every recording whose predecessors are all there.

        Where the process died, incidents have no end and depend on when that was: the outcome names the recording,
        and nothing is told of it.
        """
        parts = self._out / _PARTS
        while joined in self._outcomes:
            part = parts / str(joined)
            if self._outcomes[joined].status != "failed":
                for name in ("events.jsonl", "timings.jsonl", _HEAT):
                    if (part / name).exists():
                        with (part / name).open("rb") as source, (parts / name).open("ab") as target:
                            shutil.copyfileobj(source, target)
                _move(part / "evidence", parts / "evidence")
            shutil.rmtree(part)
            joined += 1
        return joined

    def _finish(self, outcomes: list[RecordingOutcome]) -> None:
        """Close the file of events with the summary, and put everything in the place of an earlier replay's."""
        parts = self._out / _PARTS
        events_file = parts / "events.jsonl"
        by_type = _count_types(events_file)
        with events_file.open("ab") as file:
            file.write(msgspec.json.encode(_summary_event(self._settings, outcomes, by_type)) + b"\n")
        for name in ("events.jsonl", "timings.jsonl", _HEAT, "summary.json"):
            (self._out / name).unlink(missing_ok=True)
            if (parts / name).exists():
                (parts / name).rename(self._out / name)
        evidence = self._out / "evidence"
        for picture in evidence.glob(_PICTURES):
            picture.unlink()
        _move(parts / "evidence", evidence)
        shutil.rmtree(parts)

    def _progress(self, board: Board, started: float) -> Progress:
        rows = [board.row(str(index)) for index in range(len(self._recordings))]
        return Progress(
            len(self._outcomes),
            len(self._recordings),
            sum(int(row[Column.PERMILLE]) for row in rows) / 1000 / len(rows),
            sum(int(row[Column.FRAMES]) for row in rows),
            sum(int(row[Column.MEDIA_NS]) for row in rows) / 1e9,
            sum(int(row[Column.INCIDENTS]) for row in rows),
            time.monotonic() - started,
        )

    def _kill(self) -> None:
        for pidfd, (pid, _) in self._running.items():
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(pidfd)
        self._running.clear()
        shutil.rmtree(self._out / _PARTS, ignore_errors=True)


def coverage(outcomes: list[RecordingOutcome]) -> float:
    """Share of the declared pictures that were read, in percent; an input that gave none counts as one missed."""
    read = sum(min(one.frames, one.declared or one.frames) for one in outcomes)
    there = sum(max(one.frames if one.status == "whole" else one.declared or one.frames, 1) for one in outcomes)
    return round(100 * read / there, 1) if there else 0.0


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


def _count_types(path: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                kind = decode(line, _Kind).type
                counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


class _Kind(msgspec.Struct):
    type: str


def _summary_event(settings: Settings, outcomes: list[RecordingOutcome], by_type: dict[str, int]) -> events.Event:
    """The last line: what was replayed, and how whole it was. Nothing in it was measured."""
    details: events.Details = {
        "inputs": len(outcomes),
        "coverage_percent": coverage(outcomes),
        **{
            f"inputs_{status}": sum(one.status == status for one in outcomes)
            for status in ("whole", "damaged", "truncated", "unreadable", "failed")
        },
        **{f"input:{one.name}": f"{one.status}: {one.reason}" for one in outcomes if one.status != "whole"},
        **by_type,
    }
    raised = telling.device_event("replay.summary", 1, Priority.ROUTINE, details, Nanoseconds(0), Nanoseconds(0))
    data = msgspec.structs.replace(raised.data, clock="media", config_hash=settings.digest())
    source = telling.source(settings.site)
    stamps = MediaClock().recorded(raised.utc_ns, raised.pts_ns)
    return telling.enveloped(raised, data, source, events.ulid(raised.utc_ns, source, raised.key), 1, stamps)


def _absent(path: Path) -> bool:
    """Whether nothing is there; what may not be looked at may be."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _below(folder: Path) -> list[Recording]:
    found: list[Path] = []

    def refused(error: OSError) -> None:
        found.append(Path(error.filename))

    for where, below, files in os.walk(folder, onerror=refused):
        below[:] = [name for name in below if not name.startswith(".")]
        paths = (Path(where, name) for name in files if not name.startswith("."))
        found += [path for path in paths if path.suffix.lower() in SUFFIXES and (path.is_file() or path.is_symlink())]
    names = {path: path.name if path == folder else path.relative_to(folder).as_posix() for path in found}
    return [Recording(path, _told(names[path])) for path in sorted(found)]


def _move(pictures: Path, folder: Path) -> None:
    """Put the pictures of one folder into another; a link may lead that to another disk."""
    if pictures.exists():
        folder.mkdir(exist_ok=True)
        for picture in pictures.iterdir():
            shutil.move(picture, folder / picture.name)


def _told(name: str) -> str:
    """A name that can be written in UTF-8, whatever bytes the file system holds."""
    return name.encode(errors="backslashreplace").decode()
