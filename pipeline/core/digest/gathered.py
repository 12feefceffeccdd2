"""Events of a period, read once: what is kept of each incident, of cameras and of the device."""

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
"""Stands for an action where no verdict was made."""
_WEEKDAYS_FIT = timedelta(days=6)  # in a longer period a weekday names two days
_NEVER = datetime.max.replace(tzinfo=UTC)


class Incident(NamedTuple):
    """An incident as its last event tells it.

    Attributes:
        id: As events name it.
        camera: The same.
        zone: What people call where it was.
        thing: The detector's class, or `none`.
        seen: The most at one moment.
        dwell_s: How long it lasted.
        began: In UTC; None: no clock was set while it lasted.
        last: When it was last told of, in UTC; None: the same.
        ahead: The site's clock over UTC; None: unknown.
        over: Whether it has ended.
        situation: Of the verdict; empty: none was made.
        severity: The same.
        action: The same, `UNJUDGED` for none.
        note: Which note decided; empty: the rules did.
        note_text: What it says.
        status: Of its sentence.
        suspected: Whether text in the scene seems to talk to machines.
    """

    id: str
    camera: str
    zone: str
    thing: str
    seen: int
    dwell_s: int
    began: datetime | None
    last: datetime | None
    ahead: timedelta | None
    over: bool
    situation: str
    severity: str
    action: str
    note: str
    note_text: str
    status: str
    suspected: bool = False


class _Course(NamedTuple):
    """What is kept of an incident while its events are read.

    Attributes:
        last: The event that holds.
        rank: Its rank.
        facts: The facts that hold, by the rank of the event that has them.
        fields: The verdict that holds; the same.
        began: When it was first told of, in UTC; None: no clock was set.
        newest: When it was last told of; the same.
        ahead: The site's clock over UTC at its first event that tells it, by the sequence of that.
        suspected: Whether text in the scene seems to talk to machines.
    """

    last: EventLine
    rank: Rank
    facts: tuple[Rank, FactsLine] | None = None
    fields: tuple[Rank, VerdictLine] | None = None
    began: datetime | None = None
    newest: datetime | None = None
    ahead: tuple[int, timedelta] | None = None
    suspected: bool = False


class Gathered(NamedTuple):
    """What is kept of all events that were read: little of each.

    Attributes:
        courses: Of incidents, by source and subject.
        device_lines: What cameras and the device said.
        grown: By how much which count of drops grew, and when; None: at no known time.
        last: When the last event was that a clock places in time, in UTC.
        ahead: The site's clock over UTC, as the last event tells it that tells a local time.
        recorded: Whether there are events of recordings.
    """

    courses: dict[tuple[str, str], _Course]
    device_lines: list[EventLine]
    grown: list[tuple[datetime | None, str, int]]
    last: datetime | None
    ahead: timedelta | None
    recorded: bool

    @property
    def empty(self) -> bool:
        """Whether there was no event."""
        return not (self.courses or self.device_lines)

    @property
    def zone(self) -> tzinfo:
        """The site's clock; UTC where no event tells it."""
        return timezone(self.ahead) if self.ahead else UTC

    @property
    def cameras(self) -> frozenset[str]:
        """All that are spoken of."""
        lines = (*self.device_lines, *(course.last for course in self.courses.values()))
        return frozenset(line.camera for line in lines if line.camera)

    def of(self, camera: str) -> Gathered:
        """What is about one camera, and what the device said."""
        courses = {key: one for key, one in self.courses.items() if one.last.camera == camera}
        return self._replace(
            courses=courses, device_lines=[line for line in self.device_lines if line.camera in ("", camera)]
        )


