"""Looks at the device for the doctor: what it has, what it grants, and how fast its memory is."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeline.core.device import diagnosis, sysfs
from pipeline.core.device.diagnosis import Finding, MemoryFound, Need
from pipeline.core.frames import picture_bytes
from pipeline.runtime import clocks, cores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.core.device.placing import Machine, PlacementPlan
    from pipeline.core.settings import Settings
    from pipeline.runtime.cores import Roots

_COPIED = 64 << 20  # bytes: more than any cache of a board
_COPIES = 5  # of which the fastest counts
_SPARE_MB = 300.0  # with less, nothing is measured
_PICTURE = (1920, 1080)
_MB = 1e6


class ExaminedModel(NamedTuple):
    """The language model that the daemon would use; sizes in MB, 0 where there is none."""

    files_mb: float = 0.0
    weights_mb: float = 0.0


class ExaminedDevice(NamedTuple):
    """What is examined.

    Attributes:
        roots: Where the kernel tells things.
        machine: Its cores.
        plan: What is made of them.
        settings: Of the daemon.
        state: Its state folder, which need not be there yet.
        model: The language model.
    """

    roots: Roots
    machine: Machine
    plan: PlacementPlan
    settings: Settings
    state: Path
    model: ExaminedModel

    @property
    def need(self) -> Need:
        """What the configuration needs."""
        cameras, frames = len(self.settings.cameras), self.settings.frames
        pictures = cameras * frames.slots + frames.keyframes
        rings_mb = pictures * picture_bytes(*_PICTURE) / _MB
        return Need(cameras, rings_mb, self.model.files_mb, self.plan.threads)


def machine(roots: Roots) -> Machine:
    """The cores of this machine, or all of a made tree's."""
    if roots.sys == sysfs.ROOT:
        return cores.read(roots)
    return cores.read(roots, cores.online(roots))


def findings(device: ExaminedDevice) -> Iterator[Finding]:
    """Everything but what models have to say, in the order in which it is shown."""
    roots, need = device.roots, device.need
    memory = _memory(roots)
    yield Finding("ok", "board", board(roots))
    yield Finding("ok", "kernel", f"{platform.system()} {platform.release()} {platform.machine()}")
    yield from diagnosis.placement(device.plan)
    yield diagnosis.quota(device.machine.quota, len(device.machine.cores))
    yield from diagnosis.memory(memory, need)
    yield diagnosis.rings(need, memory.available_mb, _memfd_refused())
    yield diagnosis.tasks(_most_tasks(roots), _tasks(roots), need)
    yield diagnosis.files(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    yield _disk(device)
    governor = device.settings.governor
    board_at = Path(governor.sysfs) if roots.sys == sysfs.ROOT else roots.sys
    if not board_at.is_dir():
        yield Finding("trouble", "heat", f"governor.sysfs: {board_at} is not there", "leave it at /sys")
    yield from diagnosis.heat(sysfs.zones(board_at), governor.zones)
    yield from diagnosis.clocks(sysfs.knobs(board_at))
    yield from diagnosis.energy(sysfs.energy(board_at))
    yield diagnosis.clock(time.time(), synchronised=clocks.synchronised())
    enough = memory.available_mb is None or memory.available_mb > _SPARE_MB
    measured = bandwidth(device.plan.threads) if enough else None
    yield diagnosis.bandwidth(measured, device.plan.threads, device.model.weights_mb)


def board(roots: Roots) -> str:
    """What the maker calls it: of the device tree, else of the firmware's tables."""
    if name := sysfs.text(roots.sys / "firmware/devicetree/base/model"):
        return name
    told = [sysfs.text(roots.sys / "class/dmi/id" / name) for name in ("sys_vendor", "product_name")]
    return " ".join(part for part in told if part) or "no name is told"


def bandwidth(threads: int, size: int = _COPIED) -> float:
    """How fast memory is copied, in 10^9 bytes read and written a second: the best of some copies.

    Args:
        threads: That copy at once, a part each; numpy lets go of the interpreter meanwhile.
        size: Bytes that are copied.
    """
    whole, copy = np.ones(size, np.uint8), np.ones(size, np.uint8)
    threads = max(1, threads)
    edges = [size * part // threads for part in range(threads + 1)]
    parts = [(copy[start:end], whole[start:end]) for start, end in pairwise(edges)]
    best = 0.0
    for _ in range(_COPIES):
        copiers = [threading.Thread(target=np.copyto, args=part) for part in parts]
        began = time.perf_counter()
        for copier in copiers:
            copier.start()
        for copier in copiers:
            copier.join()
        best = max(best, 2 * size / (time.perf_counter() - began) / 1e9)
    return best


def _memory(roots: Roots) -> MemoryFound:
    told = sysfs.meminfo_mb(roots.proc)
    granted = cores.limit("memory", ("memory.max", "memory.limit_in_bytes"), roots)
    limit_mb = None if granted is None else granted / _MB
    return MemoryFound(told.get("MemTotal"), told.get("MemAvailable"), told.get("SwapTotal"), limit_mb)


def _memfd_refused() -> str:
    try:
        os.close(os.memfd_create("fieldwatch-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _most_tasks(roots: Roots) -> int | None:
    """Processes and threads that there may be; root is not bound by what its user may have."""
    user = resource.getrlimit(resource.RLIMIT_NPROC)[0] if os.geteuid() else resource.RLIM_INFINITY
    group = cores.limit("pids", ("pids.max", "pids.max"), roots)
    return min((most for most in (group, user) if most not in {None, resource.RLIM_INFINITY}), default=None)


def _tasks(roots: Roots) -> int | None:
    """Processes and threads in the control group."""
    there = (sysfs.number(folder / "pids.current") for folder in cores.groups("pids", roots))
    return next((count for count in there if count is not None), None)


def _disk(device: ExaminedDevice) -> Finding:
    whole = device.state.absolute()
    folder = next(path for path in (whole, *whole.parents) if os.path.lexists(path))
    if not folder.is_dir():  # a file, or a link to what is not there: no folder can be made of it
        return diagnosis.disk(str(folder), 0, 0, writable=False)
    emit = device.settings.emit
    wanted_mb = emit.rotate_mb * (emit.max_files + 1) + (emit.max_evidence_mb if emit.evidence else 0)
    free_mb = shutil.disk_usage(folder).free / _MB
    return diagnosis.disk(str(folder), free_mb, wanted_mb, writable=os.access(folder, os.W_OK | os.X_OK))
