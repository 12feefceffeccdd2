"""Kill every stage process in turn, again and again, under a daemon; see what is left of it (long: drives and judges).

A round: SIGKILL for the next process of the status board, then wait until its successor runs and has handled a
message. In the end SIGTERM, and every line of events.jsonl is read. All the while a reader maps the ring of one camera
as a stage does, listens to its frames, and compares each one that the ring calls whole with the picture that was drawn.

Those pictures are small, and a process is hardly ever hit in the middle of one. So a second part kills the writer of a
ring of 1080p pictures, each filled with one value, while it does nothing but write; two readers look for other values.

usage: python -m tests.bench.kill [--rounds N] [--writers N]
"""

from __future__ import annotations

import argparse
import itertools
import json
import mmap
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict, deque
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from pipeline import topology
from pipeline.core.errors import FrameOverwrittenError
from pipeline.core.frames import FramePool, Planes
from pipeline.core.messages import FrameRef
from pipeline.core.settings import FramesSettings
from pipeline.runtime import forking
from pipeline.runtime.board import Board, StageState, Word
from pipeline.runtime.links import Tap
from stages.sources.synthetic import Synthetic, parse
from tests.bench.report import last_line, table
from tests.daemons import Daemon, alive

# No noise, so that a frame's pixels follow from its index alone. Somebody is nearly always in one of the two pictures.
GATE = "synthetic://?width=320&height=180&seconds=86400&walks=10000&pause_s=2&walk_s=3&noise=0"
YARD = "synthetic://?width=320&height=180&seconds=86400&walks=10000&pause_s=1.5&walk_s=4&noise=0&seed=2"
MORE = f"""
[runtime]
min_restart_s = 0.05
max_restart_s = 0.1

[cameras.yard]
source = "{YARD}"
"""
WATCHED = "gate"
TOGETHER_S = 30.0  # for a process to be back at work: encode and describe wait for an incident
LISTENS_NS = 2_000_000_000
KEPT = 50  # pictures: a restarted capture may show the last half second again
WIDTH, HEIGHT = 1920, 1080


class Round:
    """One kill, and how long until what; milliseconds."""

    def __init__(self, name: str, running_ms: float, handled_ms: float) -> None:
        self.name = name
        self.running_ms = running_ms
        self.handled_ms = handled_ms


def _until(look, what: str, seconds: float = TOGETHER_S):
    """Return what `look` returns as soon as it is true, looked at every millisecond."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {seconds:g} s: {what}")
        time.sleep(0.001)
    return found


def _running(board: Board, name: str) -> bool:
    return board.get(name, Word.STATE) == StageState.RUNNING


def killed(board: Board, name: str) -> Round:
    """Kill a process and wait for its successor. Capture's first frame is one that motion has handled."""
    reader = name.replace("capture@", "motion@")
    before = board.get(reader, Word.HANDLED) if reader != name else 0
    pid, began = board.get(name, Word.PID), time.monotonic()
    os.kill(pid, signal.SIGKILL)
    _until(lambda: board.get(name, Word.PID) not in (pid, 0) and _running(board, name), f"{name} runs again")
    running = time.monotonic()
    if reader != name:  # what the dead one had sent is handled by now
        before = board.get(reader, Word.HANDLED)
    _until(lambda: board.get(reader, Word.HANDLED) > before, f"{name} works again")
    return Round(name, (running - began) * 1e3, (time.monotonic() - began) * 1e3)


def _memory_files(pid: int) -> dict[str, str]:
    """The memfds of a process: descriptor's path by the memfd's name."""
    found = {}
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            target = str(link.readlink())
            if target.startswith("/memfd:"):
                found[target.removeprefix("/memfd:").removesuffix(" (deleted)")] = str(link)
    return found


class Watcher:
    """A process that reads one camera's frames as a stage does, and knows what each must look like."""

    def __init__(self, run_dir: Path, supervisor: int) -> None:
        self._results, results = os.pipe()

        def run() -> int:
            os.write(results, json.dumps(_watched(run_dir, supervisor)).encode())
            return 0

        self._pid = forking.fork("watcher", run)
        os.close(results)

    def stop(self) -> dict[str, int]:
        """How many frames were whole, were not, and were refused by the ring."""
        os.kill(self._pid, signal.SIGTERM)
        (counts,) = _results(self._results, [self._pid])
        return counts


