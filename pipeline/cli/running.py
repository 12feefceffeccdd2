"""Commands that run things: the daemon, recordings; and what is looked at before."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pipeline.cli import completing, options
from pipeline.cli.exits import DAMAGED, EXITS, FAILED, UNDELIVERED, USAGE, WHOLE, clean_up_on_signal, fail
from pipeline.core.printing import make_printable

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.app.replay import Recording, ReplaySummary
    from pipeline.app.running import Ending
    from pipeline.app.site import Site


@click.command()
@click.argument("config", type=options.EXISTING)
@click.option("--run-dir", type=options.PATH, help="Private folder for sockets. Default: the user's runtime folder.")
@click.option(
    "--state-dir", type=options.PATH, help="Folder for the journal and events. Default: the user's state folder."
)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
def run(config: Path, run_dir: Path | None, state_dir: Path | None, log_level: str) -> None:
    """Watch the cameras of CONFIG until told to stop (Ctrl-C or SIGTERM)."""
    from pipeline.app import running
    from pipeline.app.site import Site

    site = Site(config, state_dir)
    ending = running.run(site, run_dir, log_level)
    sys.exit(_report_ending(ending, len(site.settings.cameras)))


@click.command(epilog=EXITS)
@click.argument("paths", type=options.PATH, nargs=-1, required=True)
@click.option(
    "--out",
    type=options.PATH,
    help="Folder for events.jsonl, evidence and summary.json. Default: events go to standard output.",
)
@click.option(
    "--config", type=options.EXISTING, help="A configuration file; only its settings are used, not its cameras."
)
@click.option(
    "--camera",
    default="",
    shell_complete=completing.complete_cameras,
    help="The camera of the configuration whose zones and rules hold for these recordings.",
)
@click.option(
    "--began", help="When the recordings began, e.g. 2026-11-29T08:00:00Z. Default: what each file says, else 1970."
)
@click.option("--jobs", type=click.IntRange(1), help="Recordings replayed at once. Default: the cores there are.")
@click.option(
    "--live", is_flag=True, help="At camera speed through the real processes, as `run` does; may drop frames."
)
@click.option(
    "--heat",
    metavar="BOARD[@AMBIENT]",
    shell_complete=completing.complete_boards,
    help="On a board that warms up, e.g. rk3588@35: fanless_cam, rpi5, rk3588 or phone, in air of so many degrees. "
    "Each recording has a board of its own, as warm as it is without work. With --out, heat.jsonl has a row a second; "
    "the same recordings still give the same bytes.",
)
@click.option("--model", default="", help="The language model, or `none`. Default: as configured, else the one in use.")
@click.option(
    "--state-dir",
    type=options.PATH,
    help="Where standing notes and language models are. Default: the user's state folder.",
)
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON instead of a table.")
@click.option("--quiet", is_flag=True, help="No progress, no summary.")
def replay(  # noqa: PLR0917  # click calls it by keyword
    paths: tuple[Path, ...],
    out: Path | None,
    config: Path | None,
    camera: str,
    began: str | None,
    jobs: int | None,
    live: bool,
    heat: str | None,
    model: str,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run recordings (files, or folders in sorted order) through all stages.

    The same recordings give the same events.jsonl, byte for byte, in every run on a machine.
    """
    from pipeline.app import replay as replays
    from pipeline.app.events import Events
    from pipeline.app.site import Site
    from pipeline.view import screen, timeline
    from pipeline.view.progress import show_replay

    site = Site(config, state_dir, model=model)
    if site.settings.cameras and not camera and not quiet:
        there = " or ".join(site.settings.cameras)
        click.echo(make_printable(f"zones and rules not used: choose --camera {there}"), err=True)
    recordings = replays.find_recordings(paths)
    if live:
        if began or jobs or as_json or heat is not None:
            fail("--live is at the speed of now, and has no summary: not with --began, --heat, --jobs, --json", USAGE)
        sys.exit(_live(site, recordings, out, camera))
    with clean_up_on_signal(), replays.output_folder(out) as folder:
        with show_replay(quiet=quiet) as report:
            done = replays.replay(
                site, recordings, folder, camera=camera, began=began, jobs=jobs, heat=heat, report=report
            )
        if out is None and sys.stdout.isatty():  # people look; else programs read
            timeline.show(Events(done.events_file), everything=False, as_json=False)
        elif out is None:
            screen.copy(done.events_file)
        if not quiet:
            screen.show(done, as_json=as_json, stderr=out is None)
    sys.exit(_status(done.summary))


@click.command()
@click.argument("config", type=options.EXISTING)
@click.option("--json", "as_json", is_flag=True, help="The whole configuration with its defaults as JSON.")
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=options.print_file("pipeline.toml"),
    help="Print every key with its default and a comment, and nothing else.",
)
def check(config: Path, as_json: bool) -> None:
    """Validate a configuration: every unknown key with file, line and the nearest known one."""
    from pipeline.app import check
    from pipeline.app.site import Site
    from pipeline.view import configuration

    configuration.show(check.check(Site(config, None)), as_json=as_json)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The two tables as JSON.")
@click.option("--mermaid", is_flag=True, help="Only the diagram.")
def topology(as_json: bool, mermaid: bool) -> None:
    """Print the stages, the links and a diagram of both."""
    from pipeline.view import tables

    tables.show(as_json=as_json, mermaid=mermaid)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script.

    For bash: eval "$(pipeline completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    main = click.get_current_context().find_root().command
    click.echo(kind(main, {}, "pipeline", "_PIPELINE_COMPLETE").source())


def _live(site: Site, recordings: list[Recording], out: Path | None, camera: str) -> int:
    from pipeline.app import running

    if out is None:
        fail("--live needs --out: the folder for events, evidence and the journal", USAGE)
    return _report_ending(running.replay_live(site, recordings, out, camera), len(recordings))


def _status(summary: ReplaySummary) -> int:
    states = {one.status for one in summary.inputs}
    if states == {"whole"}:
        return WHOLE
    return DAMAGED if states & {"whole", "damaged", "truncated"} else FAILED


def _report_ending(ending: Ending, cameras: int) -> int:
    """Say what was not delivered, and how it ended: of some cameras, or of all, no picture ever came."""
    for sink, count in ending.left.items():
        waits = f"{count} events wait for {sink}, which does not take them (is the disk full?)"
        click.echo(f"pipeline: {waits}: they are kept, and the next start delivers them", err=True)
    if ending.given_up:
        click.echo(f"pipeline: {ending.given_up} events are lost: the disk had no room for them", err=True)
    if ending.left or ending.given_up:
        return UNDELIVERED
    if not ending.blind:
        return WHOLE
    return FAILED if len(ending.blind) == cameras else DAMAGED
