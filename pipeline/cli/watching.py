"""Commands that look: into a running daemon, and at the device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pipeline.cli import completing, options
from pipeline.cli.exits import EXITS, TROUBLE, USAGE, WHOLE, clean_up_on_signal, fail

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.option("--run-dir", type=options.PATH, help="The daemon's runtime folder.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--watch", is_flag=True, help="Again every second, until interrupted.")
def status(run_dir: Path | None, as_json: bool, watch: bool) -> None:
    """Show heat, load, and what every process of a running daemon is doing."""
    from pipeline.app import status
    from pipeline.view import status as view

    if as_json and watch:
        fail("--json is one answer: not with --watch", USAGE)
    if watch:
        view.watch(lambda: status.read_status(run_dir))
    else:
        view.show(status.read_status(run_dir), as_json=as_json)


@click.command()
@click.argument("link", shell_complete=completing.complete_links)
@click.option("--run-dir", type=options.PATH, help="The daemon's runtime folder.")
@click.option("--count", type=click.IntRange(1), help="Stop after so many messages.")
@click.option("--timeout", type=float, help="Stop after so many seconds without a message.")
def tap(link: str, run_dir: Path | None, count: int | None, timeout: float | None) -> None:
    """Show what passes on LINK of a running daemon, without disturbing it."""
    from pipeline.app.tapping import tap
    from pipeline.view import tapping

    tapping.show(tap(link, run_dir, timeout), count)


@click.command(epilog=EXITS)
@click.argument("config", type=options.EXISTING, required=False)
@click.option(
    "--state-dir", type=options.PATH, help="The daemon's state folder. Default: as configured, else the user's."
)
@click.option("--sysfs", type=options.EXISTING, help="Another tree than /sys, such as a copy of another board's.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(config: Path | None, state_dir: Path | None, sysfs: Path | None, as_json: bool) -> None:
    """Look at this device: what helps the daemon of CONFIG, what is in its way, and what to do about it.

    Cores and who computes on which, limits, memory and its speed, disk, heat, clocks, energy, encoder, language model.
    Changes nothing. Exit status 4: a line says trouble.
    """
    from pipeline.app.doctor import examine
    from pipeline.app.site import Site
    from pipeline.view import doctor as view

    with clean_up_on_signal():
        report = examine(Site(config, state_dir), sysfs)
    view.show(report, as_json=as_json)
    sys.exit(TROUBLE if report.troubles else WHOLE)
