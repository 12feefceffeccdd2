"""What a shell may offer in place of a name: cameras, links, notes, language models and boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from click import Context, Parameter
    from click.shell_completion import CompletionItem


def links(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the links between stages."""
    from pipeline.topology import LINKS  # noqa: PLC0415  # completion answers while a key is pressed

    return _fitting(LINKS, begun)


def cameras(context: Context, _: Parameter, begun: str) -> list[str]:
    """Offer the cameras of the configuration that stands before it."""
    from pipeline.core import configuration  # noqa: PLC0415  # only when the key is pressed

    config = context.params.get("config")
    try:
        return _fitting(configuration.load(config).cameras, begun) if config else []
    except PipelineError:  # nobody reads an error there
        return []


def notes(context: Context, _: Parameter, begun: str) -> list[CompletionItem]:
    """Offer the standing notes, with what they say."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415  # the same

    from pipeline.core.note import notebook  # noqa: PLC0415  # the same

    try:
        book = notebook.load(_state(context) / notebook.FILE)
    except PipelineError:
        return []
    return [CompletionItem(entry.id, help=entry.text) for entry in book.notes if entry.id.startswith(begun)]


def models(context: Context, _: Parameter, begun: str) -> list[str]:
    """Offer the language models that are installed."""
    from models.store import Store  # noqa: PLC0415  # the same

    return _fitting({one.name for one in Store(_state(context)).installed()}, begun)


def boards(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the boards that a replay can warm up."""
    from pipeline.core.device.heat import BODIES  # noqa: PLC0415  # the same

    return _fitting(BODIES, begun)


def targets(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the accelerators that an encoder can be converted for."""
    from models.deriving.targets import TARGETS  # noqa: PLC0415  # the same

    return _fitting(TARGETS, begun)


def files_or_encoders(_: Context, __: Parameter, begun: str) -> list[CompletionItem]:
    """Offer files, and the encoder that comes with the package."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415  # the same

    from pipeline.core.settings import EncodeSettings  # noqa: PLC0415  # the same

    ours = _fitting([EncodeSettings().model], begun) if begun else []
    return [*(CompletionItem(name) for name in ours), CompletionItem(begun, type="file")]


def _state(context: Context) -> Path:
    from pipeline.runtime import folders  # noqa: PLC0415  # the same

    return folders.state_dir(str(context.params.get("state_dir") or ""))


def _fitting(names: Iterable[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))
