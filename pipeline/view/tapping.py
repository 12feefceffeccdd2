"""A look into a running daemon: what passes on a link."""

from __future__ import annotations

import difflib
import itertools
import os
import sys
import time
from typing import TYPE_CHECKING

from pipeline import topology
from pipeline.core.errors import ConfigError, RunDirectoryError
from pipeline.runtime import folders
from pipeline.runtime.board import Board, Word
from pipeline.runtime.links import Tap
from pipeline.view.output import say_json

if TYPE_CHECKING:
    from pathlib import Path


_LISTENS_NS = 2_000_000_000  # a tap that is killed is forgotten after this


def show(link: str, run_dir: Path | None, count: int | None, timeout: float | None) -> None:
    """Print messages as JSON Lines as they pass. Raises ConfigError, RunDirectoryError."""
    if link not in topology.LINKS:
        near = difflib.get_close_matches(link, topology.LINKS, 1)
        raise ConfigError(f"no link `{link}`; " + (f"did you mean `{near[0]}`?" if near else ", ".join(topology.LINKS)))
    folder, board = attached(run_dir)
    before = (folder / "board").stat()
    writers = [name for name in board.names[1:] if link in topology.STAGES[topology.split(name)[0]].writes]

    def keep_asking() -> None:
        try:
            folders.check_held(folder)
            gone = not os.path.samestat(before, (folder / "board").stat())
        except OSError:
            gone = True
        if gone:
            raise RunDirectoryError(f"{folder}: the daemon has ended")
        for name in writers:
            board.set(name, Word.TAPPED_UNTIL_NS, time.monotonic_ns() + _LISTENS_NS)

    tap = Tap(folder, writers, link, keep_asking)
    try:
        for message in itertools.islice(tap.messages(timeout), count):
            say_json(message)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return
    finally:
        tap.close()


def attached(run_dir: Path | None) -> tuple[Path, Board]:
    """The runtime folder of a daemon that runs, and its board. Raises RunDirectoryError: none does."""
    folder = run_dir or folders.run_dir("")
    try:
        folders.check_held(folder)
        return folder, Board.open(folder / "board")
    except PermissionError as error:
        raise RunDirectoryError(
            f"{folder}: may not be read by this user: ask as who started the daemon, or as root"
        ) from error
    except (OSError, ValueError) as error:
        raise RunDirectoryError(
            f"{folder}: no daemon runs here: start one with `pipeline run CONFIG`, or name its folder with --run-dir"
        ) from error