class Period(NamedTuple):
    """What lies in a period.

    Attributes:
        since: Its first moment, in UTC.
        until: Its last.
        incidents: By when they began.
        unplaced: Incidents that no clock places in time.
        lines: What cameras and the device said, of this period or of no known time.
        drops: Messages dropped in it, by stage.
        missing: Cameras that were lost and not found again by its end.
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
        """Whether weekdays would be ambiguous in it."""
        return self.until - self.since > _WEEKDAYS_FIT


def gather(lines: Iterable[EventLine]) -> Gathered:
    """Read events once, in the order of their files, and keep what a digest may need of them.

    Of an incident the event with the highest sequence holds, and its end before all others: a line that comes late or
    twice never brings back what was so before.
    """
    courses: dict[tuple[str, str], _Course] = {}
    device_lines: list[EventLine] = []
    drops = _Drops({}, {}, [])
    last: datetime | None = None
    ahead: timedelta | None = None
    recorded = False
    for line in lines:
        if line.what.startswith("incident."):
            key = line.source, line.subject
            courses[key] = _with(courses.get(key), line)
        else:
            device_lines.append(line)
        drops.add(line)
        recorded = recorded or line.data.clock == "media"
        ahead = _ahead(line) or ahead
        if line.placed:
            at = line.utc
            last = at if last is None else max(at, last)
    return Gathered(courses, device_lines, drops.grown, last, ahead, recorded)


def incidents(found: Gathered) -> list[Incident]:
    """Return every incident once, as the event tells it that holds, by when it began."""
    made = [_incident(course) for course in found.courses.values()]
    return sorted(made, key=lambda one: (one.began or _NEVER, one.camera, one.id))


def within(found: Gathered, since: datetime, until: datetime) -> Period:
    """Return what lies in a period: incidents that lasted into it, and what cameras and the device said in it."""
    every = incidents(found)
    drops: Counter[str] = Counter()
    for at, stage, count in found.grown:
        if at is None or since <= at <= until:
            drops[stage] += count
    return Period(
        since=since,
        until=until,
        incidents=tuple(one for one in every if one.began and one.last and one.began <= until and one.last >= since),
        unplaced=tuple(one for one in every if one.began is None),
        lines=tuple(line for line in found.device_lines if not line.placed or since <= line.time <= until),
        drops={stage: count for stage, count in sorted(drops.items()) if count},
        missing=_missing(found.device_lines, until),
    )


def _ahead(line: EventLine) -> timedelta | None:
    facts = line.data.facts
    if facts is None or not line.placed:
        return None
    return periods.offset(line.utc, facts.local_time, facts.weekday)


def _with(course: _Course | None, line: EventLine) -> _Course:
    """Add an event to what is kept of its incident; a verdict that it lacks is the last there was."""
    ranked = rank(line.what, line)
    if course is None:
        course = _Course(line, ranked)
    elif ranked >= course.rank:
        course = course._replace(last=line, rank=ranked)
    data = line.data
    if data.facts is not None and (course.facts is None or ranked >= course.facts[0]):
        course = course._replace(facts=(ranked, data.facts))
    if data.analysis.fields.action and (course.fields is None or ranked >= course.fields[0]):
        course = course._replace(fields=(ranked, data.analysis.fields))
    ahead = _ahead(line)
    if ahead is not None and (course.ahead is None or order(line) < course.ahead[0]):
        course = course._replace(ahead=(order(line), ahead))
    at = line.utc if line.placed else None
    return course._replace(
        began=min(filter(None, (course.began, at)), default=None),
        newest=max(filter(None, (course.newest, at)), default=None),
        suspected=course.suspected or "injection_suspected" in data.analysis.flags,
    )


def _incident(course: _Course) -> Incident:
    last = course.last
    facts = course.facts[1] if course.facts else FactsLine()
    fields = course.fields[1] if course.fields else VerdictLine()
    noted = fields.because == "note"
    return Incident(
        id=last.subject,
        camera=last.camera or facts.camera,
        zone=facts.zone or last.camera or facts.camera,
        thing=facts.object.class_,
        seen=facts.object.count,
        dwell_s=round(facts.track.dwell_s),
        began=course.began,
        last=course.newest,
        ahead=course.ahead[1] if course.ahead else None,
        over=course.rank.end,
        situation=fields.situation,
        severity=fields.severity,
        action=fields.action or UNJUDGED,
        note=fields.note if noted else "",
        note_text=fields.note_text if noted else "",
        status=last.data.analysis.status,
        suspected=course.suspected,
    )


class _Drops(NamedTuple):
    """Counts of dropped messages, by stage; one that is smaller than before began anew with its process.

    Attributes:
        before: The counts of the last event.
        newest: By source, the highest sequence seen: an event that comes late tells an old count.
        grown: When which count grew by how much.
    """

    before: dict[str, int]
    newest: dict[str, int]
    grown: list[tuple[datetime | None, str, int]]

    def add(self, line: EventLine) -> None:
        """Take the counts of an event."""
        if order(line) < self.newest.get(line.source, -1):
            return
        self.newest[line.source] = order(line)
        at = line.utc if line.placed else None
        for stage, count in line.data.drops.items():
            was = self.before.get(stage, 0)
            if count != was:
                self.grown.append((at, stage, count - was if count >= was else count))
            self.before[stage] = count


def _missing(lines: Iterable[EventLine], until: datetime) -> frozenset[str]:
    """The cameras whose last word is that they were lost."""
    state: dict[str, EventLine] = {}
    for line in lines:
        counts = line.what in ("camera.lost", "camera.found") and (not line.placed or line.time <= until)
        if counts and (line.camera not in state or order(line) >= order(state[line.camera])):
            state[line.camera] = line
    return frozenset(camera for camera, line in state.items() if line.what == "camera.lost")
