"""A child by plain fork from a parent without threads: it shares the code's memory and inherits descriptors."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from pipeline.runtime.failures import Failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_NAME = 15
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def fork(title: str, run: Callable[[], int]) -> int:
    """Run a function in a child process and return the child's pid; its result is the exit status.

    The child dies with its parent, however the parent dies. Its standard output is standard error, as native
    libraries print where lines of events belong.
    """
    parent = os.getpid()
    for stream in filter(None, (sys.stdout, sys.stderr)):  # none where it was closed
        stream.flush()
    with undisturbed():  # what a handler raises within is lost in the callbacks of the modules that know of forks
        return os.fork() or _end_as_child(title, parent, run)


def _end_as_child(title: str, parent: int, run: Callable[[], int]) -> NoReturn:
    """In the child: become it, do its work, end."""
    status = 1
    try:
        _become(title, parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        status = run()
    except KeyboardInterrupt:
        status = 130
    except BaseException as error:  # noqa: BLE001  # the boundary of the process: whatever it is, it is told, and the child ends
        Failures().tell("process_failed", error, of=title)
    finally:
        if sys.stderr:
            sys.stderr.flush()
        os._exit(status)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals that end a process wait: what is done within is done whole, such as to fork and to note the pid."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def die_with_parent() -> None:
    """In a child: be killed when its parent ends, however that does."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def freeze() -> None:
    """Call before the first fork: the collector then leaves the shared objects' pages alone."""
    gc.collect()
    gc.freeze()


def _become(title: str, parent: int) -> None:
    die_with_parent()
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
    _LIBC.prctl(_PR_SET_NAME, title.encode()[:15], 0, 0, 0)
    signal.set_wakeup_fd(-1)
    for number in (*_ENDING, signal.SIGCHLD):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a job in the background
            signal.signal(number, signal.SIG_DFL)
    os.dup2(2, 1)
