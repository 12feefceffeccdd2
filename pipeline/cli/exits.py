"""Exit statuses, and how a command ends: errors become one line, and nothing is left behind."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pipeline import early
from pipeline.core.errors import DamagedError, ModelError, PipelineError
from pipeline.core.printing import make_lines_printable

if TYPE_CHECKING:
    from collections.abc import Iterator


WHOLE, FAILED, USAGE, DAMAGED, TROUBLE, UNDELIVERED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

EXITS = """
Exit status: 0 all went well; 1 nothing could be done; 2 wrong usage or configuration; 3 some inputs were damaged,
truncated or unreadable, or some cameras gave no picture; 4 the doctor found trouble; 5 events could not be delivered;
130 interrupted.
"""


class Commands(click.Group):
    """Turns our errors into one line and an exit status."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. Ends the process where it raises."""
        early.unwind()
        _open_streams()
        try:
            return super().invoke(ctx)
        except DamagedError as error:
            fail(str(error), DAMAGED)
        except ModelError as error:  # damaged, out of reach, or no room: nothing that was written wrongly
            fail(str(error), FAILED)
        except PipelineError as error:
            fail(str(error), USAGE)
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)
        except BrokenPipeError:  # the reader of our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(WHOLE)
        except OSError as error:  # a folder that is not ours, a disk that is full
            fail(_system_reason(error), FAILED)
        except MemoryError:
            fail("there is not memory enough for this: free some, or give it less to read", FAILED)
        except RecursionError:
            fail("what was given to read has tables in tables without end: name another file", FAILED)


def fail(text: str, status: int) -> NoReturn:
    """End with a line and an exit status."""
    click.echo(f"pipeline: {make_lines_printable(text)}", err=True)
    sys.exit(status)


@contextmanager
def clean_up_on_signal() -> Iterator[None]:
    """Whoever ends us from outside (`timeout`, a service manager, a terminal that closes) leaves nothing behind."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup
            signal.signal(number, early.leave)  # `timeout` says it twice
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _open_streams() -> None:
    """Give a standard stream that was closed to the null device: else the next file would be taken for it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # until the process ends
        elif mode == "w" and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a letter is no reason to show nothing


def _system_reason(error: OSError) -> str:
    """One line of what the system refused."""
    reason = str(error.strerror or error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename
    return f"{name}: {reason}" if name is not None else reason
