"""Watch processes that run for months: growing memory, and inference that becomes slower. Pure functions."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

SAMPLE_S = 60.0
_WARM_UP = 10  # samples to skip while models load and caches fill
_MIN_SAMPLES = 30  # samples before a process is judged
_MAX_SAMPLES = 60
_MIN_GROWTH_MB = 10.0  # smaller growth is ignored
_FREED_SHARE = 0.8  # if its memory falls below this share, samples start again
_PIECES = 20  # runs of inference for one sample


class MemoryWatch(NamedTuple):
    """Memory of one process.

    Attributes:
        skipped: Samples while it warmed up.
        mb: Its own memory in MB, one sample a minute, for an hour at most.
        first_mb: Its memory when it was warm.
        reported: Whether its growth was reported.
    """

    skipped: int = 0
    mb: tuple[float, ...] = ()
    first_mb: float = 0.0
    reported: bool = False


class Growth(NamedTuple):
    """The growth of a process's memory.

    Attributes:
        mb_per_h: The slope (Theil-Sen: the median over all pairs, robust against steps and outliers).
        gathered_mb: Growth since it was warm.
        report: Whether it grows faster than allowed and was not reported yet.
        recycle: Whether it has grown so much that it must be replaced.
    """

    mb_per_h: float
    gathered_mb: float
    report: bool
    recycle: bool


def watch_memory(memory: MemoryWatch, mb: float, leak_mb_per_h: float, recycle_mb: float) -> tuple[MemoryWatch, Growth]:
    """Add a sample of memory, once a minute; return the new state and the growth."""
    nothing = Growth(0.0, 0.0, report=False, recycle=False)
    if memory.skipped < _WARM_UP:
        return memory._replace(skipped=memory.skipped + 1, first_mb=mb), nothing
    if memory.mb and mb < _FREED_SHARE * max(memory.mb):
        return memory._replace(mb=(mb,), first_mb=min(memory.first_mb, mb)), nothing
    samples = (*memory.mb, mb)[-_MAX_SAMPLES:]
    memory = memory._replace(mb=samples)
    if len(samples) < _MIN_SAMPLES:
        return memory, nothing
    rate = _slope(samples) * 3600 / SAMPLE_S
    gathered = mb - memory.first_mb
    half = len(samples) // 2  # a leak grows in both halves, a step does not
    steady = min(_slope(samples[:half]), _slope(samples[half:])) * 3600 / SAMPLE_S > leak_mb_per_h / 2
    leaks = rate > leak_mb_per_h and steady and samples[-1] - samples[0] > _MIN_GROWTH_MB
    found = Growth(rate, gathered, report=leaks and not memory.reported, recycle=leaks and gathered > recycle_mb)
    return memory._replace(reported=memory.reported or leaks), found


def _slope(samples: tuple[float, ...]) -> float:
    """Return the slope in megabytes a sample."""
    return median(
        (samples[later] - samples[earlier]) / (later - earlier)
        for later in range(len(samples))
        for earlier in range(later)
    )


class InferencePace(NamedTuple):
    """How long inference takes in one process.

    Attributes:
        pieces: Number of runs at the last sample.
        total_ms: Their total time.
        first_ms: Mean times of the first samples.
        last_ms: Mean times of the last samples.
        reported: Whether the slowdown was reported.
    """

    pieces: int = 0
    total_ms: float = 0.0
    first_ms: tuple[float, ...] = ()
    last_ms: tuple[float, ...] = ()
    reported: bool = False


class Drift(NamedTuple):
    """Inference became slower: median times of a run, at first and now."""

    was_ms: float
    is_ms: float


def watch_pace(
    pace: InferencePace, pieces: int, total_ms: float, drift: float, *, slowed: bool
) -> tuple[InferencePace, Drift | None]:
    """Add a sample of inference times.

    Args:
        pace: The state so far.
        pieces: Number of runs so far; if it is less than before, the process is new.
        total_ms: Their total time.
        drift: Factor of slowdown that is reported.
        slowed: Whether heat slows inference down, so that times say nothing.

    Returns:
        The new state, and the drift if it must be reported, once.
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
