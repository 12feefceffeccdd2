"""Cameras that come, go and fall silent: what is told of them, and what has to be remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.incident import cameras, telling
from pipeline.core.incident.cameras import Camera
from pipeline.core.messages import CameraChanged
from pipeline.core.vocabulary import CameraId
from stages.journal import Journal, Missed, Numbered, Weight

if TYPE_CHECKING:
    from pipeline.core.stage import Outputs, StageContext
    from pipeline.core.vocabulary import Nanoseconds
    from stages.raising import At, Raiser


class Cameras:
    """What is known of the cameras, and what of their comings and goings is told.

    Attributes:
        known: By name; one of which nothing was heard is not there.
    """

    def __init__(self, context: StageContext, journal: Journal, raiser: Raiser) -> None:
        self.known: dict[CameraId, Camera] = {}
        self._context = context
        self._journal = journal
        self._raiser = raiser

    @property
    def missed(self) -> dict[CameraId, str]:
        """How each camera is missed, by name; the journal holds sinks there as well."""
        return self._journal.missed

    def start_waiting(self, now_ns: Nanoseconds) -> None:
        """Begin to wait for every camera, so that one that never comes is missed like one that fell silent."""
        self.known = {camera: Camera(now_ns) for camera in self._context.settings.cameras}

    def forget_ended(self) -> None:
        """Forget which recordings had ended, so that they are read again."""
        for camera in [camera for camera, how in self.missed.items() if how == cameras.ENDED]:
            self._journal.remember(Missed(camera, ""))

    def seen(self, camera: CameraId, at: At) -> Outputs:
        """A picture came."""
        self.known[camera] = cameras.seen(self.known.get(camera, Camera()), at.pts_ns)
        if self.missed.get(camera) == cameras.SILENT:
            yield from self.tell(camera, "found", "", "pictures come again", at)

    def heard_of(self, message: CameraChanged) -> str | None:
        """A camera's capture said something. Returns how the camera is missed now; None: it is not."""
        if message.state == "ended":
            self._journal.remember(Missed(message.camera, cameras.ENDED))
            return cameras.ENDED
        known = self.known.get(message.camera, Camera())
        self.known[message.camera] = cameras.heard_of(known, message.pts_ns)
        return self.missed.get(message.camera)

    def silent(self, now_ns: Nanoseconds) -> tuple[CameraId, ...]:
        """Name those that have fallen silent, and are not missed yet."""
        return cameras.silent(self.known, self.missed, now_ns, self._context.settings.trigger.lost_after_s)

    def ended(self, camera: CameraId) -> bool:
        """Whether a camera's recording has ended."""
        return self.missed.get(camera) == cameras.ENDED

    def over(self, camera: CameraId, now_ns: Nanoseconds) -> bool:
        """Whether a camera's recording has ended, and nothing of it is under way any more."""
        gap_s = self._context.settings.trigger.gap_s
        return self.ended(camera) and self.known.get(camera, Camera()).quiet_for(now_ns, gap_s)

    def tell(self, camera: CameraId, state: telling.CameraState, how: str, reason: str, at: At) -> Outputs:
        """Tell that a camera came or went and remember it, in one step; `how` it is missed, empty: it is not."""
        known = self.known.get(camera, Camera())
        self.known[camera], alone = cameras.changed(known, at.pts_ns, lost=state == "lost", reason=reason)
        if not alone:
            self._journal.remember(Missed(camera, how))
            return
        change = CameraChanged(camera=camera, state=state, reason=reason, pts_ns=at.pts_ns, utc_ns=at.utc_ns)
        counter = CameraId(f"camera/{camera}")
        number = self._raiser.next_number(counter)
        event = telling.camera_event(change, number, self._context.uris.get(camera, ""))
        told = yield from self._raiser.raised(event, Weight.URGENT, Missed(camera, how), Numbered(counter, number))
        self._raiser.count_unlogged("notices", not told)

    def sum_up(self, at: At) -> Outputs:
        """Sum up how often a camera came and went, and in the end say what became of it."""
        for camera, known in list(self.known.items()):
            how = self.missed.get(camera, "")
            self.known[camera], summary = cameras.step(known, at.pts_ns, how)
            if summary is None:
                continue
            counter = CameraId(f"camera/{camera}")
            number = self._raiser.next_number(counter)
            event = telling.flapping_event(camera, number, summary.details, at)
            logged = yield from self._raiser.raised(event, Weight.URGENT, Numbered(counter, number))
            self._raiser.count_unlogged("notices", not logged)
            if summary.became is not None:
                state, reason = summary.became
                yield from self.tell(camera, state, how, reason, at)
