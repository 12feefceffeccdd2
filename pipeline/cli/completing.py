"""What a shell may offer in place of a name, as click asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.app import completing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click import Context, Parameter
    from click.shell_completion import CompletionItem


def complete_links(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the links between stages."""
    return _filter_names(completing.list_links(), begun)


def complete_cameras(context: Context, _: Parameter, begun: str) -> list[str]:
    """Offer the cameras of the configuration that stands before it."""
    return _filter_names(completing.list_cameras(context.params.get("config")), begun)


def complete_notes(context: Context, _: Parameter, begun: str) -> list[CompletionItem]:
    """Offer the standing notes, with what they say."""
    from click.shell_completion import CompletionItem

    found = completing.list_notes(context.params.get("state_dir"))
    return [CompletionItem(name, help=text) for name, text in found if name.startswith(begun)]


def complete_models(context: Context, _: Parameter, begun: str) -> list[str]:
    """Offer the language models that are installed."""
    return _filter_names(completing.list_models(context.params.get("state_dir")), begun)


def complete_boards(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the boards that a replay can warm up."""
    return _filter_names(completing.list_boards(), begun)


def complete_targets(_: Context, __: Parameter, begun: str) -> list[str]:
    """Offer the accelerators that an encoder can be converted for."""
    return _filter_names(completing.list_targets(), begun)


def complete_files_or_encoders(_: Context, __: Parameter, begun: str) -> list[CompletionItem]:
    """Offer files, and the encoder that comes with the package."""
    from click.shell_completion import CompletionItem

    ours = _filter_names(completing.list_encoders(), begun) if begun else []
    return [*(CompletionItem(name) for name in ours), CompletionItem(begun, type="file")]


def _filter_names(names: Iterable[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))
