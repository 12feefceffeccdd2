"""Every setting, its default and its bounds. `config/pipeline.toml` shows them with a comment each."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from pipeline.core.geometry import Polygon
from pipeline.core.secrets import redact
from pipeline.core.vocabulary import CameraId

Positive = Annotated[float, Meta(gt=0, le=1e9)]
Code = Annotated[float, Meta(ge=0, le=255)]  # of a colour
Divisor = Annotated[float, Meta(ge=0.001, le=1e6)]
Rate = Annotated[float, Meta(gt=0.0001, le=1000)]  # a second
Share = Annotated[float, Meta(ge=0, le=1)]
Side = Annotated[int, Meta(ge=16, le=16384)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Slots = Annotated[int, Meta(ge=4, le=1024)]
Outline = Annotated[Polygon, Meta(min_length=3, max_length=1000)]
Sink = Literal["jsonl", "stdout", "serial"]
PASSING_SINKS: tuple[Sink, ...] = ("stdout", "serial")
"""Sinks that keep nothing: whoever does not read them has missed it, which is no failure of the daemon."""
PriorityName = Literal["alarm", "warning", "routine"]


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: a table of the file; an unknown key is an error, never ignored."""


class SiteSettings(_Section, frozen=True):
    """Where the device stands."""

    name: str = "site"
    device: str = "device"
    timezone: str = "UTC"  # IANA name: local times in facts


class ZoneSettings(_Section, frozen=True):
    """A part of a camera's picture with a name and rules of its own."""

    polygon: Outline  # x, y in 0..1 of the upright picture
    name: str = ""  # what people call it; default: the table's name
    priority: PriorityName | None = None  # default: by class
    restricted: bool = False  # nobody may be here: rule restricted_zone
    open_hours: str = ""  # "07:00-18:00"; outside them: rule after_hours
    loiter_s: Positive = 60.0  # somebody stays as long: rule loiter
    crowd: Count = 8  # as many at once: rule crowd


class CameraSettings(_Section, frozen=True):
    """One camera."""

    source: str  # rtsp://, http://, /dev/video0, a file, synthetic://
    place: str = ""  # what people call where it looks; default: the camera's name
    rotation: Literal[0, 90, 180, 270] | None = None  # default: what the stream says
    open_hours: str = ""
    restricted: bool = False
    loiter_s: Positive = 60.0
    crowd: Count = 8
    priority: PriorityName | None = None
    outside_zones: Literal["watch", "ignore"] = "watch"
    zones: dict[str, ZoneSettings] = field(default_factory=dict)
    masks: dict[str, Outline] = field(default_factory=dict)  # nothing in here counts


class CaptureSettings(_Section, frozen=True):
    """How pictures come in."""

    frames_per_s: Rate = 10.0  # looked at; every picture is decoded, the others are not copied
    open_timeout_s: Positive = 5.0
    read_timeout_s: Positive = 5.0
    min_reconnect_s: Positive = 0.5
    max_reconnect_s: Positive = 30.0


class FramesSettings(_Section, frozen=True):
    """The shared memory."""

    slots: Slots = 8  # a camera
    keyframes: Slots = 16  # for all cameras together
    largest: tuple[Side, Side] = (8192, 4320)  # address space only; memory is taken for the real size


class MotionSettings(_Section, frozen=True):
    """When a difference counts as movement."""

    sensitivity: Annotated[float, Meta(gt=0, le=1)] = 0.5  # higher finds fainter things
    quiet_report_s: Positive = 0.5  # how often a quiet camera says that it is alive


class ClassifySettings(_Section, frozen=True):
    """The resident classifier."""

    model: str = "nanodet-g-160-int8"
    looks_per_s: Rate = 3.0  # a camera, in media time, while something moves
    max_crops: Count = 3
    min_likelihood: Share = 0.35
    still_looks_per_s: Rate = 1.0  # at a thing that stopped, so that waiting is not leaving
    max_still_s: Positive = 900.0  # then it belongs to the picture


