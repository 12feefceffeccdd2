"""The whole pipeline on one page: which stages run, and which links join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    """One process, or one a camera."""

    implementation: str  # "module:Class", imported only in the child
    reads: dict[str, Input]
    writes: tuple[str, ...]
    per_camera: bool
    ticks: bool  # whether it is told twice a second that time goes by
    nice: int
    load: Load  # heavy ones compute on the big cores
    realtime: bool  # where [placement] asks for it
    stalled_after_s: float  # without a beat for so long it is replaced

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

# stage          implementation                   reads                                               writes                              camera ticks  nice load     rr     stalled
STAGES = {
    "capture":  StageRow("stages.capture:Capture",   {},                                              ("frames", "cameras"),              True,  False, -5, "light", True,  30.0),
    "motion":   StageRow("stages.motion:Motion",     {"frames": LATEST},                              ("motion",),                        True,  False,  0, "light", False, 10.0),
    "classify": StageRow("stages.classify:Classify", {"motion": LATEST},                              ("scenes",),                        False, False,  0, "light", False, 10.0),
    "govern":   StageRow("stages.govern:Govern",     {},                                              ("device",),                        False, True,  -5, "light", False, 10.0),
    "trigger":  StageRow("stages.trigger:Trigger",   {"cameras": ALL, "deliveries": ALL, "features": ALL,
                                                      "reports": ALL, "device": ALL, "scenes": LATEST}, ("encodes", "incidents", "events"), False, True,  -5, "light", True,  10.0),
    "encode":   StageRow("stages.encode:Encode",     {"encodes": URGENT},                             ("features",),                      False, False,  5, "heavy", False, 30.0),
    "describe": StageRow("stages.describe:Describe", {"incidents": STORM},                            ("reports",),                       False, True,   5, "heavy", False, 120.0),
    "emit":     StageRow("stages.emit:Emit",         {"events": ALL},                                 ("deliveries",),                    False, True,   0, "light", False, 30.0),
}
# fmt: on

TELLER = "trigger"  # the stage that is told of restarts, and raises the events about them
GOVERNOR = "govern"  # the stage that is told what all others do
REPLACEABLE = ("motion", "classify", "encode", "describe")  # while the daemon runs: they remember nothing that matters
INFERRING = ("encode", "describe")  # whose work heats


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
