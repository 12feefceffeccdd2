"""The whole pipeline on one page: which stages run, and which links join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.core import messages as m
from pipeline.core.errors import TopologyError
from pipeline.core.inbox import Keep

if TYPE_CHECKING:
    from pipeline.core.device.placing import Load


class Link(NamedTuple):
    """A stream of messages, written by one stage (once a camera where that stage is)."""

    carries: tuple[type[m.Message], ...]
    rate: str  # what to expect, for people
    what: str
    counted: bool = True  # whether a message that its reader does not take is lost


class Input(NamedTuple):
    """How a reader of a link bounds what waits for it."""

    keep: Keep
    depth: int = 1


class StageRow(NamedTuple):
    """One process, or one a camera.

    Attributes:
        implementation: "module:Class", imported only in the child.
        reads: Links, and how each is bounded.
        writes: Links.
        per_camera: Whether there is one for every camera.
        ticks: Whether it is told twice a second that time goes by.
        infers: Whether its work is inference, which heats.
        role: The teller is told of restarts, and raises the events about them; the governor is told what all others do.
        replaceable: Whether it may be replaced while the daemon runs, as it remembers nothing that matters.
        nice: Of the process.
        load: Heavy ones compute on the big cores.
        realtime: Whether it goes before everything else where [placement] asks for it.
        stalled_after_s: Without a beat for so long it is replaced.
        message_ms: Budget: what 19 of 20 messages take at most, on the machine of DECISIONS.md, with the models that
            come with it; without the sentences of a language model, each forward of which is a piece of its own.
        memory_mb: Budget: of one process, shared pages divided by who shares them (`tests.bench.processes`).
        held_by: The setting that holds it to its budgets.
    """

    implementation: str
    reads: dict[str, Input]
    writes: tuple[str, ...]
    per_camera: bool
    ticks: bool
    infers: bool
    role: Literal["", "teller", "governor"]
    replaceable: bool
    nice: int
    load: Load
    realtime: bool
    stalled_after_s: float
    message_ms: float
    memory_mb: float
    held_by: str

    @property
    def source(self) -> bool:
        """Whether it makes messages of what it alone sees, until that ends."""
        return not self.reads and not self.ticks


# fmt: off
LATEST = Input(Keep.LATEST)
URGENT = Input(Keep.MOST_URGENT, 32)
STORM  = Input(Keep.MOST_URGENT, 1000)  # describe itself says which it has no time for
ALL    = Input(Keep.ALL)

# link            carries                     rate                    what
LINKS = {
    "frames":    Link((m.FrameCaptured,),     "10/s a camera",        "a picture lies in the camera's ring"),
    "motion":    Link((m.MotionMeasured,),    "10/s while moving",    "where it moves; every half second that it does not"),
    "scenes":    Link((m.SceneClassified,),   "10/s while moving",    "what moves there"),
    "device":    Link((m.DeviceReported,),    "rare",                 "heat, load or memory changed what is done"),
    "cameras":   Link((m.CameraChanged,),     "rare",                 "a camera came, went or ended"),
    "encodes":   Link((m.FeaturesWanted,),    "1-3 an incident",      "a keyframe to encode"),
    "features":  Link((m.FeaturesEncoded, m.EncoderReported), "1-3 an incident", "embedding and tags of a keyframe, and what makes them"),
    "incidents": Link((m.DescriptionWanted,), "2 an incident",        "facts to describe"),
    "reports":   Link((m.IncidentDescribed, m.ModelReported), "4 an incident", "what was concluded from the facts, and who concludes"),
    "events":    Link((m.EventRaised,),       "3 an incident",        "what an operator is told; the event log has it already", counted=False),
    "deliveries": Link((m.EventsDelivered, m.SinkReported), "3 an incident", "how far the sinks are, and which of them does not take events"),
}

# In the order in which frames pass them.
STAGES = {
    "capture":  StageRow(implementation="stages.capture:Capture",    reads={}, writes=("frames", "cameras"),
                         per_camera=True,  ticks=False, infers=False, role="",         replaceable=False,
                         nice=-5, load="light", realtime=True,  stalled_after_s= 30.0,
                         message_ms=30.0, memory_mb= 60.0, held_by="capture.frames_per_s"),
    "motion":   StageRow(implementation="stages.motion:Motion",      reads={"frames": LATEST}, writes=("motion",),
                         per_camera=True,  ticks=False, infers=False, role="",         replaceable=True,
                         nice= 0, load="light", realtime=False, stalled_after_s= 10.0,
                         message_ms=15.0, memory_mb= 60.0, held_by="capture.frames_per_s"),
    "classify": StageRow(implementation="stages.classify:Classify",  reads={"motion": LATEST}, writes=("scenes",),
                         per_camera=False, ticks=False, infers=False, role="",         replaceable=True,
                         nice= 0, load="light", realtime=False, stalled_after_s= 10.0,
                         message_ms=60.0, memory_mb= 80.0, held_by="classify.looks_per_s"),
    "govern":   StageRow(implementation="stages.govern:Govern",      reads={}, writes=("device",),
                         per_camera=False, ticks=True,  infers=False, role="governor", replaceable=False,
                         nice=-5, load="light", realtime=False, stalled_after_s= 10.0,
                         message_ms=20.0, memory_mb= 40.0, held_by="governor.zones"),
    "trigger":  StageRow(implementation="stages.trigger:Trigger",    reads={"cameras": ALL, "deliveries": ALL, "features": ALL, "reports": ALL,
                                                                            "device": ALL, "scenes": LATEST}, writes=("encodes", "incidents", "events"),
                         per_camera=False, ticks=True,  infers=False, role="teller",   replaceable=False,
                         nice=-5, load="light", realtime=True,  stalled_after_s= 10.0,
                         message_ms=10.0, memory_mb= 60.0, held_by="trigger.max_s"),
    "encode":   StageRow(implementation="stages.encode:Encode",      reads={"encodes": URGENT}, writes=("features",),
                         per_camera=False, ticks=False, infers=True,  role="",         replaceable=True,
                         nice= 5, load="heavy", realtime=False, stalled_after_s= 30.0,
                         message_ms=60.0, memory_mb=100.0, held_by="encode.model"),
    "describe": StageRow(implementation="stages.describe:Describe",  reads={"incidents": STORM}, writes=("reports",),
                         per_camera=False, ticks=True,  infers=True,  role="",         replaceable=True,
                         nice= 5, load="heavy", realtime=False, stalled_after_s=120.0,
                         message_ms=20.0, memory_mb=300.0, held_by="describe.model"),
    "emit":     StageRow(implementation="stages.emit:Emit",          reads={"events": ALL}, writes=("deliveries",),
                         per_camera=False, ticks=True,  infers=False, role="",         replaceable=False,
                         nice= 0, load="light", realtime=False, stalled_after_s= 30.0,
                         message_ms=30.0, memory_mb= 60.0, held_by="emit.jpeg_quality"),
}
# fmt: on

SHUTDOWN = ("capture", "motion", "classify", "govern", "trigger", "encode", "describe", "emit")
"""The order in which stages are told to end: sources first, so that nothing new comes; trigger before those that answer
its last questions; emit last, which delivers what they said."""

TELLER = next(name for name, row in STAGES.items() if row.role == "teller")
GOVERNOR = next(name for name, row in STAGES.items() if row.role == "governor")
INFERRING = tuple(name for name, row in STAGES.items() if row.infers)


def link_of(message: type[m.Message] | m.Message) -> str:
    """Name the link that carries a message."""
    kind = message if isinstance(message, type) else type(message)
    return _LINK_OF[kind]


def readers(link: str) -> list[str]:
    """Name the stages that read a link."""
    return [stage for stage, row in STAGES.items() if link in row.reads]


def instances(cameras: list[str]) -> list[str]:
    """Name every process of a daemon with these cameras, in the order in which frames pass them."""
    return [
        name
        for stage, row in STAGES.items()
        for name in ([f"{stage}@{camera}" for camera in cameras] if row.per_camera else [stage])
    ]


def split(instance: str) -> tuple[str, str | None]:
    """Take a process name apart: stage, and camera where it has one."""
    stage, _, camera = instance.partition("@")
    return stage, camera or None


def targets(link: str, writer: str) -> list[str]:
    """Name the processes that a link leads to from this writer: a camera's link stays with the camera."""
    camera = split(writer)[1]
    return [f"{reader}@{camera}" if STAGES[reader].per_camera else reader for reader in readers(link)]


