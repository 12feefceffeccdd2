"""The only output to terminals; it makes text of files harmless to the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.segment import Segment

from pipeline.core.printing import make_lines_printable, to_json_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleOptions, RenderableType

_PLAIN_WIDTH = 150


class _HarmlessConsole(Console):
    """A console that prints names of files, zones and cameras literally, without rich markup."""

    def __init__(self, *, stderr: bool, width: int | None = None) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, width=width)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, without control characters in the text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(make_lines_printable(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal; without a terminal, wide enough for our tables."""
    plain = _HarmlessConsole(stderr=stderr)
    return plain if plain.is_terminal else _HarmlessConsole(stderr=stderr, width=_PLAIN_WIDTH)


def say(text: str) -> None:
    """Write text, with its own line ends, to standard output."""
    sys.stdout.write(make_lines_printable(text))


def complain(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{make_lines_printable(text)}\n")


def say_json(content: Any, *, stderr: bool = False) -> None:
    """Write content as a line of JSON."""
    (sys.stderr if stderr else sys.stdout).write(to_json_line(content))
