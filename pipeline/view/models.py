"""The models of a device as people and programs read them, and how far their fetching is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from models.llm import opening
from models.llm.mnn import Options
from models.table import table
from pipeline.core.printing import printable
from pipeline.runtime.apart import apart
from pipeline.view.output import console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from models.store import Installed, Store
    from models.table import Table as Known


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Lend a function that draws a bar for each step; on a terminal only."""
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


def show(store: Store, known: Known, *, as_json: bool) -> None:
    """Print what is installed, what can be had, and the recipes."""
    installed = store.installed()
    if as_json:
        _json(
            {
                "installed": [_plain(one) for one in installed],
                "models": {
                    name: {"what": row.what, "licence": row.licence, "recipe": row.recipe, "bytes": row.bytes}
                    for name, row in known.models.items()
                },
                "recipes": {name: recipe.what for name, recipe in known.recipes.items()},
            }
        )
        return
    screen = console()
    if installed:
        table = Table("", "name", "version", "MB", "what it says it is", title=str(store.root), title_justify="left")
        for one in installed:
            title = printable(one.manifest.title) if one.manifest else "damaged: pull or convert it again"
            table.add_row("*" if one.active else "", one.name, one.version, _megabytes(one), title)
        screen.print(table)
    else:
        screen.print(f"{store.root}: no models yet")
    table = Table("name", "MB", "licence", "recipe", "what for", title="Can be pulled", title_justify="left")
    for name, row in known.models.items():
        table.add_row(name, f"{row.bytes / 1e6:.0f}", row.licence, row.recipe, row.what)
    screen.print(table)
    table = Table("recipe", "what for", title="Recipes", title_justify="left")
    for name, recipe in known.recipes.items():
        table.add_row(name, recipe.what)
    screen.print(table)


class Tried(msgspec.Struct, frozen=True):
    """How a model that was tried out behaves on this device.

    Attributes:
        load_s: To load it; the next time it is found mapped.
        mapped: Whether its weights are mapped from a file.
        divergence: KL between reading a text at once and in pieces, in nats.
    """

    load_s: float
    mapped: bool
    divergence: float


def tried(one: Installed) -> Tried:
    """Load a model in a process of its own, so that one that cannot answer is never put to use.

    Raises:
        ModelError: It is damaged, cannot be loaded, answers nonsense, or ends the process.
    """

    def work() -> Iterator[Tried]:
        model = opening.open_model(one.path, Options())
        yield Tried(round(model.load_s, 3), model.mapped, model.canary.divergence)

    (found,) = apart(f"{one.name}/{one.version}", work, Tried)
    return found


def made(one: Installed, *, as_json: bool, tried: Tried | None = None) -> None:
    """Print a model that was pulled, converted, or tried out and put to use."""
    if as_json:
        _json(_plain(one) | ({"tried": tried} if tried else {}))
        return
    in_use = ", in use" if one.active else ""
    say(f"{one.name}/{one.version}: {_megabytes(one)} MB in {one.path}{in_use}\n")
    if tried:
        how = "from a mapped file" if tried.mapped else "in memory, as there is no room to map it"
        say(f"  it answers: loaded in {tried.load_s:.2f} s, {how}\n")
        notes = "is" if one.manifest and table().weighs(one.manifest) else "was never measured at that, so it is not"
        say(f"  it {notes} asked which standing note speaks about an incident\n")
    if one.manifest:
        for how, count in one.manifest.layers.items():
            say(f"  {count:4d} matrices: {how}\n")


def verified(found: Iterable[tuple[Installed, list[str]]], *, as_json: bool) -> bool:
    """Print what is wrong with which model. Returns whether nothing is."""
    rows = [(one, problems) for one, problems in found]
    if as_json:
        _json([_plain(one) | {"problems": problems} for one, problems in rows])
    else:
        for one, problems in rows:
            state = "whole" if not problems else "damaged: pull or convert it again"
            say("\n  ".join([f"{one.name}/{one.version}: {state}", *problems]) + "\n")
    return not any(problems for _, problems in rows)


def _megabytes(one: Installed) -> str:
    return f"{one.manifest.size / 1e6:.0f}" if one.manifest else "?"


def _plain(one: Installed) -> dict[str, object]:
    return {
        "name": one.name,
        "version": one.version,
        "path": str(one.path),
        "active": one.active,
        "manifest": one.manifest,
    }


def _json(content: object) -> None:
    say_json(content)
