"""What trigger must not forget across kill -9: open incidents, counts, and every event until each sink has it.

The event log is the journal: an event and what has to be remembered with it are one record, so a kill leaves both or
neither. What is remembered is written whole at the beginning of each segment of the log; the records behind it are
applied to it when the journal is opened.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from pipeline.core.errors import EventLogError
from pipeline.core.incident.incidents import Course
from pipeline.core.vocabulary import CameraId, IncidentId, Nanoseconds
from pipeline.eventlog import cursor, entries, writer
from pipeline.eventlog.segments import Record, RecordKind, size_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.core.messages import EventRaised

_END_BYTES = 12_288  # the most that the end of an incident takes, with its features and pictures
_JUMP = 1_000_000  # records that a cursor may be ahead of a log whose last records a power failure took

Recorded: TypeAlias = tuple[Nanoseconds, Nanoseconds, str]  # see `Logged.recorded`


class Weight(Enum):
    """How much an event is worth where room is short, and the share of the reserve that it must leave free."""

    END = 0.0  # the end of an incident, and what says that something was given up: always taken
    URGENT = 0.05  # starts of alarms and warnings, and warnings of the device
    ROUTINE = 0.25  # other starts and notices
    UPDATE = 0.5  # more about an incident that was told of


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """An incident is open, and this is what is known of it."""

    course: Course


class Closed(msgspec.Struct, frozen=True, tag="closed"):
    """An incident's end was raised."""

    incident: IncidentId


class Numbered(msgspec.Struct, frozen=True, tag="numbered"):
    """How far a count went: incidents of a camera, or events of the device."""

    camera: CameraId
    number: int


class Missed(msgspec.Struct, frozen=True, tag="missed"):
    """A camera is gone, and how; or it is back (`how` is empty)."""

    camera: CameraId
    how: str


Entry: TypeAlias = Opened | Closed | Numbered | Missed


class _Remembered(msgspec.Struct):
    """All that is remembered."""

    courses: dict[IncidentId, Course] = {}
    numbers: dict[CameraId, int] = {}
    missed: dict[CameraId, str] = {}
    sequences: dict[str, int] = {}  # the last of each camera's events; of the device's under the empty name


class FilesContent(NamedTuple):
    """What is in the files of events.

    Attributes:
        sequences: The last of each camera's events; of the device's under the empty name.
        ended: Incidents that have their end there.
    """

    sequences: dict[str, int]
    ended: frozenset[IncidentId]


class Reserve(NamedTuple):
    """How much room the log takes beforehand, and what it may grow to; bytes."""

    reserve_bytes: float
    max_bytes: float

    def sizes(self, folder: Path) -> writer.Sizes:
        """Fit them to the disk. Raises OSError."""
        return writer.sizes(folder, self.reserve_bytes, self.max_bytes)


_encoder = msgspec.msgpack.Encoder()
_entries_decoder: msgspec.msgpack.Decoder[list[Entry]] = msgspec.msgpack.Decoder(list[Entry])
_snapshot_decoder = msgspec.msgpack.Decoder(_Remembered)


