"""Show the messages on a link of a running daemon, as JSON Lines."""

from __future__ import annotations

import itertools
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from pipeline.view.output import say_json

if TYPE_CHECKING:
    from collections.abc import Generator

    from pipeline.core.messages import AnyMessage


def show(messages: Generator[AnyMessage, None, None], count: int | None) -> None:
    """Print messages as they arrive, a given number of them, or until an interrupt."""
    with closing(messages):
        try:
            for message in itertools.islice(messages, count):
                say_json(message)
                sys.stdout.flush()
        except KeyboardInterrupt:
            return
