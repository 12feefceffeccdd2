"""What a shell may offer in place of a name: cameras, links, notes, language models and boards.

Every function imports what it needs, as it answers while a key is pressed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.errors import PipelineError

if TYPE_CHECKING:
    from pathlib import Path


def links() -> list[str]:
    """The links between stages."""
    from pipeline.topology import LINKS

    return list(LINKS)


def cameras(config: Path | None) -> list[str]:
    """The cameras of a configuration; none where there is none that is valid."""
    from pipeline.core import configuration

    try:
        return list(configuration.load(config).cameras) if config else []
    except PipelineError:  # nobody reads an error there
        return []


def notes(state_dir: Path | None) -> list[tuple[str, str]]:
    """The standing notes: what they are called, and what they say."""
    from pipeline.core.note import notebook

    try:
        book = notebook.load(_state(state_dir) / notebook.FILE)
    except PipelineError:
        return []
    return [(entry.id, entry.text) for entry in book.notes]


def models(state_dir: Path | None) -> list[str]:
    """The language models that are installed."""
    from models.store import Store

    return list({one.name for one in Store(_state(state_dir)).installed()})


def boards() -> list[str]:
    """The boards that a replay can warm up."""
    from pipeline.core.device.heat import BODIES

    return list(BODIES)


def targets() -> list[str]:
    """The accelerators that an encoder can be converted for."""
    from models.deriving.targets import TARGETS

    return list(TARGETS)


def encoders() -> list[str]:
    """The encoder that comes with the package."""
    from pipeline.core.settings import EncodeSettings

    return [EncodeSettings().model]


def _state(state_dir: Path | None) -> Path:
    from pipeline.runtime import folders

    return folders.state_dir(str(state_dir or ""))
