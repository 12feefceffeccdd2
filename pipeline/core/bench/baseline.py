"""What was measured of a language model on a device, and how that differs from what was measured before."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT = 1


class Measure(NamedTuple):
    """Something that is measured.

    Attributes:
        label: For people.
        unit: Of its numbers.
        digits: Behind the point, where people read it.
    """

    label: str
    unit: str
    digits: int = 0


MEASURES = {
    "ttft_cold_ms": Measure("to the first token, first prompt after loading", "ms"),
    "ttft_warm_ms": Measure("to the first token, nothing held", "ms"),
    "ttft_cached_ms": Measure("to the first token, beginning held", "ms"),
    "decode_tok_s": Measure("steady decoding", "tokens/s", 1),
    "sentence_ms": Measure("a whole sentence, beginning held", "ms"),
    "load_made_s": Measure("loading, mapping made", "s", 2),
    "load_mapped_s": Measure("loading from the mapping", "s", 2),
    "open_s": Measure("the same with hashes, trial and grammar", "s", 2),
    "peak_mb": Measure("resident memory, most", "MB"),
    "steady_mb": Measure("resident memory, steady", "MB"),
    "anon_mb": Measure("of it its own", "MB"),
    "file_mb": Measure("of it mapped from files", "MB"),
    "bandwidth_gb_s": Measure("memory bandwidth, reading", "GB/s", 1),
    "bandwidth_share": Measure("of it used by decoding", "", 2),
    "others_cores": Measure("kept busy by others meanwhile", "cores", 2),
}
"""By the name that programs read."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a fresh process shall measure.

    Attributes:
        what: How fast memory is read; how long loading takes where a mapping has to be made; how answers come.
        model: The folder of the model.
        threads: To compute with.
        context_tokens: As the stage describe has it.
        scratch: An empty folder for a mapping that nobody needs.
    """

    what: Literal["bandwidth", "loading", "answers"]
    model: str
    threads: int
    context_tokens: int
    scratch: str = ""


class Device(msgspec.Struct, frozen=True):
    """Where it was measured."""

    cpu: str
    cores: int
    memory_mb: int
    kernel: str
    python: str
    engine: str

    def same(self, other: Device) -> bool:
        """Whether it is the same hardware; what runs on it may have changed."""
        return (self.cpu, self.cores, self.memory_mb) == (other.cpu, other.cores, other.memory_mb)


class Subject(msgspec.Struct, frozen=True):
    """Which model was measured; `bytes` are those of its weights."""

    name: str
    version: str
    sha256: str
    recipe: str
    bytes: int


class BenchOptions(msgspec.Struct, frozen=True):
    """How it was measured."""

    threads: tuple[int, ...]
    rounds: int
    context_tokens: int


class MeasuredRow(msgspec.Struct, frozen=True):
    """What came out with one number of threads.

    Attributes:
        threads: That number.
        values: By the names of MEASURES, medians of the rounds; what could not be measured is not there.
        failed: What became of processes that did not answer.
    """

    threads: int
    values: dict[str, float] = {}
    failed: tuple[str, ...] = ()


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """All of it.

    Attributes:
        format: Of the file.
        taken: When, as the device's clock had it, in UTC.
        device: Where.
        model: Of what.
        options: How.
        rows: One a number of threads.
    """

    format: int = FORMAT
    taken: str
    device: Device
    model: Subject
    options: BenchOptions
    rows: tuple[MeasuredRow, ...]

    def comparable(self, other: Baseline) -> bool:
        """Whether both are of the same hardware and the same weights."""
        return self.device.same(other.device) and self.model.sha256 == other.model.sha256


def row(threads: int, answers: Iterable[Mapping[str, float]], failed: Iterable[str], weights: int) -> MeasuredRow:
    """Medians of what processes answered, and what follows from them.

    Args:
        threads: They computed with.
        answers: By the names of MEASURES.
        failed: What became of the others.
        weights: Bytes that are read for every token.
    """
    every: dict[str, list[float]] = {}
    for answer in answers:
        for name, value in answer.items():
            every.setdefault(name, []).append(value)
    values = {name: statistics.median(found) for name, found in every.items()}
    if {"bandwidth_gb_s", "decode_tok_s"} <= values.keys():
        values["bandwidth_share"] = values["decode_tok_s"] * weights / 1e9 / values["bandwidth_gb_s"]
    return MeasuredRow(threads, {name: round(values[name], 4) for name in MEASURES if name in values}, tuple(failed))


def changes(before: Baseline | None, now: Baseline) -> dict[int, dict[str, float]]:
    """How much more or less it is than before, in percent, by threads and measure; empty where nothing compares."""
    if before is None or not now.comparable(before):
        return {}
    old = {row.threads: row.values for row in before.rows}
    return {
        row.threads: {
            name: round((value / old[row.threads][name] - 1) * 100, 1)
            for name, value in row.values.items()
            if old[row.threads].get(name)
        }
        for row in now.rows
        if row.threads in old
    }
