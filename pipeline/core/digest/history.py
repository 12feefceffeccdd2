"""Read the events of a file once, and keep what a digest needs of incidents, cameras and the device."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.digest import periods
from pipeline.core.incident.eventfiles import Rank, order, rank
from pipeline.core.incident.eventlines import EventLine, FactsLine, VerdictLine

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

UNJUDGED = "not judged"
"""The action of an incident without a verdict."""
_MAX_WEEKDAYS = timedelta(days=6)  # in a longer period one weekday may be two days
_NEVER = datetime.max.replace(tzinfo=UTC)


class Incident(NamedTuple):
    """An incident as its newest event describes it.

    Attributes:
        id: Its id in events.
        camera: The camera's name.
        zone: The name of the zone, else of the camera.
        thing: The detector's class, or `none`.
        max_count: The most things at one moment.
        dwell_s: Its duration in seconds.
        began_utc: The time of its first event in UTC; None if no clock was set.
        last_utc: The time of its newest event in UTC; None if no clock was set.
        utc_offset: The site's local time minus UTC; None if unknown.
        ended: Whether it has ended.
        situation: The verdict's situation; empty without a verdict.
        severity: The verdict's severity; empty without a verdict.
        action: The verdict's action; `UNJUDGED` without a verdict.
        note: The id of the note that decided; empty if the rules decided.
        note_text: The text of this note.
        status: The status of its analysis.
        suspected: Whether text in the scene looks like instructions to a machine.
    """

    id: str
    camera: str
    zone: str
    thing: str
    max_count: int
    dwell_s: int
    began_utc: datetime | None
    last_utc: datetime | None
    utc_offset: timedelta | None
    ended: bool
    situation: str
    severity: str
    action: str
    note: str
    note_text: str
    status: str
    suspected: bool = False


class _IncidentRecord(NamedTuple):
    """What is kept of an incident while its events are read.

    Attributes:
        event: The newest event, by rank.
        rank: Its rank.
        facts: The newest facts, with the rank of their event.
        verdict: The newest verdict, with the rank of its event.
        began_utc: The earliest time of an event in UTC; None if no clock was set.
        last_utc: The latest time of an event in UTC; None if no clock was set.
        utc_offset: Local time minus UTC in the first event that has a local time, with the sequence of that event.
        suspected: Whether text in the scene looks like instructions to a machine.
    """

    event: EventLine
    rank: Rank
    facts: tuple[Rank, FactsLine] | None = None
    verdict: tuple[Rank, VerdictLine] | None = None
    began_utc: datetime | None = None
    last_utc: datetime | None = None
    utc_offset: tuple[int, timedelta] | None = None
    suspected: bool = False


class History(NamedTuple):
    """What is kept of all events.

    Attributes:
        records: Records of incidents, by source and subject.
        device_events: Events of cameras and of the device.
        increases: Increases of counts of dropped messages: time (None if unknown), stage, number of messages.
        last_utc: The latest time of an event in UTC; None if no clock was set.
        utc_offset: Local time minus UTC in the last event that has a local time; None if none has.
        from_recordings: Whether some events are of recordings.
    """

    records: dict[tuple[str, str], _IncidentRecord]
    device_events: list[EventLine]
    increases: list[tuple[datetime | None, str, int]]
    last_utc: datetime | None
    utc_offset: timedelta | None
    from_recordings: bool

    @property
    def empty(self) -> bool:
        """Whether no event was read."""
        return not (self.records or self.device_events)

    @property
    def zone(self) -> tzinfo:
        """The site's time zone; UTC if no event has a local time."""
        return timezone(self.utc_offset) if self.utc_offset else UTC

    @property
    def cameras(self) -> frozenset[str]:
        """Names of all cameras in the events."""
        lines = (*self.device_events, *(record.event for record in self.records.values()))
        return frozenset(line.camera for line in lines if line.camera)

    def of(self, camera: str) -> History:
        """Return the history of one camera and of the device."""
        records = {key: one for key, one in self.records.items() if one.event.camera == camera}
        return self._replace(
            records=records, device_events=[line for line in self.device_events if line.camera in ("", camera)]
        )


class Period(NamedTuple):
    """The incidents and events of a period.

    Attributes:
        since: The first moment of the period, in UTC.
        until: The last moment, in UTC.
        incidents: Its incidents, sorted by when they began.
        unplaced: Incidents without a time, as no clock was set.
        lines: Events of cameras and of the device in the period or without a time.
        drops: Number of messages dropped in the period, by stage.
        missing: Cameras that were lost and not found again before its end.
    """

    since: datetime
    until: datetime
    incidents: tuple[Incident, ...]
    unplaced: tuple[Incident, ...]
    lines: tuple[EventLine, ...]
    drops: dict[str, int]
    missing: frozenset[str]

    @property
    def dated(self) -> bool:
        """Whether sentences need dates, as weekdays would be ambiguous."""
        return self.until - self.since > _MAX_WEEKDAYS


