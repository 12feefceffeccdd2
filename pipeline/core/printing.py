"""Text from files on its way to a terminal, of which nothing may move the cursor, set colours or turn a line round."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

MARK = "\ufffd"
"""Stands for a letter that is not shown."""
_KEPT = " \n\t"
_ASCII = re.compile(r"[ -~\n\t]*")


def printable(text: str) -> str:
    """Text of one line: what would move a terminal's cursor or change its colours is shown as a mark."""
    return "".join(character if character.isprintable() else MARK for character in text)


def harmless(text: str) -> str:
    """The same of several lines: ends of lines and tabs stay."""
    if _ASCII.fullmatch(text):
        return text
    return "".join(letter if letter.isprintable() or letter in _KEPT else MARK for letter in text)


def counted(number: int, what: str) -> str:
    """Say a number of things: 1 camera, 2 cameras."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def json_line(content: Any) -> str:
    """Content as a line of JSON, with its end, in which such letters are written as JSON allows: the same to a program.

    What is no text, such as the name of a file that is not UTF-8, becomes a mark.
    """
    try:
        text = msgspec.json.encode(content).decode()
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(content), ensure_ascii=False)
        text = plain.encode("utf-8", "replace").decode()
    if not _ASCII.fullmatch(text):
        text = "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)
    return text + "\n"


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
