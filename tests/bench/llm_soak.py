"""A language model asked for sentences for long: whether memory grows, how urgent ones get in, what neighbours cost.

Every request is what the stage describe makes of an incident: the real prompt with its held beginning, the grammar of
the facts, one forward at a time. The facts differ in lengths, names and tags. Each part runs in a process of its own.

Memory: least squares over all requests after the warm-up. Getting in: a sentence of a routine incident is being
written when an alarm arrives in the midst of a forward; the forwards from this one to the alarm's first are counted,
both included, for arrivals all along the sentence. Neighbours: request times beside a process that keeps one core busy
and without it, in turns, with the threads that describe takes by default and with as many as there are cores.

usage: python -m tests.bench.llm_soak [--requests N] [--warm-up N] [--arrivals N] [--rounds N] [--gguf FILE]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from models.asking.prompts import Prompts
from models.llm.engine import split_chunks
from models.llm.mnn import EngineOptions
from models.llm.opening import open_model
from models.store import Store
from pipeline.core.messages import DescriptionWanted, IncidentDescribed, Priority
from pipeline.core.stage import StageContext
from pipeline.runtime import cores
from stages.describe import Describe
from tests import boot, fakes
from tests.bench import asking
from tests.bench.report import last_line, table

MODULE = "tests.bench.llm_soak"
WINDOW = 300  # requests at each end whose times are compared


def _opened(state: str, threads: int):
    active = Store(Path(state)).active()
    model = open_model(active.path, EngineOptions(threads))
    prompt = Prompts.of(model.engine.encode)
    for _ in model.session.read([prompt.fixed]):
        pass
    return model, prompt


def _child_requests(state: str, count: str) -> dict:
    """Ask one after the other; time, CPU time and memory of each."""
    model, prompt = _opened(state, cores.threads())
    found: dict[str, list[float]] = {"ms": [], "cpu_ms": [], "rss": [], "anon": []}
    complete = 0
    for number in range(int(count)):
        wall, cpu = time.perf_counter(), time.process_time()
        written = asking.ask(model, prompt, asking.various(number))
        found["ms"].append((time.perf_counter() - wall) * 1e3)
        found["cpu_ms"].append((time.process_time() - cpu) * 1e3)
        now = asking.memory()
        found["rss"].append(now["rss"])
        found["anon"].append(now["anon"])
        complete += written.complete
    return found | {"complete": complete, "misses": model.session.counts.misses}


class _Spied:
    """An engine whose forwards are noted; lets something happen in the midst of one."""

    def __init__(self, engine: object) -> None:
        self._engine = engine
        self.read: list[tuple[int, ...]] = []
        self.at, self.then = 0, lambda: None

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def forward(self, numbers):
        self.read.append(tuple(numbers))
        if len(self.read) == self.at:
            self.then()
        return self._engine.forward(numbers)


def _wanted(incident: str, priority: Priority, facts) -> DescriptionWanted:
    return DescriptionWanted(incident=incident, revision=1, priority=priority, facts=facts, final=False)


class _Arrival:
    """An alarm that arrives while the stage writes a routine sentence; the stage is driven as its host drives it."""

    def __init__(self, stage: Describe, spied: _Spied) -> None:
        self._stage, self._spied = stage, spied
        self._inbox: list[DescriptionWanted] = []

    def run(self, at: int, routine, alarm, first: tuple[int, ...]) -> tuple[int, float] | None:
        """Forwards from the arrival to the alarm's first, both included, and milliseconds; None: it was over before."""
        began = 0.0

        def arrive() -> None:
            nonlocal began
            began = time.perf_counter()
            self._inbox.append(_wanted("alarm", Priority.ALARM, alarm))

        self._spied.read.clear()
        self._spied.at, self._spied.then = at, arrive
        self._inbox.append(_wanted("routine", Priority.ROUTINE, routine))
        found, told = None, list[IncidentDescribed]()
        while self._stage.pending() or self._inbox:
            told += [*self._turn()]
            if found is None and began and first in self._spied.read[at:]:
                found = self._spied.read.index(first, at) + 2 - at, (time.perf_counter() - began) * 1e3
        order = [one.incident for one in told if one.analysis.status != "pending"]
        assert found is None or order == ["alarm", "routine"], order
        return found

    def _turn(self):
        if self._inbox:
            yield from self._stage.handle(self._inbox.pop(0))
        else:
            yield from self._stage.step()


def _child_preempt(state: str, count: str) -> dict:
    """Let alarms arrive at places all along a routine sentence."""
    context = StageContext(
        settings=fakes.settings(), rings={}, keyframes=None, clock=fakes.FakeClock(), models_dir=Path(state)
    )
    stage = Describe(context)
    stage.warm_up()
    list(stage.begin())
    model = stage._voice.model
    spied = model.session.engine = _Spied(model.engine)
    arrival = _Arrival(stage, spied)
    routine, alarm = asking.various(3), asking.various(1)
    first = next(split_chunks(stage._summariser._prompts.summary(alarm)[1]))
    arrival.run(0, routine, alarm, first)
    forwards = len(spied.read)
    places = np.unique(np.linspace(1, forwards, int(count)).astype(int)).tolist()
    found = [got for at in places if (got := arrival.run(at, routine, alarm, first))]
    return {
        "forwards": [count for count, _ in found],
        "ms": [ms for _, ms in found],
        "sentence": forwards,
        "reread": stage.reread,
    }


