"""Show the messages on a link of a running daemon."""

from __future__ import annotations

import difflib
import os
import time
from typing import TYPE_CHECKING

from pipeline import topology
from pipeline.app.status import attach
from pipeline.core.errors import ConfigError, RunDirectoryError
from pipeline.runtime import folders
from pipeline.runtime.board import Word
from pipeline.runtime.links import Tap

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from pipeline.core.messages import AnyMessage


_LISTENS_NS = 2_000_000_000  # a tap that is killed is forgotten after this


def tap(link: str, run_dir: Path | None, timeout_s: float | None) -> Generator[AnyMessage, None, None]:
    """Yield the messages on a link of a running daemon, without disturbing it.

    Args:
        link: Its name.
        run_dir: The daemon's runtime folder; None: the user's.
        timeout_s: Seconds without a message after which it ends; None: never.

    Raises:
        ConfigError: There is no such link.
        RunDirectoryError: No daemon runs there, or it has ended.
    """
    if link not in topology.LINKS:
        near = difflib.get_close_matches(link, topology.LINKS, 1)
        raise ConfigError(f"no link `{link}`; " + (f"did you mean `{near[0]}`?" if near else ", ".join(topology.LINKS)))
    folder, board = attach(run_dir)
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
        yield from tap.messages(timeout_s)
    finally:
        tap.close()
