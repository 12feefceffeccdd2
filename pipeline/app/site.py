"""A site opened: its configuration, the files that this names, and what lies in the state folder."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from pipeline.core import configuration, files, secrets
from pipeline.core.errors import ConfigError
from pipeline.core.note import notebook, words
from pipeline.core.settings import Settings
from pipeline.core.text import filters
from pipeline.core.verdict import rulebook
from pipeline.resources import config_file, own_or_ours
from pipeline.runtime import folders

if TYPE_CHECKING:
    from pathlib import Path

    from models.store import Store
    from pipeline.core.configuration import Configuration
    from pipeline.core.note.words import Lexicon
    from pipeline.core.secrets import Exposed
    from pipeline.core.text.filters import Filters
    from pipeline.core.verdict.rulebook import Rulebook


class Site:
    """Everything is read when it is first asked for, and only once.

    Args:
        config: The configuration file; None: all settings have their defaults, and there are no cameras.
        state_dir: The state folder; None: as configured, or the user's.
        model: The language model that is to be used instead of the configured one; empty: the configured one.
    """

    def __init__(self, config: Path | None, state_dir: Path | None, model: str) -> None:
        self.config = config
        self._state_dir = state_dir
        self._model = model

    @cached_property
    def configuration(self) -> Configuration | None:
        """The file as it was read; None: there is none. Raises ConfigError that lists every problem."""
        return configuration.read(self.config) if self.config else None

    @cached_property
    def settings(self) -> Settings:
        """The settings, with what was given instead of them. Raises ConfigError that lists every problem."""
        found = self.configuration.settings if self.configuration else Settings()
        if self._model:
            describe = msgspec.structs.replace(found.describe, model=self._model)
            found = msgspec.structs.replace(found, describe=describe)
        if self._state_dir:
            runtime = msgspec.structs.replace(found.runtime, state_dir=str(self._state_dir))
            found = msgspec.structs.replace(found, runtime=runtime)
        return found

    @cached_property
    def rulebook(self) -> Rulebook:
        """The site's own rules, or ours. Raises ConfigError."""
        return rulebook.load(own_or_ours(self.settings.describe.incidents, "incidents.toml"))

    @cached_property
    def filters(self) -> Filters:
        """The site's own lists of what no sentence may say, or ours. Raises ConfigError."""
        return filters.load(own_or_ours(self.settings.describe.filters, "filters.toml"))

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of notes."""
        return words.load(config_file("words.toml"))

    @property
    def state(self) -> Path:
        """The state folder that was given, else as configured, else the user's; it need not be there yet."""
        return folders.state_dir(self.settings.runtime.state_dir)

    @property
    def notes_file(self) -> Path:
        """The file of the standing notes, which need not be there yet."""
        return self.state / notebook.FILE

    @cached_property
    def models(self) -> Store:
        """The language models of the state folder."""
        from models.store import Store  # noqa: PLC0415  # numpy, which most commands do without

        return Store(self.state)

    def writable_models(self) -> Store:
        """The same, of a folder that is ours; it is made when there is something to write. Raises RunDirectoryError."""
        if os.path.lexists(self.state):
            files.own_folder(self.state)
        return self.models

    def exposed(self) -> Exposed | None:
        """What is to be known of a configuration file that shows passwords to every user; None: nothing."""
        return secrets.exposed(self.config, self.settings.sources) if self.config else None

    def warnings(self) -> list[str]:
        """Say what is to be known of the configuration file: who may read it, and keys of earlier versions."""
        exposed = self.exposed()
        outdated = self.configuration.outdated if self.configuration else ()
        return [*([str(exposed)] if exposed else []), *outdated]

    def check_camera(self, name: str) -> None:
        """Refuse a camera that the configuration file has not; no name, or no file, is in order. Raises ConfigError."""
        if self.config and name and name not in self.settings.cameras:
            there = ", ".join(self.settings.cameras) or "none"
            raise ConfigError(f"no camera `{name}` in {self.config}: there are {there}")


def open_site(config: Path | None, state_dir: Path | None, *, model: str = "") -> Site:
    """Open a site; nothing is read yet. See `Site` for what is what."""
    return Site(config, state_dir, model)
