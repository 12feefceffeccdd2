"""Read heat, clocks and power from the kernel's small text files below a given root. It never writes.

The root is `/sys`, or a made tree in tests. What is missing, forbidden, or says nothing that can be read is None.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.core import files

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path("/sys")

_PATIENCE_S = 0.25  # sensors on a slow bus take some hundredths
_MOST_BYTES = 1 << 20
_WAITING: dict[Path, threading.Thread] = {}
"""Files that did not answer in time, and who waits for each."""

_ZONES = "class/thermal/thermal_zone*"
_POLICIES = "devices/system/cpu/cpufreq/policy*"
_DEVFREQ = "class/devfreq/*"
_RAPL = "class/powercap/intel-rapl:*"
_HWMON = "class/hwmon/hwmon*"
_INA_OF_TEGRA = "bus/i2c/drivers/ina3221x/*/iio:device*"  # before Linux 5.10 of JetPack


class Zone(NamedTuple):
    """A thermal zone.

    Attributes:
        name: Of its folder, e.g. thermal_zone0.
        type: What it measures, e.g. soc-thermal, x86_pkg_temp.
        path: Its folder.
        temp_c: Degrees Celsius as the sensor says them, however odd; None: it cannot be read now.
        passive_trip_c: The lowest temperature at which the kernel slows the device down; None: it has none.
    """

    name: str
    type: str
    path: Path
    temp_c: float | None
    passive_trip_c: float | None


class Knob(NamedTuple):
    """A file that bounds a frequency from above, in the kernel's own unit: Hz of devfreq, kHz of cpufreq.

    Attributes:
        path: The file: `max_freq`, or `scaling_max_freq`.
        kind: What it belongs to.
        name: Of the device (fdab0000.npu), or of the policy (policy4).
        now: What it says; None: it cannot be read.
        most: The highest frequency of the hardware; None if unknown.
        least: The lowest.
        steps: Frequencies that there are, ascending; empty: any between `least` and `most`.
        writable: Whether this process may write it; a write may fail all the same.
    """

    path: Path
    kind: Literal["devfreq", "cpufreq"]
    name: str
    now: int | None
    most: int | None
    least: int | None
    steps: tuple[int, ...]
    writable: bool


class Energy(NamedTuple):
    """A counter of energy, or a sensor of power.

    Attributes:
        path: The file to read.
        kind: Where it is from: Intel's and AMD's RAPL, a hardware monitor, or an INA chip on the board's supply.
        name: Of what, e.g. package-0, VDD_IN.
        unit: Of the file: microjoules since some time, microwatts, milliwatts, or milliamperes.
        now: What it says; None: it cannot be read, in most cases for want of permission.
        wraps_at: Value at which a counter restarts, in its unit; None if unknown.
        volts: The file with the millivolts that milliamperes are at.
    """

    path: Path
    kind: Literal["rapl", "hwmon", "ina"]
    name: str
    unit: Literal["uj", "uw", "mw", "ma"]
    now: int | None
    wraps_at: int | None = None
    volts: Path | None = None

    @property
    def readable(self) -> bool:
        """Whether this process may read it."""
        return self.now is not None


def text(path: Path) -> str | None:
    """What a file says, without spaces around it; None where it cannot be read, or is no regular file."""
    try:
        return files.read_bounded(path, _MOST_BYTES, follow=True).decode(errors="replace").strip("\0 \t\n")
    except OSError:  # missing, forbidden, a sensor that is switched off, a core that is
        return None


def number(path: Path) -> int | None:
    """The whole number that a file says; None where it says none."""
    return _parse_int(text(path))


def read_text(path: Path) -> str | None:
    """The same as `text` of a file behind which a driver asks a device, which may not answer: None after a moment.

    Who reads it waits in a thread of its own, which cannot be ended; while it waits, nobody else asks the same file.
    """
    waiting = _WAITING.get(path)
    if waiting is not None and waiting.is_alive():
        return None
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(text(path)), daemon=True)
    thread.start()
    thread.join(_PATIENCE_S)
    if thread.is_alive():
        _WAITING[path] = thread
        return None
    _WAITING.pop(path, None)
    return next(iter(found), None)


def answer(path: Path) -> int | None:
    """The whole number that a driver says within a moment; None where it says none."""
    return _parse_int(read_text(path))


def _parse_int(word: str | None) -> int | None:
    # no file of the kernel's says more digits
    return int(word) if word and re.fullmatch(r"[+-]?[0-9]{1,18}", word) else None


def meminfo_mb(proc: Path = Path("/proc")) -> dict[str, float]:
    """Read the kernel's memory counts in MB, by its names, such as MemAvailable; unreadable ones are missing."""
    lines = re.findall(r"(?m)^(\w+): +(\d{1,15}) kB$", text(proc / "meminfo") or "")
    return {name: int(size) * 1024 / 1e6 for name, size in lines}


