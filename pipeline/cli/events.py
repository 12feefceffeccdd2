"""Commands that read files of events."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pipeline.cli import options
from pipeline.cli.exits import DAMAGED, EXITS, WHOLE, clean_up_on_signal

if TYPE_CHECKING:
    from pathlib import Path


class _Events(click.Group):
    """A group whose first word may be left out: `pipeline events FILE` shows it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Events)
def events() -> None:
    """Show a file of events as a timeline, or search it: `pipeline events FILE`, `pipeline events search FILE TEXT`."""


@events.command("search")
@click.argument("file", type=options.EVENTS)
@click.argument("text", nargs=-1, required=True)
@click.option("--most", type=click.IntRange(1), default=10, show_default=True, help="So many incidents.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def events_search(file: Path, text: tuple[str, ...], most: int, as_json: bool) -> None:
    """Rank the incidents of FILE by how well TEXT fits their pictures: kinds of things and scenes, no colours."""
    from pipeline.app.search import search
    from pipeline.view import searching

    found = search(file, " ".join(text))
    searching.show(found, most, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)


@events.command("show")
@click.argument("file", type=options.EVENTS)
@click.option("--camera", default="", help="Only events of this camera.")
@click.option("--type", "kind", default="", help="Only types that contain this text, e.g. incident or camera.lost.")
@click.option("--all", "everything", is_flag=True, help="Every event as a row, instead of one row an incident.")
@click.option("--json", "as_json", is_flag=True, help="The chosen events as JSON Lines.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=options.print_file("event.schema.json"),
    help="Print the JSON Schema of an event, and nothing else.",
)
def events_show(file: Path, camera: str, kind: str, everything: bool, as_json: bool) -> None:
    """Show events as a timeline: those of FILE, or of a folder, and of the files put away beside it."""
    from pipeline.app.events import Events
    from pipeline.view import timeline

    found = Events(file, camera, kind)
    timeline.show(found, everything=everything, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)


@click.command(epilog=EXITS)
@click.argument("events", type=options.EVENTS)
@click.option(
    "--since",
    default="12h",
    show_default=True,
    help="2026-11-29T22:00, 22:00 (the last time it was), or a span: 90min, 8h, 2d.",
)
@click.option("--until", default="", help="The same. Default: now; of recordings, their last event.")
@click.option("--camera", default="", help="Only what this camera saw, and what the device has to say.")
@click.option("--model", default="", help="The language model, or `none`. Default: as configured, else the one in use.")
@options.config
@options.state_dir
@options.as_json
def digest(  # noqa: PLR0917  # click calls it by keyword
    events: Path,
    since: str,
    until: str,
    camera: str,
    model: str,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
) -> None:
    """Tell a period of the file EVENTS in a few sentences, the loudest first, with the incidents behind each.

    Files that were put away beside it are read too; one of those by name is read alone.
    Times are the site's: of the configuration's time zone, else as the events themselves tell it.
    """
    from pipeline.app.digest import make_digest
    from pipeline.app.site import Site
    from pipeline.view import digest as view

    with clean_up_on_signal():
        found = make_digest(Site(config, state_dir, model=model), events, since, until, camera)
    view.show(found, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)
