"""How long an alarm takes from its picture, with four cameras: stages in processes of their own, beside one loop.

Staged is the daemon as it is: pictures lie in shared memory, each stage has a process. The peer is what one would write
first: one process that takes picture after picture of all cameras as they come, copies it, and calls stage after stage,
the same ones, to the end; no picture is left out, so both see the same incidents. In all four cameras something begins
to move within the same second, as when people cross a yard.

A latency is the time from when a picture was there to be had until the `incident.start` that it caused was in the event
log. For the daemon that is what the event itself tells (`timing_ms` without capture's wait for the picture), for the
loop the time since the picture was due. Both take turns; both have the same language model, if there is one.

usage: python -m tests.bench.pipelined [--rounds N] [--seconds S] [--model boot|none]
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import shutil
import statistics
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pipeline import topology
from pipeline.core import configuration
from pipeline.core.frames import FramePool
from pipeline.core.messages import EventRaised, FrameCaptured, FrameRef, Hop
from pipeline.core.stage import StageContext
from pipeline.core.vocabulary import CameraId, Nanoseconds
from pipeline.runtime import logs
from pipeline.runtime.clocks import LiveClock
from pipeline.runtime.loading import load
from stages.sources.footage import Footage
from tests.bench.report import last_line, table
from tests.daemons import Daemon
from tests.llms import boot_state
from tools.make_footage import make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.core.messages import AnyMessage

CAMERAS = 4
APART_S = 0.13  # between the moments at which things begin to move in front of two cameras
PAUSE_S, WALK_S = 3.5, 2.0
FPS = 10
ATTEMPTS = 3
START = "fieldwatch.incident.start.v1"
TABLES = """
[trigger]
gap_s = 1.0
"""


def clips(folder: Path, seconds: float) -> dict[str, Path]:
    """A clip a camera, in each of which something walks by every few seconds, a little later than in the one before."""
    walks = int(seconds / (PAUSE_S + WALK_S))
    scene = {"width": 640, "height": 360, "fps": FPS, "walks": walks, "walk_s": WALK_S, "seconds": seconds}
    found = {}
    for number in range(CAMERAS):
        pause_s = PAUSE_S + number * APART_S / walks
        found[f"camera{number}"] = make(folder / f"{number}.mp4", seed=number + 1, pause_s=pause_s, **scene)
    return found


def tables(films: dict[str, Path], model: str) -> str:
    """The configuration of both."""
    cameras = "".join(f'[cameras.{name}]\nsource = "{path}"\nrestricted = true\n' for name, path in films.items())
    return f'{cameras}{TABLES}[describe]\nmodel = "{"" if model == "boot" else "none"}"\n'


def staged(folder: Path, films: dict[str, Path], model: str) -> list[float]:
    """Let the daemon watch the clips; return milliseconds, one an incident."""
    daemon = Daemon(folder)
    if model == "boot":
        daemon.state.mkdir()
        (daemon.state / "models").symlink_to(boot_state() / "models")
    daemon.config.write_text(tables(films, model), encoding="utf-8")
    daemon.start()
    daemon.process.wait(600)  # every camera is a file that ends
    timings = [event["data"]["timing_ms"] for event in daemon.events("incident.start")]
    daemon.close()
    return [one["total"] - one["capture"] for one in timings]


class Loop:
    """One process that does everything, one camera after the other."""

    def __init__(self, folder: Path, films: dict[str, Path], model: str) -> None:
        found, problems = configuration.parse(tables(films, model))
        assert found is not None, problems
        emit = msgspec.structs.replace(found.emit, folder=str(folder))
        self._settings = msgspec.structs.replace(found, emit=emit)
        self._folder = folder
        self._since_ns = time.monotonic_ns()
        self._films = films
        self._models = boot_state() if model == "boot" else None
        self.latencies_ms: list[float] = []

    def run(self) -> None:
        """To the end of all clips."""
        frames = self._settings.frames
        self._rings = {CameraId(name): FramePool.create(name, frames.slots, frames.largest) for name in self._films}
        keyframes = FramePool.create("keyframes", frames.keyframes, frames.largest)
        shared = StageContext(
            self._settings, self._rings, keyframes, LiveClock(lambda: self._since_ns),
            state_dir=self._folder, log_dir=self._folder / "eventlog", models_dir=self._models,
        )  # fmt: skip
        names = [name for name, row in topology.STAGES.items() if not row.source and name != topology.GOVERNOR]
        self._stages = {name: load(name, shared) for name in names if name != "motion"}
        self._motion = {name: load("motion", dataclasses.replace(shared, camera=name)) for name in self._rings}
        for stage in (*self._motion.values(), *self._stages.values()):
            stage.warm_up()
        for stage in self._stages.values():
            self._follow(deque(stage.begin()), 0)
        self._since_ns = time.monotonic_ns()
        self._watch()
        for stage in self._stages.values():
            stage.close()

    def _watch(self) -> None:
        """Look at the pictures of all cameras in the order in which they come; those that come meanwhile wait."""
        sources = {name: Footage(path).pictures() for name, path in self._films.items()}
        coming = [(picture.pts_ns, name, picture) for name, source in sources.items() if (picture := next(source))]
        while coming:
            due_ns, name, picture = min(coming, key=lambda one: one[:2])
            coming.remove((due_ns, name, picture))
            while (early_ns := due_ns - (time.monotonic_ns() - self._since_ns)) > 0:
                time.sleep(early_ns / 1e9)
            self._look(CameraId(name), picture)
            if (following := next(sources[name], None)) is not None:
                coming.append((following.pts_ns, name, following))

    def _look(self, camera: CameraId, picture) -> None:
        """Copy a picture, as one that is handed on by value is, and call stage after stage."""
        ring = self._rings[camera]
        ring.reserve(picture.width, picture.height)
        sequence, planes = ring.begin(picture.width, picture.height)
        picture.copy_to(planes)
        for plane in (planes.y, planes.u, planes.v):
            np.copyto(plane, plane.copy())
        at = Nanoseconds(picture.pts_ns)
        frame = FrameRef(
            camera, sequence, picture.index, at, Nanoseconds(time.time_ns()), picture.width, picture.height,
            picture.rotation, picture.full_range,
        )  # fmt: skip
        self._follow(deque([FrameCaptured(frame=frame)]), self._since_ns + picture.pts_ns)

    def _follow(self, said: deque[AnyMessage], due_ns: int) -> None:
        """Deliver what is said until nobody has anything left to say or to do."""
        while said or self._stepped(said):
            if not said:
                continue
            message = said.popleft()
            if isinstance(message, EventRaised) and message.kind == START:
                self.latencies_ms.append((time.monotonic_ns() - due_ns) / 1e6)
            for reader in topology.readers(topology.link_of(message)):
                stage = self._motion[message.frame.camera] if reader == "motion" else self._stages.get(reader)
                if stage is not None:
                    now = Nanoseconds(time.monotonic_ns())
                    said.extend(
                        msgspec.structs.replace(answer, hops=(Hop(reader, now, now),))
                        for answer in stage.handle(message)
                    )

    def _stepped(self, said: deque[AnyMessage]) -> bool:
        for stage in self._stages.values():
            if stage.pending():
                said.extend(stage.step())
                return True
        return False


def sequential(folder: Path, films: dict[str, Path], model: str) -> list[float]:
    """Let one loop watch the clips; return milliseconds, one an incident."""
    loop = Loop(folder, films, model)
    loop.run()
    return loop.latencies_ms


def _measured(side: Callable[..., list[float]], folder: Path, films: dict[str, Path], model: str) -> list[float]:
    """Measure one side; again where a machine that is busy with other things saw no incident."""
    for attempt in range(ATTEMPTS):
        own = folder / str(attempt)
        own.mkdir(parents=True)
        if latencies := side(own, films, model):
            return latencies
    raise SystemExit(f"{side.__name__}: no incident was seen in {ATTEMPTS} runs: is the machine busy?")


def rounds(work: Path, films: dict[str, Path], model: str, count: int) -> Iterator[tuple[list[float], list[float]]]:
    """Both in turns."""
    for number in range(count):
        found = [_measured(side, work / f"{side.__name__}{number}", films, model) for side in (staged, sequential)]
        yield found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=40.0, help="of each clip")
    parser.add_argument("--model", choices=["boot", "none"], default="boot")
    options = parser.parse_args()
    logs.configure("warning", stage="loop")
    work = Path(tempfile.mkdtemp(prefix="pipelined"))
    try:
        films = clips(work, options.seconds)
        found = list(rounds(work, films, options.model, options.rounds))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sides = {"staged": [one for one, _ in found], "sequential": [one for _, one in found]}
    medians = {name: [statistics.median(one) for one in rows] for name, rows in sides.items()}
    together = {name: sorted(itertools.chain(*rows)) for name, rows in sides.items()}
    rows = [
        (name, len(each), f"{statistics.median(each):.1f}", f"{each[int(len(each) * 0.95)]:.1f}")
        for name, each in together.items()
    ]
    table("From a picture to its incident.start", ("", "incidents", "median ms", "p95 ms"), rows)
    ratios = [one / other for one, other in zip(medians["staged"], medians["sequential"], strict=True)]
    last_line(
        {
            "latency_vs_sequential": round(statistics.median(ratios), 3),
            "staged_ms": round(statistics.median(medians["staged"]), 1),
            "sequential_ms": round(statistics.median(medians["sequential"]), 1),
            "incidents": [len(each) for each in together.values()],
        },
        "python -m tests.bench.pipelined "
        f"--rounds {options.rounds} --seconds {options.seconds:g} --model {options.model}",
    )


if __name__ == "__main__":
    main()
