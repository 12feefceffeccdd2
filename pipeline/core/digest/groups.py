"""What a period amounts to: its incidents in a few groups, the loudest first, each told in a sentence of counted facts.

Nothing is left out: what has no sentence of its own is summed up, and what could not be placed in time is counted.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from pipeline.core.digest import periods
from pipeline.core.incident.eventfiles import Head, Rank, order, rank
from pipeline.core.text.english import in_words, plain, plural
from pipeline.core.text.templates import duration
from pipeline.core.times import clock_is_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

About: TypeAlias = Literal["all", "group", "rest", "sentences", "scene", "device", "clock"]

MOST = 8
"""Sentences of a digest; groups beyond them are summed up in one."""
_GROUPS_LEAST = 3  # that have a sentence of their own, whatever else is to be said
_ZONES_NAMED = 3  # in a sentence about several; of more it says how many
_WEEKDAYS_FIT = timedelta(days=6)  # in a longer period a weekday names two days

UNJUDGED = "not judged"
"""Stands for an action where no verdict was made."""
_LOUD = ("WARN", "ERROR", "FATAL")
_DEVICE = {
    "system.stage_restarted": ("stage", "stage {} was replaced"),
    "system.started": ("", "the daemon was started"),
    "system.disk_low": ("what", "the disk had no room for the {}"),
    "sink.degraded": ("sink", "sink {} took no events"),
    "model.rejected": ("model", "model {} was rejected"),
    "model.fallback": ("model", "model {} did not run on its accelerator as asked"),
}
"""What an operator must know of the device: the detail that names it, and how it is said."""


_Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**9)]  # more is no count, and its line no event


class _Part(msgspec.Struct, frozen=True):
    """Base: what is read here of an event, whichever version of us wrote it."""


class _Object(_Part, frozen=True):
    class_: str = msgspec.field(name="class", default="none")
    count: _Count = 0


class _Track(_Part, frozen=True):
    dwell_s: _Count = 0


class _Facts(_Part, frozen=True):
    camera: str = ""
    zone: str = ""
    local_time: str = ""
    weekday: str = ""
    object: _Object = _Object()
    track: _Track = _Track()


class _Fields(_Part, frozen=True):
    situation: str = ""
    severity: str = ""
    action: str = ""
    because: str = ""
    note: str = ""
    note_text: str = ""


class _Analysis(_Part, frozen=True):
    status: str = ""
    flags: tuple[str, ...] = ()
    fields: _Fields = _Fields()


class _Data(_Part, frozen=True):
    facts: _Facts | None = None
    analysis: _Analysis = _Analysis()
    details: dict[str, Any] = {}
    drops: dict[str, _Count] = {}
    ended_by: str = ""
    clock: str = ""


class Line(Head, frozen=True):
    """A line of a file of events; a time that is not in UTC, or in no year of ours, is refused as it is read."""

    type: str
    time: datetime
    subject: str
    source: str
    data: _Data
    severitytext: str = ""

    def __post_init__(self) -> None:
        if self.time.utcoffset() != timedelta(0) or self.time.year not in periods.YEARS:
            raise ValueError(f"{self.time.isoformat()} is no time of an event")

    @property
    def camera(self) -> str:
        """Which it is about; empty: the device itself."""
        before, _, name = self.source.rpartition("/camera/")
        return name if before else ""

    @property
    def what(self) -> str:
        """AREA.WHAT, such as camera.lost."""
        return self.type.removeprefix("fieldwatch.").rpartition(".v")[0]

    @property
    def placed(self) -> bool:
        """Whether its time can be true."""
        return clock_is_set(self.time)


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
        told: When it was last told of; the same.
        ahead: The site's clock over UTC at its first event that tells it, by the sequence of that.
        suspected: Whether text in the scene seems to talk to machines.
    """

    last: Line
    rank: Rank
    facts: tuple[Rank, _Facts] | None = None
    fields: tuple[Rank, _Fields] | None = None
    began: datetime | None = None
    told: datetime | None = None
    ahead: tuple[int, timedelta] | None = None
    suspected: bool = False


