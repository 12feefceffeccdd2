"""The table of the kinds of camera sources; `stages/sources/opening.py` opens each kind."""

from __future__ import annotations

from typing import Literal, NamedTuple


class SourceKind(NamedTuple):
    """A row of the table.

    Attributes:
        name: Name of the kind.
        begins: Beginnings of its addresses, in lower case; a path with another beginning is a file.
        live: Whether pictures come in real time, rather than on request.
        shown: Which part of an address may be shown: only its host, as the rest may hold a password; the path without
            user and password; or all of it.
        written: An example for people.
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
"""Kinds by the scheme before the colon."""

LOCAL = tuple(begin for kind in TABLE if kind.shown != "host" for begin in kind.begins)
"""Beginnings of addresses that hold no password."""

HOW = ", ".join(kind.written for kind in TABLE[:-1]) + f" or {TABLE[-1].written}"
"""How to write a source, for people."""

_FILE = next(kind for kind in TABLE if kind.name == "file")


def find_kind(source: str) -> SourceKind | None:
    """Return the kind of a source; None for an address of an unknown kind."""
    small = source.lower()
    found = next((kind for kind in TABLE if small.startswith(kind.begins)), None)
    return found or (None if "://" in source else _FILE)


def lower_scheme(source: str) -> str:
    """Return a source with its scheme in lower case; a path unchanged."""
    scheme, separator, rest = source.partition("://")
    if separator:
        return f"{scheme.lower()}{separator}{rest}"
    begins = (begin for kind in TABLE for begin in kind.begins if begin.endswith(":"))
    begin = next((begin for begin in begins if source.lower().startswith(begin)), "")
    return begin + source[len(begin) :]
