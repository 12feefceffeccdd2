"""The status board: one row of numbers a process, in a small mapped file of the runtime directory.

State, not messages: whoever dies or starts late reads how things stand, and nothing is lost on the way. Each word is
written by one process only; aligned 8-byte stores do not tear.
"""

from __future__ import annotations

import errno
import mmap
import os
import time
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from pipeline import topology
from pipeline.core import files
from pipeline.core.device.limits import FREE, Limits, pack, unpack

if TYPE_CHECKING:
    from pathlib import Path

_ROW_WORDS = 32


class StageState(IntEnum):
    """How far a process is."""

    STARTING = 0
    READY = 1
    RUNNING = 2
    DONE = 3  # a source whose recording has ended
    STOPPED = 4


class Word(IntEnum):
    """The columns of a row, and who writes them."""

    PID = 0  # supervisor
    RESTARTS = 1  # supervisor
    LAST_EXIT = 2  # supervisor: exit status, or minus the signal
    STATE = 3  # the process itself, and supervisor before it starts
    BEAT_NS = 4  # monotonic time of the last turn
    HANDLED = 5
    DROPPED = 6  # messages given up by an inbox
    OVERWRITTEN = 7  # frames that the ring had moved past
    FAILED = 8  # messages that ended in an error
    UNSENT = 9  # messages that no reader took
    REPORTED = 10  # restarts of this process that the teller told of
    TAPPED_UNTIL_NS = 11  # by `pipeline tap`: until then, publish what is sent
    REREAD = 12  # prompts whose part that never changes had to be read again
    OLDEST_NS = 13  # monotonic time since which the oldest message waits that is not served yet; 0: none waits
    BUSY_NS = 14  # time spent on messages and pieces of work so far
    MISSED = 15  # deadlines that were missed
    OPEN = 16  # of trigger: incidents that are not over
    LIMITS = 17  # of the device's row, by govern: what may be done, packed
    RECYCLE = 18  # by govern: how often the process is to have been replaced for what it has gathered
    PIECES = 19  # of inference: forwards of the language model, runs of the encoder
    PIECES_NS = 20  # what they took
    ENERGY_MJ = 21  # of the device's row, by govern: millijoules since the daemon began; 0: nothing measures them
    ENDED = 22  # of trigger: incidents that are over, in this life
    UNDELIVERED = 25  # of trigger: events in the log that a sink has not got
    GIVEN_UP = 24  # of trigger: events that found no room and that nobody was told of yet
    SPENT = 23  # of the time within which an answer is worth something, by the question nearest to its end; thousandths


class BoardLimits:
    """Where limits lie for all processes; they outlive whoever set them, and whoever reads them."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._row = board.row(Board.DEVICE)
        self._word, self._limits = 0, FREE

    def get(self) -> Limits:
        """What holds now; cheap enough to be asked for every picture."""
        word = int(self._row[Word.LIMITS])
        if word != self._word:
            self._word, self._limits = word, unpack(word)
        return self._limits

    def set(self, limits: Limits) -> None:
        """From now on, for every process."""
        self._row[Word.LIMITS] = pack(limits)

    def record_energy(self, joules: float) -> None:
        """The device has taken so much since the daemon began."""
        self._row[Word.ENERGY_MJ] = round(joules * 1e3)

    def recycle(self, name: str) -> bool:
        """Have a process replaced as soon as no incident is open: the supervisor reads it here. False: it stays."""
        if not topology.STAGES[topology.split(name)[0]].replaceable:
            return False
        self._board.set(name, Word.RECYCLE, self._board.get(name, Word.RECYCLE) + 1)
        return True


def _take_room(descriptor: int, size: int, path: Path) -> None:
    """Have the disk keep room for a file: a process that writes into memory without any is killed. Raises OSError."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        error.filename = str(path)
        raise


class Board:
    """Rows by process name; the row `device` holds what concerns all."""

    DEVICE = "device"

    def __init__(self, path: Path, names: list[str], *, create: bool = False) -> None:
        self.names = [self.DEVICE, *names]
        size = len(self.names) * _ROW_WORDS * 8
        descriptor = files.open_regular(path, os.O_RDWR | (os.O_CREAT | os.O_TRUNC if create else 0))
        try:
            if create:
                _take_room(descriptor, size, path)
                files.replace(path.with_suffix(".names"), "\n".join(names).encode(), 0o600)
            elif os.fstat(descriptor).st_size < size:
                raise OSError(errno.EINVAL, "no board of a daemon: start the daemon anew", str(path))
            self._map = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self._words = np.frombuffer(self._map, np.int64).reshape(-1, _ROW_WORDS)

    @classmethod
    def open(cls, path: Path) -> Board:
        """Open the board of a running daemon. Raises OSError when there is none."""
        names = files.read_bounded(path.with_suffix(".names")).decode(errors="replace").splitlines()
        if not names or any(topology.split(name)[0] not in topology.STAGES for name in names):
            raise OSError(errno.EINVAL, "no board of a daemon: start the daemon anew", str(path))
        return cls(path, names)

    def get(self, name: str, word: Word) -> int:
        """Read a number."""
        return int(self._words[self.names.index(name), word])

    def set(self, name: str, word: Word, value: int) -> None:
        """Write a number."""
        self._words[self.names.index(name), word] = value

    def row(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return a process's own row, to write in place."""
        row: np.ndarray[tuple[int], np.dtype[np.int64]] = self._words[self.names.index(name)]
        return row

    def limits(self) -> BoardLimits:
        """Where the limits in force lie."""
        return BoardLimits(self)

    @property
    def go_ns(self) -> int:
        """Monotonic time at which sources began; 0 before."""
        return self.get(self.DEVICE, Word.BEAT_NS)

    def go(self) -> None:
        """Let the sources begin."""
        self.set(self.DEVICE, Word.BEAT_NS, time.monotonic_ns())