def check(stages: dict[str, StageRow], links: dict[str, Link]) -> None:
    """Raise TopologyError unless every link has exactly one writer and at least one reader, and every message one link."""
    carried: dict[type[m.Message], str] = {}
    for name, link in links.items():
        writers = [stage for stage, row in stages.items() if name in row.writes]
        reading = [stage for stage, row in stages.items() if name in row.reads]
        if len(writers) != 1 or not reading:
            raise TopologyError(f"link {name}: writers {writers}, readers {reading}")
        for kind in link.carries:
            if kind in carried:
                raise TopologyError(f"{kind.__name__} is carried by both {carried[kind]} and {name}")
            carried[kind] = name
    for stage, row in stages.items():
        unknown = {*row.reads, *row.writes} - links.keys()
        if unknown:
            raise TopologyError(f"stage {stage}: unknown links {sorted(unknown)}")


def mermaid() -> str:
    """Draw the two tables as a mermaid flow chart."""
    lines = ["flowchart LR"]
    lines += [f'  {stage}["{stage}{" (once a camera)" if row.per_camera else ""}"]' for stage, row in STAGES.items()]
    lines += [
        f"  {stage} -->|{link}| {reader}"
        for stage, row in STAGES.items()
        for link in row.writes
        for reader in readers(link)
    ]
    return "\n".join(lines)


_LINK_OF = {kind: name for name, link in LINKS.items() for kind in link.carries}
