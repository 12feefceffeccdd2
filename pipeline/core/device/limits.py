"""What may be done just now: the governor sets it, every stage reads it. State, not messages, as it outlives stages."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Rung(IntEnum):
    """The ladder of what is given up under load, heat, or for want of memory; each gives up what those before do."""

    FULL = 0
    VERDICTS = 1  # no sentences but for alarms: titles, facts and verdicts
    TEMPLATES = 2  # the language model is not asked at all: verdicts by rules, and by the words of notes
    CLASSES = 3  # no features: incidents have no tags
    MOTION = 4  # nothing is recognised: something moved

    @property
    def meaning(self) -> str:
        """In words, for people."""
        return _MEANINGS[self]


_MEANINGS = {
    Rung.FULL: "everything is done",
    Rung.VERDICTS: "no sentences are written but for alarms",
    Rung.TEMPLATES: "the language model is not asked",
    Rung.CLASSES: "no features, and so no tags",
    Rung.MOTION: "nothing is recognised, only that something moves",
}


class Limits(NamedTuple):
    """What holds.

    Attributes:
        rung: Of the ladder.
        level: Of the thermal governor, 0 (full speed) to 4.
        paused: The language model stands still.
        duty: Share of time that inference may take; below 1 where frequencies cannot be set.
        stride: Every so many-th picture is looked at.
        temp_c: Of the hottest sensor; None: nothing tells.
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


def packed(limits: Limits) -> int:
    """As one number of 42 bits, so that it is written and read whole; temperatures to a tenth of a degree."""
    known = limits.temp_c is not None
    temp = round((min(limits.temp_c, 400.0) - _COLDEST_C) * 10) if limits.temp_c is not None else 0
    numbers = (
        limits.rung, limits.level, limits.paused, round(limits.duty * 100), limits.stride, known, max(0, temp),
        limits.observing,
    )  # fmt: skip
    return sum((int(number) & (1 << bits) - 1) << at for number, (at, bits) in zip(numbers, _PLACES, strict=True))


def unpacked(word: int) -> Limits:
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

    def spent(self, joules: float) -> None:
        """Nobody asks in one process."""

    def recycle(self, name: str) -> bool:  # noqa: ARG002  # as where there are many
        """Nobody can be replaced in one process."""
        return False
