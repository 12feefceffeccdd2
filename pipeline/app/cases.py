"""Incidents from files, whoever wrote them: facts of other trackers have words that are in no vocabulary of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from pipeline.core import vocabulary
from pipeline.core.decoding import convert, decode_whole, lines
from pipeline.core.errors import ConfigError, DamagedError
from pipeline.core.facts import Facts
from pipeline.core.incident.eventfiles import Head, Rank, Reader, rank

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
    for number, line in enumerate(lines(path), 1):
        if line is not None and not line.strip():
            continue
        try:
            yield number, decode_whole(line or b"")
        except msgspec.DecodeError as error:
            raise DamagedError(
                f"{path}, line {number}: no incident with `facts`, as it is no JSON object ({error})"
            ) from error


class _Past(Head, frozen=True):
    """What is read here of an event, or of a line with `id` and `facts`."""

    type: str = ""
    source: str = ""
    subject: str = ""
    data: Any = None
    facts: Any = None

    @property
    def facts_or_none(self) -> Facts | None:
        """Its facts; None: it is an event of a camera or of the system. Raises msgspec.DecodeError."""
        found = self.data.get("facts") if isinstance(self.data, dict) else self.facts
        return facts(found) if isinstance(found, dict) else None

    def check(self) -> None:
        """Raise msgspec.DecodeError where its facts cannot be read."""
        try:
            _ = self.facts_or_none
        except (msgspec.MsgspecError, TypeError, KeyError) as error:
            raise msgspec.DecodeError(str(error)) from error


def past(reader: Reader, camera: str = "") -> list[tuple[str, Facts]]:
    """Read past incidents: events of the product, of each that with facts that holds; or lines with `id` and `facts`.

    Args:
        reader: Of the file and those put away beside it; lines that cannot be read, it names.
        camera: That is said to have seen them all, as a recording is named after its file; empty: who did.

    Raises:
        ConfigError: There is no incident.
    """
    found: dict[tuple[str, str], tuple[Rank, Facts]] = {}
    for number, (_, event) in enumerate(reader.events(_Past), 1):
        if (facts := event.facts_or_none) is None:
            continue
        key, ranked = (event.source, event.subject or str(event.id or number)), rank(event.type, event)
        if key not in found or ranked >= found[key][0]:
            found[key] = ranked, facts
    if not found:
        said = "".join(f"; {one}" for one in reader.complaints())
        raise ConfigError(f"{reader.path}: holds no incident with `facts`{said}")
    if camera:
        return [(key[1], msgspec.structs.replace(one, camera=camera)) for key, (_, one) in found.items()]
    return [(key[1], one) for key, (_, one) in found.items()]


def _closed(row: dict[str, Any], vocabularies: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: row[name] if row[name] in words else words[0] for name, words in vocabularies.items()}
