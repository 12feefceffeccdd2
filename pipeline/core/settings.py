"""Every setting, its default and its bounds. `config/pipeline.toml` shows them with a comment each."""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta, field

from pipeline.core import files, sources
from pipeline.core.errors import ConfigError
from pipeline.core.geometry import Polygon
from pipeline.core.printing import printable
from pipeline.core.secrets import redacted
from pipeline.core.vocabulary import CameraId

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
_WRITTEN = {
    "str": "write it in quotes",
    "int": "write a whole number, without quotes",
    "float": "write a number, without quotes",
    "array": "write a list, in brackets",
}
"""How a value of a kind is written, for whoever wrote another."""

_LINE_MOST = 2000  # letters


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
    reconnect_first_s: Positive = 0.5
    reconnect_most_s: Positive = 30.0


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
    crops_a_look: Count = 2
    min_likelihood: Share = 0.35
    still_looks_per_s: Rate = 1.0  # at a thing that stopped, so that waiting is not leaving
    still_most_s: Positive = 900.0  # then it belongs to the picture


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
    on_fallback: Literal["refuse", "degrade", "warn"] = "degrade"  # no features; the CPU; go on: told in every case
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
    max_s: Positive = 600.0  # longer ones are ended and begun anew
    blind_s: Annotated[float, Meta(ge=0)] = 0.0  # after one, this zone starts none
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
    latency_budget_ms: Positive = 800.0  # for a verdict; notes that cannot be weighed in it are left out, and named
    summary_most_tokens: Annotated[int, Meta(ge=16, le=256)] = 96
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
    evidence_most_mb: Positive = 1000.0  # the oldest go first
    rotate_mb: Positive = 64.0
    keep_files: Count = 16
    fsync: Literal["never", "incident", "always"] = "incident"
    reserve_mb: Positive = 16.0  # of the disk, taken beforehand: for events when it is full
    max_waiting_mb: Positive = 256.0  # of events that wait for a sink while the disk has room
    serial_port: str = ""  # of the sink `serial`
    serial_baud: Annotated[int, Meta(ge=300, le=4_000_000)] = 115_200  # bits a second


class GovernorSettings(_Section, frozen=True):
    """What is done about heat, load and want of memory."""

    mode: Literal["act", "observe", "off"] = "act"
    sysfs: str = "/sys"  # where the kernel tells temperatures and takes frequencies
    zones: tuple[str, ...] = ()  # types of thermal zones; default: those of processors
    trip_c: Annotated[float, Meta(ge=0, le=125)] = 0.0  # 0: the board's first passive trip; 85 where it tells none
    frequencies: bool = True  # lower them where that is allowed; else inference rests between forwards
    shed: bool = True  # give up what matters least under load
    memory_least_mb: Annotated[float, Meta(ge=0, le=1e6)] = 150.0  # with less to be had, the language model is given up
    leak_mb_per_h: Positive = 30.0  # a process that grows so fast for an hour is told of
    recycle_mb: Positive = 300.0  # and replaced between incidents when it has gathered so much
    drift: Positive = 1.5  # a stage that takes so many times longer than at first is told of


