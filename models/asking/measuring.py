"""Measures a language model as the stage describe uses it, in a process of its own: native code may end it.

usage: python -m models.asking.measuring < task.json > values.json

The task is pipeline/core/baseline.Task, the values are those of baseline.MEASURES that belong to it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from models.asking.prompts import Prompts
from models.llm.engine import Session
from models.llm.mapping import Mapping
from models.llm.mnn import EngineOptions, MnnEngine
from models.llm.opening import open_model
from pipeline.core.bench import samples
from pipeline.core.bench.baseline import Task
from pipeline.core.errors import PipelineError
from pipeline.core.text import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.llm.engine import Engine, Part
    from models.llm.opening import LanguageModel
    from models.llm.writing import WrittenTokens

_PDEATHSIG = 1  # sys/prctl.h
_DECODED = 64  # tokens, of which the middle half counts
_MAX_SUMMARY_TOKENS = 96
_READ_BYTES = 256 << 20  # a thread: far more than any cache
_READ_ROUNDS = 5


def measure_bandwidth(threads: int, size: int = _READ_BYTES) -> float:
    """How fast memory can be read, in 10^9 bytes a second: the best of some sums over large arrays.

    Args:
        threads: That read at once, an array each; numpy lets go of the interpreter meanwhile.
        size: Bytes of an array.
    """
    arrays = [np.ones(size // 4, np.float32) for _ in range(threads)]
    best = 0.0
    for _ in range(_READ_ROUNDS):
        readers = [threading.Thread(target=array.sum) for array in arrays]
        began = time.perf_counter()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        best = max(best, threads * size / (time.perf_counter() - began) / 1e9)
    return best


def measure_loading(model: Path, options: EngineOptions, scratch: Path) -> dict[str, float]:
    """Load with a mapping that has to be made; afterwards the model has its own, if there was none.

    Args:
        model: Its folder.
        options: How to run it.
        scratch: An empty folder on the same disk.

    Returns:
        Nothing where the disk has no room for it.
    """
    values = {}
    if Mapping(model, "").fits():
        began = time.perf_counter()
        engine = MnnEngine(model, options._replace(mapping=scratch))
        values["load_made_s"] = time.perf_counter() - began
        engine.close()
    open_model(model, options).engine.close()
    return values


def measure_answers(model: LanguageModel) -> dict[str, float]:
    """How long answers take, and what memory they do.

    Args:
        model: Freshly loaded: nothing but its trial has been read.
    """
    prompt = Prompts.of(model.engine.encode)
    first, second, *_ = samples.INCIDENTS
    cold = _time_to_first_token_s(model.engine, prompt.summary(first))
    warm = _time_to_first_token_s(model.engine, prompt.summary(second))
    rate = measure_decoding(model.engine, prompt.fixed[-1], _DECODED)
    list(model.session.read([prompt.fixed]))
    told = []
    seconds = []
    for facts in samples.INCIDENTS:
        began = time.perf_counter()
        told.append(_write_sentence(model, prompt.summary(facts), sentences.build_grammar(facts)))
        seconds.append(time.perf_counter() - began)
    return {
        "ttft_cold_ms": cold * 1e3,
        "ttft_warm_ms": warm * 1e3,
        "ttft_cached_ms": statistics.median(one.ttft_ms for one in told),
        "decode_tok_s": rate,
        "sentence_ms": statistics.median(seconds) * 1e3,
    }


def measure_decoding(engine: Engine, number: int, count: int) -> float:
    """Tokens a second when the likeliest token follows again and again: the median of the middle half of a run.

    Args:
        engine: That has read something.
        number: The token to begin with.
        count: How many to write.
    """
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        number = int(engine.forward([number]).argmax())
        seconds.append(time.perf_counter() - began)
    return 1 / statistics.median(seconds[count // 4 : count - count // 4])


def read_memory() -> dict[str, float]:
    """Resident memory of this process, in 10^6 bytes."""
    lines = (line.split() for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    size = {fields[0]: int(fields[1]) * 1024 / 1e6 for fields in lines if fields and fields[-1] == "kB"}
    return {
        "peak_mb": size["VmHWM:"],
        "steady_mb": size["VmRSS:"],
        "anon_mb": size["RssAnon:"],
        "file_mb": size["RssFile:"] + size["RssShmem:"],
    }


def _read_busy_s() -> float:
    """CPU time of the whole device so far: all but idle and waiting for disks."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _time_to_first_token_s(engine: MnnEngine, parts: Sequence[Part]) -> float:
    """Seconds until a whole prompt is read of which nothing is held."""
    began = time.perf_counter()
    for _ in Session(engine).read(parts):
        pass
    return time.perf_counter() - began


def _write_sentence(model: LanguageModel, parts: Sequence[Part], grammar: str) -> WrittenTokens:
    writing = model.write(parts, grammar, _MAX_SUMMARY_TOKENS)
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            written: WrittenTokens = ended.value
            return written


def measure(task: Task) -> dict[str, float]:
    """Do a task.

    Raises:
        PipelineError: The model cannot be used.
    """
    if task.what == "bandwidth":
        return {"bandwidth_gb_s": measure_bandwidth(task.threads)}
    options, busy = EngineOptions(task.threads, task.context_tokens), _read_busy_s()
    if task.what == "loading":
        return measure_loading(Path(task.model), options, Path(task.scratch))
    began, own = time.perf_counter(), time.process_time()
    model = open_model(Path(task.model), options)
    opened = {"open_s": time.perf_counter() - began}
    if model.mapped:
        opened["load_mapped_s"] = model.load_s
    found = opened | measure_answers(model) | read_memory()
    others_s = _read_busy_s() - busy - (time.process_time() - own)
    return found | {"others_cores": max(0.0, others_s) / (time.perf_counter() - began)}


def main() -> None:
    """Answer on what was standard output; native code prints there too. At the end nothing is cleared up."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        values = measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Task))
    except (PipelineError, ValueError) as error:
        os.write(out, msgspec.json.encode({"error": str(error)}))
    else:
        os.write(out, msgspec.json.encode(values))
    os._exit(0)  # the engine may stumble over a regular exit


if __name__ == "__main__":
    main()
