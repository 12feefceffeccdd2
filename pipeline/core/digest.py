"""What a period amounts to: its incidents in a few groups, the loudest first, each told in a sentence of counted facts.

Nothing is left out: what has no sentence of its own is summed up, and what could not be placed in time is counted.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from pipeline.core import periods
from pipeline.core.areas import clock_is_set
from pipeline.core.sentences import in_words, plain
from pipeline.core.templates import duration, plural

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


class Line(_Part, frozen=True):
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


def end(lines: Iterable[Line]) -> datetime | None:
    """When the last event was that a clock places in time, in UTC; None: there is none."""
    return max((line.time.astimezone(UTC) for line in lines if line.placed), default=None)


def zone(lines: Iterable[Line]) -> tzinfo:
    """The site's clock, as the last event tells it that tells a local time; UTC where none does."""
    ahead: timedelta | None = None
    for line in lines:
        ahead = _ahead(line) or ahead
    return timezone(ahead) if ahead else UTC


def incidents(lines: Iterable[Line]) -> list[Incident]:
    """Return every incident once, as its last event tells it, by when it began."""
    told: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if line.what.startswith("incident."):
            told.setdefault((line.source, line.subject), []).append(line)
    found = [_incident(rows) for rows in told.values()]
    return sorted(found, key=lambda one: (one.began or _NEVER, one.camera, one.id))


def within(lines: Sequence[Line], since: datetime, until: datetime) -> Period:
    """Return what lies in a period: incidents that lasted into it, and what cameras and the device said in it."""
    found = incidents(lines)
    told = [line for line in lines if not line.what.startswith("incident.")]
    return Period(
        since=since,
        until=until,
        incidents=tuple(one for one in found if one.began and one.last and one.began <= until and one.last >= since),
        unplaced=tuple(one for one in found if one.began is None),
        lines=tuple(line for line in told if not line.placed or since <= line.time <= until),
        drops=_dropped(lines, since, until),
        missing=_missing(told, until),
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


def _incident(rows: list[Line]) -> Incident:
    """Of its events in the order in which they were told; a verdict that the last lacks is the last there was."""
    last = rows[-1]
    facts = next((row.data.facts for row in reversed(rows) if row.data.facts), _Facts())
    fields = next((row.data.analysis.fields for row in reversed(rows) if row.data.analysis.fields.action), _Fields())
    at = [row.time.astimezone(UTC) for row in rows if row.placed]
    noted = fields.because == "note"
    return Incident(
        id=last.subject,
        camera=last.camera or facts.camera,
        zone=facts.zone or last.camera or facts.camera,
        thing=facts.object.class_,
        seen=facts.object.count,
        dwell_s=facts.track.dwell_s,
        began=min(at, default=None),
        last=max(at, default=None),
        ahead=next((ahead for row in rows if (ahead := _ahead(row)) is not None), None),
        over=last.what == "incident.end",
        situation=fields.situation,
        severity=fields.severity,
        action=fields.action or UNJUDGED,
        note=fields.note if noted else "",
        note_text=fields.note_text if noted else "",
        status=last.data.analysis.status,
        suspected=any("injection_suspected" in row.data.analysis.flags for row in rows),
    )


def _dropped(lines: Iterable[Line], since: datetime, until: datetime) -> dict[str, int]:
    """How much counts have grown in a period; a count that is smaller than before began anew with its process."""
    before: dict[str, int] = {}
    grown: Counter[str] = Counter()
    for line in lines:
        for stage, count in line.data.drops.items():
            was = before.get(stage, 0)
            if not line.placed or since <= line.time <= until:
                grown[stage] += count - was if count >= was else count
            before[stage] = count
    return {stage: count for stage, count in sorted(grown.items()) if count}


def _missing(lines: Iterable[Line], until: datetime) -> frozenset[str]:
    state = {
        line.camera: line.what
        for line in lines
        if line.what in ("camera.lost", "camera.found") and (not line.placed or line.time <= until)
    }
    return frozenset(camera for camera, what in state.items() if what == "camera.lost")


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
