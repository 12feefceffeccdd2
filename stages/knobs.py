"""The files by which frequencies are bounded: written, and written back, also after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import structlog

from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.device import sysfs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.core.device.sysfs import Knob

log = structlog.get_logger()

_HEATING = ("npu", "gpu", "mali")  # devices whose work is inference; slower memory would slow down everything


class Knobs:
    """The upper bounds of the frequencies of whatever heats.

    Args:
        knobs: All that there are.
        kept: Where it is written down how they were before they were touched; None: nowhere.
    """

    def __init__(self, knobs: Sequence[Knob], kept: Path | None) -> None:
        heating = (one for one in knobs if _heats(one) and one.writable)
        self._knobs = {str(one.path): one for one in heating if one.now and one.most}
        self._kept = kept
        self._asked: dict[str, int] = {}  # of each, what we wrote
        self._originals, self._elsewhere = self._left()
        self._ours: dict[str, int | None] = {}  # what they say since we wrote them
        self.failing = False  # one could not be written, or what they were not be kept

    def __bool__(self) -> bool:
        return bool(self._knobs)

    @property
    def names(self) -> str:
        """What is bounded."""
        return ", ".join(one.name for one in self._knobs.values())

    def hold(self, share: float) -> None:
        """Bound every frequency to a share of its highest, never above what it was bounded to before.

        To be called again and again: what somebody else has written since is what it was bounded to before, and what
        could not be written is tried again. Nothing is touched unless it is written down how it was.
        """
        if share >= 1:
            self.restore()
            return
        before = {name: self._before(name) for name in self._knobs}
        if before != self._originals and not self._keep(before):
            self.failing = True
            return
        self.failing = False
        for name, knob in self._knobs.items():
            bound = min(before[name], _step(knob, before[name], share))
            if name in self._ours and sysfs.answer(knob.path) == self._ours[name] and self._asked.get(name) == bound:
                continue
            written = _written(knob.path, bound)
            self.failing |= not written
            if written:
                self._asked[name] = bound
                self._ours[name] = sysfs.answer(knob.path)  # the kernel may have chosen another

    def restore(self) -> None:
        """Write everything back, and forget it; what cannot be written back now is kept for the next time.

        A bound that is at its original or above it was written by somebody else since, and stays; so does one that
        says something else than we wrote.
        """
        if not self._originals:
            self.failing = False
            return
        failed = {name: value for name, value in self._originals.items() if not self._given_back(name, value)}
        self._ours = {name: said for name, said in self._ours.items() if name in failed}
        self._asked.clear()
        self._keep(failed)
        self.failing = bool(failed)

    def _given_back(self, name: str, value: int) -> bool:
        path = self._knobs[name].path
        now = sysfs.answer(path)
        others = name in self._ours and now != self._ours[name]
        return others or (now is not None and now >= value) or _written(path, value)

    def _before(self, name: str) -> int:
        """What a frequency was bounded to before we touched it, or by somebody else since."""
        knob = self._knobs[name]
        now = sysfs.answer(knob.path) or knob.now or 0
        untouched = name in self._ours and now != self._ours[name]
        return now if untouched else self._originals.get(name, now)

    def _left(self) -> tuple[dict[str, int], dict[str, int]]:
        """What a life before this one did not write back: of these files, and of others, which are left alone."""
        if self._kept is None or not self._kept.exists():
            return {}, {}
        try:
            left = decode(files.read_bounded(self._kept), dict[str, int])
        except (OSError, msgspec.DecodeError) as error:
            log.warning("originals_unreadable", file=str(self._kept), reason=str(error))
            return {}, {}
        known = {name: value for name, value in left.items() if name in self._knobs and value > 0}
        return known, {name: value for name, value in left.items() if name not in self._knobs}

    def _keep(self, originals: dict[str, int]) -> bool:
        """Before a file is touched, as whoever is killed afterwards writes nothing. False: it cannot be."""
        everything = self._elsewhere | originals
        try:
            if self._kept is not None and everything:
                files.replace(self._kept, msgspec.json.encode(everything))
            elif self._kept is not None:
                self._kept.unlink(missing_ok=True)
        except OSError as error:
            log.warning("originals_not_kept", file=str(self._kept), reason=error.strerror)
            return False
        self._originals = originals
        return True


def _heats(knob: Knob) -> bool:
    return knob.kind == "cpufreq" or any(word in knob.name for word in _HEATING)


def _step(knob: Knob, before: int, share: float) -> int:
    """The highest frequency that there is within a share of the highest; the lowest where none is."""
    most = round(max(knob.most or 0, before) * share)
    if knob.steps:
        return max((step for step in knob.steps if step <= most), default=knob.steps[0])
    return max(most, knob.least or 0)


def _written(path: Path, value: int) -> bool:
    try:
        with path.open("w", encoding="ascii") as file:
            file.write(f"{value}\n")
    except OSError as error:
        log.warning("frequency_not_set", file=str(path), khz_or_hz=value, reason=error.strerror)
        return False
    return True
