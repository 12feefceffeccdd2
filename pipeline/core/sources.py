"""The kinds of sources that a camera's pictures may come from: one table. `stages/sources/opening.py` opens each."""

from __future__ import annotations

from typing import Literal, NamedTuple


class SourceKind(NamedTuple):
    """A row of the table.

    Attributes:
        name: Of the kind.
        begins: How its addresses begin, in small letters; a path that begins like none is a file.
        live: Whether pictures come when they come, rather than when they are asked for.
        shown: What of an address may be told: its host alone, as the rest may hold a password; a path without what
            stands before a host; or all of it.
        written: How to write one, for people.
    """

    name: str
    begins: tuple[str, ...]
    live: bool
    shown: Literal["host", "path", "whole"]
    written: str


# fmt: off
TABLE = (
    #          name         begins                   live   shown    written
    SourceKind("rtsp",      ("rtsp://", "rtsps://"), True,  "host",  "rtsp://"),
    SourceKind("http",      ("http://", "https://"), True,  "host",  "http://"),
    SourceKind("v4l2",      ("v4l2:", "/dev/video"), True,  "path",  "/dev/video0"),
    SourceKind("file",      ("file://",),            False, "path",  "a file"),
    SourceKind("synthetic", ("synthetic:",),         False, "whole", "synthetic://"),
)
# fmt: on

SCHEMES = {begin.partition(":")[0]: kind for kind in TABLE for begin in kind.begins if ":" in begin}
"""The kind by the word before the colon."""

LOCAL = tuple(begin for kind in TABLE if kind.shown != "host" for begin in kind.begins)
"""How addresses begin that hold no password."""

HOW = ", ".join(kind.written for kind in TABLE[:-1]) + f" or {TABLE[-1].written}"
"""How to write a source, for people."""

_FILE = next(kind for kind in TABLE if kind.name == "file")


def kind_of(source: str) -> SourceKind | None:
    """Return the kind of a source; None: it is an address of a kind that there is not."""
    small = source.lower()
    found = next((kind for kind in TABLE if small.startswith(kind.begins)), None)
    return found or (None if "://" in source else _FILE)


def spelt(source: str) -> str:
    """Return a source with what stands before its colon in small letters; a path as it is."""
    scheme, separator, rest = source.partition("://")
    if separator:
        return f"{scheme.lower()}{separator}{rest}"
    begins = (begin for kind in TABLE for begin in kind.begins if begin.endswith(":"))
    begin = next((begin for begin in begins if source.lower().startswith(begin)), "")
    return begin + source[len(begin) :]
