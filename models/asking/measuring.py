"""Measure a language model as the stage `describe` uses it, in a child process, as native code may crash.

usage: python -m models.asking.measuring < task.json > values.json

The task is a `pipeline.core.bench.baseline.Task`, the values are its measures of `baseline.MEASURES`.
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
_DECODED = 64  # tokens; the middle half is measured
_MAX_SUMMARY_TOKENS = 96
_READ_BYTES = 256 << 20  # for each thread; much larger than any cache
_READ_ROUNDS = 5


def measure_bandwidth(threads: int, size: int = _READ_BYTES) -> float:
    """Measure how fast memory can be read, in 10^9 bytes a second: the best of some sums over large arrays.

    Args:
        threads: Number of threads, with an array each; numpy releases the interpreter lock.
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
    """Measure loading without an existing mapping; afterwards the model has a mapping.

    Args:
        model: The model's folder.
        options: Options of the engine.
        scratch: An empty folder on the same disk.

    Returns:
        The time; empty if the disk has no room for the mapping.
    """
    values = {}
    if Mapping(model, "").has_room():
        began = time.perf_counter()
        engine = MnnEngine(model, options._replace(mapping=scratch))
        values["load_made_s"] = time.perf_counter() - began
        engine.close()
    open_model(model, options).engine.close()
    return values


def measure_answers(model: LanguageModel) -> dict[str, float]:
    """Measure how long answers take.

    Args:
        model: A freshly loaded model, which has read only its trial text.
    """
    prompt = Prompts.of(model.engine.encode)
    first, second, *_ = samples.INCIDENTS
    cold = _time_to_first_token_s(model.engine, prompt.summary(first))
    warm = _time_to_first_token_s(model.engine, prompt.summary(second))
    rate = measure_decoding(model.engine, prompt.fixed[-1], _DECODED)
    list(model.session.read([prompt.fixed]))
    written = []
    seconds = []
    for facts in samples.INCIDENTS:
        began = time.perf_counter()
        written.append(_write_sentence(model, prompt.summary(facts), sentences.build_grammar(facts)))
        seconds.append(time.perf_counter() - began)
    return {
        "ttft_cold_ms": cold * 1e3,
        "ttft_warm_ms": warm * 1e3,
        "ttft_cached_ms": statistics.median(one.ttft_ms for one in written),
        "decode_tok_s": rate,
        "sentence_ms": statistics.median(seconds) * 1e3,
    }


def measure_decoding(engine: Engine, number: int, count: int) -> float:
    """Measure tokens a second of greedy writing: the median of the middle half of a run.

    Args:
        engine: An engine that has read something.
        number: The first token.
        count: Number of tokens to write.
    """
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        number = int(engine.forward([number]).argmax())
        seconds.append(time.perf_counter() - began)
    return 1 / statistics.median(seconds[count // 4 : count - count // 4])


def read_memory() -> dict[str, float]:
    """Read the resident memory of this process, in 10^6 bytes."""
    lines = (line.split() for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    size = {fields[0]: int(fields[1]) * 1024 / 1e6 for fields in lines if fields and fields[-1] == "kB"}
    return {
        "peak_mb": size["VmHWM:"],
        "steady_mb": size["VmRSS:"],
        "anon_mb": size["RssAnon:"],
        "file_mb": size["RssFile:"] + size["RssShmem:"],
    }


def _read_busy_s() -> float:
    """Read the CPU time of the whole device so far, without idle and disk waits, in seconds."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _time_to_first_token_s(engine: MnnEngine, parts: Sequence[Part]) -> float:
    """Measure the seconds to read a whole prompt of which nothing is cached."""
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
    """Run a task and return its values by measure.

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
    """Write the values to the original standard output, as native code prints there too; end without cleanup."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        values = measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Task))
    except (PipelineError, ValueError) as error:
        os.write(out, msgspec.json.encode({"error": str(error)}))
    else:
        os.write(out, msgspec.json.encode(values))
    os._exit(0)  # the engine may crash at a regular exit


if __name__ == "__main__":
    main()
