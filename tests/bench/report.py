"""What every benchmark prints: a table for people, versions and machine, and as last line one JSON object."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import resource
import sys
from pathlib import Path

PACKAGES = ("numpy", "opencv-python", "onnxruntime", "pyzmq", "av", "msgspec", "MNN")


def table(title: str, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Print aligned columns."""
    cells = [tuple(str(cell) for cell in row) for row in [head, *rows]]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    print(f"\n{title}")
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def last_line(keys: dict[str, object], command: str) -> None:
    """Print where and with what it was measured, then the JSON object that programs read."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    print(f"\n{command}")
    print(f"  {machine()}")
    print("  " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    sys.stdout.flush()
    print(json.dumps(keys), flush=True)


def machine() -> str:
    """Return where it was measured: processor, cores that may be used, Linux and Python."""
    model = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine()
    )
    cpus = len(os.sched_getaffinity(0))
    return f"{model}, {cpus} CPUs, Linux {platform.release()}, Python {platform.python_version()}"


def cpu_s() -> float:
    """User and system time of this process and of its children that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def cpu_of(pids: list[int]) -> float:
    """User and system seconds of living processes, from /proc/PID/stat."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / ticks


def busy_s() -> float:
    """CPU time of the whole machine so far: all but idle and waiting for disks."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def _cpuinfo() -> list[str]:
    return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