def _child_neighbour(state: str, threads: str, rounds: str, count: str) -> dict:
    """The same requests with and without a neighbour, in turns."""
    model, prompt = _opened(state, int(threads))
    core = max(os.sched_getaffinity(0))
    found: dict[str, list[float]] = {"alone": [], "beside": [], "others": []}
    for number in range(2):
        asking.ask(model, prompt, asking.various(number))
    with asking.neighbour(core) as busy:
        for _ in range(int(rounds)):
            for way in ("alone", "beside"):
                (busy.work if way == "beside" else busy.rest)()
                for number in range(int(count)):
                    watch = asking.Stopwatch()
                    asking.ask(model, prompt, asking.various(number))
                    spent = watch.read()
                    found[way].append(spent.wall_s * 1e3)
                    if way == "alone":
                        found["others"].append(spent.others)
    return found


CHILDREN = {"requests": _child_requests, "preempt": _child_preempt, "neighbour": _child_neighbour}


def slope(values: list[float]) -> float:
    """Growth in a thousand requests, by least squares."""
    return float(np.polyfit(np.arange(len(values)), values, 1)[0] * 1000) if len(values) > 1 else 0.0


def _report_requests(found: dict, warm_up: int) -> dict[str, object]:
    window = max(1, min(WINDOW, len(found["ms"]) // 3))
    rows, grown = [], {}
    for name, kind in (("request, ms", "ms"), ("of it CPU, ms", "cpu_ms")):
        first, last = (statistics.median(part) for part in (found[kind][:window], found[kind][-window:]))
        grown[kind] = round(last / first, 3)
        rows.append((name, f"{first:.0f}", f"{last:.0f}", grown[kind]))
    table(f"Medians of {window} requests", ("", "first", "last", "last by first"), rows)
    rows = [
        (
            name, f"{found[kind][0]:.1f}", f"{found[kind][min(warm_up, len(found[kind]) - 1)]:.1f}",
            f"{found[kind][-1]:.1f}", f"{max(found[kind]):.1f}", f"{slope(found[kind][warm_up:]):.2f}",
        )
        for name, kind in (("resident", "rss"), ("of it its own", "anon"))
    ]  # fmt: skip
    head = ("memory, MB", "first", f"after {warm_up}", "last", "most", "MB per 1000")
    table(f"{len(found['ms'])} requests, {found['complete']} answered in form", head, rows)
    return {
        "rss_slope_mb_per_1000": round(slope(found["rss"][warm_up:]), 3),
        "anon_slope_mb_per_1000": round(slope(found["anon"][warm_up:]), 3),
        "p50_last_vs_first": grown["ms"],
        "cpu_last_vs_first": grown["cpu_ms"],
        "incomplete": len(found["ms"]) - found["complete"],
        "misses": found["misses"] - 1,
    }


def _report_preempt(found: dict) -> dict[str, object]:
    head = ("forwards of the routine sentence", "arrivals", "forwards, most", "ms, median", "ms, most")
    times, most = found["ms"], max(found["forwards"])
    row = (found["sentence"], len(times), most, f"{statistics.median(times):.0f}", f"{max(times):.0f}")
    table("From an alarm's arrival to the end of its first forward", head, [row])
    return {"preempt_forwards": most, "preempt_ms_most": round(max(times))}


def _report_neighbour(found: dict[int, dict]) -> dict[str, object]:
    rows, slower = [], {}
    for threads, times in found.items():
        alone, beside = (statistics.median(times[way]) for way in ("alone", "beside"))
        slower[threads] = round(beside / alone, 2)
        others = statistics.median(times["others"])
        rows.append((threads, f"{alone:.0f}", f"{beside:.0f}", slower[threads], f"{others:.2f}"))
    head = ("threads", "ms alone", "ms beside a busy process", "slower by", "cores busy with others when alone")
    table("A request beside a neighbour, medians", head, rows)
    return {"busy_neighbour_slowdown": next(iter(slower.values())), "all_cores_slowdown": slower[max(slower)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--warm-up", type=int, default=200, help="requests before memory counts")
    parser.add_argument("--arrivals", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3, help="of the neighbour")
    parser.add_argument("--a-round", type=int, default=8, help="requests before the neighbour starts or stops")
    both = f"{cores.threads()},{len(os.sched_getaffinity(0))}"
    parser.add_argument("--threads", default=both, help="beside the neighbour: the default's first (%(default)s)")
    parser.add_argument("--gguf", type=Path, help="another model than the boot model")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        asking.answer(CHILDREN, *options.child)
    with tempfile.TemporaryDirectory(prefix="soak") as name:
        asking.installed(Path(name), "soaked", "keep", options.gguf or boot.gguf())
        Store(Path(name)).use("soaked")
        keys = _report_preempt(asking.in_child(MODULE, "preempt", name, options.arrivals))
        threads = list(dict.fromkeys(map(int, options.threads.split(","))))
        turns = (options.rounds, options.a_round)
        keys |= _report_neighbour(
            {count: asking.in_child(MODULE, "neighbour", name, count, *turns) for count in threads}
        )
        keys |= _report_requests(asking.in_child(MODULE, "requests", name, options.requests), options.warm_up)
    last_line(keys, f"python -m {MODULE} --requests {options.requests}")


if __name__ == "__main__":
    main()
