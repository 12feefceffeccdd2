"""Make text of files safe for a terminal: no control characters that move the cursor or set colours."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

MARK = "\ufffd"
"""Replaces a character that must not be printed."""
_KEPT = " \n\t"
_ASCII = re.compile(r"[ -~\n\t]*")


def make_printable(text: str) -> str:
    """Replace all unprintable characters, line ends too, by `MARK`."""
    return "".join(character if character.isprintable() else MARK for character in text)


def make_lines_printable(text: str) -> str:
    """Replace unprintable characters by `MARK`, except line ends and tabs."""
    if _ASCII.fullmatch(text):
        return text
    return "".join(letter if letter.isprintable() or letter in _KEPT else MARK for letter in text)


def counted(number: int, what: str) -> str:
    """Return a number with its noun: 1 camera, 2 cameras."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def to_json_line(content: Any) -> str:
    """Encode content as a line of JSON, with its line end; unprintable characters are escaped.

    Invalid text, such as a file name that is not UTF-8, becomes a question mark.
    """
    try:
        text = msgspec.json.encode(content).decode()
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(content), ensure_ascii=False)
        text = plain.encode("utf-8", "replace").decode()
    if not _ASCII.fullmatch(text):
        text = "".join(letter if letter.isprintable() else _escape(letter) for letter in text)
    return text + "\n"


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
