"""Commands for standing notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pipeline.cli import completing, options
from pipeline.cli.exits import DAMAGED, FAILED, USAGE, WHOLE, fail

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.core.note.notes import Polarity


@click.group()
def notes() -> None:
    """Standing notes: what is in order here and what is not, in plain words.

    A note is read when it is added; the reading is shown and confirmed. Notes lie in the state folder.
    """


@notes.command("add")
@click.argument("text")
@click.option("--camera", default="", help="The only camera it holds for. Default: all.")
@click.option(
    "--polarity",
    type=click.Choice(["allow", "forbid", "except", "dual"]),
    help="What it says, if it is read wrongly, or does not say so outright.",
)
@click.option(
    "--yes", is_flag=True, help="Add it without being asked, for scripts: what was not said is not confirmed."
)
@options.config
@options.state_dir
@options.as_json
def notes_add(  # noqa: PLR0917  # click calls it by keyword
    text: str,
    camera: str,
    polarity: Polarity | None,
    yes: bool,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
) -> None:
    """Add the note TEXT, a sentence or two in English or Chinese, after showing what was read of it."""
    from pipeline.app import notes
    from pipeline.app.site import Site
    from pipeline.view import notes as view

    site = Site(config, state_dir)
    proposal = notes.propose(site, text, camera, polarity)
    view.print_reading(proposal)
    if not yes:
        _confirm()
        proposal = notes.confirm(proposal)
    view.print_added(notes.add(site, proposal), proposal.findings, as_json=as_json)


@notes.command("list")
@options.folder_config
@options.state_dir
@options.as_json
def notes_list(config: Path | None, state_dir: Path | None, as_json: bool) -> None:
    """Show every note with what was read of it."""
    from pipeline.app import notes
    from pipeline.app.site import Site
    from pipeline.view import notes as view

    view.print_list(notes.read_notes(Site(config, state_dir)), as_json=as_json)


@notes.command("check")
@click.argument("file", type=options.EVENTS)
@click.option("--camera", default="", help="Whose notes hold for all of them, as with `pipeline replay --camera`.")
@click.option("--no-encoder", is_flag=True, help="Without the sentence encoder.")
@click.option("--model", default="", help="A language model, or none. Default: the one in use, if there is one.")
@options.config
@options.state_dir
@options.as_json
@options.quiet
def notes_check(  # noqa: PLR0917  # click calls it by keyword
    file: Path,
    camera: str,
    no_encoder: bool,
    model: str,
    config: Path | None,
    state_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what each note would have done to the incidents of FILE: events.jsonl, or JSON lines with `facts`."""
    from pipeline.app.notes_check import check_notes
    from pipeline.app.site import Site
    from pipeline.view import notes as view
    from pipeline.view.progress import show_count

    with show_count("weighing", quiet=quiet) as report:
        found = check_notes(Site(config, state_dir), file, camera, model, encoder=not no_encoder, report=report)
    view.print_effect(found, as_json=as_json)
    sys.exit(DAMAGED if found.damaged else WHOLE)


@notes.command("remove")
@click.argument("identifiers", metavar="ID...", nargs=-1, required=True, shell_complete=completing.complete_notes)
@options.folder_config
@options.state_dir
@options.as_json
def notes_remove(identifiers: tuple[str, ...], config: Path | None, state_dir: Path | None, as_json: bool) -> None:
    """Forget the notes ID, such as n3; all of them or, where one is not there, none."""
    from pipeline.app import notes
    from pipeline.app.site import Site
    from pipeline.view import notes as view

    notes.remove(Site(config, state_dir), identifiers)
    view.print_removed(identifiers, as_json=as_json)


def _confirm() -> None:
    """Ask whether a reading is right; without a terminal nobody could say so."""
    if not sys.stdin.isatty():
        fail("nobody is there to confirm the reading: look at it, then say --yes", USAGE)
    if not click.confirm("Is this what you mean?", err=True):
        fail("not added: put it in other words, or say --polarity", FAILED)