def zones(root: Path = ROOT) -> list[Zone]:
    """Every thermal zone, by its number."""
    return [
        Zone(path.name, read_text(path / "type") or path.name, path, celsius(path / "temp"), _read_passive_trip_c(path))
        for path in _find_folders(root, _ZONES)
    ]


def knobs(root: Path = ROOT) -> list[Knob]:
    """Every upper bound of a frequency: devices (NPU, GPU, memory) first, then the processor's policies."""
    return [*map(_read_devfreq, _find_folders(root, _DEVFREQ)), *map(_read_policy, _find_folders(root, _POLICIES))]


def energy(root: Path = ROOT) -> list[Energy]:
    """Every counter of energy and sensor of power, readable or not."""
    chips = [one for path in _find_folders(root, _HWMON) for one in _read_monitor(path)]
    tegra = [one for path in _find_folders(root, _INA_OF_TEGRA) for one in _read_tegra(path)]
    return [*(_read_rapl(path) for path in _find_folders(root, _RAPL) if (path / "energy_uj").exists()), *chips, *tegra]


def _find_folders(root: Path, pattern: str) -> list[Path]:
    """Folders of a pattern, those with numbers by their numbers."""
    return sorted(root.glob(pattern), key=lambda path: re.sub(r"\d+", lambda digits: digits[0].zfill(8), path.name))


def celsius(path: Path) -> float | None:
    """What a file in thousandths of a degree says, however odd; None: it cannot be read now."""
    milli = answer(path)
    return None if milli is None else milli / 1000


def _read_passive_trip_c(zone: Path) -> float | None:
    """A trip that is switched off is at zero or below it."""
    kinds = zone.glob("trip_point_*_type")
    temps = [
        celsius(kind.with_name(kind.name.replace("_type", "_temp"))) for kind in kinds if read_text(kind) == "passive"
    ]
    return min((temp for temp in temps if temp is not None and temp > 0), default=None)


def _read_devfreq(device: Path) -> Knob:
    path = device / "max_freq"
    steps = _read_steps(device / "available_frequencies")
    now = answer(path)
    return Knob(
        path=path,
        kind="devfreq",
        name=device.name,
        now=now,
        most=steps[-1] if steps else now,
        least=steps[0] if steps else answer(device / "min_freq"),
        steps=steps,
        writable=_is_writable(path),
    )


def _read_policy(policy: Path) -> Knob:
    path = policy / "scaling_max_freq"
    return Knob(
        path=path,
        kind="cpufreq",
        name=policy.name,
        now=answer(path),
        most=answer(policy / "cpuinfo_max_freq"),
        least=answer(policy / "cpuinfo_min_freq"),
        steps=_read_steps(policy / "scaling_available_frequencies"),
        writable=_is_writable(path),
    )


def _read_steps(path: Path) -> tuple[int, ...]:
    return tuple(sorted({int(word) for word in re.findall(r"(?<!\S)[0-9]{1,18}(?!\S)", read_text(path) or "")}))


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK)  # also false on a read-only file system, even for root


def _read_rapl(zone: Path) -> Energy:
    path = zone / "energy_uj"
    name = read_text(zone / "name") or zone.name
    return Energy(path, "rapl", name, "uj", answer(path), wraps_at=answer(zone / "max_energy_range_uj"))


def _read_monitor(chip: Path) -> Iterator[Energy]:
    """What a hardware monitor measures; INA3221 has currents and voltages, to be multiplied."""
    name = read_text(chip / "name") or chip.name
    kind: Literal["hwmon", "ina"] = "ina" if name.startswith("ina") else "hwmon"
    for path in sorted([*chip.glob("energy*_input"), *chip.glob("power*_input"), *chip.glob("power*_average")]):
        channel = path.name.partition("_")[0]
        unit: Literal["uj", "uw"] = "uj" if channel.startswith("energy") else "uw"
        yield Energy(path, kind, read_text(chip / f"{channel}_label") or f"{name} {channel}", unit, answer(path))
    if kind == "ina" and not any(chip.glob("power*_input")):
        for path in sorted(chip.glob("curr*_input")):
            channel = path.name.partition("_")[0].replace("curr", "in")
            volts = chip / f"{channel}_input"
            if volts.exists():
                label = read_text(chip / f"{channel}_label") or f"{name} {channel}"
                yield Energy(path, kind, label, "ma", answer(path), volts=volts)


def _read_tegra(chip: Path) -> Iterator[Energy]:
    """The rails of a Jetson with its older kernels."""
    for path in sorted(chip.glob("in_power*_input")):
        rail = path.name.removeprefix("in_power").removesuffix("_input")
        yield Energy(path, "ina", read_text(chip / f"rail_name_{rail}") or f"rail {rail}", "mw", answer(path))
