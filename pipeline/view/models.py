"""Show the language models of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from pipeline.core.printing import make_printable
from pipeline.view.output import console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.app.models import ListedModel, Listing, UsedModel, VerifiedModel


def show(listing: Listing, *, as_json: bool) -> None:
    """Print the installed models, those that can be pulled, and the recipes."""
    if as_json:
        say_json(_listing_to_json(listing))
        return
    screen = console()
    if listing.installed:
        screen.print(_installed_table(listing))
    else:
        screen.print(f"{listing.root}: no models yet")
    table = Table("name", "MB", "licence", "recipe", "what for", title="Can be pulled", title_justify="left")
    for name, row in listing.known.models.items():
        table.add_row(name, f"{row.bytes / 1e6:.0f}", row.licence, row.recipe, row.what)
    screen.print(table)
    table = Table("recipe", "what for", title="Recipes", title_justify="left")
    for name, recipe in listing.known.recipes.items():
        table.add_row(name, recipe.what)
    screen.print(table)


def show_made(one: ListedModel, *, as_json: bool) -> None:
    """Print a model that was pulled or converted."""
    if as_json:
        say_json(one)
        return
    _print_made(one)
    _print_layers(one)


def show_used(used: UsedModel, *, as_json: bool) -> None:
    """Print a model that is now in use, with the result of its trial."""
    if as_json:
        say_json(msgspec.structs.asdict(used.model) | {"tried": used.tried})
        return
    _print_made(used.model)
    how = "from a mapped file" if used.tried.mapped else "in memory, as there is no room to map it"
    say(f"  it answers: loaded in {used.tried.load_s:.2f} s, {how}\n")
    asked = "is" if used.weighs else "was never measured at that, so it is not"
    say(f"  it {asked} asked which standing note speaks about an incident\n")
    _print_layers(used.model)


def show_checked(found: Sequence[VerifiedModel], *, as_json: bool) -> None:
    """Print the problems of each verified model."""
    if as_json:
        say_json([msgspec.structs.asdict(one.model) | {"problems": one.problems} for one in found])
        return
    for model, problems in found:
        state = "whole" if not problems else "damaged: pull or convert it again"
        say("\n  ".join([f"{model.name}/{model.version}: {state}", *problems]) + "\n")


def _listing_to_json(listing: Listing) -> dict[str, object]:
    return {
        "installed": listing.installed,
        "models": {
            name: {"what": row.what, "licence": row.licence, "recipe": row.recipe, "bytes": row.bytes}
            for name, row in listing.known.models.items()
        },
        "recipes": {name: recipe.what for name, recipe in listing.known.recipes.items()},
    }


def _installed_table(listing: Listing) -> Table:
    table = Table("", "name", "version", "MB", "what it says it is", title=listing.root, title_justify="left")
    for one in listing.installed:
        title = make_printable(one.manifest.title) if one.manifest else "damaged: pull or convert it again"
        table.add_row("*" if one.active else "", one.name, one.version, _megabytes(one), title)
    return table


def _print_made(one: ListedModel) -> None:
    in_use = ", in use" if one.active else ""
    say(f"{one.name}/{one.version}: {_megabytes(one)} MB in {one.path}{in_use}\n")


def _print_layers(one: ListedModel) -> None:
    for how, count in one.manifest.layers.items() if one.manifest else ():
        say(f"  {count:4d} matrices: {how}\n")


def _megabytes(one: ListedModel) -> str:
    return f"{one.manifest.size / 1e6:.0f}" if one.manifest else "?"
