"""What a running daemon is doing: heat and load of the device, and all of its processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.device.governor import SPEEDS
from pipeline.core.errors import RunDirectoryError
from pipeline.runtime import folders, loads
from pipeline.runtime.board import Board, StageState, Word

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.device.limits import Limits
    from pipeline.core.messages import Work


class BoardStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Heat and load; None for what is not measured."""

    temp_c: float | None
    level: int
    speed: float  # of the board's, 0..1
    observing: bool
    paused: bool
    duty: float
    stride: int
    rung: str
    rung_means: str
    question_s: float
    encode_s: float
    missed: int
    available_mb: int | None
    open_incidents: int
    ended_incidents: int
    events_waiting: int
    energy_j: float | None
    energy_j_an_incident: float | None


class ProcessStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state and the counts of one process."""

    process: str
    pid: int
    state: str
    beat_s: float  # since its last heartbeat
    own_mb: float | None  # None: the process has ended
    handled: int
    dropped: int
    overwritten: int
    failed: int
    unsent: int
    missed: int
    reread: int
    restarts: int


class Status(NamedTuple):
    """The status of a daemon at one moment.

    Attributes:
        device: Heat and load.
        processes: The processes, in the order of the table of stages.
        limits: The limits that the governor has set.
        work: The work that waits.
    """

    device: BoardStatus
    processes: tuple[ProcessStatus, ...]
    limits: Limits
    work: Work


def read_status(run_dir: Path | None) -> Status:
    """Read the status of a daemon.

    Args:
        run_dir: Its runtime folder; None: the user's.

    Raises:
        RunDirectoryError: No daemon runs there.
    """
    _, board = attach(run_dir)
    limits, work = board.limits().get(), loads.work(board, time.monotonic_ns())
    processes = tuple(_process_status(board, name) for name in board.names[1:])
    return Status(_board_status(board, limits, work), processes, limits, work)


def attach(run_dir: Path | None) -> tuple[Path, Board]:
    """Return the runtime folder of a running daemon, and its board. Raises RunDirectoryError if no daemon runs."""
    folder = run_dir or folders.run_dir("")
    try:
        folders.check_held(folder)
        return folder, Board.open(folder / "board")
    except PermissionError as error:
        raise RunDirectoryError(
            f"{folder}: may not be read by this user: ask as who started the daemon, or as root"
        ) from error
    except (OSError, ValueError) as error:
        raise RunDirectoryError(
            f"{folder}: no daemon runs here: start one with `pipeline run CONFIG`, or name its folder with --run-dir"
        ) from error


def _board_status(board: Board, limits: Limits, work: Work) -> BoardStatus:
    energy_mj, ended = board.get(Board.DEVICE, Word.ENERGY_MJ), board.get("trigger", Word.ENDED)
    return BoardStatus(
        temp_c=limits.temp_c,
        level=limits.level,
        speed=1.0 if limits.observing else SPEEDS[limits.level],
        observing=limits.observing,
        paused=limits.paused,
        duty=limits.duty,
        stride=limits.stride,
        rung=limits.rung.name.lower(),
        rung_means=limits.rung.meaning,
        question_s=round(work.question_s, 2),
        encode_s=round(work.encode_s, 2),
        missed=work.missed,
        available_mb=None if work.available_mb is None else round(work.available_mb),
        open_incidents=board.get("trigger", Word.OPEN),
        ended_incidents=ended,
        events_waiting=board.get("trigger", Word.UNDELIVERED),
        energy_j=energy_mj / 1e3 if energy_mj else None,
        energy_j_an_incident=round(energy_mj / 1e3 / ended, 1) if energy_mj and ended else None,
    )


def _process_status(board: Board, name: str) -> ProcessStatus:
    def get(word: Word) -> int:
        return board.get(name, word)

    mb = loads.own_mb(get(Word.PID))
    return ProcessStatus(
        process=name,
        pid=get(Word.PID),
        state=StageState(get(Word.STATE)).name.lower(),
        beat_s=round((time.monotonic_ns() - get(Word.BEAT_NS)) / 1e9, 1),
        own_mb=None if mb is None else round(mb, 1),
        handled=get(Word.HANDLED),
        dropped=get(Word.DROPPED),
        overwritten=get(Word.OVERWRITTEN),
        failed=get(Word.FAILED),
        unsent=get(Word.UNSENT),
        missed=get(Word.MISSED),
        reread=get(Word.REREAD),
        restarts=get(Word.RESTARTS),
    )
