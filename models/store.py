"""The language models of a device: which are installed, which one is in use.

<state folder>/models/NAME/VERSION/     a converted model with its manifest (models/llm/folder.py)
<state folder>/models/downloads/        files being fetched, or kept
<state folder>/models/active.json       which model is in use
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from models import catalog, fetch
from models.llm import convert, folder
from models.table import Name, load_table
from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from models.llm.folder import ModelManifest

_ACTIVE = "active.json"
_DOWNLOADS = "downloads"


class Installed(NamedTuple):
    """A model on this device.

    Attributes:
        name: Its name, and its folder.
        version: Its version, and its folder below that.
        path: Path of this folder.
        manifest: Its manifest; None if it cannot be read.
        active: Whether it is in use.
    """

    name: str
    version: str
    path: Path
    manifest: ModelManifest | None
    active: bool


class ConversionOptions(NamedTuple):
    """Options of a conversion.

    Attributes:
        recipe: Name of the recipe; empty: the model's own, or `keep`.
        adapter: A LoRA to merge.
        again: Convert even if the same conversion is there.
    """

    recipe: str = ""
    adapter: Path | None = None
    again: bool = False


class _Active(msgspec.Struct, frozen=True):
    name: str
    version: str


class Store:
    """The models below a state folder.

    Args:
        state: The state folder; nothing is made before it is needed.
    """

    def __init__(self, state: Path) -> None:
        self.root = state / "models"

    def list_installed(self) -> list[Installed]:
        """Return all installed models, sorted by name and version."""
        active = self._active()
        return [
            Installed(path.parent.name, path.name, path, _read_manifest(path), active == (path.parent.name, path.name))
            for path in sorted(self.root.glob("*/*"))
            if path.is_dir() and not path.name.startswith(".") and path.parent.name != _DOWNLOADS
        ]

    def find(self, name: str) -> Installed:
        """Return the installed model of a name, or of NAME/VERSION.

        Raises:
            ConfigError: There is none, or there are several versions of it.
        """
        there = self.list_installed()
        fitting = [one for one in there if name in {one.name, f"{one.name}/{one.version}"}]
        if len(fitting) == 1:
            return fitting[0]
        names = ", ".join(f"{one.name}/{one.version}" for one in (fitting or there)) or "none"
        if fitting:
            raise ConfigError(f"{name}: there are several versions, name one: {names}")
        raise ConfigError(f"{name} is not installed (installed: {names}): pull or convert it first")

    def choose(self, name: str) -> Installed | None:
        """Return the model of a name; for an empty name the one in use, or None. Raises ConfigError."""
        return self.find(name) if name else self.active()

    def active(self) -> Installed | None:
        """Return the model in use, or None.

        Raises:
            ConfigError: The choice cannot be read, or the model was removed.
        """
        found = next((one for one in self.list_installed() if one.active), None)
        if found is None and os.access(path := self.root / _ACTIVE, os.F_OK):
            chosen = self._active()
            what = f"names {'/'.join(chosen)}, which is not installed" if chosen else "cannot be read"
            raise ConfigError(f"{path} {what}: choose a model with `pipeline models use NAME`")
        return found

    def use(self, name: str) -> Installed:
        """Put a model in use; a daemon loads it at its next start.

        Raises:
            ConfigError: It is not installed.
            ModelError: It is damaged, or the state cannot be written.
        """
        found = self.find(name)
        if problems := folder.verify(found.path):
            raise ModelError(f"{found.name}/{found.version} is damaged ({problems[0]}): convert or pull it again")
        data = msgspec.json.encode(_Active(found.name, found.version))
        try:
            files.replace(self.root / _ACTIVE, data + b"\n")
        except OSError as error:
            raise folder.write_error(error, self.root / _ACTIVE, len(data)) from error
        return found._replace(active=True)

    def pull(
        self,
        name: str,
        options: ConversionOptions,
        *,
        hub: str,
        sha256: str,
        keep: bool,
        report: Callable[[str, int, int], None],
    ) -> Installed:
        """Fetch a model of the table and convert it.

        Args:
            name: A model of the table.
            options: Options of the conversion.
            hub: Address of the hub, for models on a hub.
            sha256: Hash of the file, instead of the table's.
            keep: Whether to keep the fetched file in the folder of downloads.
            report: Called with the name of the step, and the number of finished and of all bytes.

        Raises:
            ConfigError: The name is not known, or the hub's address is missing.
            ModelError: It cannot be fetched, is not the file that was meant, or cannot be converted.
        """
        source = load_table().source(name)
        adapter = options.adapter or (catalog.verified_path(source.adapter) if source.adapter else None)
        options = options._replace(recipe=options.recipe or source.recipe, adapter=adapter)
        load_table().recipe(options.recipe)  # before anything is fetched
        files.own_folder(self.root.parent)
        file = fetch.fetch(source, self.root / _DOWNLOADS, hub, sha256, report)
        found = self.convert(file, name, options, report, licence=source.licence)
        if not keep:
            file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # another file is being fetched
                file.parent.rmdir()
        return found

    def convert(
        self,
        file: Path,
        name: str,
        options: ConversionOptions,
        report: Callable[[str, int, int], None],
        *,
        licence: str = "",
    ) -> Installed:
        """Convert a GGUF file into the store. The same conversion is not done twice.

        Raises:
            ConfigError: The name or the recipe cannot be used.
            ModelError: The file cannot be converted, or the disk is full; nothing is left behind.
        """
        _check_name(name)
        recipe = options.recipe or "keep"
        ready = convert.plan(convert.ModelJob(file, load_table().recipe(recipe), recipe, options.adapter, licence))
        target = self.root / name / ready.version
        if options.again or not _is_complete(target):
            files.own_folder(self.root.parent)
            convert.run(ready, target, lambda done, size: report("converting", done, size))
        return self.find(f"{name}/{ready.version}")

    def verify(self, name: str) -> Iterator[tuple[Installed, list[str]]]:
        """Verify installed models, and yield each with its problems.

        Args:
            name: NAME or NAME/VERSION; empty: all.

        Raises:
            ConfigError: There is none of that name.
        """
        for one in [self.find(name)] if name else self.list_installed():
            try:
                yield one, folder.verify(one.path)
            except ModelError as error:
                yield one, [str(error)]

    def _active(self) -> tuple[str, str] | None:
        try:
            found = decode(files.read_bounded(self.root / _ACTIVE), _Active)
        except (OSError, msgspec.DecodeError):
            return None
        return found.name, found.version


def name_from_file(file: Path) -> str:
    """Make a model name from the name of a file."""
    kept = (letter if letter.isalnum() or letter in "._-" else "-" for letter in file.stem.lower())
    return "".join(letter for letter in kept if letter.isascii()).strip("._-")[:48] or "model"


def _check_name(name: str) -> None:
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{name!r} is no name: use 1 to 48 small letters, digits, dots, dashes, underscores"
        ) from error
    if name == _DOWNLOADS:
        raise ConfigError(f"{name!r} is the folder of downloads: choose another name")


def _read_manifest(path: Path) -> ModelManifest | None:
    try:
        return folder.read(path)
    except ModelError:
        return None


def _is_complete(path: Path) -> bool:
    try:
        return not folder.verify(path)
    except ModelError:
        return False
