"""What is logged of an error that nobody foresaw: a line a kind, and how often; its traceback at level debug alone."""

from __future__ import annotations

import logging
import re
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from pipeline.core.secrets import HIDDEN

if TYPE_CHECKING:
    from types import TracebackType

log = structlog.get_logger()

_REASON_MOST = 300  # letters of an error's text
_ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*:/\S+")


class Failures:
    """Counts errors by what they are, where they were raised, and what was being done."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], int] = {}

    def tell(self, event: str, error: BaseException, **about: str) -> None:
        """Log an error the first time, the tenth, the hundredth and so on.

        Args:
            event: Of the log line.
            error: What was raised.
            about: What was being done.
        """
        kind, at = type(error).__name__, place(error)
        key = (kind, at, " ".join(about.values()))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count == 10 ** (len(str(count)) - 1):
            log.error(event, **about, error=kind, reason=reason(error), at=at, times=count)
        if log.is_enabled_for(logging.DEBUG):
            text = _ADDRESS.sub(HIDDEN, "".join(traceback.format_exception(error)))
            log.debug(event, **about, exception=text)


def reason(error: BaseException) -> str:
    """What an error says, in one line without addresses, which hold passwords."""
    words = " ".join(str(error).split())
    return _ADDRESS.sub(HIDDEN, words)[:_REASON_MOST]


def place(error: BaseException) -> str:
    """Where it was raised, as file:line."""
    found: TracebackType | None = error.__traceback__
    while found is not None and found.tb_next is not None:
        found = found.tb_next
    return f"{Path(found.tb_frame.f_code.co_filename).name}:{found.tb_lineno}" if found is not None else ""
