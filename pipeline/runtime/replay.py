"""Replay of many recordings: one process each, as many at once as there are cores, one file of events in the end."""

from __future__ import annotations

import os
import select
import shutil
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core import events
from pipeline.core.decoding import decode
from pipeline.core.errors import ConfigError
from pipeline.core.incident import telling
from pipeline.core.messages import Priority
from pipeline.core.vocabulary import Nanoseconds
from pipeline.eventlog import entries
from pipeline.runtime import folders, forking, logs
from pipeline.runtime.board import Board
from pipeline.runtime.clocks import MediaClock
from pipeline.runtime.loading import preload
from pipeline.runtime.recordings import like
from pipeline.runtime.replay_worker import HEAT, Column, RecordingOutcome, ReplayOptions, count_types, replay_recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.core.device.heat import WarmBoard
    from pipeline.core.settings import Settings
    from pipeline.runtime.recordings import Recording


_PARTS = ".parts"
_PICTURES = "inc-*.jpg"


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

    def run(self, began_utc_ns: int | None, report: Callable[[Progress], None]) -> ReplayReport:
        """Replay everything; `report` hears of the progress a few times a second. Raises OSError, PipelineError."""
        started = time.monotonic()
        self._out.mkdir(parents=True, exist_ok=True)
        if (self._out / entries.FOLDER).exists():
            raise ConfigError(f"{self._out}: a daemon keeps its events here: choose another --out")
        with folders.held(self._out, "choose another --out"):
            try:
                outcomes = self._run(began_utc_ns, report, started)
            except BaseException:
                self._kill()
                raise
        return ReplayReport(outcomes, time.monotonic() - started, self._out / "events.jsonl")

    def _run(
        self, began_utc_ns: int | None, report: Callable[[Progress], None], started: float
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
            report(self._progress(board, started))
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
            given = ReplayOptions(self._settings, self._like, self._stands_for, self._heat, began_utc_ns)
            outcome = replay_recording(recording, part, given, row)
            (part / "outcome.json").write_bytes(msgspec.json.encode(outcome))
            return 0

        with forking.undisturbed():  # a child that nobody knows of would go on writing into what is cleared up
            pid = forking.fork(f"replay-{index}", run)
            self._running[os.pidfd_open(pid)] = (pid, index)

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
                for name in ("events.jsonl", "timings.jsonl", HEAT):
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
        by_type = count_types(events_file)
        with events_file.open("ab") as file:
            file.write(msgspec.json.encode(_summary_event(self._settings, outcomes, by_type)) + b"\n")
        for name in ("events.jsonl", "timings.jsonl", HEAT, "summary.json"):
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


def _move(pictures: Path, folder: Path) -> None:
    """Put the pictures of one folder into another; a link may lead that to another disk."""
    if pictures.exists():
        folder.mkdir(exist_ok=True)
        for picture in pictures.iterdir():
            shutil.move(picture, folder / picture.name)
