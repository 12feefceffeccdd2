"""The files by which frequencies are bounded: written, and written back, also after a crash."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import structlog

from pipeline.core import sysfs
from pipeline.core.decoding import decode

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.sysfs import Knob

log = structlog.get_logger()

_HEATING = ("npu", "gpu", "mali")  # devices whose work is inference; slower memory would slow down everything


class Knobs:
    """The upper bounds of the frequencies of whatever heats.

    Args:
        knobs: All that there are.
        kept: Where it is written down how they were before they were touched; None: nowhere.
    """

    def __init__(self, knobs: list[Knob], kept: Path | None) -> None:
        self._knobs = [one for one in knobs if _heats(one) and one.writable and one.now and one.most]
        self._paths = {str(one.path): one.path for one in self._knobs}
        self._kept = kept
        self._originals = self._left()
        self._ours: dict[Path, int | None] = {}  # what they say since we wrote them
        self.refused = next((one.name for one in knobs if _heats(one) and not one.writable), "")

    def __bool__(self) -> bool:
        return bool(self._knobs)

    @property
    def names(self) -> str:
        """What is bounded."""
        return ", ".join(one.name for one in self._knobs)

    def set(self, share: float) -> None:
        """Bound every frequency to a share of its highest, never above what it was bounded to before.

        What somebody else has written since is what it was bounded to before. A file that cannot be written any more is
        left alone from then on.
        """
        before = {str(one.path): self._before(one) for one in self._knobs}
        if share < 1 and before != self._originals:
            self._keep(before)
        for one in list(self._knobs):
            original = before[str(one.path)]
            if _written(one.path, original if share >= 1 else min(original, _step(one, share))):
                self._ours[one.path] = sysfs.number(one.path)  # the kernel may have chosen another
            else:
                self._knobs.remove(one)
        if share >= 1:
            self.restore()

    def restore(self) -> None:
        """Write everything back, and forget it; what cannot be written back now is kept for the next time.

        A bound that is at its original or above it was written by somebody else since, and stays.
        """
        failed = {
            name: value
            for name, value in self._originals.items()
            if (sysfs.number(self._paths[name]) or 0) < value and not _written(self._paths[name], value)
        }
        self._ours.clear()
        self._keep(failed)

    def _before(self, knob: Knob) -> int:
        """What a frequency was bounded to before we touched it, or by somebody else since."""
        now, name = sysfs.number(knob.path) or knob.now or 0, str(knob.path)
        touched = knob.path in self._ours and now == self._ours[knob.path]
        return self._originals.get(name, now) if touched or knob.path not in self._ours else now

    def _left(self) -> dict[str, int]:
        """What a life before this one did not write back."""
        if self._kept is None or not self._kept.exists():
            return {}
        try:
            left = decode(self._kept.read_bytes(), dict[str, int])
        except (OSError, msgspec.DecodeError) as error:
            log.warning("originals_unreadable", file=str(self._kept), reason=str(error))
            return {}
        return {name: value for name, value in left.items() if name in self._paths}  # and no other file

    def _keep(self, originals: dict[str, int]) -> None:
        """Before a file is touched, as whoever is killed afterwards writes nothing."""
        self._originals = originals
        if self._kept is None:
            return
        try:
            if not originals:
                self._kept.unlink(missing_ok=True)
                return
            part = self._kept.with_suffix(".part")
            with part.open("wb") as file:
                file.write(msgspec.json.encode(originals))
                file.flush()
                os.fsync(file.fileno())
            part.rename(self._kept)
        except OSError as error:
            log.warning("originals_not_kept", file=str(self._kept), reason=error.strerror)


def _heats(knob: Knob) -> bool:
    return knob.kind == "cpufreq" or any(word in knob.name for word in _HEATING)


def _step(knob: Knob, share: float) -> int:
    """The highest frequency that there is within a share of the highest; the lowest where none is."""
    most = round((knob.most or 0) * share)
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
