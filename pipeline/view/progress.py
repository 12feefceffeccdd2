"""Show progress bars on standard error, only on a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from pipeline.view.output import console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.app.replay import Progress as State


@contextmanager
def show_count(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the number of finished and of all items."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _done, _all: None
        return
    with Progress(console=screen, transient=True) as bars:

        def draw(done: int, most: int) -> None:
            task = bars.task_ids[0] if bars.task_ids else bars.add_task(what, total=most)
            bars.update(task, completed=done)

        yield draw


@contextmanager
def show_steps(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows a step's name, its progress and its end (0: unknown)."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _what, _done, _all: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bars:

        def draw(what: str, done: int, most: int) -> None:
            for task in bars.task_ids:
                if bars.tasks[0].description != what:
                    bars.remove_task(task)  # a task cannot forget how much there was to do
            task = bars.task_ids[0] if bars.task_ids else bars.add_task(what, total=None)
            bars.update(task, completed=done, total=most or None)

        yield draw


@contextmanager
def show_fetch(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows a bar for each step, with finished and all bytes."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _what, _done, _all: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=screen, transient=True) as bars:
        tasks = {}

        def draw(what: str, done: int, size: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=size)
            bars.update(tasks[what], completed=done, total=size)

        yield draw


@contextmanager
def show_measurement(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows the measure, and the number of finished and of all steps."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _what, _done, _all: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("")
        yield lambda what, done, steps: bar.update(task, description=what, completed=done, total=steps)


@contextmanager
def show_replay(*, quiet: bool) -> Iterator[Callable[[State], None]]:
    """Yield a function that shows the progress of a replay."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[line]}"), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("replay", total=1.0, line="")
        yield lambda state: bar.update(task, completed=state.share, line=_replay_line(state))


def _replay_line(state: State) -> str:
    rate = state.frames / state.elapsed_s if state.elapsed_s else 0.0
    speed = state.media_s / state.elapsed_s if state.elapsed_s else 0.0
    return (
        f"{state.done}/{state.total} files  {state.frames} frames  {rate:.0f} frames/s  "
        f"{speed:.1f}x real time  {state.incidents} incidents"
    )
