"""The contract between a stage and the runtime."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pipeline.core.device.limits import Held

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pipeline.core.device.limits import Limits
    from pipeline.core.frames import FramePool
    from pipeline.core.messages import AnyMessage
    from pipeline.core.settings import CameraSettings, Settings
    from pipeline.core.vocabulary import CameraId, ClockState, Nanoseconds

Outputs: TypeAlias = "Iterator[AnyMessage]"


class Clock(Protocol):
    """The times of an event that do not come from its message. Injected, so that a replay has none of its own."""

    media: bool  # True: times are those of the recording, and a line may hold nothing that was measured

    def recorded(self, utc_ns: Nanoseconds, pts_ns: Nanoseconds) -> tuple[Nanoseconds, Nanoseconds, str]:
        """When the line is written (UTC), the boot-time clock, and the boot id."""
        ...

    def state(self) -> ClockState:
        """Whether the wall clock can be trusted."""
        ...

    def now(self) -> tuple[Nanoseconds, Nanoseconds]:
        """Return the time on the live timeline, which never goes backwards, and in UTC."""
        ...

    def monotonic_ns(self) -> Nanoseconds:
        """The clock that hops are measured with; nothing in a replay."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass; returns early when the stage is to stop."""
        ...


class Limited(Protocol):
    """Where the limits in force are read, and set by whoever governs."""

    def get(self) -> Limits:
        """What holds now."""
        ...

    def set(self, limits: Limits) -> None:
        """From now on."""
        ...

    def record_energy(self, joules: float) -> None:
        """Record the energy of the device since the daemon began, in joules."""
        ...

    def recycle(self, name: str) -> bool:
        """Request that a process is replaced as soon as no incident is open; False if it cannot be replaced."""
        ...


@dataclass(frozen=True)
class StageContext:
    """Everything a stage may touch outside itself; tests build one by hand."""

    settings: Settings
    rings: Mapping[CameraId, FramePool]  # writable for the camera's capture, read-only elsewhere
    keyframes: FramePool  # writable for trigger, read-only elsewhere
    clock: Clock
    camera: CameraId | None = None  # of stages that exist once a camera
    lives: int = 0  # how often this stage was replaced since the daemon began
    config_hash: str = ""  # which configuration makes these events
    uris: Mapping[CameraId, str] = field(default_factory=dict)  # what events call a camera's source
    state_dir: Path | None = None  # for what must survive a kill; None: nothing need survive
    log_dir: Path | None = None  # of the event log, for trigger and emit
    models_dir: Path | None = None  # the state folder that language models are installed in; None: there are none
    stdout: int = 1  # descriptor that events may be printed to
    threads: int = 1  # that a language model computes with, where the configuration leaves it open
    stands_for: str = ""  # the camera of the configuration that a recording is of: its notes hold; empty: its own
    limits: Limited = field(default_factory=Held)
    began_utc_ns: Nanoseconds | None = None  # of a recording, where it is known: UTC of its first picture

    def own_camera(self) -> CameraSettings:
        """Return the settings of the camera this stage belongs to."""
        assert self.camera is not None
        return self.settings.cameras[self.camera]


class Stage(ABC):  # noqa: B024  # every method has a default on purpose
    """One step of the pipeline, alone in its process. It never sees a socket, a signal or a process."""

    dropped = 0  # what the stage dropped: late pictures, evidence that was overwritten
    reread = 0  # language models only: prompts whose part that never changes had to be read again
    missed = 0  # deadlines that were missed
    open = ended = 0  # trigger only: incidents that are not over, and that are
    given_up = 0  # trigger only: events without room on the disk that are not reported yet
    undelivered = 0  # trigger only: events in the log that a sink has not got
    share = 0.0  # sources only: how much of the recording was read, 0..1 where that is known

    def __init__(self, context: StageContext) -> None:
        self.context = context

    def warm_up(self) -> None:  # noqa: B027  # as the class: a default
        """Load models and run them once; the host reports READY only after this."""

    def produce(self) -> Outputs:
        """Sources only: yield messages until the footage ends."""
        yield from ()

    def handle(self, message: AnyMessage) -> Outputs:  # noqa: ARG002  # the default knows no message
        """Turn one message into any number of others."""
        yield from ()

    def pending(self) -> bool:
        """Tell whether there is work that may wait until no message is left."""
        return False

    def step(self) -> Outputs:
        """Do a small piece of this work; called while no message waits, so that urgent messages wait for one piece."""
        yield from ()

    def begin(self) -> Outputs:
        """Send what an earlier life of the stage did not send; called when all stages are ready."""
        yield from ()

    def finish(self) -> Outputs:
        """Send the last messages; called when the stages before this one have ended."""
        yield from ()

    def since_ns(self) -> Nanoseconds | None:
        """Return the time, on the live timeline, of the oldest unanswered question; None if there is none."""
        return None

    def spent(self) -> float:
        """Return the largest share of its time that an unanswered question has used, 0..1."""
        return 0.0

    def waiting(self) -> bool:
        """Tell whether the stage should wait for answers when it is stopped."""
        return False

    def close(self) -> None:  # noqa: B027  # as the class: a default
        """Release the resources of `warm_up`."""
