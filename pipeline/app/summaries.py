"""Measure how well a language model writes sentences about incidents."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from models.asking.prompts import Prompts
from models.asking.sentence import Summariser
from models.llm import opening
from models.llm.mnn import EngineOptions
from pipeline.app.cases import parse_facts, read_rows
from pipeline.core.errors import ConfigError, EngineError
from pipeline.core.facts import Facts
from pipeline.core.settings import DescribeSettings
from pipeline.core.text import filters, grounding
from pipeline.resources import config_file
from pipeline.runtime import cores
from pipeline.runtime.apart import apart

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from models.asking.sentence import WrittenSentence
    from models.store import Installed, Store
    from pipeline.app.site import Site

_OWN = "eval/incidents.jsonl"


class SummaryCase(msgspec.Struct, frozen=True):
    """An incident for which a sentence is written."""

    id: str
    facts: Facts


class SummaryResult(msgspec.Struct, frozen=True):
    """The sentence of one incident, with the fault that was found and its costs."""

    id: str
    text: str
    fault: str
    valid: bool
    prompt: int
    cached: int
    output: int
    ttft_ms: float
    total_ms: float
    decode_tok_s: float


def read_cases(path: Path | None) -> list[SummaryCase]:
    """Read incidents: JSON lines with `id` and `facts`, or those that come with the package.

    Unknown values become the first of their vocabulary, as other trackers have more words.

    Raises:
        DamagedError: A line is no JSON object.
        ConfigError: A line is no incident, or there is none.
    """
    found = []
    source = path or config_file(_OWN)
    for number, row in read_rows(source):
        try:
            found.append(SummaryCase(str(row.get("id", number)), parse_facts(row["facts"])))
        except (msgspec.MsgspecError, TypeError, KeyError) as error:
            raise ConfigError(f"{source}, line {number}: no incident with `facts` ({error})") from error
    if not found:
        raise ConfigError(f"{source}: holds no incident")
    name, times = Counter(case.id for case in found).most_common(1)[0]
    if times > 1:  # one would be judged by the facts of the other
        raise ConfigError(f"{source}: {times} incidents have the `id` {name}: give each its own")
    return found


class Summaries(NamedTuple):
    """The results of a set.

    Attributes:
        results: One result for each incident.
        figures: Model, counts and shares by name, as `--json` prints them.
    """

    results: list[SummaryResult]
    figures: dict[str, object]


def evaluate_summaries(
    site: Site, path: Path | None, *, model: str, threads: int | None, free: bool, report: Callable[[int, int], None]
) -> Summaries:
    """Let a model write a sentence for every incident of a set, and count which sentences may be shown.

    Args:
        site: The site whose language models are used.
        path: The set; None: the one that comes with the package.
        model: The model's name; empty: the one in use.
        threads: Number of threads; None: as many as the daemon would use here.
        free: Write without the grammar of facts.
        report: Called with the number of finished incidents and of all incidents.

    Raises:
        ConfigError: The file is no set, or there is no such model.
        DamagedError: A line is no JSON object.
        ModelError: The model cannot be used.
    """
    chosen, found = read_cases(path), list[SummaryResult]()
    installed, settings = _choose_model(site.models, model), DescribeSettings()
    threads = threads or cores.threads()
    options = EngineOptions(threads, settings.context_tokens)

    def work() -> Iterator[SummaryResult]:
        return _write_in_child(installed, options, chosen, settings.max_sentence_tokens, free=free)

    report(0, len(chosen))
    for done, one in enumerate(apart("eval", work, SummaryResult), 1):
        found.append(one)
        report(done, len(chosen))
    about = {"model": f"{installed.name}/{installed.version}", "threads": threads, "free": free}
    return Summaries(found, about | _count_results(found, {case.id: case.facts for case in chosen}))


def _choose_model(store: Store, name: str) -> Installed:
    found = store.choose(name)
    if found is None:
        raise ConfigError(
            f"{store.root}: no model is in use: `pipeline models pull smollm2-135m`, then `pipeline models use` it"
        )
    return found


def _write_in_child(
    model: Installed, options: EngineOptions, chosen: list[SummaryCase], most: int, *, free: bool
) -> Iterator[SummaryResult]:
    """Write the sentences; runs in a child process."""
    loaded, lists = opening.open_model(model.path, options), filters.load(config_file("filters.toml"))
    summariser = Summariser(loaded, Prompts.of(loaded.engine.encode), most, lists)
    for case in chosen:
        try:
            summary = run_to_end(summariser.write(case.facts, free=free))
        except EngineError as error:  # such as a name that fills the context; the other incidents are still done
            yield SummaryResult(case.id, "", str(error), False, 0, 0, 0, 0.0, 0.0, 0.0)
            continue
        written = summary.written
        yield SummaryResult(
            id=case.id,
            text=summary.text,
            fault=f"held back by the list {summary.held}" if summary.held else summary.fault,
            valid=written.complete,
            prompt=written.prompt,
            cached=written.cached,
            output=written.output,
            ttft_ms=written.ttft_ms,
            total_ms=written.ttft_ms + 1e3 * written.output / written.decode_tok_s if written.decode_tok_s else 0.0,
            decode_tok_s=written.decode_tok_s,
        )


def run_to_end(writing: Generator[None, None, WrittenSentence]) -> WrittenSentence:
    """Run a generator that writes a sentence to its end, and return the sentence."""
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            found: WrittenSentence = ended.value
            return found


def _count_results(results: list[SummaryResult], facts: dict[str, Facts]) -> dict[str, object]:
    shown = [one for one in results if not one.fault]
    grounded = [one for one in shown if not grounding.find_fault(one.text, facts[one.id])]
    reasons = Counter(" ".join(one.fault.split()[-3:]) for one in results if one.fault)
    return {
        "incidents": len(results),
        "valid": _share(sum(one.valid for one in results), len(results)),
        "shown": _share(len(shown), len(results)),
        "grounded": _share(len(grounded), len(shown)),
        "different": _share(len({one.text for one in shown}), len(shown)),
        "cached_p50": _median(one.cached for one in results),
        "prompt_p50": _median(one.prompt for one in results),
        "output_p50": _median(one.output for one in results),
        "ttft_ms_p50": _median(one.ttft_ms for one in results),
        "total_ms_p50": _median(one.total_ms for one in results),
        "dropped": dict(reasons.most_common(10)),
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def _median(values: Iterator[float]) -> float:
    return round(statistics.median(values), 1)