class Gathered(NamedTuple):
    """What is kept of all events that were read: little of each.

    Attributes:
        courses: Of incidents, by source and subject.
        told: What cameras and the device said.
        grown: By how much which count of drops grew, and when; None: at no known time.
        last: When the last event was that a clock places in time, in UTC.
        ahead: The site's clock over UTC, as the last event tells it that tells a local time.
        recorded: Whether there are events of recordings.
    """

    courses: dict[tuple[str, str], _Course]
    told: list[Line]
    grown: list[tuple[datetime | None, str, int]]
    last: datetime | None
    ahead: timedelta | None
    recorded: bool

    @property
    def empty(self) -> bool:
        """Whether there was no event."""
        return not (self.courses or self.told)

    @property
    def zone(self) -> tzinfo:
        """The site's clock; UTC where no event tells it."""
        return timezone(self.ahead) if self.ahead else UTC

    @property
    def cameras(self) -> frozenset[str]:
        """All that are spoken of."""
        lines = (*self.told, *(course.last for course in self.courses.values()))
        return frozenset(line.camera for line in lines if line.camera)

    def of(self, camera: str) -> Gathered:
        """What is about one camera, and what the device said."""
        courses = {key: one for key, one in self.courses.items() if one.last.camera == camera}
        return self._replace(courses=courses, told=[line for line in self.told if line.camera in ("", camera)])


class Group(NamedTuple):
    """Incidents that are told together: same camera, zone, thing and action; by when they began.

    Attributes:
        incidents: At least one, each with a time.
        first: Day and clock at which the first began, as a sentence names them.
        last: The same of the last.
    """

    incidents: tuple[Incident, ...]
    first: tuple[str, str]
    last: tuple[str, str]

    @property
    def size(self) -> int:
        """How many incidents."""
        return len(self.incidents)

    @property
    def one(self) -> Incident:
        """The first, for what is the same in all."""
        return self.incidents[0]

    @property
    def names(self) -> tuple[str, ...]:
        """What a sentence about it may repeat: its place and thing, words of verdicts, ids of notes."""
        one = self.one
        situations = (other.situation.replace("_", " ") for other in self.incidents)
        return one.zone, one.camera, one.thing, plural(one.thing), one.action, *situations, *self.notes

    @property
    def most(self) -> int:
        """The most things seen at one moment."""
        return max(one.seen for one in self.incidents)

    @property
    def longest_s(self) -> int:
        """How long the longest lasted."""
        return max(one.dwell_s for one in self.incidents)

    @property
    def notes(self) -> dict[str, int]:
        """Which notes decided how many."""
        return dict(sorted(Counter(one.note for one in self.incidents if one.note).items()))

    @property
    def ids(self) -> tuple[str, ...]:
        """Of all its incidents."""
        return tuple(one.id for one in self.incidents)


class Sentence(msgspec.Struct, frozen=True):
    """A sentence, and the incidents behind it.

    Attributes:
        text: In English.
        incidents: Their ids.
        grounded: Whether an independent reading found nothing in it but facts.
        by: Who worded it.
        about: What it tells.
    """

    text: str
    incidents: tuple[str, ...]
    grounded: bool = True
    by: Literal["template", "model"] = "template"
    about: About = "group"


class Loudness(NamedTuple):
    """How loud the words of verdicts are.

    Attributes:
        actions: From quiet to loud.
        severities: The same.
        speak: From this action on a verdict tells somebody; counted from 0.
    """

    actions: tuple[str, ...]
    severities: tuple[str, ...]
    speak: int

    def quiet(self, action: str) -> bool:
        """Whether an action tells nobody; a word that is unknown may."""
        return action in self.actions[: self.speak]

    def rank(self, one: Incident) -> tuple[int, int]:
        """Higher is louder; what is unknown or was not judged goes first, as somebody should look."""
        return _place(one.action, self.actions), _place(one.severity, self.severities)


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
    lines: tuple[Line, ...]
    drops: dict[str, int]
    missing: frozenset[str]

    @property
    def dated(self) -> bool:
        """Whether weekdays would be ambiguous in it."""
        return self.until - self.since > _WEEKDAYS_FIT


