"""What the stage processes cost: memory idle, time to ready, CPU beside a quiet camera.

Memory is PSS (shared pages divided by who shares them) of all stage processes, forked from one that has imported
everything, beside the same stages each started by itself, as `subprocess` or `spawn` would. CPU is user + system of all
processes of a daemon at a paced, quiet 1080p camera of 15 pictures a second, beside a process that only decodes it.

usage: python -m tests.bench.processes [--seconds N] [--rounds N] [--clip FILE]
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipeline import topology
from pipeline.runtime.board import Board, StageState, Word
from tests.bench.report import cpu_of, last_line, table
from tools.make_footage import make

SPAWNED = """
import os, sys, time
from pathlib import Path
from pipeline.runtime import loading
from pipeline.core.settings import Settings, CameraSettings
from pipeline.core.frames import FramePool
from pipeline.core.stage import StageContext
from pipeline.runtime.clocks import LiveClock
import msgspec, structlog, zmq
settings = Settings(cameras={"gate": CameraSettings(source="synthetic://")})
settings = msgspec.structs.replace(settings, emit=msgspec.structs.replace(settings.emit, folder=sys.argv[2]))
ring = FramePool.create("ring", 8, (1920, 1080))
clock = LiveClock(lambda: 0)
log = Path(sys.argv[2]) / f"log-{sys.argv[1]}"
context = StageContext(settings=settings, rings={"gate": ring}, keyframes=ring, clock=clock, camera="gate", log_dir=log)
context_zmq = zmq.Context()
socket = context_zmq.socket(zmq.PULL)
socket.bind(f"ipc://{sys.argv[2]}/{sys.argv[1]}.in")
stage = loading.load(sys.argv[1], context)
stage.warm_up()
print("ready", flush=True)
socket.recv()
"""

DECODE = """
import sys, time, av
container = av.open(sys.argv[1])
stream = container.streams.video[0]
stream.thread_type = "NONE"
until = time.monotonic() + float(sys.argv[2])
began = time.monotonic()
print("ready", flush=True)
for index, frame in enumerate(container.decode(stream)):
    due = began + float(frame.pts * frame.time_base)
    if (left := due - time.monotonic()) > 0:
        time.sleep(left)
    if time.monotonic() > until:
        break