class RuntimeSettings(_Section, frozen=True):
    """The daemon itself."""

    run_dir: str = ""  # sockets; default: the user's runtime folder
    state_dir: str = ""  # journal and events; default: the user's state folder
    ready_s: Positive = 60.0
    stop_s: Positive = 5.0
    restart_first_s: Positive = 0.1
    restart_most_s: Positive = 30.0


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
        cameras = {
            name: msgspec.structs.replace(camera, source=redacted(camera.source))
            for name, camera in self.cameras.items()
        }
        runtime = msgspec.structs.replace(self.runtime, run_dir="", state_dir="")
        told = msgspec.structs.replace(self, cameras=cameras, runtime=runtime)
        return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:12]


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with a configuration file."""

    line: int
    path: str
    text: str


RETIRED = {
    "trigger.resend_after_s": "events are never sent again: they stay in the event log until every sink has them",
    "emit.spool": "events that wait for a sink wait in the event log: see emit.reserve_mb and emit.max_waiting_mb",
}
"""Keys of earlier versions that mean nothing any more, and why; a file that has them is still valid."""


def load(path: Path) -> Settings:
    """Read and check a configuration file. Raises ConfigError that lists every problem with its line."""
    try:
        text = _read(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: byte {error.start} is no UTF-8: save it as UTF-8 text") from error
    settings, problems = parse(text)
    if settings is None or problems:
        raise ConfigError("\n".join(f"{path}:{problem.line}: {printable(problem.text)}" for problem in problems))
    return settings


def at(path: Path, where: str) -> str:
    """Return where a file says a key, or the table above it, as FILE:LINE. Raises OSError."""
    return f"{path}:{_line(_lines(_read(path)), where)}"


def _read(path: Path) -> str:
    return files.read_bounded(path, files.TEXT, follow=True).decode("utf-8-sig")  # some editors begin with a mark


def retired(path: Path) -> list[str]:
    """Say of each key of a file that means nothing any more why, with its line. Raises OSError, UnicodeDecodeError."""
    text = _read(path)
    keys = _retired(tomllib.loads(text))
    return [f"{path}:{_line(_lines(text), key)}: `{key}` means nothing any more: {RETIRED[key]}" for key in keys]


def _retired(tables: dict[str, Any]) -> list[str]:
    split = ((key, *key.split(".")) for key in RETIRED)
    return [key for key, table, name in split if isinstance(tables.get(table), dict) and name in tables[table]]


def parse(text: str) -> tuple[Settings | None, list[Problem]]:
    """Turn the text of a configuration into settings, or say everything that is wrong with it."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        last = max(1, len(text.splitlines()))  # "at end of document"
        return None, [Problem(int(at[1]) if at else last, "", f"not valid TOML: {error}")]
    except (RecursionError, ValueError) as error:  # thousands of brackets, thousands of digits
        return None, [Problem(1, "", f"not valid TOML: {error}")]
    lines = _lines(text)
    for key in _retired(tables):
        table, _, name = key.partition(".")
        del tables[table][name]
    found = [*_unknown_keys(tables, Settings, ""), *_unfit(tables, Settings, "")]
    found = found or list(_nul(tables, ""))  # which goes down as deep as they are
    if found:
        return None, [Problem(_line(lines, where), where, what) for where, what in found]
    settings = msgspec.convert(tables, Settings)
    return settings, [Problem(_line(lines, where), where, what) for where, what in _contradictions(settings)]


def _unknown_keys(table: dict[str, Any], kind: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield every key that no setting has, with the nearest that one has."""
    known = get_type_hints(kind)
    for key, value in table.items():
        path = f"{where}.{key}" if where else key
        if key not in known:
            near = difflib.get_close_matches(key, known, 1, 0.5)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known: {', '.join(sorted(known))}"
            yield path, f"unknown key `{path}`{hint}"
            continue
        yield from _unknown_below(value, known[key], path)


def _unknown_below(value: Any, kind: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        return
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _unknown_keys(value, kind, path)
    elif get_origin(kind) is dict:
        member = get_args(kind)[1]
        for name, entry in value.items():
            yield from _unknown_below(entry, member, f"{path}.{name}")


def _unfit(value: Any, kind: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every value that its setting does not allow; key by key, as msgspec does not name members of tables."""
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind, include_extras=True)
        for key in (key for key in value if key in hints):
            yield from _unfit(value[key], hints[key], f"{path}.{key}" if path else key)
        for setting in msgspec.structs.fields(kind):
            if setting.required and setting.name not in value:
                yield path, f"`{path}`: missing required field `{setting.name}`"
    elif isinstance(value, dict) and get_origin(kind) is dict:
        for name, entry in value.items():
            yield from _unfit(entry, get_args(kind)[1], f"{path}.{name}")
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            text, _, inside = str(error).partition(" - at `$")
            yield path, f"`{path}{inside.rstrip('`')}`: {_plainly(text, kind)}"


