"""A board that is played: a tree of files as the kernel's, whose temperatures follow what is done and what is written.

The stage that governs reads and writes it as it does `/sys`, in a replay (`--heat`) and beside real processes
(`tools/thermal_twin.py`). Beside the governor's bound the board has its firmware's own: at the trip the lowest
frequency, until it has cooled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.device import heat, sysfs
from pipeline.core.device.governor import SPEEDS, TRIP_C

if TYPE_CHECKING:
    from pathlib import Path

_COOLED_C = 70.0  # then its firmware lets it go
_LOWEST = SPEEDS[-1]
_FIELD = 64  # characters of a file
_ZONE = "class/thermal/thermal_zone0"
_POLICY = "devices/system/cpu/cpufreq/policy0"


class Moment(NamedTuple):
    """How the board is.

    Attributes:
        temp_c: Of its chip.
        frequency: A share of the highest.
        firmware: It protects itself.
        watts: It takes.
    """

    temp_c: float
    frequency: float
    firmware: bool
    watts: float


class PlayedBoard:
    """One board.

    Args:
        place: Which, and how warm the air is.
        root: Where its files are, instead of `/sys`; made if it is not there.
        load: The share of time that it has worked so far, at full speed, for so long that nothing changes any more;
            but not beyond where its firmware lets go.

    Raises:
        OSError: The files cannot be written.
    """

    def __init__(self, place: heat.WarmBoard, root: Path, load: float = 0.0) -> None:
        self._place = place
        self._zone, self._policy = root / _ZONE, root / _POLICY
        self._firmware = False
        self._bound = place.body.most_khz
        watts = heat.power_w(place.body, load, 1.0)
        warmth = heat.settle(place.body, place.ambient_c, watts)
        idle_c = heat.settle(place.body, place.ambient_c, place.body.idle_w).chip_c
        over = max(0.0, warmth.chip_c - max(_COOLED_C, idle_c))
        self._warmth = heat.Warmth(warmth.chip_c - over, warmth.housing_c - over)
        self._write_tree()
        self.moment = self._now(watts)

    def pass_s(self, seconds: float, load: float) -> Moment:
        """Let time pass.

        Args:
            seconds: How long.
            load: The share of them in which it worked, 0..1.
        """
        watts = heat.power_w(self._place.body, load, self.moment.frequency)
        self._warmth = heat.warm(self._place.body, self._warmth, self._place.ambient_c, watts, seconds)
        chip_c = self._warmth.chip_c
        self._firmware = chip_c >= TRIP_C or (self._firmware and chip_c > _COOLED_C)
        _write(self._zone / "temp", round(chip_c * 1000))
        self.moment = self._now(watts)
        return self.moment

    def _now(self, watts: float) -> Moment:
        most = self._place.body.most_khz
        bound = sysfs.number(self._policy / "scaling_max_freq")
        self._bound = self._bound if bound is None else bound  # somebody is just writing it
        share = _LOWEST if self._firmware else min(1.0, max(_LOWEST, self._bound / most))
        return Moment(round(self._warmth.chip_c, 3), round(share, 3), self._firmware, round(watts, 3))

    def _write_tree(self) -> None:
        most = self._place.body.most_khz
        steps = [round(most * share) for share in sorted(SPEEDS)]
        for folder in (self._zone, self._policy):
            folder.mkdir(parents=True, exist_ok=True)
        _write(self._zone / "type", "soc-thermal")
        _write(self._zone / "trip_point_0_type", "passive")
        _write(self._zone / "trip_point_0_temp", round(TRIP_C * 1000))
        _write(self._zone / "temp", round(self._warmth.chip_c * 1000))
        _write(self._policy / "cpuinfo_max_freq", most)
        _write(self._policy / "cpuinfo_min_freq", steps[0])
        _write(self._policy / "scaling_available_frequencies", " ".join(map(str, steps)))
        _write(self._policy / "scaling_max_freq", most)


def _write(path: Path, value: object) -> None:
    """In place and always as long, as the kernel's files never go: a reader finds the old value or the new."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(descriptor, f"{value!s:<{_FIELD}}\n".encode("ascii"), 0)
    finally:
        os.close(descriptor)
