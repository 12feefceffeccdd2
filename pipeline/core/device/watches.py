"""Watches over processes that run for months: does one gather memory, does inference grow slow? Pure decisions."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

SAMPLE_S = 60.0
_WARM_UP = 10  # samples of a process that are no sign: models load, caches fill
_LEAST = 30  # samples before anything is said of it
_MOST = 60
_GROWN_MB = 10.0  # below, whatever the slope, nobody need care
_FELL = 0.8  # of its memory: it gave some back, and is looked at anew
_PIECES = 20  # runs of inference that make a sample of how long one takes


class MemoryWatch(NamedTuple):
    """Memory of one process.

    Attributes:
        skipped: Samples while it warmed up.
        mb: Of its own, a sample a minute, an hour at most.
        first_mb: When it was warm.
        reported: It was reported.
    """

    skipped: int = 0
    mb: tuple[float, ...] = ()
    first_mb: float = 0.0
    reported: bool = False


class Growth(NamedTuple):
    """What is to be said of a process's memory.

    Attributes:
        mb_per_h: Its slope (Theil and Sen's: the median of all pairs, which a step or an outlier does not move).
        gathered_mb: Since it was warm.
        tell: It grows faster than allowed, and was not told of yet.
        recycle: It has gathered so much that it is to be replaced.
    """

    mb_per_h: float
    gathered_mb: float
    tell: bool
    recycle: bool


def grown(memory: MemoryWatch, mb: float, leak_mb_per_h: float, recycle_mb: float) -> tuple[MemoryWatch, Growth]:
    """Take a sample, once a minute."""
    nothing = Growth(0.0, 0.0, tell=False, recycle=False)
    if memory.skipped < _WARM_UP:
        return memory._replace(skipped=memory.skipped + 1, first_mb=mb), nothing
    if memory.mb and mb < _FELL * max(memory.mb):
        return memory._replace(mb=(mb,), first_mb=min(memory.first_mb, mb)), nothing
    samples = (*memory.mb, mb)[-_MOST:]
    memory = memory._replace(mb=samples)
    if len(samples) < _LEAST:
        return memory, nothing
    rate = _slope(samples) * 3600 / SAMPLE_S
    gathered = mb - memory.first_mb
    half = len(samples) // 2  # a step is no leak: it grows in both halves
    steady = min(_slope(samples[:half]), _slope(samples[half:])) * 3600 / SAMPLE_S > leak_mb_per_h / 2
    leaks = rate > leak_mb_per_h and steady and samples[-1] - samples[0] > _GROWN_MB
    found = Growth(rate, gathered, tell=leaks and not memory.reported, recycle=leaks and gathered > recycle_mb)
    return memory._replace(reported=memory.reported or leaks), found


def _slope(samples: tuple[float, ...]) -> float:
    """Megabytes a sample."""
    return median(
        (samples[later] - samples[earlier]) / (later - earlier)
        for later in range(len(samples))
        for earlier in range(later)
    )


class InferencePace(NamedTuple):
    """How long inference takes in one process.

    Attributes:
        pieces: Counted at the last sample.
        total_ms: Measured then.
        first_ms: Means of the first samples.
        last_ms: And of the last.
        reported: It was reported.
    """

    pieces: int = 0
    total_ms: float = 0.0
    first_ms: tuple[float, ...] = ()
    last_ms: tuple[float, ...] = ()
    reported: bool = False


class Drift(NamedTuple):
    """Inference is slower than it was: medians of what one run took, at first and now."""

    was_ms: float
    is_ms: float


def drifted(
    pace: InferencePace, pieces: int, total_ms: float, drift: float, *, slowed: bool
) -> tuple[InferencePace, Drift | None]:
    """Take a sample.

    Args:
        pace: From before.
        pieces: Runs so far; less than before: the process is a new one.
        total_ms: What they took.
        drift: How many times slower is told of.
        slowed: Heat holds it back: what it takes now says nothing.

    Returns:
        The pace, and the drift where it is to be told of: once.
    """
    if pieces < pace.pieces:
        return InferencePace(pieces, total_ms), None
    if slowed:
        return pace._replace(pieces=pieces, total_ms=total_ms), None
    if pieces - pace.pieces < _PIECES:
        return pace, None
    mean = (total_ms - pace.total_ms) / (pieces - pace.pieces)
    pace = pace._replace(pieces=pieces, total_ms=total_ms)
    if len(pace.first_ms) < _WARM_UP:
        return pace._replace(first_ms=(*pace.first_ms, mean)), None
    pace = pace._replace(last_ms=(*pace.last_ms, mean)[-_WARM_UP:])
    was, now = median(pace.first_ms), median(pace.last_ms)
    slow = len(pace.last_ms) == _WARM_UP and now > drift * was
    found = Drift(was, now) if slow and not pace.reported else None
    return pace._replace(reported=slow), found