def _nul(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text with a NUL in it, which the system takes for the end of a name."""
    if isinstance(value, str) and "\0" in value:
        yield path, f"`{path}`: a NUL is in this text: take it out"
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _nul(entry, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for entry in value:
            yield from _nul(entry, path)


def _plainly(text: str, kind: Any) -> str:
    """Say what is wrong in the words of who wrote the file."""
    choices = [choice for part in (kind, *get_args(kind)) if get_origin(part) is Literal for choice in get_args(part)]
    if choices and "Invalid enum value" in text:
        return f"{text.removeprefix('Invalid enum value ')}: use one of {', '.join(map(str, choices))}"
    if "Expected `bool`" in text:
        return "write true or false, without quotes"
    if "of length >= 3" in text:
        return "an outline needs at least 3 points"
    way = next((way for wanted, way in _WRITTEN.items() if f"Expected `{wanted}`, got" in text), "")
    return f"{text}: {way}" if way else text


def _sinks(emit: EmitSettings) -> Iterator[tuple[str, str]]:
    if len(set(emit.sinks)) < len(emit.sinks):
        yield "emit.sinks", "every sink once: twice the same would write every event twice"
    if "serial" in emit.sinks and not emit.serial_port:
        yield "emit.serial_port", 'the sink `serial` needs a device, e.g. serial_port = "/dev/ttyUSB0"'


def _contradictions(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield what each key allows but all together do not."""
    try:
        ZoneInfo(settings.site.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield "site.timezone", f"unknown time zone `{settings.site.timezone}`: use an IANA name such as Europe/Vienna"
    capture = settings.capture
    if capture.reconnect_first_s > capture.reconnect_most_s:
        yield "capture.reconnect_first_s", "the first pause is longer than capture.reconnect_most_s allows"
    if settings.runtime.restart_first_s > settings.runtime.restart_most_s:
        yield "runtime.restart_first_s", "the first pause is longer than runtime.restart_most_s allows"
    yield from _sinks(settings.emit)
    yield from _hours("trigger.open_hours", settings.trigger.open_hours)
    for name, camera in settings.cameras.items():
        where = f"cameras.{name}"
        if not re.fullmatch(r"[A-Za-z0-9._~-]{1,48}", name):
            yield where, f"camera name `{name}`: use 1 to 48 letters, digits, dots, dashes or underscores"
        yield from _source(f"{where}.source", camera.source)
        yield from _hours(f"{where}.open_hours", camera.open_hours)
        for label, zone in camera.zones.items():
            if not label:
                yield f"{where}.zones", "a zone needs a name"
            yield from _hours(f"{where}.zones.{label}.open_hours", zone.open_hours)
            yield from _outline(f"{where}.zones.{label}.polygon", zone.polygon)
        for label, outline in camera.masks.items():
            yield from _outline(f"{where}.masks.{label}", outline)


def _source(where: str, text: str) -> Iterator[tuple[str, str]]:
    """A kind of source that there is not is a file that is not there, for the capture; said here it is noticed."""
    if not text.strip() or text != text.strip():
        yield where, f"a camera needs a source, without spaces around it: {sources.HOW}"
    elif (kind := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", text)) and kind[1].lower() not in sources.SCHEMES:
        near = difflib.get_close_matches(kind[1].lower(), sources.SCHEMES, 1, 0.5)
        named = (
            f"no kind of source `{kind[1]}:`" if near or text[kind.end() :].startswith("//") else "no kind of source"
        )
        yield where, named + (f"; did you mean `{near[0]}`?" if near else f"; use {sources.HOW}")
    elif kind and sources.SCHEMES[kind[1].lower()].shown == "host" and not text[kind.end() :].startswith("//"):
        yield where, f"`{kind[1]}:` is followed by `//`"


def _hours(where: str, text: str) -> Iterator[tuple[str, str]]:
    if text and not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d", text):
        yield where, f"`{text}` is no span of hours: write it as 07:00-18:00"


def _outline(where: str, polygon: Polygon) -> Iterator[tuple[str, str]]:
    if any(not 0 <= edge <= 1 for point in polygon for edge in point):
        yield where, "points are shares of the picture, 0..1, not pixels: divide by width and height"


def _lines(text: str) -> dict[str, int]:
    """Map every key of a TOML text, with its tables and those above them, to its line."""
    found: dict[str, int] = {}
    table = ""
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole[:_LINE_MOST]  # no header or key is longer
        if header := re.match(r"\s*\[\[?([^\[\],]+)\]\]?\s*(#.*)?$", line):  # and no row of an array
            table = header[1].strip().replace('"', "")
            names = table.split(".")
            for depth in range(len(names), 0, -1):
                found.setdefault(".".join(names[:depth]), number)
        elif key := re.match(r"\s*([A-Za-z0-9_.\"-]+)\s*=", line):
            name = key[1].replace('"', "")
            found.setdefault(f"{table}.{name}" if table else name, number)
    return found


def _line(lines: dict[str, int], path: str) -> int:
    """Return the line of a key, or of the nearest table above it."""
    while path:
        if path in lines:
            return lines[path]
        path = path.rpartition(".")[0]
    return 1