time.sleep(60)
"""

TICK_S = 1 / os.sysconf("SC_CLK_TCK")  # a short run beside busy neighbours may be given less than the kernel counts


def _pss_mb(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        total += int(found[1]) if found else 0
    return total / 1024


def _daemon(folder: Path, source: str) -> subprocess.Popen[bytes]:
    config = folder / "pipeline.toml"
    config.write_text(f'[cameras.gate]\nsource = "{source}"\n', encoding="utf-8")
    command = [sys.executable, "-m", "pipeline", "run", str(config), "--log-level", "error"]
    return subprocess.Popen([*command, "--run-dir", str(folder / "r"), "--state-dir", str(folder / "s")])


def _board(folder: Path) -> Board:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            board = Board.open(folder / "r" / "board")
        except (OSError, ValueError):
            time.sleep(0.01)
            continue
        if board.go_ns and all(board.get(name, Word.STATE) >= StageState.RUNNING for name in board.names[1:]):
            return board
        time.sleep(0.01)
    raise SystemExit("the daemon did not become ready")


def _pids(board: Board) -> list[int]:
    return [board.get(name, Word.PID) for name in board.names[1:]]


def _over_budget(board: Board) -> set[str]:
    """Print what each stage takes beside its budget of the stage table; return those that take more."""
    rows, over = [], set()
    for name in board.names[1:]:
        budget_mb = topology.STAGES[topology.split(name)[0]].memory_mb
        pss_mb = _pss_mb([board.get(name, Word.PID)])
        rows.append((name, f"{pss_mb:.0f}", f"{budget_mb:.0f}"))
        over |= {name} if pss_mb > budget_mb else set()
    table("Each stage beside a camera", ("process", "PSS MB", "budget MB"), rows)
    return over


def forked(folder: Path) -> tuple[float, float]:
    """PSS in MB of all idle stages of a daemon, and seconds from the command to all ready."""
    began = time.monotonic()
    daemon = _daemon(folder, "synthetic://?width=320&height=240&fps=0.1&seconds=600")
    board = _board(folder)
    ready_s = time.monotonic() - began
    time.sleep(1)
    pss = _pss_mb(_pids(board))
    daemon.send_signal(signal.SIGTERM)
    daemon.wait(20)
    return pss, ready_s


def spawned(folder: Path) -> tuple[float, float]:
    """The same stages, each in an interpreter of its own, all at once."""
    began = time.monotonic()
    children = [
        subprocess.Popen([sys.executable, "-c", SPAWNED, name, str(folder)], stdout=subprocess.PIPE)
        for name in topology.STAGES
    ]
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    ready_s = time.monotonic() - began
    time.sleep(1)
    pss = _pss_mb([child.pid for child in children])
    for child in children:
        child.kill()
        child.wait()
    return pss, ready_s


def watching(folder: Path, clip: Path, seconds: float) -> tuple[float, set[str]]:
    """CPU seconds of all processes of a daemon, supervisor included, for so many seconds at a quiet camera.

    With them, the processes that take more memory than their budget.
    """
    daemon = _daemon(folder, str(clip))
    board = _board(folder)
    pids = [*_pids(board), daemon.pid]
    time.sleep(1)
    before = cpu_of(pids)
    time.sleep(seconds)
    spent = cpu_of(pids) - before
    over = _over_budget(board)
    daemon.send_signal(signal.SIGTERM)
    daemon.wait(20)
    return spent, over


def decoding(clip: Path, seconds: float) -> float:
    """CPU seconds of decoding alone, paced alike."""
    child = subprocess.Popen([sys.executable, "-c", DECODE, str(clip), str(seconds + 5)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(1)
    before = cpu_of([child.pid])
    time.sleep(seconds)
    spent = cpu_of([child.pid]) - before
    child.kill()
    child.wait()
    return spent


def _clip(seconds: float) -> Path:
    path = (
        Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        / "fieldwatch-bench"
        / f"quiet-1080p15-{seconds:.0f}s.mp4"
    )
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path, width=1920, height=1080, fps=15, seconds=seconds, walks=0, bitrate=4_000_000)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clip", type=Path, help="a quiet recording, 1080p, 15 pictures a second")
    options = parser.parse_args()
    clip = options.clip or _clip(options.seconds + 15)
    pss: dict[str, list[tuple[float, float]]] = {"forked": [], "spawned": []}
    cpu: dict[str, list[float]] = {"daemon": [], "decoding alone": []}
    over_budget: set[str] = set()
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="fw") as name:
            for way, run in (("forked", forked), ("spawned", spawned)):
                folder = Path(name) / f"{way[0]}{number}"
                folder.mkdir()
                pss[way].append(run(folder))
            folder = Path(name) / f"w{number}"
            folder.mkdir()
            spent_s, over = watching(folder, clip, options.seconds)
            cpu["daemon"].append(spent_s)
            over_budget |= over
            cpu["decoding alone"].append(decoding(clip, options.seconds))
    memory = {way: statistics.median(mb for mb, _ in rows) for way, rows in pss.items()}
    ready = {way: statistics.median(seconds for _, seconds in rows) for way, rows in pss.items()}
    spent = {way: statistics.median(rows) for way, rows in cpu.items()}
    table(
        "Seven stages, idle",
        ("way", "PSS MB", "seconds to ready"),
        [(way, f"{memory[way]:.0f}", f"{ready[way]:.2f}") for way in memory],
    )
    rows = [(way, f"{100 * seconds / options.seconds:.1f}") for way, seconds in spent.items()]
    table("A quiet 1080p15 camera", ("way", "% of a core"), rows)
    last_line(
        {
            "pss_vs_spawn": round(memory["forked"] / memory["spawned"], 3),
            "pss_mb": round(memory["forked"], 1),
            "ready_s": round(ready["forked"], 3),
            "idle_cpu_vs_decode": round(spent["daemon"] / max(spent["decoding alone"], TICK_S), 3),
            "stages_over_memory_budget": len(over_budget),
        },
        "python -m tests.bench.processes",
    )


if __name__ == "__main__":
    main()
