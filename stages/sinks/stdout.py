"""The same lines on standard output; logs go to standard error."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

from pipeline.core.errors import SinkUnavailableError

if TYPE_CHECKING:
    from pipeline.core.events import Event


_PIECE = select.PIPE_BUF  # a pipe that can be written to takes so much without waiting


class Stdout:
    """Whole lines to the descriptor that standard output was when the daemon began."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._written = 0  # bytes of the line at hand; it is offered again until it is whole

    def deliver(self, _event: Event, line: bytes) -> None:
        """Write one line, without ever waiting for its reader. Raises SinkUnavailableError where nobody reads."""
        try:
            while self._written < len(line):
                if not select.select((), (self._descriptor,), (), 0)[1]:
                    raise SinkUnavailableError("standard output: its reader does not take more")
                self._written += os.write(self._descriptor, line[self._written : self._written + _PIECE])
        except OSError as error:
            raise SinkUnavailableError(f"standard output: {error.strerror}") from error
        self._written = 0

    def rotate(self, sequences: dict[str, int]) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """The descriptor is not ours to close."""