class Journal:
    """What is remembered, and the log that it lies in.

    Attributes:
        damaged: Records that could not be read when the journal was opened.
        failing: Why the log does not take records just now; None: it does.
    """

    def __init__(
        self,
        folder: Path,
        reserve: Reserve,
        written: Callable[[], FilesContent] = lambda: FilesContent({}, frozenset()),
    ) -> None:
        """Open the journal in a folder, or begin one.

        Args:
            folder: Of the log; made where it is not there.
            reserve: How much room it takes.
            written: What the files of events say; asked for where the log has lost some of its records.

        Raises:
            EventLogError: The folder cannot be made or read.
        """
        self.damaged = 0
        self.failing: OSError | None = None
        self._remembered = _Remembered()
        self._delivered = 0
        try:
            self._log = writer.LogWriter(folder, reserve.sizes, lambda: _encoder.encode(self._remembered))
            whole = self._recovered()
            places = [place.position for place in cursor.all_of(entries.cursors(folder)).values()]
            ahead = max((one for one in places if one <= self._log.position + _JUMP), default=0)
            if not whole or self.damaged or ahead > self._log.position:
                self._catch_up(written())
            self._log.begin(ahead)
        except OSError as error:
            reason = error.strerror or error
            raise EventLogError(f"{folder}: the event log cannot be kept here: {reason}: choose --state-dir") from error

    @property
    def courses(self) -> dict[IncidentId, Course]:
        """Incidents that are open, as they were told of last."""
        return self._remembered.courses

    @property
    def numbers(self) -> dict[CameraId, int]:
        """How far every count went."""
        return self._remembered.numbers

    @property
    def missed(self) -> dict[CameraId, str]:
        """Cameras that are gone, and how."""
        return self._remembered.missed

    @property
    def put_aside(self) -> list[str]:
        """Names of what lay in the place of the log or its files, and was none."""
        return self._log.put_aside

    @property
    def trouble(self) -> str:
        """What is wrong with the log's disk; empty: nothing."""
        error = self.failing or self._log.short or self._log.unsynced
        return (error.strerror or str(error)) if error else ""

    @property
    def room_bytes(self) -> int:
        """How much the log takes for sure."""
        return self._log.room()

    @property
    def undelivered(self) -> int:
        """Records that a sink has not got, as far as is known in this life."""
        return self._log.position - self._delivered if self._delivered else 0

    def record(
        self, event: EventRaised, recorded: Recorded, weight: Weight, *remembered: Entry, durable: bool = False
    ) -> bool:
        """Give an event its sequence and write it, with what is to be remembered. False: there is no room for it."""
        source = event.camera or ""
        sequence = self._remembered.sequences.get(source, 0) + 1
        payload = entries.encode(
            entries.Logged(event, sequence, recorded, msgspec.Raw(_encoder.encode(list(remembered))))
        )
        if not self._admits(weight, size_of(len(payload))) or not self._write(
            RecordKind.EVENT, payload, durable=durable
        ):
            return False
        self._apply(event.camera or "", sequence, remembered)
        return True

    def remember(self, *remembered: Entry) -> None:
        """Write what is to be remembered without an event; where there is no room it holds for this life only."""
        self._write(RecordKind.STATE, _encoder.encode(list(remembered)), durable=False)
        for entry in remembered:
            self._remember(entry)

    def delivered(self, position: int) -> None:
        """Every sink has what the log holds up to a position."""
        self._delivered = max(self._delivered, position)
        self._log.release(position)

    def refill(self) -> None:
        """Take room for the reserve again where it is short."""
        self._log.replenish()
        if self.failing and self._log.room():
            self.failing = None

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _admits(self, weight: Weight, size: int) -> bool:
        """Whether there is room for an event and, after it, for the ends of all incidents that are open."""
        if weight is Weight.END or not self._log.scarce:
            return True
        kept = (len(self.courses) + 1) * _END_BYTES + float(weight.value) * self._log.reserve_bytes
        return self._log.room() - size >= kept

    def _write(self, kind: RecordKind, payload: bytes, *, durable: bool) -> bool:
        try:
            self._log.append(kind, payload, durable=durable)
        except OSError as error:
            self.failing = error
            return False
        self.failing = None
        return True

    def _recovered(self) -> bool:
        """Read back what is remembered, from the newest snapshot that can be read. False: there is none."""
        later: list[Record] = []
        for records in self._log.recover():
            later = records + later
            if records[0].kind is RecordKind.SNAPSHOT and self._restored(records[0].payload):
                later, found = later[1:], True
                break
        else:
            found = False
            self.damaged += bool(later)
        self.damaged += self._log.damaged
        for record in later:
            self._replay(record)
        return found

    def _catch_up(self, written: FilesContent) -> None:
        """Take over what the files of events have seen and the log has lost: sequences, and ends of incidents."""
        sequences = self._remembered.sequences
        for source, number in written.sequences.items():
            sequences[source] = max(number, sequences.get(source, 0))
        for incident in written.ended & self.courses.keys():
            del self.courses[incident]

    def _restored(self, snapshot: bytes) -> bool:
        try:
            self._remembered = _snapshot_decoder.decode(snapshot)
        except (msgspec.DecodeError, RecursionError):
            self.damaged += 1
            return False
        return True

    def _replay(self, record: Record) -> None:
        try:
            if record.kind is RecordKind.EVENT:
                logged = entries.decode(record.payload)
                self._apply(logged.event.camera or "", logged.sequence, _entries_decoder.decode(logged.entries))
            elif record.kind is RecordKind.STATE:
                for entry in _entries_decoder.decode(record.payload):
                    self._remember(entry)
        except (msgspec.DecodeError, RecursionError):
            self.damaged += 1

    def _apply(self, source: str, sequence: int, remembered: list[Entry] | tuple[Entry, ...]) -> None:
        self._remembered.sequences[source] = sequence
        for entry in remembered:
            self._remember(entry)

    def _remember(self, entry: Entry) -> None:
        match entry:
            case Opened(course):
                self.courses[course.id] = course
            case Closed(incident):
                self.courses.pop(incident, None)
            case Numbered(camera, number):
                self.numbers[camera] = number
            case Missed(camera, how):
                self.missed.pop(camera, None)
                if how:
                    self.missed[camera] = how
