"""Every message that crosses a link. Facts in the past tense; nothing here does I/O."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, NewType, TypeAlias

import msgspec

from pipeline.core.events import Analysis, Details, EventData
from pipeline.core.facts import Facts
from pipeline.core.geometry import Box, Rotation
from pipeline.core.track.thing import ThingSeen
from pipeline.core.vocabulary import CameraId, IncidentId, Nanoseconds, Seconds

EventKey = NewType("EventKey", str)  # names an event: subject/revision


class Priority(IntEnum):
    """How soon an incident must be dealt with; lower is sooner."""

    ALARM = 0
    WARNING = 1
    ROUTINE = 2


class FrameRef(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Names a frame in a ring and says when it was taken; the pixels stay where they are."""

    camera: CameraId
    sequence: int  # place in the ring: counts frames begun since the ring was made
    index: int  # pictures decoded before this one, from 0
    pts_ns: Nanoseconds  # the camera's timeline; never goes backwards
    utc_ns: Nanoseconds  # when it happened, nanoseconds since 1970 in UTC
    width: int  # of the stored picture, pixels
    height: int
    rotation: Rotation = 0
    full_range: bool = False  # luma 0..255 instead of 16..235


class Hop(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One stage's share of a message's latency; the host adds it, stages never do."""

    stage: str
    received_at: Nanoseconds  # monotonic
    sent_at: Nanoseconds


class Message(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Base of all messages."""

    hops: tuple[Hop, ...] = ()


class FrameCaptured(Message, frozen=True, tag=True, kw_only=True):
    """A camera delivered a frame."""

    frame: FrameRef


class CameraChanged(Message, frozen=True, tag=True, kw_only=True):
    """A camera came, went, or its recording ended."""

    camera: CameraId
    state: Literal["found", "lost", "ended"]
    reason: str  # for the operator; no credentials
    pts_ns: Nanoseconds
    utc_ns: Nanoseconds


class MotionMeasured(Message, frozen=True, tag=True, kw_only=True):
    """A frame was compared with its background; without boxes it says that the camera is alive and quiet."""

    frame: FrameRef
    boxes: tuple[Box, ...]  # upright, largest first
    area_ratio: float  # 0..1 of the picture
    global_change: bool  # light or camera, not a thing
    blurred: tuple[Box, ...] = ()  # those of the boxes that are out of focus, right at the lens


class SceneClassified(Message, frozen=True, tag=True, kw_only=True):
    """What the classifier saw where something moved or a known thing was, and the things that are followed."""

    frame: FrameRef
    area_ratio: float
    looked: bool = False  # whether the classifier looked this time
    things: tuple[ThingSeen, ...] = ()  # oldest first


class FeaturesWanted(Message, frozen=True, tag=True, kw_only=True):
    """An incident asks for the features of a keyframe."""

    incident: IncidentId
    priority: Priority
    keyframe: FrameRef  # in the keyframe pool
    box: Box  # upright region to encode


class FeaturesEncoded(Message, frozen=True, tag=True, kw_only=True):
    """The encoder's view of a keyframe."""

    incident: IncidentId
    tags: tuple[str, ...]  # most likely first
    embedding: bytes  # float16, little endian, unit length: the text-space vector of the tags
    model: str


class DescriptionWanted(Message, frozen=True, tag=True, kw_only=True):
    """An incident asks to be described; the answer names the revision it is about."""

    incident: IncidentId
    revision: int
    priority: Priority
    facts: Facts
    final: bool  # the incident is over: this description closes it
    within_s: float | None = None  # how long the answer is waited for; None: whenever it comes
    previous_verdict: Details | None = None  # while it stays the same, there is nothing new to say


class IncidentDescribed(Message, frozen=True, tag=True, kw_only=True):
    """What describe made of the facts.

    Attributes:
        incident: Which.
        revision: Of the question.
        analysis: What is told; None: the verdict that was told still holds.
        holds_s: After so many seconds more of its stay the verdict may be another; 0: it stays.
    """

    incident: IncidentId
    revision: int
    analysis: Analysis | None
    holds_s: int = 0


class ModelReported(Message, frozen=True, tag=True, kw_only=True):
    """A language model speaks from now on, or cannot be used."""

    state: Literal["loaded", "rejected"]
    details: Details
    pts_ns: Nanoseconds = Nanoseconds(0)
    utc_ns: Nanoseconds = Nanoseconds(0)


class EncoderReported(Message, frozen=True, tag=True, kw_only=True):
    """An accelerator runs the encoder, or not as asked (`fallback`: a part, or the CPU), or may not (`rejected`)."""

    state: Literal["loaded", "fallback", "rejected"]
    details: Details
    pts_ns: Nanoseconds = Nanoseconds(0)
    utc_ns: Nanoseconds = Nanoseconds(0)


class Keyframe(msgspec.Struct, frozen=True, array_like=True):
    """A picture that an event brings along, and the name its evidence file gets."""

    frame: FrameRef  # in the keyframe pool
    ref: str  # below the folder of the events
    pts_ms: float


class EventRaised(Message, frozen=True, tag=True, kw_only=True):
    """Something an operator is told; it is in the event log. To its reader the message says that there is more."""

    key: EventKey
    kind: str  # fieldwatch.AREA.WHAT.v1
    camera: CameraId | None  # None: the device itself
    subject: str
    priority: Priority
    pts_ns: Nanoseconds
    utc_ns: Nanoseconds
    data: EventData
    keyframes: tuple[Keyframe, ...] = ()
    severity: Priority | None = None  # by the verdict; None: there is none, and the priority stands for it


class EventsDelivered(Message, frozen=True, tag=True, kw_only=True):
    """Every sink has what the event log holds up to a position."""

    position: int


class SinkReported(Message, frozen=True, tag=True, kw_only=True):
    """A sink does not take events, or takes them again; they wait in the event log meanwhile."""

    state: Literal["degraded", "recovered"]
    details: Details
    pts_ns: Nanoseconds
    utc_ns: Nanoseconds


class StageRestarted(Message, frozen=True, tag=True, kw_only=True):
    """The supervisor replaced a stage that died or stood still."""

    stage: str
    restarts: int
    reason: str
    pts_ns: Nanoseconds
    utc_ns: Nanoseconds


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the stages have done since the daemon began, and what they have before them.

    Attributes:
        inferring_s: Time that encoder and language model have worked.
        question_s: How long the oldest question to the language model waits.
        spent: Share of its time that the question has waited that is nearest to be too late, 0..1.
        encode_s: How long the oldest picture to encode waits.
        looked: Pictures that the classifier took.
        unlooked: Pictures that it gave up, as newer ones came.
        missed: Deadlines missed, of all stages.
        available_mb: Memory that can still be had; None: not known.
        rss_mb: Memory of each process that is its own.
        pieces: Runs of the encoder, forwards of the language model: how many, by process, in this life of it.
        pieces_ms: What they took.
    """

    inferring_s: float = 0.0
    question_s: float = 0.0
    spent: float = 0.0
    encode_s: float = 0.0
    looked: int = 0
    unlooked: int = 0
    missed: int = 0
    available_mb: float | None = None
    rss_mb: dict[str, float] = {}
    pieces: dict[str, int] = {}
    pieces_ms: dict[str, float] = {}


class DeviceReported(Message, frozen=True, tag=True, kw_only=True):
    """Something about the device itself that an operator is told: `what` is AREA.WHAT, such as thermal.level."""

    what: str
    details: Details
    priority: Priority = Priority.WARNING
    pts_ns: Nanoseconds = Nanoseconds(0)
    utc_ns: Nanoseconds = Nanoseconds(0)


class Ticked(Message, frozen=True, tag=True, kw_only=True):
    """Time went by. Only live: a replay has no time but that of its pictures."""

    pts_ns: Nanoseconds
    utc_ns: Nanoseconds
    drops: dict[str, int] = {}  # per stage: messages given up and frames overwritten since the daemon began
    work: Work | None = None  # for govern alone
    energy_j: float | None = None  # that the device took since the daemon began; None: nothing measures it


AnyMessage: TypeAlias = (
    FrameCaptured
    | CameraChanged
    | MotionMeasured
    | SceneClassified
    | FeaturesWanted
    | FeaturesEncoded
    | DescriptionWanted
    | IncidentDescribed
    | ModelReported
    | EncoderReported
    | EventRaised
    | EventsDelivered
    | SinkReported
    | StageRestarted
    | DeviceReported
    | Ticked
)

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnyMessage] = msgspec.msgpack.Decoder(AnyMessage)


def encode(message: AnyMessage) -> bytes:
    """Encode one message for a link."""
    return _encoder.encode(message)


def decode(data: bytes | memoryview) -> AnyMessage:
    """Decode and validate one message. Raises msgspec.DecodeError, whatever is wrong with it."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        raise
    except (RecursionError, ValueError, OverflowError, TypeError) as error:  # depth, letters, numbers, keys
        raise msgspec.DecodeError(str(error)) from error


def camera_of(message: AnyMessage) -> CameraId | None:
    """Which camera a message is about, where it is about one picture of one."""
    if isinstance(message, FrameCaptured | MotionMeasured | SceneClassified):
        return message.frame.camera
    return None


def seconds(duration: Nanoseconds | int) -> Seconds:
    """Nanoseconds as seconds."""
    return Seconds(duration / 1e9)
