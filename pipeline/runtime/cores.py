"""The cores of this machine as the kernel tells them, and a stage's process put where the plan wants it."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline import topology
from pipeline.core.device import placing, sysfs
from pipeline.core.device.placing import Core, Machine
from pipeline.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.core.device.placing import PlacementPlan, StagePlace

_CPUS = "devices/system/cpu"
_CAP_SYS_NICE = 23  # linux/capability.h
_NICE_RANGE = 20  # RLIMIT_NICE counts from 20 (nice 0) to 40 (nice -20)


class Roots(NamedTuple):
    """Where the kernel tells things; tests have made trees instead."""

    sys: Path = sysfs.ROOT
    proc: Path = Path("/proc")
    groups: Path = Path("/sys/fs/cgroup")


HERE = Roots()


def planned(settings: Settings, machine: Machine | None = None) -> PlacementPlan:
    """The plan for a machine; by default for this one."""
    rows = topology.STAGES.items()
    wants = {stage: placing.Want(row.load, row.nice, row.realtime) for stage, row in rows}
    return placing.plan(machine or read(), wants, settings.placement, settings.describe.threads)


def threads() -> int:
    """How many threads a language model computes with here, unless somebody says otherwise."""
    return planned(Settings()).threads


def read(roots: Roots = HERE, allowed: set[int] | None = None) -> Machine:
    """What decides who computes where.

    Args:
        roots: Where the kernel tells it.
        allowed: Numbers of cores that may be used; default: those that this process may use.
    """
    usable = os.sched_getaffinity(0) if allowed is None else allowed
    numbers = sorted(usable & online(roots)) or sorted(usable)  # a kernel that tells of none has them all the same
    return Machine(
        cores=tuple(_core(roots.sys / _CPUS / f"cpu{number}", number) for number in numbers),
        quota=quota(roots),
        least_nice=_least_nice(roots),
        may_realtime=_privileged(roots) or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0,
    )


def online(roots: Roots = HERE) -> set[int]:
    """Numbers of all cores that are switched on."""
    return listed(sysfs.text(roots.sys / _CPUS / "online") or "")


def listed(text: str) -> set[int]:
    """Numbers of a list as the kernel writes them: 0-3,6. What is none, or over what Linux can have, is left out."""
    spans = re.findall(r"(?<![^,\s])([0-9]{1,4})(?:-([0-9]{1,4}))?(?![^,\s])", text)
    return {number for first, last in spans for number in range(int(first), int(last or first) + 1)}


def quota(roots: Roots = HERE) -> float | None:
    """Cores' worth of time that the control groups grant, the tightest of them; None: as much as there is."""
    return min((granted for folder in groups("cpu", roots) if (granted := _granted(folder)) is not None), default=None)


def limit(controller: str, names: tuple[str, str], roots: Roots = HERE) -> int | None:
    """The tightest limit of a controller (pids, memory) over all groups above us; None: there is none.

    Args:
        controller: Its name.
        names: Of the file, in version 2 and in version 1 of control groups.
        roots: Where the kernel tells it.
    """
    told = [sysfs.number(folder / name) for folder in groups(controller, roots) for name in names]
    return min((value for value in told if value is not None and value < 1 << 60), default=None)  # no limit is 2^63


def groups(controller: str, roots: Roots = HERE) -> Iterator[Path]:
    """Folders of the control group of this process and of those above it, for a controller; version 2 or 1.

    Within a container the path may be one that only the host has: then the folder at the root is the container's own.
    """
    for line in (sysfs.text(roots.proc / "self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        for base in dict.fromkeys(roots.groups / name for name in (controllers or ".", controller, "unified")):
            if controllers or base.name != controller:  # version 2 has one folder for all
                yield from _upwards(base, path.strip("/"))


def _upwards(base: Path, path: str) -> Iterator[Path]:
    parts = [part for part in path.split("/") if part not in {"", ".."}]
    for depth in range(len(parts), -1, -1):
        folder = base.joinpath(*parts[:depth])
        if folder.is_dir():
            yield folder


def _granted(folder: Path) -> float | None:
    told = (sysfs.text(folder / "cpu.max") or "").split()
    if not told:
        told = [sysfs.text(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    try:
        most, period = map(int, told)
    except ValueError:  # "max", or nothing
        return None
    return most / period if most > 0 and period > 0 else None


def _core(folder: Path, number: int) -> Core:
    return Core(number, sysfs.number(folder / "cpu_capacity"), sysfs.number(folder / "cpufreq/cpuinfo_max_freq"))


def _privileged(roots: Roots) -> bool:
    lines = (sysfs.text(roots.proc / "self/status") or "").splitlines()
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> _CAP_SYS_NICE & 1)


def _least_nice(roots: Roots) -> int:
    if _privileged(roots):
        return -_NICE_RANGE
    allowed = resource.getrlimit(resource.RLIMIT_NICE)[0]
    bound = 2 * _NICE_RANGE if allowed == resource.RLIM_INFINITY else allowed
    return min(os.getpriority(os.PRIO_PROCESS, 0), _NICE_RANGE - bound)


def apply(place: StagePlace) -> list[str]:
    """Put this process where the plan wants it; threads that it starts from now on inherit that.

    Returns:
        What the system refused, each with its reason; the process goes on as it was.
    """
    asked: dict[str, Callable[[], object]] = {}
    if place.cores:
        asked[f"cores {placing.format_ranges(place.cores)}"] = lambda: os.sched_setaffinity(0, place.cores)
    if place.nice:
        asked[f"nice {place.nice}"] = lambda: os.nice(place.nice)
    if place.realtime:
        lowest = os.sched_param(os.sched_get_priority_min(os.SCHED_RR))
        asked["real-time priority"] = lambda: os.sched_setscheduler(0, os.SCHED_RR, lowest)
    return [f"{what}: {reason}" for what, change in asked.items() if (reason := _refused(change))]


def _refused(change: Callable[[], object]) -> str:
    try:
        change()
    except OSError as error:  # EPERM: it may not; EINVAL: its cores are switched off
        return str(error.strerror or error)
    return ""
