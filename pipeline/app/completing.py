"""List the names that a shell can complete: cameras, links, notes, language models and boards.

Every function imports what it needs, so that completion is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.errors import PipelineError

if TYPE_CHECKING:
    from pathlib import Path


def list_links() -> list[str]:
    """Names of the links between stages."""
    from pipeline.topology import LINKS

    return list(LINKS)


def list_cameras(config: Path | None) -> list[str]:
    """Names of the cameras of a configuration; empty if it is missing or invalid."""
    from pipeline.core import configuration

    try:
        return list(configuration.load(config).cameras) if config else []
    except PipelineError:  # completion shows no errors
        return []


def list_notes(state_dir: Path | None) -> list[tuple[str, str]]:
    """Ids and texts of the standing notes; empty if they cannot be read."""
    from pipeline.core.note import notebook

    try:
        book = notebook.load(_state_folder(state_dir) / notebook.FILE)
    except PipelineError:
        return []
    return [(entry.id, entry.text) for entry in book.notes]


def list_models(state_dir: Path | None) -> list[str]:
    """Names of the installed language models."""
    from models.store import Store

    return list({one.name for one in Store(_state_folder(state_dir)).list_installed()})


def list_boards() -> list[str]:
    """Names of the boards that a replay can simulate."""
    from pipeline.core.device.heat import BODIES

    return list(BODIES)


def list_targets() -> list[str]:
    """Names of the accelerators that an encoder can be converted for."""
    from models.deriving.targets import TARGETS

    return list(TARGETS)


def list_encoders() -> list[str]:
    """Name of the encoder that comes with the package."""
    from pipeline.core.settings import EncodeSettings

    return [EncodeSettings().model]


def _state_folder(state_dir: Path | None) -> Path:
    from pipeline.runtime import folders

    return folders.state_dir(str(state_dir or ""))
