"""What every view reads of a line of events, whichever version of us wrote it: one shape for all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from pipeline.core.incident.eventfiles import Head
from pipeline.core.times import YEARS, clock_is_set

_Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**9)]  # more is no count, and its line no event

_Milliseconds: TypeAlias = Annotated[float, Meta(ge=-1e12, le=1e12)]


class _Part(msgspec.Struct, frozen=True):
    """Base: fields that are not here are passed over; those that are missing have defaults."""


class SceneLine(_Part, frozen=True):
    """What was seen."""

    class_: str = msgspec.field(name="class", default="")
    label: str = ""
    likelihood: float = 0.0


class MediaLine(_Part, frozen=True):
    """Where in which recording; milliseconds count from the first picture."""

    uri: str = ""
    pts_ms: _Milliseconds = 0.0
    start_pts_ms: _Milliseconds | None = None
    end_pts_ms: _Milliseconds | None = None


class MemberLine(_Part, frozen=True):
    """A thing of the incident."""

    id: int = 0
    group: str = ""
    class_: str = msgspec.field(name="class", default="none")
    first_pts_ms: _Milliseconds = 0.0
    last_pts_ms: _Milliseconds = 0.0


class GroupLine(_Part, frozen=True):
    """How many things of a group were there."""

    group: str = ""
    count: _Count = 0
    total: _Count = 0


class ObjectLine(_Part, frozen=True):
    """What an incident is about."""

    class_: str = msgspec.field(name="class", default="none")
    count: _Count = 0


class TrackLine(_Part, frozen=True):
    """How it moved."""

    dwell_s: Annotated[float, Meta(ge=0, le=1e9)] = 0.0


class FactsLine(_Part, frozen=True):
    """The facts of an incident."""

    camera: str = ""
    zone: str = ""
    local_time: str = ""
    weekday: str = ""
    object: ObjectLine = ObjectLine()
    objects: tuple[GroupLine, ...] = ()
    track: TrackLine = TrackLine()
    rules_hit: tuple[str, ...] = ()


class VerdictLine(_Part, frozen=True):
    """The verdict's fields."""

    situation: str = ""
    severity: str = ""
    action: str = ""
    rule: str = ""
    because: str = ""
    note: str = ""
    note_text: str = ""
    not_weighed: str = ""
    not_weighed_because: str = ""


class AnalysisLine(_Part, frozen=True):
    """The sentence and the verdict."""

    status: str = ""
    summary: str = ""
    flags: tuple[str, ...] = ()
    fields: VerdictLine = VerdictLine()


class FeaturesLine(_Part, frozen=True):
    """What the encoder made of its picture."""

    vector: str = ""


class EvidenceLine(_Part, frozen=True):
    """A picture that was kept."""

    ref: str = ""


class DataLine(_Part, frozen=True):
    """All of an event but its envelope."""

    media: MediaLine | None = None
    scene: SceneLine = SceneLine()
    members: tuple[MemberLine, ...] = ()
    facts: FactsLine | None = None
    analysis: AnalysisLine = AnalysisLine()
    features: FeaturesLine | None = None
    evidence: tuple[EvidenceLine, ...] = ()
    details: dict[str, Any] = {}
    drops: dict[str, _Count] = {}
    ended_by: str = ""
    priority: str = ""
    clock: str = ""


class EventLine(Head, frozen=True):
    """A line of a file of events; a time that is not in UTC, or in no year of ours, is refused as it is read."""

    type: str
    time: datetime
    subject: str
    source: str
    data: DataLine
    severitytext: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError, which makes the line one that is no event."""
        if self.time.utcoffset() != timedelta(0) or self.time.year not in YEARS:
            raise ValueError(f"{self.time.isoformat()} is no time of an event")

    @property
    def utc(self) -> datetime:
        """When it happened, in UTC."""
        return self.time.astimezone(UTC)

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