def gather(lines: Iterable[Line]) -> Gathered:
    """Read events once, in the order of their files, and keep what a digest may need of them.

    Of an incident the event with the highest sequence holds, and its end before all others: a line that comes late or
    twice never brings back what was so before.
    """
    courses: dict[tuple[str, str], _Course] = {}
    told: list[Line] = []
    drops = _Drops({}, {}, [])
    last: datetime | None = None
    ahead: timedelta | None = None
    recorded = False
    for line in lines:
        if line.what.startswith("incident."):
            key = line.source, line.subject
            courses[key] = _with(courses.get(key), line)
        else:
            told.append(line)
        drops.add(line)
        recorded = recorded or line.data.clock == "media"
        ahead = _ahead(line) or ahead
        if line.placed:
            at = line.time.astimezone(UTC)
            last = at if last is None else max(at, last)
    return Gathered(courses, told, drops.grown, last, ahead, recorded)


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
        lines=tuple(line for line in found.told if not line.placed or since <= line.time <= until),
        drops={stage: count for stage, count in sorted(drops.items()) if count},
        missing=_missing(found.told, until),
    )


def groups(period: Period, loudness: Loudness, here: tzinfo) -> list[Group]:
    """Put incidents together that are told together, the loudest first, then the largest, then the earliest."""
    found: dict[tuple[str, str, str, str], list[Incident]] = {}
    for one in period.incidents:
        found.setdefault((one.camera, one.zone, one.thing, one.action), []).append(one)
    made = [_group(members, here, dated=period.dated) for members in found.values()]
    return sorted(made, key=lambda group: _order(group, loudness))


def told_apart(period: Period, made: Sequence[Group]) -> int:
    """How many groups have a sentence of their own; the others are summed up in one."""
    others = sum((
        1,  # what it amounts to
        bool(_unwritten(period)),
        any(one.suspected for one in period.incidents),
        bool(period.unplaced),
        bool(_matters(period)),
    ))  # fmt: skip
    room = max(_GROUPS_LEAST, MOST - others)
    return len(made) if len(made) <= room else room - 1


def sentences(
    period: Period, made: Sequence[Group], worded: Sequence[Sentence], loudness: Loudness
) -> tuple[Sentence, ...]:
    """Put a digest together.

    Args:
        period: What lies in it.
        made: Its groups.
        worded: The sentences of the first of them.
        loudness: Of the verdicts' words.
    """
    rest = made[len(worded) :]
    found = [_overall(period, loudness), *worded]
    if rest:
        found.append(_rest(rest, loudness))
    if unwritten := _unwritten(period):
        found.append(_made(unwritten))
    if suspected := [one for one in period.incidents if one.suspected]:
        found.append(_suspected(suspected))
    if period.unplaced:
        found.append(_unplaced(period.unplaced, loudness))
    if matters := _matters(period):
        found.append(Sentence(f"To know: {'; '.join(matters)}.", (), about="device"))
    return tuple(found)


def template(group: Group) -> str:
    """The sentence of a group without a language model."""
    one, size, most = group.one, group.size, group.most
    thing = "movement" if one.thing == "none" else _things(one.thing, most, counted=size == 1)
    often = f" in {size} incidents" if size > 1 else ""
    parts = [f"{thing}{often} at {place(group)}"]
    if size > 1 and most > 1:
        parts.append(f"up to {most} at once")
    parts.append(when(group))
    if group.longest_s > 1:
        parts.append(f"{'the longest ' if size > 1 else ''}for {duration(group.longest_s)}")
    return f"{heading(group)}{', '.join(parts)}{decided(group)}."


def heading(group: Group) -> str:
    """What every sentence of a group begins with: the action, and what it was taken for."""
    action = plain(group.one.action)
    situations = sorted({plain(one.situation.replace("_", " ")) for one in group.incidents if one.situation})
    taken_for = f" ({', '.join(situations)})" if situations else ""
    return f"{action[:1].upper()}{action[1:]}{taken_for}: "


def place(group: Group) -> str:
    """Where it was: the zone, and the camera where that is called otherwise."""
    name, camera = plain(group.one.zone), plain(group.one.camera)
    return name if name == camera or not camera else f"{name} (camera {camera})"


