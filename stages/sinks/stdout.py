"""The same lines on standard output; logs go to standard error."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pipeline.core.errors import SinkUnavailableError

if TYPE_CHECKING:
    from pipeline.core.events import Event


class Stdout:
    """Whole lines to the descriptor that standard output was when the daemon began."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def deliver(self, _event: Event, line: bytes) -> None:
        """Write one line. Raises SinkUnavailableError where nobody reads any more."""
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            raise SinkUnavailableError(f"standard output: {error.strerror}") from error

    def rotate(self, sequences: dict[str, int]) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """The descriptor is not ours to close."""
