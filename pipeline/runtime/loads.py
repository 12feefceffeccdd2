"""What all processes do, read from the board and from the kernel: for the stage that governs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import topology
from pipeline.core.device import sysfs
from pipeline.core.messages import Work
from pipeline.runtime.board import StageState, Word

if TYPE_CHECKING:
    from pipeline.runtime.board import Board

_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6


def work(board: Board, now_ns: int) -> Work:
    """How much there is to do, and what everybody takes.

    Args:
        board: Of the daemon.
        now_ns: Monotonic.
    """
    running = [name for name in board.names[1:] if board.get(name, Word.STATE) == StageState.RUNNING]
    classifying = [name for name in running if topology.split(name)[0] == "classify"]
    return Work(
        inferring_s=sum(board.get(name, Word.BUSY_NS) for name in topology.INFERRING) / 1e9,
        question_s=_age_s(board, "describe", now_ns),
        spent=board.get("describe", Word.SPENT) / 1000,
        encode_s=_age_s(board, "encode", now_ns),
        looked=sum(board.get(name, Word.HANDLED) for name in classifying),
        unlooked=sum(board.get(name, Word.DROPPED) for name in classifying),
        missed=sum(board.get(name, Word.MISSED) for name in running),
        available_mb=sysfs.meminfo_mb().get("MemAvailable"),
        rss_mb={name: round(mb, 3) for name in running if (mb := own_mb(board.get(name, Word.PID))) is not None},
        pieces={name: board.get(name, Word.PIECES) for name in topology.INFERRING if name in running},
        pieces_ms={name: board.get(name, Word.PIECES_NS) / 1e6 for name in topology.INFERRING if name in running},
    )


def own_mb(pid: int) -> float | None:
    """Memory in MB that a process shares with no file (mapped weights and rings are no leak); None: it is gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return None
    return (int(fields[1]) - int(fields[2])) * _PAGE_MB


def _age_s(board: Board, name: str, now_ns: int) -> float:
    since = board.get(name, Word.OLDEST_NS)
    return max(0, now_ns - since) / 1e9 if since else 0.0
