"""Convert errors of other libraries, which may raise any exception, to ModelError."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.core.errors import ModelError, PipelineError
from pipeline.core.printing import make_printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAID_MOST = 300  # characters of a library's message


@contextmanager
def catch_library_errors(what: str) -> Iterator[None]:
    """Turn every exception of the block into a ModelError, so that a failing device does not end a stage.

    Args:
        what: Beginning of the message, before the library's own text.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        raise ModelError(f"{what}: {one_line_reason(error)}") from error


def one_line_reason(error: Exception) -> str:
    """Return the message of an error in one line."""
    words = " ".join(str(error).split())
    return make_printable(words[:_SAID_MOST]) or type(error).__name__