def _results(descriptor: int, pids: list[int]) -> list[dict[str, int]]:
    """What children have written, a line each, when all have ended."""
    data = b""
    while block := os.read(descriptor, 1 << 16):
        data += block
    os.close(descriptor)
    for pid in pids:
        os.waitpid(pid, 0)
    return [json.loads(line) for line in data.splitlines()]


def _watched(run_dir: Path, supervisor: int) -> dict[str, int]:
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    board = Board.open(run_dir / "board")
    ring = _ring(supervisor)
    writer = f"capture@{WATCHED}"

    def ask() -> None:
        board.set(writer, Word.TAPPED_UNTIL_NS, time.monotonic_ns() + LISTENS_NS)

    tap = Tap(run_dir, [writer], "frames", ask)
    pictures, expected = Synthetic(GATE).pictures(), _blank(GATE)
    drawn = deque([next(pictures)], maxlen=KEPT)
    counts = Counter(accepted=0, torn=0, refused=0)
    for message in tap.messages(60):
        if stopping:
            break
        frame = message.frame
        while drawn[-1].index < frame.index:
            drawn.append(next(pictures))
        drawn[frame.index - drawn[-1].index - 1].copy_to(expected)
        try:
            with ring.reading(frame) as planes:
                same = all(np.array_equal(*pair) for pair in zip(planes[:3], expected[:3], strict=True))
        except FrameOverwrittenError:
            counts["refused"] += 1
            continue
        counts["accepted"] += 1
        counts["torn"] += not same
    tap.close()
    return counts


