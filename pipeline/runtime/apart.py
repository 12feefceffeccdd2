"""Work in a process of its own, whose results come as they are there: native code may end that process."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pipeline.core.errors import ModelError, PipelineError
from pipeline.core.printing import make_lines_printable
from pipeline.runtime import forking, logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO
    from typing import IO

_Result = TypeVar("_Result")
_SAID_MOST = 1 << 16  # bytes of what native code printed before it died
_REFUSED = b"!"  # no JSON begins so: the text of an error follows
_REMEDY = "`pipeline models verify` tells whether the model is whole"


def apart(
    title: str, work: Callable[[], Iterator[_Result]], kind: type[_Result], *, quiet: bool = False
) -> Iterator[_Result]:
    """Yield what `work` yields, one JSON line each, from a child process that is killed when nobody reads on.

    Args:
        title: Of the child, and for the error.
        work: Called in the child.
        kind: What it yields; a type that msgspec can write and read.
        quiet: See `run_apart`.

    Raises:
        ModelError: What `work` could not do, or how its process ended.
    """

    def tell(report: Callable[[_Result], None]) -> None:
        for result in work():
            report(result)

    yield from run_apart(title, tell, kind, _REMEDY, quiet=quiet)


def run_apart(
    title: str,
    work: Callable[[Callable[[_Result], None]], None],
    kind: type[_Result],
    remedy: str,
    *,
    quiet: bool = False,
) -> Iterator[_Result]:
    """The same of work that calls back, as it is in the midst of somebody else's code.

    Args:
        title: See `apart`.
        work: Called in the child with the function that takes its results.
        kind: See `apart`.
        remedy: What to do if its process ends.
        quiet: What native code says is kept back; it is told on standard error where the process ends of itself.

    Raises:
        ModelError: See `apart`.
    """
    with tempfile.TemporaryFile() if quiet else nullcontext() as said:
        out, into = os.pipe()
        pid = forking.fork(title, lambda: _run(work, into, said))
        os.close(into)
        try:
            with os.fdopen(out, "rb") as stream:
                for line in stream:
                    yield _result(line, kind)
        except BaseException:  # also that nobody reads on
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if not status:
            return
        if said is not None:
            said.seek(0)
            sys.stderr.write(make_lines_printable(said.read(_SAID_MOST).decode(errors="replace")))
    how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    raise ModelError(f"the process of {title} {how}: {remedy}")


def _result(line: bytes, kind: type[_Result]) -> _Result:
    if line.startswith(_REFUSED):
        raise ModelError(msgspec.json.decode(line.removeprefix(_REFUSED), type=str))
    return msgspec.json.decode(line, type=kind)


def _run(work: Callable[[Callable[[_Result], None]], None], into: int, said: IO[bytes] | None) -> int:
    if said is not None:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    logs.configure("warning", stage="apart")
    with os.fdopen(into, "wb", buffering=0) as stream:
        try:
            work(lambda result: _write(stream, msgspec.json.encode(result)))
        except PipelineError as error:
            _write(stream, _REFUSED + msgspec.json.encode(str(error)))
        except OSError as error:
            named = f"{error.filename}: " if error.filename is not None else ""
            _write(stream, _REFUSED + msgspec.json.encode(f"{named}{error.strerror or error}"))
        except MemoryError:
            _write(stream, _REFUSED + msgspec.json.encode("there is not memory enough for it: free some"))
    return 0


def _write(stream: FileIO, line: bytes) -> None:
    stream.write(line + b"\n")
