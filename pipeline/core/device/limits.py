"""What may be done just now: the governor sets it, every stage reads it. State, not messages, as it outlives stages.

Two numbers say it, and a table each says what they mean: the level of the thermal governor (`LEVELS`) and the rung of
the ladder of what is given up (`RUNGS`), down which load drives it, too (`CAUSES`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Rung(IntEnum):
    """The ladder of what is given up under load, heat, or for want of memory; each gives up what those before do."""

    FULL = 0
    VERDICTS = 1
    TEMPLATES = 2
    CLASSES = 3
    MOTION = 4

    @property
    def meaning(self) -> str:
        """In words, for people."""
        return RUNGS[self].meaning


class RungRow(NamedTuple):
    """A row of the ladder.

    Attributes:
        from_level: The thermal level from which on it is taken at least; None: heat does not ask for it.
        emergency: Whether it is taken at least while memory is short, or the board too hot for its language model.
        meaning: In words, for people.
    """

    from_level: int | None
    emergency: bool
    meaning: str


# fmt: off
RUNGS = {
    # rung                  from_level emergency meaning
    Rung.FULL:      RungRow(0,         False,    "everything is done"),
    Rung.VERDICTS:  RungRow(3,         False,    "no sentences are written but for alarms"),  # titles, facts, verdicts
    Rung.TEMPLATES: RungRow(4,         True,     "the language model is not asked"),  # verdicts by rules and words
    Rung.CLASSES:   RungRow(None,      False,    "no features, and so no tags"),
    Rung.MOTION:    RungRow(None,      False,    "nothing is recognised, only that something moves"),
}
# fmt: on


class Level(NamedTuple):
    """A level of the thermal governor.

    Attributes:
        speed: Share of the highest frequency, or of the time that inference may take where frequencies cannot be set.
        stride: Every so many-th picture is looked at.
    """

    speed: float
    stride: int


# fmt: off
LEVELS = (
    #     speed stride
    Level(1.00, 1),
    Level(0.85, 1),
    Level(0.70, 1),
    Level(0.55, 2),
    Level(0.40, 2),
)
# fmt: on


class Cause(NamedTuple):
    """What may be too much, and how far down the ladder it may drive: no further than helps.

    At the limit it is too much, up to `calm` it is calm; between them nothing changes.
    """

    of: str
    calm: float
    limit: float
    unit: str
    deepest: Rung


# fmt: off
CAUSES = (  # what                                       calm  limit unit    deepest
    Cause("time that a question waits of what it has",   0.3,  0.8,  "of 1", Rung.VERDICTS),
    Cause("the oldest picture to encode",                2.0,  5.0,  "s",    Rung.CLASSES),
    Cause("pictures that the classifier cannot take",    0.85, 0.95, "of 1", Rung.MOTION),  # one of ten is left
    Cause("deadlines missed in half a minute",           0.0,  3.0,  "",     Rung.VERDICTS),
    Cause("deadlines missed in half a minute",           9.0, 30.0,  "",     Rung.TEMPLATES),
)
# fmt: on


def rung_of_level(level: int) -> Rung:
    """Return the rung that is taken at least at a thermal level."""
    return max(rung for rung, row in RUNGS.items() if row.from_level is not None and row.from_level <= level)


EMERGENCY = max(rung for rung, row in RUNGS.items() if row.emergency)
"""The rung that is taken at least for want of memory, or in an emergency of heat."""


class Limits(NamedTuple):
    """What holds.

    Attributes:
        rung: Of the ladder.
        level: Of the thermal governor, 0 (full speed) to the last of `LEVELS`.
        paused: The language model stands still.
        duty: Share of time that inference may take; below 1 where frequencies cannot be set.
        stride: Every so many-th picture is looked at.
        temp_c: Temperature of the hottest sensor; None if no sensor works.
        observing: The level is what would hold, if the governor might act; nothing is held back.
    """

    rung: Rung = Rung.FULL
    level: int = 0
    paused: bool = False
    duty: float = 1.0
    stride: int = 1
    temp_c: float | None = None
    observing: bool = False

    @property
    def silent(self) -> bool:
        """Whether the language model is not asked."""
        return self.paused or self.rung >= Rung.TEMPLATES

    @property
    def why(self) -> str:
        """Why less is done than could be, for `analysis.reason`."""
        return f"{'the board is too hot' if self.paused else 'load or heat'}: {self.rung.meaning}"


FREE = Limits()
"""Nothing is held back."""

# Bits of a word, from the lowest: how many, then what.
_RUNG, _LEVEL, _PAUSED, _DUTY, _STRIDE, _KNOWN, _TEMP = (0, 4), (4, 4), (8, 1), (9, 7), (16, 8), (24, 1), (25, 16)
_OBSERVING = (41, 1)
_PLACES = (_RUNG, _LEVEL, _PAUSED, _DUTY, _STRIDE, _KNOWN, _TEMP, _OBSERVING)
_COLDEST_C = -100.0  # below what any sensor of a board that runs says


def pack(limits: Limits) -> int:
    """As one number of 42 bits, so that it is written and read whole; temperatures to a tenth of a degree."""
    known = limits.temp_c is not None
    temp = round((min(limits.temp_c, 400.0) - _COLDEST_C) * 10) if limits.temp_c is not None else 0
    numbers = (
        limits.rung, limits.level, limits.paused, round(limits.duty * 100), limits.stride, known, max(0, temp),
        limits.observing,
    )  # fmt: skip
    return sum((int(number) & (1 << bits) - 1) << at for number, (at, bits) in zip(numbers, _PLACES, strict=True))


def unpack(word: int) -> Limits:
    """The limits of such a number; 0, which nobody has written yet, holds nothing back."""
    if not word:
        return FREE
    numbers = (word >> at & (1 << bits) - 1 for at, bits in _PLACES)
    rung, level, paused, duty, stride, known, temp, observing = numbers
    temp_c = round(temp / 10 + _COLDEST_C, 1) if known else None
    return Limits(Rung(rung), level, bool(paused), duty / 100, stride, temp_c, bool(observing))


class Held:
    """Where limits lie in one process; `pipeline.runtime.board` has a place for many."""

    def __init__(self) -> None:
        self._limits = FREE

    def get(self) -> Limits:
        """What holds now."""
        return self._limits

    def set(self, limits: Limits) -> None:
        """From now on."""
        self._limits = limits

    def record_energy(self, joules: float) -> None:
        """Nobody asks in one process."""

    def recycle(self, name: str) -> bool:  # noqa: ARG002  # as where there are many
        """Nobody can be replaced in one process."""
        return False
