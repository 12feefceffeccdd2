"""Incidents from files, whoever wrote them: facts of other trackers have words that are in no vocabulary of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from pipeline.core import vocabulary
from pipeline.core.decoding import Damage, convert, decode_whole, lines
from pipeline.core.errors import ConfigError, DamagedError
from pipeline.core.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")
_CLOSED = {"light": get_args(vocabulary.Light)}
_CLOSED_OF_TRACK = {"direction": get_args(vocabulary.Direction), "speed": get_args(vocabulary.Speed)}


def facts(row: dict[str, Any]) -> Facts:
    """Turn a table into facts; a value that is in no vocabulary of ours becomes the first one of it.

    Raises:
        msgspec.ValidationError: It is not the table of an incident.
        KeyError, TypeError: The same.
    """
    closed = _closed(row, _CLOSED) | {"track": row["track"] | _closed(row["track"], _CLOSED_OF_TRACK)}
    found = convert(row | closed, Facts)
    if found.local_time and not _CLOCK.fullmatch(found.local_time):
        raise msgspec.ValidationError(f"local_time is {found.local_time!r:.40}, write HH:MM")
    return found


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read JSON lines with their numbers.

    Raises:
        DamagedError: A line is no JSON object.
    """
    for number, row in _rows(path):
        if isinstance(row, str):
            raise DamagedError(f"{path}, line {number}: no incident with `facts`, as it is no JSON object ({row})")
        yield number, row


def past(path: Path, camera: str = "", bad: Damage | None = None) -> list[tuple[str, Facts]]:
    """Read past incidents: events of the product, the last event of each with facts; or lines with `id` and `facts`.

    Args:
        path: The file.
        camera: That is said to have seen them all, as a recording is named after its file; empty: who did.
        bad: Gets the numbers of the lines that cannot be read; None: the first of them is an error.

    Raises:
        ConfigError: There is no incident in it.
        DamagedError: A line cannot be read, and nobody counts them.
    """
    found: dict[str, Facts] = {}
    damage = Damage() if bad is None else bad
    for number, row in _rows(path):
        if isinstance(row, str):
            damage.add(number)
        elif (told := _told(row)) is not None:  # else an event of cameras or of the system
            try:
                found[str(row.get("subject") or row.get("id") or number)] = facts(told)
            except (msgspec.MsgspecError, TypeError, KeyError):
                damage.add(number)
    if not found:
        raise ConfigError(f"{path}: holds no incident with `facts`" + (f"; {damage.told(path)}" if damage else ""))
    if damage and bad is None:
        raise DamagedError(damage.told(path))
    if camera:
        return [(name, msgspec.structs.replace(one, camera=camera)) for name, one in found.items()]
    return list(found.items())


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Lines that are not blank, with their numbers; why one cannot be read, in its place."""
    for number, line in enumerate(lines(path), 1):
        if line is not None and not line.strip():
            continue
        try:
            yield number, decode_whole(line or b"")
        except msgspec.DecodeError as error:
            yield number, str(error)


def _told(row: dict[str, Any]) -> dict[str, Any] | None:
    """The facts in a line; None: there are none."""
    data = row.get("data")
    told = data.get("facts") if isinstance(data, dict) else row.get("facts")
    return told if isinstance(told, dict) else None


def _closed(row: dict[str, Any], vocabularies: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: row[name] if row[name] in words else words[0] for name, words in vocabularies.items()}
