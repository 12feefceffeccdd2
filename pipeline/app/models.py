"""Fetch, convert, check and choose the language models of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from models.llm import opening
from models.llm.folder import ModelManifest
from models.llm.mnn import EngineOptions
from models.store import ConversionOptions, name_from_file
from models.table import load_table
from pipeline.runtime.apart import apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from models.store import Installed
    from models.table import ModelTable
    from pipeline.app.site import Site


class ListedModel(msgspec.Struct, frozen=True):
    """A language model on this device.

    Attributes:
        name: Its name.
        version: Its version.
        path: Its folder.
        active: Whether it is the one in use.
        manifest: Its manifest; None if it cannot be read.
    """

    name: str
    version: str
    path: str
    active: bool
    manifest: ModelManifest | None


class Listing(NamedTuple):
    """All models.

    Attributes:
        root: The folder of the installed models.
        installed: The models on this device.
        known: The table of models that can be pulled, and of recipes.
    """

    root: str
    installed: tuple[ListedModel, ...]
    known: ModelTable


class VerifiedModel(NamedTuple):
    """A model whose files were compared with their hashes."""

    model: ListedModel
    problems: tuple[str, ...]


class TrialResult(msgspec.Struct, frozen=True):
    """The result of a trial of a model on this device.

    Attributes:
        load_s: Time to load it; shorter the next time, as its weights are mapped then.
        mapped: Whether its weights are mapped from a file.
        divergence: KL divergence between reading a text at once and in pieces, in nats.
    """

    load_s: float
    mapped: bool
    divergence: float


class UsedModel(NamedTuple):
    """A model that is now in use.

    Attributes:
        model: The model.
        tried: The result of its trial.
        weighs: Whether it is asked which standing note is about an incident.
    """

    model: ListedModel
    tried: TrialResult
    weighs: bool


def list_models(site: Site) -> Listing:
    """List the installed models, those that can be pulled, and the recipes."""
    return Listing(str(site.models.root), tuple(map(_listed_model, site.models.list_installed())), load_table())


def pull(
    site: Site,
    name: str,
    options: ConversionOptions,
    *,
    hub: str,
    sha256: str,
    keep: bool,
    report: Callable[[str, int, int], None],
) -> ListedModel:
    """Fetch a model and convert it; interrupted, it goes on where it stopped.

    Args:
        site: The site whose state folder is used.
        name: A model of the table.
        options: The options of the conversion.
        hub: Address of a model hub, for models that are on one.
        sha256: The hash that the fetched file must have; empty: the known one.
        keep: Keep the fetched file.
        report: Called with the name of the step, the number of finished bytes and of all bytes.

    Raises:
        ConfigError: There is no such model or recipe, or a hub is needed.
        ModelError: It cannot be fetched or converted.
    """
    store = site.writable_models()
    return _listed_model(store.pull(name, options, hub=hub, sha256=sha256.lower(), keep=keep, report=report))


def convert(
    site: Site, file: Path, name: str, options: ConversionOptions, report: Callable[[str, int, int], None]
) -> ListedModel:
    """Convert a GGUF file.

    Args:
        site: The site whose state folder is used.
        file: The file.
        name: Name of the model; empty: the name of the file.
        options: The options of the conversion.
        report: Called with the name of the step, the number of finished bytes and of all bytes.

    Raises:
        ConfigError: The name is invalid, or there is no such recipe.
        ModelError: It cannot be converted.
    """
    return _listed_model(site.writable_models().convert(file, name or name_from_file(file), options, report))


def verify(site: Site, name: str) -> list[VerifiedModel]:
    """Read the files of a model, or of all where no name is given, and compare their hashes. Raises ConfigError."""
    return [VerifiedModel(_listed_model(one), tuple(problems)) for one, problems in site.models.verify(name)]


def use(site: Site, name: str) -> UsedModel:
    """Try a model out; if it answers, the daemon uses it from its next start.

    Raises:
        ConfigError: There is no such model, or it has several versions.
        ModelError: It is damaged, cannot be loaded, answers nonsense, or ends the process.
    """
    store = site.writable_models()
    tried = try_out(store.find(name))
    used = store.use(name)
    return UsedModel(_listed_model(used), tried, bool(used.manifest and load_table().find_weighing(used.manifest)))


def try_out(one: Installed) -> TrialResult:
    """Load a model in a child process and let it answer. Raises ModelError if it cannot."""

    def work() -> Iterator[TrialResult]:
        model = opening.open_model(one.path, EngineOptions())
        yield TrialResult(round(model.load_s, 3), model.mapped, model.canary.divergence)

    (found,) = apart(f"{one.name}/{one.version}", work, TrialResult)
    return found


def conversion_options(recipe: str, adapter: Path | None, *, again: bool) -> ConversionOptions:
    """Make the options of a conversion.

    Args:
        recipe: Name of the recipe for storing weights; empty: the default of the model.
        adapter: A LoRA to merge; None: none.
        again: Convert even if the same conversion is there.
    """
    return ConversionOptions(recipe, adapter, again)


def _listed_model(one: Installed) -> ListedModel:
    return ListedModel(one.name, one.version, str(one.path), one.active, one.manifest)
