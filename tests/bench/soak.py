"""Hours in minutes: five cameras of all kinds, signals at random, a full disk, pictures that vanish, new lives.

The cameras: two that are drawn; one over HTTP that sends another size, another codec or rubbish at every connection;
one over RTSP that freezes and changes its size (GStreamer; left out where that is missing); a file that ends. Every few
seconds a stage gets SIGKILL, SIGSEGV, SIGABRT, SIGSTOP or SIGTERM, the disk is full for an eighth of the time, and the
supervisor is killed twice. In the end every event is read, and what processes hold now is compared with what they held.

usage: python -m tests.bench.soak [--minutes M] [--seed N]     (as root: a small disk is mounted)
"""

from __future__ import annotations

import argparse
import http.server
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import psutil

from tests.bench import written
from tests.bench.losses import Disk
from tests.bench.report import last_line, table
from tests.daemons import ROOT, Daemon
from tools.make_footage import make

WALK = "synthetic://?width=320&height=180&seconds=86000&walks=10000&"
SIGNALS = (*[signal.SIGKILL] * 4, signal.SIGSEGV, signal.SIGABRT, signal.SIGSTOP, signal.SIGTERM)
CLIP = {"seconds": 16, "fps": 10, "walks": 4, "walk_s": 3, "pause_s": 1, "bitrate": 300_000}
DISK_MB = 420
SAMPLE_S = 5.0
GROWN_UP_S = 10.0  # a process is measured when it has lived so long
MORE = """
[emit]
rotate_mb = 2.0
max_files = 10000
max_evidence_mb = 20
[describe]
sentence_encoder = false
model = "none"
[runtime]
min_restart_s = 0.05
max_restart_s = 1.0
"""

# minute of 24   what happens to the disk or the daemon then
SCHEDULE = (
    (5.0, "fill"),
    (8.0, "free"),
    (13.0, "take_pictures_away"),
    (15.0, "give_pictures_back"),
    (16.0, "new_life"),
    (17.0, "new_life"),
    (20.0, "move_file"),
)


def clips(folder: Path, chance: random.Random) -> list[Path]:
    """What the camera over HTTP sends, one after the other."""
    folder.mkdir()
    small = make(folder / "small.ts", width=320, height=240, **CLIP)
    large = make(folder / "large.ts", width=640, height=480, **CLIP)
    other = make(folder / "mpeg4.ts", width=320, height=240, codec="mpeg4", **CLIP)
    broken = bytearray(small.read_bytes())
    for _ in range(400):
        broken[chance.randrange(len(broken))] ^= 0xFF
    (folder / "broken.ts").write_bytes(broken)
    (folder / "text.ts").write_text("no picture\n")
    return [small, large, folder / "broken.ts", other, folder / "text.ts", small]


