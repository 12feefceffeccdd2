"""The command line: commands parse what was typed, ask `pipeline.app`, and let views show the answer.

What a command needs it imports itself, so that `--help` and a shell's completion answer at once.
"""

from __future__ import annotations

import click

from pipeline.cli import evaluating, events, measuring, models, notes, running, watching
from pipeline.cli.exits import EXITS, Commands


@click.group(cls=Commands, epilog=EXITS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fieldwatch")
def main() -> None:
    """fieldwatch: what cameras see, as structured events, where there is no network."""


for command in (
    *(running.run, running.replay, running.check, running.topology, running.completion),
    *(watching.status, watching.tap, watching.doctor),
    *(events.events, events.digest, notes.notes, models.models),
    *(measuring.evaluate, measuring.bench),
):
    main.add_command(command)
for part in (evaluating.eval_events, evaluating.eval_label):
    measuring.evaluate.add_command(part)