def when(group: Group) -> str:
    """When the incidents of a group began: the first and the last."""
    (day, clock), (last_day, last_clock) = group.first, group.last
    if group.first == group.last:
        return f"on {day} at {clock}"
    if day == last_day:
        return f"on {day} between {clock} and {last_clock}"
    return f"between {clock} on {day} and {last_clock} on {last_day}"


def decided(group: Group) -> str:
    """Which notes decided, and of how many incidents where that is not all."""
    size = group.size
    return "".join(
        f"; note {plain(note)} decided{'' if count == size else f' {count} of them'}"
        for note, count in group.notes.items()
    )


def times(number: int) -> str:
    """How often, in words: once, twice, three times."""
    if number <= 2:  # noqa: PLR2004  # which have words of their own
        return "once" if number == 1 else "twice"
    return f"{in_words(number)} times"


_NEVER = datetime.max.replace(tzinfo=UTC)


def _place(word: str, order: tuple[str, ...]) -> int:
    return order.index(word) if word in order else len(order)


def _ahead(line: Line) -> timedelta | None:
    facts = line.data.facts
    if facts is None or not line.placed:
        return None
    return periods.offset(line.time.astimezone(UTC), facts.local_time, facts.weekday)


def _with(course: _Course | None, line: Line) -> _Course:
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
    at = line.time.astimezone(UTC) if line.placed else None
    return course._replace(
        began=min(filter(None, (course.began, at)), default=None),
        told=max(filter(None, (course.told, at)), default=None),
        suspected=course.suspected or "injection_suspected" in data.analysis.flags,
    )


