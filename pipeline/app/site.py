"""A site: its configuration, the files that the configuration names, and its state folder."""

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
    from pipeline.core.secrets import Exposure
    from pipeline.core.text.filters import Filters
    from pipeline.core.verdict.rulebook import Rulebook


class Site:
    """The files of a site; each is read at its first use, and only once.

    Args:
        config: The configuration file; None: default settings without cameras.
        state_dir: The state folder; None: the configured one, or the user's.
        model: Name of the language model to use; empty: the configured one.
    """

    def __init__(self, config: Path | None, state_dir: Path | None, *, model: str = "") -> None:
        self.config = config
        self._state_dir = state_dir
        self._model = model

    @cached_property
    def configuration(self) -> Configuration | None:
        """The configuration file; None if there is none. Raises a ConfigError that lists every problem."""
        return configuration.read(self.config) if self.config else None

    @cached_property
    def settings(self) -> Settings:
        """The settings, with the given state folder and model. Raises a ConfigError that lists every problem."""
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
        """The site's own rules, or the bundled ones. Raises ConfigError."""
        return rulebook.load(own_or_ours(self.settings.describe.incidents, "incidents.toml"))

    @cached_property
    def filters(self) -> Filters:
        """The site's own filter lists, or the bundled ones. Raises ConfigError."""
        return filters.load(own_or_ours(self.settings.describe.filters, "filters.toml"))

    @cached_property
    def lexicon(self) -> Lexicon:
        """The bundled word table of notes."""
        return words.load(config_file("words.toml"))

    @property
    def state(self) -> Path:
        """The given state folder, else the configured one, else the user's; it may not exist yet."""
        return folders.state_dir(self.settings.runtime.state_dir)

    @property
    def notes_file(self) -> Path:
        """The file of the standing notes; it may not exist yet."""
        return self.state / notebook.FILE

    @cached_property
    def models(self) -> Store:
        """The store of language models in the state folder."""
        from models.store import Store  # noqa: PLC0415  # numpy, which most commands do without

        return Store(self.state)

    def writable_models(self) -> Store:
        """The same store, after a check that the state folder, if it exists, is ours. Raises RunDirectoryError."""
        if os.path.lexists(self.state):
            files.own_folder(self.state)
        return self.models

    def find_exposure(self) -> Exposure | None:
        """A warning if other users can read passwords in the configuration file; else None."""
        return secrets.find_exposure(self.config, self.settings.sources) if self.config else None

    def warnings(self) -> list[str]:
        """Return warnings about the configuration file: readable passwords, and keys of earlier versions."""
        exposed = self.find_exposure()
        outdated = self.configuration.outdated if self.configuration else ()
        return [*([str(exposed)] if exposed else []), *outdated]

    def check_camera(self, name: str) -> None:
        """Raise ConfigError if the configuration has no such camera; an empty name, or no file, is accepted."""
        if self.config and name and name not in self.settings.cameras:
            there = ", ".join(self.settings.cameras) or "none"
            raise ConfigError(f"no camera `{name}` in {self.config}: there are {there}")