def read_history(lines: Iterable[EventLine]) -> History:
    """Read events in the order of their files, and keep what a digest needs.

    For each incident the end, else the event with the highest sequence, is kept, so late and repeated lines change
    nothing.
    """
    records: dict[tuple[str, str], _IncidentRecord] = {}
    device_events: list[EventLine] = []
    drops = _DropCounts({}, {}, [])
    last: datetime | None = None
    utc_offset: timedelta | None = None
    from_recordings = False
    for line in lines:
        if line.what.startswith("incident."):
            key = line.source, line.subject
            records[key] = _add_event(records.get(key), line)
        else:
            device_events.append(line)
        drops.add(line)
        from_recordings = from_recordings or line.data.clock == "media"
        utc_offset = _utc_offset(line) or utc_offset
        if line.placed:
            at = line.utc
            last = at if last is None else max(at, last)
    return History(records, device_events, drops.increases, last, utc_offset, from_recordings)


def list_incidents(found: History) -> list[Incident]:
    """Return every incident once, as its newest event describes it, sorted by when it began."""
    made = [_make_incident(record) for record in found.records.values()]
    return sorted(made, key=lambda one: (one.began_utc or _NEVER, one.camera, one.id))


def select_period(found: History, since: datetime, until: datetime) -> Period:
    """Return the incidents that overlap a period, and the events of cameras and the device in it."""
    every = list_incidents(found)
    drops: Counter[str] = Counter()
    for at, stage, count in found.increases:
        if at is None or since <= at <= until:
            drops[stage] += count
    return Period(
        since=since,
        until=until,
        incidents=tuple(
            one for one in every if one.began_utc and one.last_utc and one.began_utc <= until and one.last_utc >= since
        ),
        unplaced=tuple(one for one in every if one.began_utc is None),
        lines=tuple(line for line in found.device_events if not line.placed or since <= line.time <= until),
        drops={stage: count for stage, count in sorted(drops.items()) if count},
        missing=_find_missing_cameras(found.device_events, until),
    )


def _utc_offset(line: EventLine) -> timedelta | None:
    facts = line.data.facts
    if facts is None or not line.placed:
        return None
    return periods.utc_offset(line.utc, facts.local_time, facts.weekday)


def _add_event(record: _IncidentRecord | None, line: EventLine) -> _IncidentRecord:
    """Add an event to the record of its incident; facts and verdict stay if the event has none."""
    ranked = rank(line.what, line)
    if record is None:
        record = _IncidentRecord(line, ranked)
    elif ranked >= record.rank:
        record = record._replace(event=line, rank=ranked)
    data = line.data
    if data.facts is not None and (record.facts is None or ranked >= record.facts[0]):
        record = record._replace(facts=(ranked, data.facts))
    if data.analysis.fields.action and (record.verdict is None or ranked >= record.verdict[0]):
        record = record._replace(verdict=(ranked, data.analysis.fields))
    utc_offset = _utc_offset(line)
    if utc_offset is not None and (record.utc_offset is None or order(line) < record.utc_offset[0]):
        record = record._replace(utc_offset=(order(line), utc_offset))
    at = line.utc if line.placed else None
    return record._replace(
        began_utc=min(filter(None, (record.began_utc, at)), default=None),
        last_utc=max(filter(None, (record.last_utc, at)), default=None),
        suspected=record.suspected or "injection_suspected" in data.analysis.flags,
    )


def _make_incident(record: _IncidentRecord) -> Incident:
    event = record.event
    facts = record.facts[1] if record.facts else FactsLine()
    verdict = record.verdict[1] if record.verdict else VerdictLine()
    noted = verdict.because == "note"
    return Incident(
        id=event.subject,
        camera=event.camera or facts.camera,
        zone=facts.zone or event.camera or facts.camera,
        thing=facts.object.class_,
        max_count=facts.object.count,
        dwell_s=round(facts.track.dwell_s),
        began_utc=record.began_utc,
        last_utc=record.last_utc,
        utc_offset=record.utc_offset[1] if record.utc_offset else None,
        ended=record.rank.end,
        situation=verdict.situation,
        severity=verdict.severity,
        action=verdict.action or UNJUDGED,
        note=verdict.note if noted else "",
        note_text=verdict.note_text if noted else "",
        status=event.data.analysis.status,
        suspected=record.suspected,
    )


class _DropCounts(NamedTuple):
    """Counts of dropped messages, by stage; a count that shrinks was restarted with its process.

    Attributes:
        before: The counts of the last event, by stage.
        sequences: The highest sequence so far, by source; late events are skipped, as their counts are old.
        increases: Increases: time (None if unknown), stage, number of messages.
    """

    before: dict[str, int]
    sequences: dict[str, int]
    increases: list[tuple[datetime | None, str, int]]

    def add(self, line: EventLine) -> None:
        """Add the counts of an event."""
        if order(line) < self.sequences.get(line.source, -1):
            return
        self.sequences[line.source] = order(line)
        at = line.utc if line.placed else None
        for stage, count in line.data.drops.items():
            was = self.before.get(stage, 0)
            if count != was:
                self.increases.append((at, stage, count - was if count >= was else count))
            self.before[stage] = count


def _find_missing_cameras(lines: Iterable[EventLine], until: datetime) -> frozenset[str]:
    """Return the cameras whose newest event until a moment is `camera.lost`."""
    state: dict[str, EventLine] = {}
    for line in lines:
        counts = line.what in ("camera.lost", "camera.found") and (not line.placed or line.time <= until)
        if counts and (line.camera not in state or order(line) >= order(state[line.camera])):
            state[line.camera] = line
    return frozenset(camera for camera, line in state.items() if line.what == "camera.lost")
