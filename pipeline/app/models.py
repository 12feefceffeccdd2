"""The language models of a device: fetched, converted, checked, and one of them chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from models.llm import opening
from models.llm.folder import ModelManifest
from models.llm.mnn import EngineOptions
from models.store import Wish, name_of
from models.table import table
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
        active: It is the one in use.
        manifest: What it is; None where that cannot be read.
    """

    name: str
    version: str
    path: str
    active: bool
    manifest: ModelManifest | None


class Listing(NamedTuple):
    """The models that there are.

    Attributes:
        root: The folder of those that are installed.
        installed: On this device.
        known: The table of what can be pulled, and of recipes.
    """

    root: str
    installed: tuple[ListedModel, ...]
    known: ModelTable


class VerifiedModel(NamedTuple):
    """A model whose files were compared with their hashes."""

    model: ListedModel
    problems: tuple[str, ...]


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


class Used(NamedTuple):
    """A model that was put to use.

    Attributes:
        model: Which.
        tried: How it behaved.
        weighs: Whether it is asked which standing note speaks about an incident.
    """

    model: ListedModel
    tried: Tried
    weighs: bool


def listing(site: Site) -> Listing:
    """Find out which models are installed, which can be pulled, and the recipes."""
    return Listing(str(site.models.root), tuple(map(_model, site.models.installed())), table())


def pull(
    site: Site, name: str, wish: Wish, *, hub: str, sha256: str, keep: bool, report: Callable[[str, int, int], None]
) -> ListedModel:
    """Fetch a model and convert it; interrupted, it goes on where it stopped.

    Args:
        site: Whose state folder.
        name: A model of the table.
        wish: How it shall be converted.
        hub: Address of a model hub, for models that are on one.
        sha256: The hash that the fetched file must have; empty: the known one.
        keep: Keep the fetched file.
        report: Called with what is being done, how many bytes are done, and of how many.

    Raises:
        ConfigError: There is no such model or recipe, or a hub is needed.
        ModelError: It cannot be fetched or converted.
    """
    store = site.writable_models()
    return _model(store.pull(name, wish, hub=hub, sha256=sha256.lower(), keep=keep, report=report))


def convert(site: Site, file: Path, name: str, wish: Wish, report: Callable[[str, int, int], None]) -> ListedModel:
    """Convert a GGUF file.

    Args:
        site: Whose state folder.
        file: The file.
        name: What to call it; empty: as the file is called.
        wish: How it shall be converted.
        report: Called with what is being done, how many bytes are done, and of how many.

    Raises:
        ConfigError: The name is none, or there is no such recipe.
        ModelError: It cannot be converted.
    """
    return _model(site.writable_models().convert(file, name or name_of(file), wish, report))


def verify(site: Site, name: str) -> list[VerifiedModel]:
    """Read the files of a model, or of all where no name is given, and compare their hashes. Raises ConfigError."""
    return [VerifiedModel(_model(one), tuple(problems)) for one, problems in site.models.verify(name)]


def use(site: Site, name: str) -> Used:
    """Try a model out; if it answers, the daemon uses it from its next start.

    Raises:
        ConfigError: There is no such model, or it has several versions.
        ModelError: It is damaged, cannot be loaded, answers nonsense, or ends the process.
    """
    store = site.writable_models()
    tried = try_out(store.find(name))
    used = store.use(name)
    return Used(_model(used), tried, bool(used.manifest and table().weighs(used.manifest)))


def try_out(one: Installed) -> Tried:
    """Load a model in a process of its own, so that one that cannot answer is never put to use. Raises ModelError."""

    def work() -> Iterator[Tried]:
        model = opening.open_model(one.path, EngineOptions())
        yield Tried(round(model.load_s, 3), model.mapped, model.canary.divergence)

    (found,) = apart(f"{one.name}/{one.version}", work, Tried)
    return found


def wish(recipe: str, adapter: Path | None, *, again: bool) -> Wish:
    """How a model shall be converted.

    Args:
        recipe: How weights are stored; empty: as the table has it.
        adapter: A LoRA to merge; None: none.
        again: Convert even if the same conversion is there.
    """
    return Wish(recipe, adapter, again)


def _model(one: Installed) -> ListedModel:
    return ListedModel(one.name, one.version, str(one.path), one.active, one.manifest)
