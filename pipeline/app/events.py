"""Events of a file and of those put away beside it: chosen ones, or one for each incident."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.core.decoding import decode_whole
from pipeline.core.errors import ConfigError
from pipeline.core.incident.eventfiles import Rank, Reader, rank
from pipeline.core.incident.eventlines import EventLine
from pipeline.core.printing import counted
from pipeline.eventlog import cursor, entries
from pipeline.eventlog.reader import waiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path


class Events:
    """The chosen events; they are read as they are asked for, once.

    Args:
        path: A file of events, or a folder of them.
        camera: The only camera; empty: all, and the device.
        kind: A part of the types that are wanted; empty: all.
    """

    def __init__(self, path: Path, camera: str = "", kind: str = "") -> None:
        self.path = path
        self._reader = Reader(path)
        self._camera, self._kind = camera, kind

    def each(self) -> Iterator[dict[str, Any]]:
        """Yield the chosen events as they stand in the files.

        Raises:
            ConfigError: There is no file; when all are read: no line is an event, or the camera has none.
            OSError: A file cannot be read.
        """
        for line, _ in self._chosen():
            yield decode_whole(line)

    def incidents(self) -> list[dict[str, Any]]:
        """Read one event for each incident: the one that holds, with the time of its start; others as they are.

        Sorted by time. A summary of a replay is left out. Raises what `each` does.
        """
        rows: dict[tuple[str, str, str], _Row] = {}
        for place, (line, event) in enumerate(self._chosen()):
            if ".replay.summary." in event.type:
                continue
            incident = ".incident." in event.type
            key = event.source, event.subject, "" if incident else str(place)
            rows[key] = _later(rows.get(key), line, event)
        found = ({**decode_whole(row.line), "time": decode_whole(row.first)["time"]} for row in rows.values())
        return sorted(found, key=lambda event: (event["time"], event["source"]))

    @property
    def damaged(self) -> bool:
        """Whether lines that were read are no events."""
        return bool(self._reader.damaged)

    def remarks(self) -> list[str]:
        """Say what could not be read, what is not kept, and what is not in the files yet; once all is read."""
        return remarks(self._reader)

    def _chosen(self) -> Iterator[tuple[bytes, EventLine]]:
        known = set[str]()  # every camera, and `-` for the device
        for line, event in self._reader.events(EventLine):
            known.add(event.camera or "-")
            if self._kind in event.type and self._camera in ("", event.camera):
                yield line, event
        if self._reader.damaged and not known:
            raise self._reader.nothing()
        if self._camera and self._camera not in known:
            there = ", ".join(sorted(known - {"-"})) or "none"
            raise ConfigError(f"no camera `{self._camera}`; there are: {there}")


class _Row(NamedTuple):
    """What is kept of an incident: the event that holds, and the one that tells when it began."""

    rank: Rank
    line: bytes
    first: bytes
    time: datetime  # of that
    started: bool  # whether that is a start


def remarks(reader: Reader) -> list[str]:
    """Say what a reader could not read, what is not kept, and what is not in its files yet."""
    return [*filter(None, (reader.kept_from(), undelivered(reader.path))), *reader.complaints()]


def undelivered(path: Path) -> str:
    """Say how many events are in the event log beside a file and not in it; empty: none, or nobody can tell."""
    folder = (path if path.is_dir() else path.parent) / entries.FOLDER
    place = cursor.all_of(entries.cursors(folder)).get("jsonl")
    try:
        count = waiting(folder, place.position) if place else 0
    except OSError:
        return ""
    return f"{counted(count, 'event')} not shown: in the event log, waiting for room on the disk" if count else ""


def _later(row: _Row | None, line: bytes, event: EventLine) -> _Row:
    started, ranked = ".start." in event.type, rank(event.type, event)
    if row is None:
        return _Row(ranked, line, line, event.time, started)
    if (started, row.started) == (True, False) or (started == row.started and event.time < row.time):
        row = row._replace(first=line, time=event.time, started=started)
    return row._replace(rank=ranked, line=line) if ranked >= row.rank else row
