"""The event an operator reads: a CloudEvents 1.0 envelope around typed data. The JSON Schema comes from here."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pipeline.core.facts import Facts
from pipeline.core.geometry import Box
from pipeline.core.vocabulary import ClockState, Direction, EndedBy, Group, Nanoseconds, Operation, Speed

SCHEMA_ID = "urn:fieldwatch:schema:event:1"
TYPE_PATTERN = r"^fieldwatch\.(motion|scene|object|incident|camera|system|thermal|model|sink|replay)\.[a-z_]+\.v[0-9]+$"

Moment = Annotated[
    str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$", extra_json_schema={"format": "date-time"})
]
Ratio = Annotated[float, Meta(ge=0, le=1)]
SeverityText = Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]
AnalysisStatus = Literal["ok", "skipped", "timeout", "invalid", "filtered", "failed", "pending"]
AnalysisFlag = Literal["injection_suspected", "ungrounded", "language_mismatch", "truncated", "retried"]


Details = dict[str, str | int | float | bool | None]  # what only some have to say


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base: what is not known is left out of the line."""


class Media(_Part, frozen=True, kw_only=True):
    """Where in which recording or stream; milliseconds count from the first picture."""

    uri: str | UnsetType = UNSET
    pts_ms: float
    start_pts_ms: float | UnsetType = UNSET
    end_pts_ms: float | UnsetType = UNSET
    frame: int
    width: int | UnsetType = UNSET
    height: int | UnsetType = UNSET
    rotation: Literal[0, 90, 180, 270] | UnsetType = UNSET


class Motion(_Part, frozen=True, kw_only=True):
    """What moves, in boxes of the upright picture (left, top, right, bottom; 0..1)."""

    is_motion: bool
    area_ratio: Ratio
    global_change: bool
    boxes: tuple[Box, ...] | UnsetType = UNSET


class Candidate(_Part, frozen=True, kw_only=True):
    """One class the classifier considered."""

    type: str
    likelihood: Ratio


class Scene(_Part, frozen=True, kw_only=True):
    """What the classifier makes of it; without a class it abstained."""

    class_: str | UnsetType = msgspec.field(name="class", default=UNSET)
    label: str | UnsetType = UNSET
    likelihood: Ratio | UnsetType = UNSET
    candidates: tuple[Candidate, ...] | UnsetType = UNSET


class Model(_Part, frozen=True, kw_only=True):
    """Which model spoke."""

    name: str
    version: str
    sha256: str | UnsetType = UNSET
    device: str | UnsetType = UNSET
    fallback: bool | UnsetType = UNSET


class Tokens(_Part, frozen=True, kw_only=True):
    """What the language model read and wrote."""

    prompt: int
    cached: int
    output: int


class Analysis(_Part, frozen=True, kw_only=True):
    """What was concluded, and how it came about."""

    status: AnalysisStatus
    reason: str | UnsetType = UNSET
    schema_valid: bool | UnsetType = UNSET
    grounded: bool | UnsetType = UNSET
    language: str | UnsetType = UNSET
    title: Annotated[str, Meta(max_length=80)] | UnsetType = UNSET
    summary: Annotated[str, Meta(max_length=280)] | UnsetType = UNSET
    fields: Details | UnsetType = UNSET
    flags: tuple[AnalysisFlag, ...] | UnsetType = UNSET
    scene_text: tuple[str, ...] | UnsetType = UNSET
    model: Model | UnsetType = UNSET
    tokens: Tokens | UnsetType = UNSET
    ttft_ms: float | UnsetType = UNSET
    decode_tok_s: float | UnsetType = UNSET


class Features(_Part, frozen=True, kw_only=True):
    """What a picture of it looks like, to search and compare by.

    Attributes:
        model: Of the encoder.
        vector: 384 float16, little endian, of unit length, in base 64: a point among the meanings of texts.
    """

    model: str
    vector: str


class Thermal(_Part, frozen=True, kw_only=True):
    """How hot the board is."""

    level: int
    temp_c: float


class Evidence(_Part, frozen=True, kw_only=True):
    """A file kept beside the events."""

    kind: Literal["frame", "clip", "embedding"]
    ref: str
    sha256: str
    pts_ms: float


class AreaStay(_Part, frozen=True, kw_only=True):
    """How long a thing was in a zone.

    Attributes:
        area: Key of the zone; empty: outside all zones.
        stay_s: Seconds.
    """

    area: str
    stay_s: float


