"""The boundary to somebody else's code: libraries of accelerators raise what they like, also a bare Exception."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.core.errors import ModelError, PipelineError
from pipeline.core.printing import make_printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAID_MOST = 300  # letters of what a library says


@contextmanager
def catch_library_errors(what: str) -> Iterator[None]:
    """Turn whatever is raised within into a ModelError: a model or a device that fails takes no stage along.

    Args:
        what: Of the error, before what the library says.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        raise ModelError(f"{what}: {one_line_reason(error)}") from error


def one_line_reason(error: Exception) -> str:
    """What a library says in an error, in one line."""
    words = " ".join(str(error).split())
    return make_printable(words[:_SAID_MOST]) or type(error).__name__
