"""What replaying a recording costs: beside decoding alone, beside DVR-Scan, and on two cores beside one.

CPU is user + system of all processes involved. Motion is measured as a replay runs it (decode every picture, copy
into the ring and compare as many a second as are looked at by default), in one process, beside one that decodes the
same file with the same decoder and does nothing. The footage has a camera's bit rate and noise, and somebody walks
through it for a fifth of the time. DVR-Scan runs as it comes, with nothing written. All ways take turns, round by
round, so that what else runs on the machine hits all alike.

Clips are drawn once and kept in the cache folder, as is DVR-Scan in an environment of its own.

usage: python -m tests.bench.replay_speed [--rounds N] [--seconds N] [--no-dvrscan | --dvrscan FILE]
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import av

from pipeline.core.frames import FramePool
from pipeline.core.settings import CameraSettings, CaptureSettings, Settings
from pipeline.core.stage import StageContext
from pipeline.runtime.clocks import MediaClock
from stages.capture import Capture
from stages.motion import Motion
from tests.bench.report import busy_s, last_line, table

if TYPE_CHECKING:
    from collections.abc import Iterator

Ways: TypeAlias = "Iterator[tuple[str, str, Spent]]"  # what was done, with which footage

ROOT = Path(__file__).parents[2]
DVRSCAN = "dvr-scan==1.8.2.1"
FILES = 4  # replayed together, for the wall time
TOGETHER = (f"{FILES} files, 1 core", f"{FILES} files, 2 cores")
QUIET = 0.1  # of a core, for the rest of the machine
EVERY_PICTURE = 1000.0  # looked at a second: more than there are


class Clip(NamedTuple):
    """Footage of a camera; its length is a multiple of what the user asks for."""

    name: str
    width: int
    height: int
    fps: int
    bitrate: int
    longer: int

    def made(self, cache: Path, seconds: float) -> Path:
        seconds *= self.longer
        path = cache / f"walks-{self.name}{self.fps}-{seconds:g}s.mp4"
        if not path.exists():
            print(f"drawing {path}, once")
            options = {
                "width": self.width, "height": self.height, "fps": self.fps, "seconds": seconds,
                "walks": 1000, "pause-s": 24, "walk-s": 6, "bitrate": self.bitrate,
            }  # fmt: skip
            given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
            subprocess.run([sys.executable, ROOT / "tools/make_footage.py", path, *given], check=True)
        return path


CLIPS = {
    "1080p": Clip("1080p", 1920, 1080, 20, 4_000_000, 1),
    "360p": Clip("360p", 640, 360, 15, 800_000, 3),  # decoded so fast that a start would decide
}


class Spent(NamedTuple):
    cpu_s: float
    wall_s: float
    others: float  # cores that the rest of the machine kept busy meanwhile


class Stopwatch:
    """Started before a child is, read when it ends."""

    def __init__(self) -> None:
        self._began, self._busy = time.monotonic(), busy_s()

    def ended(self, pid: int) -> Spent:
        """Wait for a child; what it spent, with all its own children."""
        _, status, usage = os.wait4(pid, 0)
        if status:
            raise SystemExit(f"a measured process ended with status {os.waitstatus_to_exitcode(status)}")
        cpu_s, wall_s = usage.ru_utime + usage.ru_stime, time.monotonic() - self._began
        return Spent(cpu_s, wall_s, max(0.0, busy_s() - self._busy - cpu_s) / wall_s)


def forked(work: object, *arguments: object) -> Spent:
    """Run a function in a child that has everything imported."""
    sys.stdout.flush()
    watch = Stopwatch()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work(*arguments)
            status = 0
        finally:
            os._exit(status)
    return watch.ended(pid)


def started(command: list[object], log: Path, cores: set[int] | None = None) -> Spent:
    """Run a program, and show what it said when it fails."""
    watch = Stopwatch()
    with log.open("wb") as file:
        child = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,  # noqa: PLW1509  # no thread runs here
        )
        try:
            return watch.ended(child.pid)
        except SystemExit:
            print(log.read_text(encoding="utf-8", errors="replace")[-2000:])
            raise
        finally:
            child.returncode = 0  # it was waited for


def decode(clip: Path) -> None:
    """Every picture, one thread, and nothing with it."""
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        for packet in container.demux(stream):
            for _ in packet.decode():
                pass


def motion(clip: Path, frames_per_s: float) -> None:
    """Decode and motion, as in a replay."""
    settings = Settings(
        cameras={"gate": CameraSettings(source=str(clip))}, capture=CaptureSettings(frames_per_s=frames_per_s)
    )
    ring = FramePool.create("bench", settings.frames.slots, settings.frames.largest)
    context = StageContext(settings=settings, rings={"gate": ring}, keyframes=ring, clock=MediaClock(), camera="gate")
    stage = Motion(context)
    stage.warm_up()
    for frame in Capture(context).produce():
        for _ in stage.handle(frame):
            pass


def replay(clip: Path, folder: Path, jobs: int, cores: set[int] | None = None) -> Spent:
    """The command, all stages and processes."""
    command = [sys.executable, "-m", "pipeline", "replay", clip, "--out", folder / "out", "--quiet", "--jobs", jobs]
    return started(command, folder / "log", cores)


def dvrscan(cache: Path) -> Path:
    """DVR-Scan in an environment of its own, installed the first time."""
    folder = cache / DVRSCAN.replace("==", "-")
    program = folder / "bin" / "dvr-scan"
    if not program.exists():
        print(f"installing {DVRSCAN} into {folder}, once")
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", DVRSCAN], check=True)
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="of 1080p; 360p is three times as long")
    parser.add_argument(
        "--patience", type=int, default=2, help="more rounds of what needs free cores, while they were not"
    )
    parser.add_argument("--dvrscan", type=Path, metavar="FILE", help="DVR-Scan's program, where it is installed")
    parser.add_argument("--no-dvrscan", action="store_true", help="leave that comparison out")
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fieldwatch-bench"
    parser.add_argument("--cache", type=Path, default=default, help="clips and environments (default: %(default)s)")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    clips = {name: clip.made(options.cache, options.seconds) for name, clip in CLIPS.items()}
    program = None if options.no_dvrscan else options.dvrscan or dvrscan(options.cache)
    spent: dict[tuple[str, str], list[Spent]] = {}
    for number in range(options.rounds + options.patience):
        if number >= options.rounds and all(_undisturbed(spent["1080p", way]) for way in TOGETHER):
            break
        with tempfile.TemporaryDirectory(prefix="replay") as name:
            ways = [_together(clips, Path(name))]
            if number < options.rounds:
                ways.insert(0, _alone(clips, program, Path(name)))
            for way, clip, one in itertools.chain(*ways):
                spent.setdefault((clip, way), []).append(one)
    _report(spent, options)


def _alone(clips: dict[str, Path], program: Path | None, folder: Path) -> Ways:
    for name, clip in clips.items():
        yield "decode alone", name, forked(decode, clip)
        yield "decode + motion", name, forked(motion, clip, CaptureSettings().frames_per_s)
        yield "decode + motion, every picture", name, forked(motion, clip, EVERY_PICTURE)
        yield "replay, all stages", name, replay(clip, folder, 1)
        if program is not None:
            scan = [program, "-i", clip, "--scan-only", "--ignore-user-config"]
            yield "DVR-Scan", name, started(scan, folder / "log")


def _together(clips: dict[str, Path], folder: Path) -> Ways:
    """Several recordings on one core, and on two."""
    cores = sorted(os.sched_getaffinity(0))
    many = folder / "many"
    many.mkdir()
    for number in range(FILES):
        (many / f"{number}.mp4").symlink_to(clips["1080p"])
    for number, way in enumerate(TOGETHER, 1):
        yield way, "1080p", replay(many, folder, number, set(cores[:number]))


def _undisturbed(rounds: list[Spent]) -> list[Spent]:
    """Those in which nothing else ran: what takes a core away changes the wall time."""
    return [one for one in rounds if one.others <= QUIET]


def _report(spent: dict[tuple[str, str], list[Spent]], options: argparse.Namespace) -> None:
    cpu = {key: statistics.median(one.cpu_s for one in rounds) for key, rounds in spent.items()}
    wall = {
        key: statistics.median(one.wall_s for one in _undisturbed(rounds) or rounds) for key, rounds in spent.items()
    }
    rows = [
        (
            *key,
            f"{cpu[key]:.2f}",
            f"{min(rounds).cpu_s:.2f}-{max(rounds).cpu_s:.2f}",
            f"{cpu[key] / cpu[key[0], 'decode alone']:.2f}",
            f"{wall[key]:.2f}",
            f"{statistics.median(one.others for one in rounds):.2f}",
        )
        for key, rounds in spent.items()
    ]
    lengths = ", ".join(f"{options.seconds * clip.longer:g} s at {name}{clip.fps}" for name, clip in CLIPS.items())
    head = ("footage", "way", "CPU s", "from - to", "by decode", "wall s", "cores busy with others")
    table(f"One recording ({lengths}), medians of {options.rounds} rounds", head, sorted(rows, key=lambda row: row[0]))

    if not all(_undisturbed(spent["1080p", way]) for way in TOGETHER):
        print("\n  The cores were never free while several files were replayed: the ratio of wall times is too high.")

    def ratio(numbers: dict[tuple[str, str], float], clip: str, way: str, by: str) -> float:
        return round(numbers[clip, way] / numbers[clip, by], 3)

    keys: dict[str, object] = {"motion_cpu_vs_decode": ratio(cpu, "1080p", "decode + motion", "decode alone")}
    if not options.no_dvrscan:
        for name in CLIPS:
            keys[f"dvrscan_cpu_vs_replay_{name}"] = ratio(cpu, name, "DVR-Scan", "replay, all stages")
    keys["replay_wall_2cores_vs_1core"] = ratio(wall, "1080p", *reversed(TOGETHER))
    last_line(keys, "python -m tests.bench.replay_speed")


if __name__ == "__main__":
    main()
