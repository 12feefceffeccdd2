"""What a shell may offer in place of a name, as click asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.app import completing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click import Context, Parameter
    from click.shell_completion import CompletionItem


def links(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the links between stages."""
    return _fitting(completing.links(), begun)


def cameras(context: Context, _: Parameter, begun: str) -> list[str]:
    """Offer the cameras of the configuration that stands before it."""
    return _fitting(completing.cameras(context.params.get("config")), begun)


def notes(context: Context, _: Parameter, begun: str) -> list[CompletionItem]:
    """Offer the standing notes, with what they say."""
    from click.shell_completion import CompletionItem

    found = completing.notes(context.params.get("state_dir"))
    return [CompletionItem(name, help=text) for name, text in found if name.startswith(begun)]


def models(context: Context, _: Parameter, begun: str) -> list[str]:
    """Offer the language models that are installed."""
    return _fitting(completing.models(context.params.get("state_dir")), begun)


def boards(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the boards that a replay can warm up."""
    return _fitting(completing.boards(), begun)


def targets(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the accelerators that an encoder can be converted for."""
    return _fitting(completing.targets(), begun)


def files_or_encoders(_: Context, __: Parameter, begun: str) -> list[CompletionItem]:
    """Offer files, and the encoder that comes with the package."""
    from click.shell_completion import CompletionItem

    ours = _fitting(completing.encoders(), begun) if begun else []
    return [*(CompletionItem(name) for name in ours), CompletionItem(begun, type="file")]


def _fitting(names: Iterable[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))