class EncodeSettings(_Section, frozen=True):
    """The feature encoder. The six keys after `model` are for an ONNX file of one's own."""

    model: str = "efficientnet-lite0-224-int8"  # one that comes with the package, or an ONNX file
    sha256: str = ""  # of the file; another is refused
    layout: Literal["nchw", "nhwc"] = "nchw"  # of its input, one RGB picture of float32
    mean: tuple[Code, Code, Code] = (127.0, 127.0, 127.0)  # of R, G and B, 0..255: taken away,
    deviation: tuple[Divisor, Divisor, Divisor] = (128.0, 128.0, 128.0)  # then divided by
    embedding: str = ""  # the output that is the picture's vector; default: the last
    table: str = ""  # .npz of tags and their vectors in the same space (CLIP); default: no tags
    backend: Literal["cpu", "qnn", "openvino", "plugin_ep", "mnn", "rknn"] = "cpu"
    plugin: str = ""  # of back end plugin_ep: what the provider's wheel is imported as
    artefact: str = ""  # made of the model for this back end, by `models convert` or another tool; default: the model
    options: dict[str, str] = field(default_factory=dict)  # the back end's own, e.g. soc_model
    on_fallback: Literal["refuse", "degrade", "warn"] = "degrade"  # no features; the CPU; go on; reported in every case
    allow_cpu_ops: tuple[str, ...] = ()  # kinds of operations that may stay on the CPU
    min_cosine: Share = 0.99  # of its answers with the CPU's; below, they are never used
    max_partitions: Count = 1  # pieces that the graph may be cut into
    tags: Annotated[int, Meta(ge=0, le=10)] = 3

    @property
    def own(self) -> bool:
        """Whether the model is a file that the operator brought."""
        return self.model.endswith(".onnx")


class TriggerSettings(_Section, frozen=True):
    """The life of an incident. The four durations are those of Matter's zone management."""

    gap_s: Positive = 3.0  # quiet for so long ends it
    min_update_s: Positive = 2.0  # between two events that say who came and went
    max_s: Positive = 600.0  # longer ones are ended and begun anew
    blind_s: Annotated[float, Meta(ge=0, le=1e9)] = 0.0  # after one, this zone starts none
    lost_after_s: Positive = 10.0  # without a picture the camera counts as lost
    features_wait_s: Positive = 1.0  # then it is described without tags
    report_wait_s: Positive = 5.0  # then it ends without a new description
    storm_incidents: Count = 30  # that begin within ten seconds are summed up in one event, beside their own
    open_hours: str = ""  # of the site; cameras and zones may say otherwise


class PrioritySettings(_Section, frozen=True):
    """How urgent an incident is by what it is about; a zone's own priority goes before."""

    person: PriorityName = "warning"
    vehicle: PriorityName = "routine"
    animal: PriorityName = "routine"
    other: PriorityName = "routine"
    unknown: PriorityName = "routine"
    restricted: PriorityName = "alarm"


class DescribeSettings(_Section, frozen=True):
    """What is written about an incident."""

    language: Literal["en"] = "en"
    incidents: str = ""  # a rule table of your own; default: the one that comes with the package
    filters: str = ""  # lists of your own: what no sentence may say; default: those that come with the package
    sentence_encoder: bool = True  # finds notes whose words are unknown; 130 MB once there is a note
    model: str = ""  # NAME or NAME/VERSION; default: the one in use; none: the templates speak
    threads: Annotated[int, Meta(ge=0, le=64)] = 0  # 0: as [placement] and the control group allow
    context_tokens: Annotated[int, Meta(ge=512, le=8192)] = 1024
    max_verdict_s: Positive = 0.8  # for a verdict; notes that cannot be weighed in it are left out, and named
    max_sentence_tokens: Annotated[int, Meta(ge=16, le=256)] = 96
    idle_after_s: Positive = 60.0  # then the model gives back its memory
    alarm_within_s: Positive = 10.0  # a sentence that is not written by then is not written
    warning_within_s: Positive = 30.0
    routine_within_s: Positive = 120.0
    ageing_s: Positive = 20.0  # what has waited so long is as urgent as the class above it


class PlacementSettings(_Section, frozen=True):
    """Which cores the stages compute on."""

    pin: bool = True
    spare_cores: Annotated[int, Meta(ge=0, le=64)] = 1  # big ones that no language model or encoder computes on
    realtime: bool = False  # capture and trigger go before everything else, where that is permitted


