"""Commands that compare what was told of recordings with what people saw in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.cli import completing, options
from pipeline.cli.exits import EXITS, USAGE, clean_up_on_signal, fail

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any


def _options_of_replays(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how recordings are replayed."""
    for option in (
        options.quiet,
        click.option(
            "--jobs", type=click.IntRange(1), help="Recordings replayed at once. Default: the cores there are."
        ),
        click.option(
            "--camera",
            default="",
            shell_complete=completing.complete_cameras,
            help="The camera of the configuration whose zones and rules hold for these recordings.",
        ),
        click.option("--config", type=options.EXISTING, help="A configuration file; only its settings are used."),
    ):
        command = option(command)
    return command


@click.command("events", epilog=EXITS)
@click.argument("footage", type=options.PATH, nargs=-1)
@click.option(
    "--truth", type=options.EXISTING, required=True, help="What people saw; the format is in docs/evaluation.md."
)
@click.option(
    "--events", type=options.EVENTS, help="The events of an earlier `replay --out`, instead of replaying FOOTAGE."
)
@click.option("--html", type=options.PATH, help="A page with a timeline a clip, and pictures of what is wrong.")
@options.as_json
@_options_of_replays
def eval_events(  # noqa: PLR0917  # click calls it by keyword
    footage: tuple[Path, ...],
    truth: Path,
    events: Path | None,
    html: Path | None,
    as_json: bool,
    config: Path | None,
    camera: str,
    jobs: int | None,
    quiet: bool,
) -> None:
    """Replay FOOTAGE, and compare its incidents with what people saw: hits, false ones, labels, counts, stays."""
    from pipeline.app import scoring
    from pipeline.app.site import Site
    from pipeline.core import files
    from pipeline.view import scorepage
    from pipeline.view import scores as view
    from pipeline.view.progress import show_replay

    if html is not None and not html.parent.is_dir():
        fail(f"{html.parent}: no such folder: make it first", USAGE)
    if html is not None and any(
        files.is_same(html, given) for given in (truth, *footage, *([events] if events else []))
    ):
        fail(f"{html}: is read here: name another file for the page", USAGE)
    if events is not None:
        found = scoring.score_events(events, footage, truth)
    elif footage:
        with clean_up_on_signal(), show_replay(quiet=quiet) as report:
            choice = scoring.ReplayChoice(Site(config, None, model="none"), camera, jobs, report)
            found = scoring.score_replay(footage, truth, choice)
    else:
        fail("nothing to compare: name recordings, or the --events of an earlier replay", USAGE)
    if html is not None:
        files.replace(html, scorepage.render(found).encode(errors="replace"))
    view.show(found, as_json=as_json)


@click.command("label", epilog=EXITS)
@click.argument("footage", type=options.PATH, nargs=-1, required=True)
@click.option("--out", type=options.PATH, required=True, help="The file to write; one that is there is left as it is.")
@_options_of_replays
def eval_label(  # noqa: PLR0917  # click calls it by keyword
    footage: tuple[Path, ...], out: Path, config: Path | None, camera: str, jobs: int | None, quiet: bool
) -> None:
    """Replay FOOTAGE, and write down what was found, as a truth for `eval events` that you correct by hand."""
    from pipeline.app import scoring
    from pipeline.app.site import Site
    from pipeline.view import scores as view
    from pipeline.view.progress import show_replay

    with clean_up_on_signal(), show_replay(quiet=quiet) as report:
        choice = scoring.ReplayChoice(Site(config, None, model="none"), camera, jobs, report)
        found = scoring.label(footage, out, choice)
    view.show_labelled(found, out)
