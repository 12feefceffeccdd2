"""A replay on a board that warms up: time is the recording's, and work takes what it takes on such a board.

Nothing is measured, so the same recording gives the same events. A message is answered at once, as always in a replay;
what it would have taken is put in a queue that the board works off at its speed.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.core.device import heat
from pipeline.core.device.limits import Rung
from pipeline.core.errors import RunDirectoryError
from pipeline.core.messages import (
    DescriptionWanted,
    FeaturesEncoded,
    FrameCaptured,
    Priority,
    SceneClassified,
    Ticked,
    Work,
)
from pipeline.core.vocabulary import Nanoseconds
from pipeline.runtime.played import PlayedBoard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.core.messages import AnyMessage
    from pipeline.core.settings import Settings
    from pipeline.core.stage import Limited

# What pieces of work take at full speed, in seconds: those of the board that this is made for.
_LOOK_S, _ENCODING_S = 0.005, 0.03
_VERDICT_S, _SENTENCE_S = 0.8, 1.6
_WORTH_S = 30.0  # within which an answer is worth something
_SECOND_NS = 1_000_000_000


class HeatRow(NamedTuple):
    """One second of the board, as it is written to `heat.jsonl`."""

    at_s: float
    temp_c: float
    frequency: float
    firmware: bool
    level: int
    rung: str
    queue_s: float
    served_s: float
    watts: float


class HeatedRun:
    """What passes in a replay, as work; each second of it becomes a tick.

    Args:
        place: The board.
        limits: What may be done.
        folder: For the board's files; made, and removed at the end.

    Raises:
        RunDirectoryError: They cannot be written.
    """

    def __init__(self, place: heat.WarmBoard, limits: Limited, folder: Path) -> None:
        self._folder = folder
        with self._writing():
            self._board = PlayedBoard(place, folder)
        self._limits = limits
        self._at_s = 0
        self._queue_s = self._busy_s = self._other_s = 0.0
        self.rows: list[HeatRow] = []

    def governed(self, settings: Settings) -> Settings:
        """Settings with which the governor reads and writes this board."""
        governor = msgspec.structs.replace(settings.governor, sysfs=str(self._folder))
        return msgspec.structs.replace(settings, governor=governor)

    def seen(self, message: AnyMessage) -> Iterator[Ticked]:
        """Count the work of a message; yield a tick for each second of the recording that is over."""
        if isinstance(message, SceneClassified) and message.looked:
            self._other_s += _LOOK_S
        elif isinstance(message, FeaturesEncoded) and message.model:
            self._other_s += _ENCODING_S
        elif (
            isinstance(message, DescriptionWanted)
            and message.previous_verdict is None
            and not self._limits.get().silent
        ):
            sentence = self._limits.get().rung < Rung.VERDICTS or message.priority == Priority.ALARM
            self._queue_s += _VERDICT_S + _SENTENCE_S * sentence
        elif isinstance(message, FrameCaptured):
            while message.frame.pts_ns >= (self._at_s + 1) * _SECOND_NS:
                yield self._second(message)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunDirectoryError(f"{self._folder}: {error.strerror}: --heat needs room for a few files") from error

    def summed_up(self) -> dict[str, float]:
        """How warm it got, and what that did."""
        if not self.rows:
            return {}
        return {
            "temp_c_first": round(self.rows[0].temp_c, 1),
            "temp_c_most": round(max(row.temp_c for row in self.rows), 1),
            "level_most": max(row.level for row in self.rows),
            "queue_s_most": round(max(row.queue_s for row in self.rows), 1),
        }

    def close(self) -> None:
        """Remove the board's files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _second(self, message: FrameCaptured) -> Ticked:
        self._at_s += 1
        limits = self._limits.get()
        pace = 0.0 if limits.paused else heat.speed(self._board.moment.frequency) * limits.duty
        served = min(self._queue_s, pace)
        self._queue_s -= served
        busy = served / pace * limits.duty if pace else 0.0
        load = min(1.0, busy + self._other_s)
        with self._writing():
            moment = self._board.pass_s(1.0, load)
        self._busy_s += load
        self._other_s = 0.0
        waits = self._queue_s / pace if pace else self._queue_s
        self.rows.append(
            HeatRow(
                self._at_s, moment.temp_c, moment.frequency, moment.firmware, limits.level, limits.rung.name.lower(),
                round(waits, 3), round(served, 3), moment.watts,
            )
        )  # fmt: skip
        at_ns = Nanoseconds(self._at_s * _SECOND_NS)
        late_ns = message.frame.pts_ns - at_ns
        work = Work(inferring_s=self._busy_s, question_s=waits, spent=min(1.0, waits / _WORTH_S))
        return Ticked(pts_ns=at_ns, utc_ns=Nanoseconds(message.frame.utc_ns - late_ns), work=work)