def serve(sent: list[Path]) -> http.server.ThreadingHTTPServer:
    """Send another clip at every connection, at its pace, then hang up."""
    turns = [0]

    class Camera(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_) -> None:
            pass

        def do_GET(self) -> None:  # the name is the library's
            data = sent[turns[0] % len(sent)].read_bytes()
            turns[0] += 1
            self.send_response(200)
            self.send_header("Content-Type", "video/mp2t")
            self.end_headers()
            began = time.monotonic()
            with suppress(OSError):
                for at in range(0, len(data), 188 * 7):
                    self.wfile.write(data[at : at + 188 * 7])
                    time.sleep(max(0, began + 14 * at / len(data) - time.monotonic()))

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Camera)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Rtsp:
    """The RTSP camera of the tests, told to misbehave; `port` is empty where GStreamer is missing."""

    ORDERS = ("freeze", "thaw", "thaw", "size 160x120", "size 640x480", "size 320x240")

    def __init__(self) -> None:
        command = ["/usr/bin/python3", ROOT / "tests/servers/rtsp.py", "--login", "viewer:secret", "--fps", "10"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        self._process = subprocess.Popen(command, **pipes)
        self.port = self._process.stdout.readline().strip()

    def tell(self, order: str) -> None:
        with suppress(OSError):
            self._process.stdin.write(order + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Samples:
    """What the processes of a daemon hold, by stage: MB, descriptors, threads."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, list[tuple[float, int, int]]] = defaultdict(list)
        self._ended: set[psutil.Process] = set()
        self.zombies = 0

    def take(self, daemon: Daemon) -> None:
        ended = set()
        with suppress(psutil.Error):
            parent = psutil.Process(daemon.process.pid)
            for process in (parent, *parent.children()):
                with suppress(psutil.Error):
                    if process.status() == psutil.STATUS_ZOMBIE:
                        ended.add(process)
                    self._note("supervisor" if process == parent else process.name(), process)
        self.zombies += len(ended & self._ended)  # one that ended a moment ago is about to be collected
        self._ended = ended

    def _note(self, name: str, process: psutil.Process) -> None:
        if time.time() - process.create_time() > GROWN_UP_S:
            row = (process.memory_info().rss / 1e6, process.num_fds(), process.num_threads())
            self._rows[name.partition("@")[0]].append(row)

    def growth(self) -> dict[str, tuple[float, float, float]]:
        """By stage, the median of the last third of the samples less that of the first."""
        found = {}
        for name, rows in sorted(self._rows.items()):
            third = max(1, len(rows) // 3)
            pairs = [
                statistics.median(row[place] for row in rows[-third:])
                - statistics.median(row[place] for row in rows[:third])
                for place in range(3)
            ]
            found[name] = tuple(pairs)
        return found


class Soak:
    """A daemon and what is done to it."""

    def __init__(self, folder: Path, minutes: float, seed: int) -> None:
        self._chance = random.Random(seed)
        self._minutes = minutes
        self.disk = Disk(folder / "disk", DISK_MB)
        self._server = serve(clips(folder / "clips", self._chance))
        self._rtsp = Rtsp()
        self.daemon = Daemon(folder, WALK + "pause_s=2&walk_s=3", MORE + self._cameras(folder / "clips"))
        self.daemon.state = self.disk.path / "state"
        self.daemon.events_file = self.daemon.state / "events.jsonl"
        self.disk.events_folder = self.daemon.state
        self.samples = Samples()
        self.kills = self.crashes = self.orphans = 0
        self.status = -1

    def _cameras(self, folder: Path) -> str:
        sources = {
            "yard": WALK + "pause_s=5&walk_s=4&seed=3",
            "http": f"http://127.0.0.1:{self._server.server_port}/cam",
            "once": str(folder / "small.ts"),
        }
        if self._rtsp.port:
            sources["rtsp"] = f"rtsp://viewer:secret@127.0.0.1:{self._rtsp.port}/test"
        return "".join(f'[cameras.{name}]\nsource = "{address}"\n' for name, address in sources.items())

    def run(self) -> None:
        """To the end, and stop."""
        self.daemon.start()
        began = time.monotonic()
        due = [(minute * self._minutes / 24 * 60, what) for minute, what in SCHEDULE]
        next_kill, next_order, next_sample = 5.0, 30.0, 0.0
        while (now := time.monotonic() - began) < self._minutes * 60:
            while due and now >= due[0][0]:
                self._do(due.pop(0)[1])
            if now >= next_kill:
                next_kill = now + self._chance.uniform(2, 9)
                self._signal()
            if now >= next_order:
                next_order = now + self._chance.uniform(20, 60)
                self._rtsp.tell(self._chance.choice(Rtsp.ORDERS))
            if now >= next_sample:
                next_sample = now + SAMPLE_S
                self.samples.take(self.daemon)
                _show(now, self._minutes * 60)
            if self.daemon.process.poll() is not None:
                self.crashes += 1
                self.daemon.start()
            time.sleep(0.2)
        self._stop()

    def _do(self, what: str) -> None:
        if what == "new_life":
            self.daemon.process.kill()
            self.daemon.process.wait()
            time.sleep(1.5)
            self.daemon.start()
        else:
            getattr(self.disk, what)()

    def _signal(self) -> None:
        with suppress(psutil.Error, OSError, IndexError):
            child = self._chance.choice(psutil.Process(self.daemon.process.pid).children())
            number = self._chance.choice(SIGNALS)
            child.send_signal(number)
            self.kills += 1
            if number == signal.SIGSTOP and self._chance.random() < 0.5:
                time.sleep(1)
                child.send_signal(signal.SIGCONT)

    def _stop(self) -> None:
        below = self.daemon.children()
        self.status = self.daemon.stop(seconds=30)[0]
        self.orphans = sum(psutil.pid_exists(pid) for pid in below)

    def close(self) -> None:
        self.daemon.close()
        self._rtsp.close()
        self._server.shutdown()
        self.disk.close()


def _show(now: float, total: float) -> None:
    if sys.stderr.isatty():
        print(f"\r{now:.0f} of {total:.0f} s ", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    if os.geteuid():
        raise SystemExit("not run: only root may mount a small disk")
    folder = Path(tempfile.mkdtemp(prefix="soak"))
    soak = Soak(folder, options.minutes, options.seed)
    try:
        soak.run()
        counts, given_up = written.counts(written.files(soak.daemon.state, *soak.disk.moved), soak.daemon.log())
        tracebacks = soak.daemon.log().count("Traceback")
    finally:
        soak.close()
        shutil.rmtree(folder, ignore_errors=True)
    growth = soak.samples.growth()
    head = ("process", "MB", "descriptors", "threads")
    table(
        "Growth from the first third of the time to the last",
        head,
        [(name, *(f"{one:+.1f}" for one in row)) for name, row in growth.items()],
    )
    table("Events", ("what", "count"), [*counts.items(), *((f"{name} given up", n) for name, n in given_up.items())])
    last_line(
        {
            "minutes": options.minutes,
            "signals": soak.kills,
            **counts,
            "crashes": soak.crashes,
            "tracebacks": tracebacks,
            "exit_status": soak.status,
            "orphans": soak.orphans,
            "zombies": soak.samples.zombies,
            "rss_growth_mb": round(max((row[0] for row in growth.values()), default=0), 1),
            "fds_growth": max((row[1] for row in growth.values()), default=0),
            "threads_growth": max((row[2] for row in growth.values()), default=0),
        },
        f"python -m tests.bench.soak --minutes {options.minutes:g} --seed {options.seed}",
    )


if __name__ == "__main__":
    main()
