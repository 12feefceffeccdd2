"""The one way out to a terminal: text of files passes here, and nothing of it acts on the terminal."""

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
    """Shows names of files, zones and cameras as they are: [what] looks like markup to rich is none."""

    def __init__(self, *, stderr: bool, width: int | None = None) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, width=width)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What rich draws, but for letters that a terminal would obey."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(make_lines_printable(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for our tables where there is none."""
    plain = _HarmlessConsole(stderr=stderr)
    return plain if plain.is_terminal else _HarmlessConsole(stderr=stderr, width=_PLAIN_WIDTH)


def say(text: str) -> None:
    """Write text to standard output; it brings its own ends of lines."""
    sys.stdout.write(make_lines_printable(text))


def complain(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{make_lines_printable(text)}\n")


def say_json(content: Any, *, stderr: bool = False) -> None:
    """Write content as a line of JSON."""
    (sys.stderr if stderr else sys.stdout).write(to_json_line(content))
