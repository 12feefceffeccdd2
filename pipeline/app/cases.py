"""Read incidents from files of this program or of other trackers, which may use words that are not ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from pipeline.core import vocabulary
from pipeline.core.decoding import convert, decode_whole, read_lines
from pipeline.core.errors import ConfigError, DamagedError
from pipeline.core.facts import Facts
from pipeline.core.incident.eventfiles import Head, Rank, Reader, rank

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")
_VOCABULARIES = {"light": get_args(vocabulary.Light)}
_TRACK_VOCABULARIES = {"direction": get_args(vocabulary.Direction), "speed": get_args(vocabulary.Speed)}


def parse_facts(row: dict[str, Any]) -> Facts:
    """Turn a JSON table into facts; an unknown value becomes the first of its vocabulary.

    Raises:
        msgspec.ValidationError, KeyError, TypeError: It is not the table of an incident.
    """
    closed = _known_values(row, _VOCABULARIES) | {
        "track": row["track"] | _known_values(row["track"], _TRACK_VOCABULARIES)
    }
    found = convert(row | closed, Facts)
    if found.local_time and not _CLOCK.fullmatch(found.local_time):
        raise msgspec.ValidationError(f"local_time is {found.local_time!r:.40}, write HH:MM")
    return found


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, with their line numbers from 1.

    Raises:
        DamagedError: A line is no JSON object.
    """
    for number, line in enumerate(read_lines(path), 1):
        if line is not None and not line.strip():
            continue
        try:
            yield number, decode_whole(line or b"")
        except msgspec.DecodeError as error:
            raise DamagedError(
                f"{path}, line {number}: no incident with `facts`, as it is no JSON object ({error})"
            ) from error


class _PastEvent(Head, frozen=True):
    """The needed part of an event, or of a line with `id` and `facts`."""

    type: str = ""
    source: str = ""
    subject: str = ""
    data: Any = None
    facts: Any = None

    @property
    def facts_or_none(self) -> Facts | None:
        """Its facts; None for an event of a camera or of the system.

        Raises:
            msgspec.ValidationError, KeyError, TypeError: The facts cannot be read.
        """
        found = self.data.get("facts") if isinstance(self.data, dict) else self.facts
        return parse_facts(found) if isinstance(found, dict) else None

    def check(self) -> None:
        """Raise msgspec.DecodeError if the facts cannot be read."""
        try:
            _ = self.facts_or_none
        except (msgspec.MsgspecError, TypeError, KeyError) as error:
            raise msgspec.DecodeError(str(error)) from error


def read_past_incidents(reader: Reader, camera: str = "") -> list[tuple[str, Facts]]:
    """Read the ids and newest facts of all incidents from events, or from lines with `id` and `facts`.

    Args:
        reader: Reads the file and the rotated files beside it, and reports unreadable lines.
        camera: Name to use for the camera of all incidents, as recordings are named after files; empty: unchanged.

    Raises:
        ConfigError: There is no incident.
    """
    found: dict[tuple[str, str], tuple[Rank, Facts]] = {}
    for number, (_, event) in enumerate(reader.events(_PastEvent), 1):
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


def _known_values(row: dict[str, Any], vocabularies: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: row[name] if row[name] in words else words[0] for name, words in vocabularies.items()}
