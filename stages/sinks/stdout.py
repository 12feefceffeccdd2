"""The same lines on standard output; logs go to standard error."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

from pipeline.core.errors import SinkUnavailableError

if TYPE_CHECKING:
    from pipeline.eventlog.entries import Logged
    from stages.sinks.lines import Lines

_PIECE = select.PIPE_BUF  # a pipe that can be written to takes so much without waiting


class Stdout:
    """Whole lines to the descriptor that standard output was when the daemon began."""

    trouble = ""

    def __init__(self, descriptor: int, lines: Lines) -> None:
        self._descriptor = descriptor
        self._lines = lines

    def deliver(self, logged: Logged, offset: int) -> int | None:
        """Write a piece of one line, without ever waiting for its reader. Raises SinkUnavailableError: nobody reads."""
        line = self._lines.of(logged)[1]
        if offset >= len(line):
            return None
        try:
            if not select.select((), (self._descriptor,), (), 0)[1]:
                raise SinkUnavailableError("standard output: its reader does not take more")
            written = os.write(self._descriptor, line[offset : offset + _PIECE])
        except OSError as error:
            raise SinkUnavailableError(f"standard output: {error.strerror}") from error
        return offset + written

    def close(self) -> None:
        """The descriptor is not ours to close."""
