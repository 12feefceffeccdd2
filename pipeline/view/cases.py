"""Incidents from files, whoever wrote them: facts of other trackers have words that are in no vocabulary of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from pipeline.core import vocabulary
from pipeline.core.decoding import decode
from pipeline.core.errors import ConfigError
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
    found = msgspec.convert(row | closed, Facts)
    if found.local_time and not _CLOCK.fullmatch(found.local_time):
        raise msgspec.ValidationError(f"local_time is {found.local_time!r:.40}, write HH:MM")
    return found


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read JSON lines with their numbers.

    Raises:
        ConfigError: A line is no JSON object.
    """
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, decode(line, dict[str, Any])
        except msgspec.MsgspecError as error:
            raise ConfigError(
                f"{path}, line {number}: no incident with `facts`, as it is no JSON object ({error})"
            ) from error


def past(path: Path, camera: str = "") -> list[tuple[str, Facts]]:
    """Read past incidents: events of the product, the last event of each with facts; or lines with `id` and `facts`.

    Args:
        path: The file.
        camera: That is said to have seen them all, as a recording is named after its file; empty: who did.

    Raises:
        ConfigError: There is no incident in it, or one with facts that cannot be read.
    """
    found: dict[str, Facts] = {}
    for number, row in rows(path):
        data = row.get("data")
        told = data.get("facts") if isinstance(data, dict) else row.get("facts")
        if not isinstance(told, dict):
            continue  # events of cameras and of the system
        try:
            found[str(row.get("subject") or row.get("id") or number)] = facts(told)
        except (msgspec.MsgspecError, TypeError, KeyError) as error:
            raise ConfigError(f"{path}, line {number}: no incident with `facts` ({error})") from error
    if not found:
        raise ConfigError(f"{path}: holds no incident with `facts`")
    if camera:
        return [(name, msgspec.structs.replace(one, camera=camera)) for name, one in found.items()]
    return list(found.items())


def _closed(row: dict[str, Any], vocabularies: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: row[name] if row[name] in words else words[0] for name, words in vocabularies.items()}
