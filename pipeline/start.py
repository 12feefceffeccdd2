"""The command `pipeline`: signals first, then what takes a moment to import."""

from __future__ import annotations

from pipeline import early


def main() -> None:
    """Run the command line."""
    early.install()
    from pipeline.cli import main as command

    command(prog_name="pipeline")
