"""A daemon in processes of its own, as a test sees it: what it writes, whom it started, how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from pipeline.runtime.board import Board, Word

ROOT = Path(__file__).parents[1]
WALKER = "synthetic://?width=320&height=180&seconds=600&walks=200&pause_s=2&walk_s=3"

STAGES = ("capture@gate", "motion@gate", "classify", "govern", "trigger", "encode", "describe", "emit")

_QUICK = """
[trigger]
gap_s = 1.0
features_wait_s = 0.5
report_wait_s = 1.0
"""


def heeding():
    """In a child, before it runs: heed the signals that whoever started the tests may have made us ignore."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


PATIENCE = 6
"""Times in tests are those of a quiet machine; a busy one gets so many times as long, and only failures wait for it."""


def eventually(look, seconds, what):
    """Return what `look` returns as soon as it is true; fail when that takes far longer."""
    until = time.monotonic() + seconds * PATIENCE
    while not (found := look()):
        assert time.monotonic() < until, f"not within {seconds * PATIENCE} s: {what}"
        time.sleep(0.02)
    return found


def free_port():
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """`pipeline run` with one camera, `gate`."""

    def __init__(self, folder, source=WALKER, more="", *, events=None, stdout=subprocess.DEVNULL):
        self.state = folder / "state"
        self.events_file = (events or self.state) / "events.jsonl"
        self.run_dir = Path(tempfile.mkdtemp(prefix="fieldwatch-test-"))  # short: a socket's path has 107 bytes
        self.config = folder / "pipeline.toml"
        self.log_file = folder / "log"
        self.processes = []
        self.stdout = stdout
        emit = f'[emit]\nfolder = "{events}"\n' if events else ""
        self.config.write_text(f'[cameras.gate]\nsource = "{source}"\n{_QUICK}{emit}{more}', encoding="utf-8")

    def start(self, before=""):
        """Start it and wait until all stages run. `before`: Python to run in the daemon's process first."""
        main = ["-c", f"{before}\nfrom pipeline.start import main\nmain()"] if before else ["-m", "pipeline"]
        with self.log_file.open("ab") as log:
            started = self.log().count('"all_ready"')
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, *main, "run", self.config, *self.folders()],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=self.stdout,
                    stderr=log,
                    start_new_session=True,
                    preexec_fn=heeding,  # noqa: PLW1509  # two calls, before it runs
                )
            )
        eventually(lambda: self.log().count('"all_ready"') > started or self.process.poll() is not None, 10, "ready")
        assert self.process.poll() is None, self.log()
        return self

    def folders(self):
        """The options that name its folders."""
        return ["--run-dir", str(self.run_dir), "--state-dir", str(self.state)]

    @property
    def process(self):
        """The supervisor."""
        return self.processes[-1]

    def command(self, *arguments, seconds=15 * PATIENCE):
        """Run another command of the program."""
        command = [sys.executable, "-m", "pipeline", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)

    def board(self, stage, word):
        """Read a number of the status board."""
        return Board.open(self.run_dir / "board").get(stage, word)

    def kill(self, stage, number=signal.SIGKILL):
        """Send a signal to the process of a stage."""
        os.kill(self.board(stage, Word.PID), number)

    def children(self):
        """The pids of all stage processes."""
        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]

    def stop(self, number=signal.SIGTERM, seconds=10):
        """Ask it to end; return its exit status and how long it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(seconds * PATIENCE), time.monotonic() - began

    def log(self):
        """All it has logged."""
        return self.log_file.read_text(encoding="utf-8")

    def events(self, kind=""):
        """The events so far whose type contains this."""
        with suppress(FileNotFoundError):
            lines = self.events_file.read_bytes().splitlines(keepends=True)
            events = [json.loads(line) for line in lines if line.endswith(b"\n")]
            return [event for event in events if kind in event["type"]]
        return []

    def await_event(self, kind, seconds, *, after=0):
        """Wait until there are more than `after` events of a kind; return the newest."""
        return eventually(lambda: self.events(kind)[after:], seconds, f"{kind} (log: {self.log()[-2000:]})")[-1]

    def await_incident(self, seconds=8):
        """Wait until an incident is under way; return its name."""
        return eventually(self._open, seconds, f"an incident (log: {self.log()[-2000:]})")

    def starts_and_ends(self):
        """How often every incident began, and how often it ended."""
        return tuple(
            Counter(event["subject"] for event in self.events(f"incident.{what}")) for what in ("start", "end")
        )

    def _open(self):
        started, ended = self.starts_and_ends()
        return next(iter(started.keys() - ended.keys()), None)

    def close(self):
        """Leave nothing behind, whatever happened."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(5)
        shutil.rmtree(self.run_dir, ignore_errors=True)


def alive(pids):
    """Those of some processes that still run; who is dead and not yet collected by init does not."""
    found = set()
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.add(pid)
    return found
