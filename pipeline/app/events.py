"""Read selected events, or one for each incident, from a file and the rotated files beside it."""

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
    """Selected events of a file or folder; they can be read once.

    Args:
        path: A file of events, or a folder of them.
        camera: Name of the only camera; empty: all cameras and the device.
        kind: A part of the event types to select; empty: all.
    """

    def __init__(self, path: Path, camera: str = "", kind: str = "") -> None:
        self.path = path
        self._reader = Reader(path)
        self._camera, self._kind = camera, kind

    def each(self) -> Iterator[dict[str, Any]]:
        """Yield the selected events, decoded, in the order of the files.

        Raises:
            ConfigError: There is no file; or, after the last event: no line is an event, or the camera has none.
            OSError: A file cannot be read.
        """
        for line, _ in self._select():
            yield decode_whole(line)

    def incidents(self) -> list[dict[str, Any]]:
        """Read the newest event of each incident, with the time of its start, and all other events.

        Sorted by time; without summaries of replays. Raises the same errors as `each`.
        """
        rows: dict[tuple[str, str, str], _Row] = {}
        for place, (line, event) in enumerate(self._select()):
            if ".replay.summary." in event.type:
                continue
            incident = ".incident." in event.type
            key = event.source, event.subject, "" if incident else str(place)
            rows[key] = _update_row(rows.get(key), line, event)
        found = ({**decode_whole(row.line), "time": decode_whole(row.first)["time"]} for row in rows.values())
        return sorted(found, key=lambda event: (event["time"], event["source"]))

    @property
    def damaged(self) -> bool:
        """Whether some lines so far were no events."""
        return bool(self._reader.damaged)

    def remarks(self) -> list[str]:
        """Return remarks about unreadable, deleted and unwritten events; complete after all events were read."""
        return collect_remarks(self._reader)

    def _select(self) -> Iterator[tuple[bytes, EventLine]]:
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
    """What is kept of an incident: its newest event, and the one with the time of its start."""

    rank: Rank
    line: bytes
    first: bytes
    time: datetime  # of `first`
    started: bool  # whether `first` is a start event


def collect_remarks(reader: Reader) -> list[str]:
    """Return remarks about events that a reader could not read, that were deleted, or that are not written yet."""
    return [*filter(None, (reader.kept_from(), undelivered_remark(reader.path))), *reader.complaints()]


def undelivered_remark(path: Path) -> str:
    """Return a remark about events that wait in the event log beside a file; empty if there are none or unknown."""
    folder = (path if path.is_dir() else path.parent) / entries.FOLDER
    place = cursor.all_of(entries.cursors(folder)).get("jsonl")
    try:
        count = waiting(folder, place.position) if place else 0
    except OSError:
        return ""
    return f"{counted(count, 'event')} not shown: in the event log, waiting for room on the disk" if count else ""


def _update_row(row: _Row | None, line: bytes, event: EventLine) -> _Row:
    started, ranked = ".start." in event.type, rank(event.type, event)
    if row is None:
        return _Row(ranked, line, line, event.time, started)
    if (started, row.started) == (True, False) or (started == row.started and event.time < row.time):
        row = row._replace(first=line, time=event.time, started=started)
    return row._replace(rank=ranked, line=line) if ranked >= row.rank else row
