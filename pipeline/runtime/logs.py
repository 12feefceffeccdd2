"""Logs: one line a fact, on standard error, whole even when many processes write."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

import structlog

from pipeline.core.printing import make_lines_printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from structlog.typing import EventDict, WrappedLogger

_MOST_BYTES = 4000  # a write below PIPE_BUF (4096) is never interleaved with another
_LEAST = 100  # characters that are left of a text


class _OneWrite:
    """Writes a line with one system call."""

    def msg(self, line: str) -> None:
        data = line.encode(errors="replace")[:_MOST_BYTES] + b"\n"
        try:
            os.write(2, data)
        except OSError:  # nobody reads the log any more; that is no reason to die
            return

    debug = info = warning = error = critical = exception = log = msg


class _Json:
    """Renders a line as JSON that is whole however long its texts are: of the longest, only the end is kept."""

    def __init__(self) -> None:
        self._render = structlog.processors.JSONRenderer(ensure_ascii=False)

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> str:
        while True:
            line = str(self._render(logger, name, dict(event)))
            texts = {key: value for key, value in event.items() if isinstance(value, str) and len(value) > _LEAST}
            if len(line.encode(errors="replace")) <= _MOST_BYTES or not texts:
                return line
            longest = max(texts, key=lambda key: len(texts[key]))
            event[longest] = f"… {texts[longest][-(len(texts[longest]) // 2) :]}"


def configure(level: str = "info", **bound: str) -> None:
    """Set up logging for this process. `bound` is repeated in every line."""
    terminal = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer(colors=True) if terminal else _Json()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _shown,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: _OneWrite(),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(**_known(bound))


def _shown(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Names and reasons come from cameras and files: nothing of them acts on the terminal."""
    return {key: make_lines_printable(value) if isinstance(value, str) else value for key, value in event.items()}


def _known(bound: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in bound.items() if value}
