"""What is lost when disks are full, read-only or lose files, while stages and the supervisor are killed at random.

Each scenario is a real daemon with cameras that see somebody walk by all the time. What is wrong with the disk comes
and goes while trigger, emit or the supervisor get SIGKILL every few seconds. In the end the daemon is stopped, for
`full_never_free` while the disk is still full; then the disk is mended, a last life delivers what waits, and all that
was ever written is read: files put away, moved away and the current one.

A last part writes 50,000 events into a log whose sink takes nothing, and measures the process that would deliver them.

usage: python -m tests.bench.losses [--incidents N] [--full-s S] [--waiting N]     (as root: small disks are mounted)
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import psutil

from pipeline.core import messages as m
from pipeline.core.frames import FramePool
from pipeline.runtime import forking, logs
from pipeline.runtime.board import Board, Word
from stages.emit import Emit
from stages.journal import Journal, Reserve, Weight
from tests.bench import written
from tests.bench.report import last_line, table
from tests.daemons import Daemon
from tests.fakes import NOON_NS, FakeClock, context, raised

CAMERAS = 4
WALK = "synthetic://?width=160&height=96&seconds=86000&walks=10000&pause_s=0&walk_s=2&size=0.5&seed="
MORE = """
[emit]
folder = "{folder}"
rotate_mb = 0.5
max_files = 100000
max_evidence_mb = 5
[governor]
mode = "off"
[describe]
sentence_encoder = false
model = "none"
[runtime]
min_restart_s = 0.05
max_restart_s = 0.2
"""
DISK_MB = 48
KILLED = ("trigger", "emit", "supervisor")


class Disk:
    """A small disk of its own, and what can be wrong with it."""

    def __init__(self, path: Path, size_mb: int = DISK_MB) -> None:
        self.path = path
        path.mkdir()
        _mount("-t", "tmpfs", "-o", f"size={size_mb}m,mode=0700", "fieldwatch-bench", path)
        (path / "events").mkdir(mode=0o700)
        self.events_folder = path / "events"
        self.moved: list[Path] = []

    def fill(self) -> None:
        with (self.path / "filler").open("ab", buffering=0) as file:
            for size in (65536, 512, 1):
                with suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self) -> None:
        (self.path / "filler").unlink(missing_ok=True)

    def take_pictures_away(self) -> None:
        shutil.rmtree(self.events_folder / "evidence", ignore_errors=True)
        with suppress(OSError):
            (self.events_folder / "evidence").write_text("in the way")

    def give_pictures_back(self) -> None:
        with suppress(OSError):
            (self.events_folder / "evidence").unlink()

    def move_file(self) -> None:
        target = self.path / f"moved-{len(self.moved):04d}.jsonl"
        with suppress(FileNotFoundError):
            (self.events_folder / "events.jsonl").rename(target)
            self.moved.append(target)

    def write_protect(self) -> None:
        """Swap the folder of the events for one that can only be read, as a card that is dying is remounted."""
        (self.path / "events").rename(self.path / "writable")
        (self.path / "events").mkdir()
        _mount("--bind", self.path / "writable", self.path / "events")
        _mount("-o", "remount,bind,ro", self.path / "events")

    def unprotect(self) -> None:
        if (self.path / "writable").exists():
            _unmount(self.path / "events")
            (self.path / "events").rmdir()
            (self.path / "writable").rename(self.path / "events")

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.unprotect()
        _unmount(self.path)


def _mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


def _unmount(path: Path) -> None:
    subprocess.run(["umount", "-l", str(path)], check=True)


# scenario            begins                    goes on               ends                      stopped before it ends
SCENARIOS = {
    "sound":           (None,                    None,                 None,                     False),
    "full_then_free":  ("fill",                  "fill",               "free",                   False),
    "full_never_free": ("fill",                  "fill",               "free",                   True),
    "read_only":       ("write_protect",         None,                 "unprotect",              False),
    "pictures_gone":   ("take_pictures_away",    None,                 "give_pictures_back",     False),
    "file_moved":      ("move_file",             "move_file",          None,                     False),
}  # fmt: skip


class Outcome(NamedTuple):
    """What is left of a scenario."""

    name: str
    kills: int
    status: int  # of the daemon when it was stopped
    said: str  # its last line
    counts: dict[str, int]
    given_up: Counter[str]


def scenario(name: str, folder: Path, incidents: int, full_s: float, chance: random.Random) -> Outcome:
    """Run one to its end."""
    begins, goes_on, ends, stopped_before = SCENARIOS[name]
    disk = Disk(folder / "disk")
    more = MORE.format(folder=disk.events_folder) + "".join(
        f'[cameras.c{number}]\nsource = "{WALK}{number}"\n' for number in range(1, CAMERAS)
    )
    daemon = Daemon(folder, f"{WALK}0", more)
    daemon.state = disk.path / "state"
    quick = daemon.config.read_text().replace("gap_s = 1.0", "gap_s = 0.3\nmax_s = 0.6")
    daemon.config.write_text(quick)
    kills = 0
    try:
        daemon.start()
        time.sleep(3)
        _do(disk, begins)
        until, seen = time.monotonic() + (full_s if "full" in name else 0), 0
        while time.monotonic() < until or seen < incidents:
            time.sleep(chance.uniform(1.0, 4.0))
            _do(disk, goes_on)
            assert daemon.process.poll() is None, daemon.log()[-3000:]
            kills += _killed(daemon, chance.choice(KILLED))
            seen = daemon.log().count("incident.start")
            _show(name, seen, incidents)
            if "full" in name and time.monotonic() >= until:
                break
        if not stopped_before:
            _do(disk, ends)
            time.sleep(3)
        status = daemon.stop(seconds=30)[0]
        said = daemon.log().splitlines()[-1]
        if status and ends:
            _do(disk, ends)
            daemon.start()
            time.sleep(3)
            daemon.stop(seconds=30)
        counts, given_up = written.counts(written.files(disk.events_folder, *disk.moved), daemon.log())
        return Outcome(name, kills, status, said, counts, given_up)
    finally:
        daemon.close()
        disk.close()


def _do(disk: Disk, what: str | None) -> None:
    if what:
        getattr(disk, what)()


def _killed(daemon: Daemon, name: str) -> bool:
    if name == "supervisor":
        daemon.process.kill()
        daemon.process.wait()
        time.sleep(1)
        daemon.start()
        return True
    pid = Board.open(daemon.run_dir / "board").get(name, Word.PID)
    with suppress(ProcessLookupError):
        if pid:
            os.kill(pid, 9)
    return bool(pid)


def _show(name: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{name:<16} {done}/{total} incidents ", end="", file=sys.stderr, flush=True)


def memory_with_waiting(count: int, folder: Path) -> dict[str, float]:
    """Megabytes that a process of emit grows by while so many events wait, and while they are delivered then."""
    results, tell = os.pipe()

    def run() -> int:
        os.write(tell, json.dumps(_grown(count, folder)).encode())
        return 0

    pid = forking.fork("emit", run)
    os.close(tell)
    os.waitpid(pid, 0)
    grown = json.loads(os.read(results, 4096))
    os.close(results)
    return grown


def _grown(count: int, folder: Path) -> dict[str, float]:
    own, out, log_dir = psutil.Process(), folder / "out", folder / "eventlog"
    journal = Journal(log_dir, Reserve(16e6, 1e9))
    logs.configure("error", stage="emit")
    frames = FramePool.create("losses", 4, (64, 48))
    made = context(frames, clock=FakeClock(), log_dir=log_dir, emit={"folder": str(out)})
    stage = Emit(replace(made, state_dir=folder))
    (out / "events.jsonl").mkdir(parents=True)  # takes nothing
    stage.warm_up()
    tick = m.Ticked(pts_ns=0, utc_ns=NOON_NS)
    _worked_off(stage, tick)
    before = own.memory_info().rss
    for number in range(count):
        event = raised(f"inc-1/{number}", utc_ns=NOON_NS + number)
        assert journal.record(event, (NOON_NS, 0, "boot"), Weight.URGENT)
        if number % 100 == 0:
            list(stage.handle(event))
    for _ in range(100):
        _worked_off(stage, tick)
    waiting = own.memory_info().rss
    (out / "events.jsonl").rmdir()
    _worked_off(stage, tick)
    delivered = len((out / "events.jsonl").read_bytes().splitlines())
    assert delivered == count, delivered
    after = own.memory_info().rss
    return {"waiting": (waiting - before) / 1e6, "delivered": (after - before) / 1e6}


def _worked_off(stage: Emit, message: m.AnyMessage) -> None:
    list(stage.handle(message))
    while stage.pending():
        list(stage.step())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--incidents", type=int, default=2000, help="of all scenarios together")
    parser.add_argument("--full-s", type=float, default=600.0, help="seconds that the disk is full in each full_*")
    parser.add_argument("--waiting", type=int, default=50_000, help="events that wait for a sink")
    parser.add_argument("--only", choices=SCENARIOS, help="one scenario")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="losses") as name:
        grown = memory_with_waiting(options.waiting, Path(name))
    outcomes = []
    if os.geteuid():
        print("the scenarios are left out: only root may mount a small disk", file=sys.stderr)
    else:
        names = [options.only] if options.only else list(SCENARIOS)
        each = max(1, options.incidents // len(names))
        for name in names:
            with tempfile.TemporaryDirectory(prefix="losses") as folder:
                chance = random.Random(options.seed)
                outcomes.append(scenario(name, Path(folder), each, options.full_s, chance))
    _report(outcomes, grown, options)


def _report(outcomes: list[Outcome], grown: dict[str, float], options: argparse.Namespace) -> None:
    head = ("scenario", "kills", "exit", *(outcomes[0].counts if outcomes else ()), "given up and told")
    rows = [(one.name, one.kills, one.status, *one.counts.values(), dict(one.given_up) or "") for one in outcomes]
    table("Events under kill -9, with what is wrong with the disk", head, rows)
    for one in outcomes:
        if one.status:
            print(f"  {one.name}: exit status {one.status}: {one.said}")
    total: Counter[str] = Counter()
    for one in outcomes:
        total.update(one.counts)
    last_line(
        {
            "incidents": total["incidents"],
            "kills": sum(one.kills for one in outcomes),
            "started_vs_ended": round(total["incidents"] / total["ended"], 4) if total["ended"] else None,
            **{key: total[key] for key in ("ended_twice", "doubled_ids", "order_errors", "holes_untold", "ends_lost")},
            "emit_rss_growth_mb": round(max(grown.values()), 1),
            "events_waiting": options.waiting,
            "exit_on_full_disk": next((one.status for one in outcomes if one.name == "full_never_free"), None),
        },
        f"python -m tests.bench.losses --incidents {options.incidents} --full-s {options.full_s:g}",
    )


if __name__ == "__main__":
    main()
