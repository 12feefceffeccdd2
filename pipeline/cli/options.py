"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.resources import config_file

if TYPE_CHECKING:
    from collections.abc import Callable


PATH = click.Path(path_type=Path, readable=False)  # what may not be read is told of where it is used
EXISTING = click.Path(path_type=Path, exists=True)
EVENTS = click.Path(path_type=Path)  # it may be away, and others beside it

state_dir = click.option(
    "--state-dir", type=PATH, help="The daemon's state folder. Default: as configured, else the user's."
)
config = click.option(
    "--config", type=EXISTING, help="A configuration file: its zones, and its rule table if it has one."
)
folder_config = click.option("--config", type=EXISTING, help="A configuration file: its state folder.")
as_json = click.option("--json", "as_json", is_flag=True, help="As JSON.")
recipe = click.option("--recipe", default="", help="How weights are stored; `pipeline models list` names the recipes.")
lora = click.option("--lora", type=EXISTING, help="An adapter (.safetensors, as PEFT saves it) to merge.")
again = click.option("--force", is_flag=True, help="Convert even if the same conversion is there.")
quiet = click.option("--quiet", is_flag=True, help="No progress.")


def print_file(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """An option that prints a file that comes with the package, and ends."""

    def callback(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked:
            click.echo(config_file(name).read_text(encoding="utf-8"), nl=False)
            ctx.exit()

    return callback
