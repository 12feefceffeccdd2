"""Commands that measure: how well verdicts and sentences are made, and how fast a model is; incidents: evaluating."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from pipeline.cli import options
from pipeline.cli.exits import EXITS, clean_up_on_signal

if TYPE_CHECKING:
    from pathlib import Path


@click.group("eval")
def evaluate() -> None:
    """How well incidents are found, verdicts made and sentences written, where the answers are known."""


@evaluate.command("summaries")
@click.argument("name", default="")
@click.option("--set", "path", type=options.EXISTING, help="Incidents of your own: JSON lines with `id` and `facts`.")
@click.option("--free", is_flag=True, help="Without the grammar of facts: what it keeps from being said.")
@click.option("--threads", type=click.IntRange(1), help="Compute threads. Default: as the daemon has it here.")
@options.folder_config
@options.state_dir
@options.as_json
@options.quiet
def eval_summaries(  # noqa: PLR0917  # click calls it by keyword
    name: str,
    path: Path | None,
    free: bool,
    threads: int | None,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Let the model NAME, or the one in use, tell incidents; count which sentences may be shown."""
    from pipeline.app.site import Site
    from pipeline.app.summaries import evaluate_summaries
    from pipeline.view import summaries as view
    from pipeline.view.progress import show_count

    with show_count("telling", quiet=quiet) as report:
        found = evaluate_summaries(Site(config, state_dir), path, model=name, threads=threads, free=free, report=report)
    view.show(found, as_json=as_json)


@evaluate.command("verdicts")
@click.option(
    "--set",
    "path",
    type=options.EXISTING,
    help="Incidents of your own; the format is in tests/eval/verdicts/README.md.",
)
@click.option(
    "--compile", "compile_", is_flag=True, help="Read the notes anew, instead of taking the confirmed readings."
)
@click.option("--no-encoder", is_flag=True, help="Without the sentence encoder.")
@click.option("--model", default="", help="A language model, or none. Default: the one in use, if there is one.")
@options.state_dir
@options.config
@options.as_json
@options.quiet
def eval_verdicts(  # noqa: PLR0917  # click calls it by keyword
    path: Path | None,
    compile_: bool,
    no_encoder: bool,
    model: str,
    state_dir: Path | None,
    config: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge incidents by rules and standing notes; count which verdicts are as people labelled them."""
    from pipeline.app import judging, verdicts
    from pipeline.app.site import Site
    from pipeline.view import verdicts as view
    from pipeline.view.progress import show_count

    tools = judging.open_judging_tools(Site(config, state_dir), model, encoder=not no_encoder)
    with show_count("weighing", quiet=quiet) as report:
        found = verdicts.evaluate(path, tools, compile_=compile_, report=report)
    view.show(found, as_json=as_json)


@click.group()
def bench() -> None:
    """Measure what this device does."""


def _numbers(_: click.Context, __: click.Parameter, text: str) -> tuple[int, ...]:
    """Numbers of threads, between commas; without any: one, all cores but one, all."""
    cores = len(os.sched_getaffinity(0))
    if not text:
        return tuple(sorted({1, max(1, cores - 1), cores}))
    try:
        found = tuple(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError as error:
        raise click.BadParameter("write numbers between commas, e.g. 1,2") from error
    if not all(1 <= number <= cores for number in found):
        raise click.BadParameter(f"this device has {cores} cores: choose from 1 to {cores}")
    return found


@bench.command("llm", epilog=EXITS)
@click.argument("model", default="")
@options.folder_config
@options.state_dir
@click.option("--threads", default="", callback=_numbers, help="E.g. 1,2. Default: one, all cores but one, all.")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Of which medians are told.")
@click.option(
    "--out",
    type=options.PATH,
    help="Folder for baseline.json and baseline.md. Default: baselines/NAME/VERSION below the state.",
)
@options.as_json
@options.quiet
def bench_llm(  # noqa: PLR0917  # click calls it by keyword
    model: str,
    config: Path | None,
    state_dir: Path | None,
    threads: tuple[int, ...],
    rounds: int,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure the language model MODEL, NAME or NAME/VERSION; by default the one in use.

    Time to the first token, steady decoding, a sentence, loading, memory, and how much of the memory's bandwidth is
    used; every number of threads in processes of its own. What was measured before on this device is compared with.
    """
    from pipeline.app import bench
    from pipeline.app.site import Site
    from pipeline.view import bench as view
    from pipeline.view.progress import show_measurement

    with clean_up_on_signal(), show_measurement(quiet=quiet) as report:
        found = bench.measure(Site(config, state_dir), model, out, threads=threads, rounds=rounds, report=report)
    view.show(found, as_json=as_json)