class EventMember(_Part, frozen=True, kw_only=True):
    """A thing of an incident.

    Attributes:
        id: Its number, of the camera; the same in all events while it is followed.
        group: person, vehicle or animal; absent where nobody knows.
        class_: The detector's own class, or "none".
        likelihood: The highest, of that class.
        first_pts_ms: When it came into the area of the incident, on the camera's timeline.
        last_pts_ms: When it was last seen there.
        stay_s: Between the two.
        direction: Its way through the picture.
        speed: Over the ground; absent where it was seen too seldom to say.
        rides: What a person rides.
        areas: The zones of the camera that it was in, in order.
    """

    id: int
    group: Group | UnsetType = UNSET
    class_: str = msgspec.field(name="class")
    likelihood: Ratio | UnsetType = UNSET
    first_pts_ms: float
    last_pts_ms: float
    stay_s: float
    direction: Direction
    speed: Speed | UnsetType = UNSET
    rides: str | UnsetType = UNSET
    areas: tuple[AreaStay, ...] = ()


class EventData(_Part, frozen=True, kw_only=True):
    """The part of an event that is ours; absent parts do not apply."""

    operation: Operation
    ended_by: EndedBy | UnsetType = UNSET
    continues: str | UnsetType = UNSET
    similar_to: tuple[str, ...] | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    clock: ClockState | UnsetType = UNSET
    media: Media | UnsetType = UNSET
    motion: Motion | UnsetType = UNSET
    scene: Scene | UnsetType = UNSET
    facts: Facts | UnsetType = UNSET
    members: tuple[EventMember, ...] | UnsetType = UNSET
    priority: Literal["alarm", "warning", "routine"] | UnsetType = UNSET
    analysis: Analysis | UnsetType = UNSET
    details: Details | UnsetType = UNSET
    timing_ms: dict[str, float] | UnsetType = UNSET
    drops: dict[str, int] | UnsetType = UNSET
    features: Features | UnsetType = UNSET
    thermal: Thermal | UnsetType = UNSET
    energy_j: float | UnsetType = UNSET  # that the device took meanwhile, shared by the incidents that were open
    evidence: tuple[Evidence, ...] | UnsetType = UNSET
    config_hash: str | UnsetType = UNSET


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line: the CloudEvents envelope with the extensions of this project."""

    specversion: Literal["1.0"]
    id: Annotated[str, Meta(pattern="^[0-9A-HJKMNP-TV-Z]{26}$")]
    source: Annotated[str, Meta(min_length=1)]
    type: Annotated[str, Meta(pattern=TYPE_PATTERN)]
    subject: Annotated[str, Meta(min_length=1)]
    time: Moment
    datacontenttype: Literal["application/json"] | UnsetType = UNSET
    dataschema: str | UnsetType = UNSET
    sequence: Annotated[str, Meta(pattern="^[0-9]{12}$")]
    recordedtime: Moment
    severitytext: SeverityText
    severitynumber: Annotated[int, Meta(ge=1, le=24)]
    monotime: Annotated[str, Meta(pattern="^[0-9]+$")]
    bootid: str
    traceparent: str | UnsetType = UNSET
    data: EventData


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(utc_ns: Nanoseconds, *identity: str) -> str:
    """Return a ULID of a time and of what the event is, so that sending it again gives the same id.

    48 bits of milliseconds and 80 bits of a hash, in Crockford's base 32 (github.com/ulid/spec).
    """
    digest = hashlib.sha256("\0".join(identity).encode()).digest()
    number = ((max(0, utc_ns) // 1_000_000) & (1 << 48) - 1) << 80 | int.from_bytes(digest[:10], "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def rfc3339(utc_ns: Nanoseconds) -> str:
    """Nanoseconds since 1970 as RFC 3339 in UTC, to the millisecond (cut, not rounded)."""
    moment = datetime.fromtimestamp(utc_ns // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{utc_ns // 1_000_000 % 1000:03d}Z"


def milliseconds(duration: Nanoseconds | int) -> float:
    """Nanoseconds as milliseconds with three decimals: what media times are given in."""
    return round(duration / 1e6, 3)


def schema() -> dict[str, object]:
    """Return the JSON Schema of one event line, made from the types above."""
    (reference,), parts = msgspec.json.schema_components([Event], ref_template="#/$defs/{name}")
    name = str(reference["$ref"]).rpartition("/")[2]
    event = parts.pop(name)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **event,
        "allOf": [
            _then(r"^fieldwatch\.(motion|scene|object|incident)\.", "media"),
            _then(r"^fieldwatch\.incident\.end\.", "ended_by"),
        ],
        "$defs": parts,
    }


def _then(pattern: str, required: str) -> dict[str, object]:
    return {
        "if": {"properties": {"type": {"pattern": pattern}}},
        "then": {"properties": {"data": {"required": [required]}}},
    }