class EmitSettings(_Section, frozen=True):
    """Where events go."""

    sinks: Annotated[tuple[Sink, ...], Meta(min_length=1)] = ("jsonl",)
    folder: str = ""  # default: the state folder
    evidence: bool = True
    jpeg_quality: Annotated[int, Meta(ge=30, le=100)] = 85
    max_evidence_mb: Positive = 1000.0  # the oldest go first
    rotate_mb: Positive = 64.0
    max_files: Count = 16
    fsync: Literal["never", "incident", "always"] = "incident"
    reserve_mb: Positive = 16.0  # of the disk, taken beforehand: for events when it is full
    max_waiting_mb: Positive = 256.0  # of events that wait for a sink while the disk has room
    serial_port: str = ""  # of the sink `serial`
    serial_baud: Annotated[int, Meta(ge=300, le=4_000_000)] = 115_200  # bits a second


class GovernorSettings(_Section, frozen=True):
    """What is done about heat, load and want of memory."""

    mode: Literal["act", "observe", "off"] = "act"
    sysfs: str = "/sys"  # where temperatures are read and frequencies are set
    zones: tuple[str, ...] = ()  # types of thermal zones; default: those of processors
    trip_c: Annotated[float, Meta(ge=0, le=125)] = 0.0  # 0: the board's first passive trip, else 85
    frequencies: bool = True  # lower them where that is allowed; else inference rests between forwards
    shed: bool = True  # give up what matters least under load
    min_memory_mb: Annotated[float, Meta(ge=0, le=1e6)] = 150.0  # with less to be had, the language model is given up
    leak_mb_per_h: Positive = 30.0  # a process that grows so fast for an hour is reported
    recycle_mb: Positive = 300.0  # and replaced between incidents when it has gathered so much
    drift: Positive = 1.5  # a stage that takes so many times longer than at first is reported


class RuntimeSettings(_Section, frozen=True):
    """The daemon itself."""

    run_dir: str = ""  # sockets; default: the user's runtime folder
    state_dir: str = ""  # journal and events; default: the user's state folder
    ready_s: Positive = 60.0
    stop_s: Positive = 5.0
    min_restart_s: Positive = 0.1
    max_restart_s: Positive = 30.0


class Settings(_Section, frozen=True):
    """The whole file."""

    site: SiteSettings = field(default_factory=SiteSettings)
    cameras: dict[CameraId, CameraSettings] = field(default_factory=dict)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    frames: FramesSettings = field(default_factory=FramesSettings)
    motion: MotionSettings = field(default_factory=MotionSettings)
    classify: ClassifySettings = field(default_factory=ClassifySettings)
    encode: EncodeSettings = field(default_factory=EncodeSettings)
    trigger: TriggerSettings = field(default_factory=TriggerSettings)
    priority: PrioritySettings = field(default_factory=PrioritySettings)
    describe: DescribeSettings = field(default_factory=DescribeSettings)
    placement: PlacementSettings = field(default_factory=PlacementSettings)
    emit: EmitSettings = field(default_factory=EmitSettings)
    governor: GovernorSettings = field(default_factory=GovernorSettings)
    runtime: RuntimeSettings = field(default_factory=RuntimeSettings)

    @property
    def sources(self) -> dict[str, str]:
        """Where the pictures of each camera come from: addresses, with their passwords."""
        return {name: camera.source for name, camera in self.cameras.items()}

    def digest(self) -> str:
        """Return twelve hex digits that change with any setting: which configuration made an event.

        Passwords are left out, as a short one could be found by trying; so are the folders in which the daemon keeps
        its own files, as they change nothing of an event and one folder has many names.
        """
        runtime = msgspec.structs.replace(self.runtime, run_dir="", state_dir="")
        public = msgspec.structs.replace(self.without_passwords(), runtime=runtime)
        return hashlib.sha256(msgspec.json.encode(public)).hexdigest()[:12]

    def without_passwords(self) -> Settings:
        """Return the same, with no more of each camera's address than may be shown."""
        cameras = {
            name: msgspec.structs.replace(camera, source=redact(camera.source)) for name, camera in self.cameras.items()
        }
        return msgspec.structs.replace(self, cameras=cameras)