def _ring(supervisor: int) -> FramePool:
    """The camera's ring, mapped through the supervisor's own descriptor."""
    descriptor = os.open(_memory_files(supervisor)[f"fieldwatch-{WATCHED}"], os.O_RDONLY)
    slots = FramesSettings().slots
    return FramePool(descriptor, slots, (os.fstat(descriptor).st_size - mmap.PAGESIZE) // slots, writable=False)


def _blank(url: str) -> Planes:
    scene = parse(url)
    half = ((scene.height + 1) // 2, (scene.width + 1) // 2)
    return Planes(*(np.zeros(shape, np.uint8) for shape in ((scene.height, scene.width), half, half)))


class Leaks:
    """What grows, or stays, although it should not."""

    def __init__(self, daemon: Daemon, board: Board) -> None:
        self._daemon, self._board = daemon, board
        self._pid = daemon.process.pid
        self._inodes = {Path(link).stat().st_ino for link in _memory_files(self._pid).values()}
        self._pids = set(daemon.children())
        self._descriptors = self._open()
        self.zombies = 0
        self.found: Counter[str] = Counter()

    def look(self) -> None:
        """After a round: dead children that nobody collected."""
        children = psutil.Process(self._pid).children()
        self._pids |= {child.pid for child in children}
        for child in children:
            with suppress(psutil.NoSuchProcess):
                self.zombies += child.status() == psutil.STATUS_ZOMBIE

    def before_stop(self) -> None:
        """What the supervisor holds now and did not before the first kill, and files that nobody has a use for."""
        names = [f"{name}.{kind}" for name in self._board.names[1:] for kind in ("in", "tap")]
        known = {"lock", "board", "board.names", *names}
        self.found["descriptors"] = max(0, self._open() - self._descriptors)
        self.found["files"] = sum(path.name not in known for path in self._daemon.run_dir.iterdir())
        self.found["processes"] = len(psutil.Process(self._pid).children()) - len(self._board.names[1:])

    def after_stop(self) -> None:
        """Everything must be gone: processes, files, shared memory."""
        self.found["processes"] += len(alive(self._pids))
        self.found["files"] += len(list(self._daemon.run_dir.iterdir()))
        self.found["memory"] = sum(self._held(Path(f"/proc/{pid}/fd")) for pid in psutil.pids() if pid != os.getpid())

    def _held(self, folder: Path) -> int:
        """Rings of this daemon that a process still has."""
        found = 0
        with suppress(OSError):
            for link in folder.iterdir():
                with suppress(OSError):
                    found += "memfd:" in str(link.readlink()) and link.stat().st_ino in self._inodes
        return found

    def _open(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self._pid}/fd").iterdir())


def _spoken(path: Path) -> dict[str, int]:
    """Read every line of the events, and count what must not be."""
    lines = path.read_bytes().split(b"\n")
    counts = dict.fromkeys(("events", "started", "ended", "unpaired", "gaps", "repeated", "told"), 0)
    counts["torn"] = int(bool(lines.pop()))
    ids: set[str] = set()
    sequences: defaultdict[str, list[int]] = defaultdict(list)
    starts: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for line in lines:
        try:
            event = json.loads(line)
            identity, kind, source, number = (event[key] for key in ("id", "type", "source", "sequence"))
        except (ValueError, KeyError, TypeError):
            counts["torn"] += 1
            continue
        counts["repeated"] += identity in ids
        ids.add(identity)
        sequences[source].append(int(number))
        counts["told"] += ".system.stage_restarted." in kind
        if ".incident.start." in kind:
            starts[event["subject"]] += 1
        if ".incident.end." in kind:
            ends[event["subject"]] += 1
    counts["gaps"] = sum(numbers != list(range(1, len(numbers) + 1)) for numbers in sequences.values())
    counts["started"], counts["ended"] = starts.total(), ends.total()
    counts["unpaired"] = sum(starts[name] != 1 or ends[name] != 1 for name in {*starts, *ends})
    counts["events"] = len(lines)
    return counts


def daemon_killed(folder: Path, count: int) -> tuple[list[Round], dict[str, int], Leaks, dict[str, int]]:
    daemon = Daemon(folder, GATE, MORE)
    try:
        daemon.start()
        board = Board.open(daemon.run_dir / "board")
        names = _in_turn(board.names[1:])
        watcher = Watcher(daemon.run_dir, daemon.process.pid)
        daemon.await_incident(20)
        leaks = Leaks(daemon, board)
        rounds = []
        for name in itertools.islice(itertools.cycle(names), count):
            rounds.append(killed(board, name))
            leaks.look()
            _show(len(rounds), count, name)
        _until(lambda: sum(board.get(name, Word.REPORTED) for name in names) == count, "every restart was told of")
        _until(lambda: all(_running(board, name) for name in names), "all run")
        leaks.before_stop()
        failed = sum(board.get(name, Word.FAILED) for name in names)
        frames = watcher.stop()
        status, _ = daemon.stop(seconds=20)
        leaks.after_stop()
        spoken = _spoken(daemon.events_file)
        spoken |= {"messages failed": failed, "exit status": status}
    finally:
        daemon.close()
    return rounds, spoken, leaks, frames


def _in_turn(names: list[str]) -> list[str]:
    """One process of every stage before the second of any."""
    stages = list(topology.STAGES)
    seen: Counter[str] = Counter()
    keyed = []
    for name in names:
        stage = topology.split(name)[0]
        keyed.append((seen[stage], stages.index(stage), name))
        seen[stage] += 1
    return [name for _, _, name in sorted(keyed)]


def _show(done: int, total: int, name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{done}/{total} {name:<16}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def writers_killed(count: int) -> dict[str, int]:
    """Kill a ring's writer in mid-write so many times; readers look for frames of two values."""
    pool = FramePool.create("bench-writers", 8, (WIDTH, HEIGHT))
    newest = memoryview(mmap.mmap(-1, 8)).cast("q")  # the last frame that its writer has told of
    told, tell = os.pipe()
    readers = [forking.fork("reader", lambda: _read_on(pool, newest, tell)) for _ in range(2)]
    os.close(tell)
    chance = random.Random(1)
    unfinished = 0
    for _ in range(count):
        begun = pool.begun
        writer = forking.fork("writer", lambda: _write_on(pool, newest))
        _until(lambda begun=begun: pool.begun > begun + 2, "a writer writes")
        time.sleep(chance.random() * 0.02)
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        unfinished += pool.begun != newest[0]
    for pid in readers:
        os.kill(pid, signal.SIGTERM)
    rows = _results(told, readers)
    os.close(pool.descriptor)
    pool.close()
    return {"unfinished": unfinished, **{key: sum(row[key] for row in rows) for key in rows[0]}}


def _write_on(pool: FramePool, newest: memoryview) -> int:
    """A writer's life: it never ends by itself."""
    pool = FramePool(pool.descriptor, pool.slots, pool.slot_bytes, writable=True)
    while True:
        pool.reserve(WIDTH, HEIGHT)
        sequence, planes = pool.begin(WIDTH, HEIGHT)
        for plane in planes[:3]:
            plane.fill(sequence % 251)
        newest[0] = sequence


def _read_on(pool: FramePool, newest: memoryview, tell: int) -> int:
    """A reader's life: take frames that were told of, now and then late, until told to stop."""
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    pool = FramePool(pool.descriptor, pool.slots, pool.slot_bytes, writable=False)
    chance = random.Random(os.getpid())
    counts = Counter(accepted=0, torn=0, refused=0)
    last = 0
    while not stopping:
        if newest[0] == last:
            time.sleep(0.0002)
            continue
        last = newest[0]
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.005)
        frame = FrameRef("bench", last, 0, 0, 0, WIDTH, HEIGHT)
        try:
            with pool.reading(frame) as planes:
                whole = all(bool((plane == last % 251).all()) for plane in planes[:3])
        except FrameOverwrittenError:
            counts["refused"] += 1
            continue
        counts["accepted"] += 1
        counts["torn"] += not whole
    os.write(tell, json.dumps(counts).encode() + b"\n")
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100, help="kills under a daemon, all stages in turn")
    parser.add_argument("--writers", type=int, default=100, help="kills of a ring's writer")
    options = parser.parse_args()
    stress = writers_killed(options.writers)
    with tempfile.TemporaryDirectory(prefix="kill") as name:
        rounds, spoken, leaks, frames = daemon_killed(Path(name), options.rounds)
    _report(rounds, spoken, leaks, {"the daemon's camera": frames, "a writer that only writes": stress})
    last_line(
        {
            "rounds": len(rounds),
            "started": spoken["started"],
            "ended": spoken["ended"],
            "not_ended_once": spoken["unpaired"],
            "sequence_gaps": spoken["gaps"],
            "repeated_ids": spoken["repeated"],
            "torn": spoken["torn"] + frames["torn"] + stress["torn"],
            "frames_checked": frames["accepted"] + stress["accepted"],
            "leaked": leaks.found.total(),
            "zombies": leaks.zombies,
            "restart_to_first_frame_ms_p50": round(statistics.median(one.handled_ms for one in rounds), 1),
            "restarts_told": spoken["told"],
        },
        f"python -m tests.bench.kill --rounds {options.rounds} --writers {options.writers}",
    )


def _report(rounds: list[Round], spoken: dict[str, int], leaks: Leaks, frames: dict[str, dict[str, int]]) -> None:
    stages: defaultdict[str, list[Round]] = defaultdict(list)
    for one in rounds:
        stages[topology.split(one.name)[0]].append(one)
    rows = []
    for stage, own in stages.items():
        handled = [one.handled_ms for one in own]
        running = statistics.median(one.running_ms for one in own)
        rows.append((stage, len(own), f"{running:.0f}", f"{statistics.median(handled):.0f}", f"{max(handled):.0f}"))
    head = ("stage", "kills", "running again p50", "at work again p50", "most")
    table("SIGKILL of a stage, milliseconds until its successor runs, and until it has handled a message", head, rows)
    counts = ("accepted", "torn", "refused", "unfinished")
    head = ("ring", "accepted", "torn", "refused", "killed in mid-write")
    rows = [(name, *(one.get(key, "") for key in counts)) for name, one in frames.items()]
    table("Frames", head, rows)
    names = {"unpaired": "incidents not ended once", "gaps": "sources with a gap", "told": "restarts told"}
    table("Events", ("what", "count"), [(names.get(what, what), count) for what, count in spoken.items()])
    table("Left behind", ("what", "count"), [*leaks.found.items(), ("zombies", leaks.zombies)])


if __name__ == "__main__":
    main()