def _incident(course: _Course) -> Incident:
    last = course.last
    facts = course.facts[1] if course.facts else _Facts()
    fields = course.fields[1] if course.fields else _Fields()
    noted = fields.because == "note"
    return Incident(
        id=last.subject,
        camera=last.camera or facts.camera,
        zone=facts.zone or last.camera or facts.camera,
        thing=facts.object.class_,
        seen=facts.object.count,
        dwell_s=facts.track.dwell_s,
        began=course.began,
        last=course.told,
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

    def add(self, line: Line) -> None:
        """Take the counts of an event."""
        if order(line) < self.newest.get(line.source, -1):
            return
        self.newest[line.source] = order(line)
        at = line.time.astimezone(UTC) if line.placed else None
        for stage, count in line.data.drops.items():
            was = self.before.get(stage, 0)
            if count != was:
                self.grown.append((at, stage, count - was if count >= was else count))
            self.before[stage] = count


def _missing(lines: Iterable[Line], until: datetime) -> frozenset[str]:
    """The cameras whose last word is that they were lost."""
    state: dict[str, Line] = {}
    for line in lines:
        counts = line.what in ("camera.lost", "camera.found") and (not line.placed or line.time <= until)
        if counts and (line.camera not in state or order(line) >= order(state[line.camera])):
            state[line.camera] = line
    return frozenset(camera for camera, line in state.items() if line.what == "camera.lost")


def _group(members: list[Incident], here: tzinfo, *, dated: bool) -> Group:
    first, last = (_local(one, here) for one in (members[0], members[-1]))
    return Group(tuple(members), periods.named(first, dated=dated), periods.named(last, dated=dated))


def _local(one: Incident, here: tzinfo) -> datetime:
    assert one.began is not None
    return one.began.astimezone(here if one.ahead is None else timezone(one.ahead))


def _order(group: Group, loudness: Loudness) -> tuple[object, ...]:
    action, severity = max(map(loudness.rank, group.incidents))
    one = group.one
    return -action, -severity, -group.size, one.began, one.camera, one.zone, one.thing, one.action


def _things(label: str, count: int, *, counted: bool) -> str:
    if count <= 1:
        return f"{'an' if label[:1] in 'aeiou' else 'a'} {label}"
    return f"{count} {plural(label)}" if counted else plural(label)


def _by_action(found: Iterable[Incident], loudness: Loudness) -> str:
    """Counts of each action, the loudest first."""
    counts = Counter(one.action for one in found)
    order = sorted(counts, key=lambda action: (-_place(action, loudness.actions), action))
    return ", ".join(f"{counts[action]} {plain(action)}" for action in order)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _overall(period: Period, loudness: Loudness) -> Sentence:
    found = period.incidents
    if not found:
        nothing = "Nothing that could be placed in time happened." if period.unplaced else "Nothing happened."
        return Sentence(nothing, (), about="all")
    text = f"{_counted(len(found), 'incident')}: {_by_action(found, loudness)}"
    quiet = sum(loudness.quiet(one.action) for one in found)
    text += f"; {'none is' if not quiet else f'{quiet} are' if quiet > 1 else '1 is'} quiet"
    if going := sum(not one.over for one in found):
        text += f"; {going} {'has' if going == 1 else 'have'} not ended"
    return Sentence(f"{text}.", tuple(one.id for one in found), about="all")


def _rest(rest: Sequence[Group], loudness: Loudness) -> Sentence:
    found = [one for group in rest for one in group.incidents]
    zones = dict.fromkeys(plain(group.one.zone) for group in rest)
    cameras = {group.one.camera for group in rest}
    where = " and ".join(zones) if len(zones) <= _ZONES_NAMED else f"{len(zones)} places"
    behind = f" of {len(cameras)} cameras" if len(cameras) > 1 else ""
    text = f"Besides, {_counted(len(found), 'incident')} at {where}{behind}: {_by_action(found, loudness)}."
    return Sentence(text, tuple(one.id for one in found), about="rest")


def _unwritten(period: Period) -> list[Incident]:
    return [one for one in period.incidents if one.status != "ok"]


def _made(unwritten: list[Incident]) -> Sentence:
    """How many sentences the templates wrote, and why."""
    counts = Counter(one.status or "unknown" for one in unwritten)
    why = ", ".join(f"{count} {plain(status)}" for status, count in sorted(counts.items()))
    text = f"The sentences of {_counted(len(unwritten), 'incident')} are templates: {why}."
    return Sentence(text, tuple(one.id for one in unwritten), about="sentences")


def _suspected(found: list[Incident]) -> Sentence:
    text = (
        f"In {_counted(len(found), 'incident')} text in the scene seems to talk to machines; no verdict depends on it."
    )
    return Sentence(text, tuple(one.id for one in found), about="scene")


def _unplaced(found: Sequence[Incident], loudness: Loudness) -> Sentence:
    text = (
        f"{_counted(len(found), 'incident')} cannot be placed in time, as no clock was set, and may be of this "
        f"period or not: {_by_action(found, loudness)}."
    )
    return Sentence(text, tuple(one.id for one in found), about="clock")


def _matters(period: Period) -> list[str]:
    """What an operator must know besides incidents."""
    lost = Counter(line.camera for line in period.lines if line.what == "camera.lost")
    said = [
        f"camera {plain(camera)} was lost {times(lost[camera]) if lost[camera] else 'before'}"
        f"{' and is not back' if camera in period.missing else ''}"
        for camera in sorted({*lost, *period.missing})
    ]
    device = Counter(_said(line) for line in period.lines if _must_be_known(line))
    said += [f"{text} {times(count)}" for text, count in sorted(device.items())]
    if period.drops:
        said.append(f"messages dropped: {', '.join(f'{plain(stage)} {n}' for stage, n in period.drops.items())}")
    recordings = (
        f"recording {plain(name.removeprefix('input:'))} is {plain(str(how))}"
        for line in period.lines
        if line.what == "replay.summary"
        for name, how in line.data.details.items()
        if name.startswith("input:")
    )
    return [*said, *dict.fromkeys(recordings)]


def _must_be_known(line: Line) -> bool:
    if line.what.startswith(("camera.", "replay.")):
        return False  # told by name
    if line.data.details.get("error") == "written again":
        return False  # the end of a want that was told
    return line.what in _DEVICE or line.severitytext in _LOUD


def _said(line: Line) -> str:
    if line.what not in _DEVICE:
        return f"{plain(line.what.replace('_', ' '))} was told"
    detail, text = _DEVICE[line.what]
    return text.format(plain(str(line.data.details.get(detail, ""))) if detail else "")
