"""Emit: what the event log holds to every sink, in order, once, with its pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from pipeline.core import events
from pipeline.core.errors import SinkUnavailableError
from pipeline.core.incident import telling
from pipeline.core.messages import EventRaised, EventsDelivered, SinkReported, Ticked
from pipeline.core.stage import Stage
from pipeline.eventlog import reader
from stages.sinks.lines import Lines
from stages.sinks.outlet import Outlet
from stages.sinks.pictures import Pictures
from stages.sinks.table import TABLE, Given

if TYPE_CHECKING:
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs, StageContext
    from pipeline.core.vocabulary import Nanoseconds

log = structlog.get_logger()

_AT_ONCE = 64  # records a sink is given before messages are looked at again
_CALM_S = 5.0  # without trouble for so long, a sink is told to be well again

_encoder = msgspec.json.Encoder()


class Emit(Stage):
    """The only one that writes events. Each sink reads the log at its own pace; messages say that there is more."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self._rows = context.settings.emit
        self._folder = Path(self._rows.folder)
        self._troubled: dict[str, Nanoseconds] = {}  # when sinks were last in trouble, while that is told
        self._found: set[str] = set()  # sinks of which something was told in this life
        self._lost: dict[str, int] = {}  # events that sinks will not get, as was told
        self._delivered = 0  # position up to which that was told
        self._more = False  # whether a sink can go on at once

    def warm_up(self) -> None:
        """Open the sinks; each goes on where it ended."""
        assert self.context.log_dir is not None
        self._log = self.context.log_dir
        self._pictures = Pictures(self._folder, self.context.keyframes, self._rows)
        self._kept = Outlet("pictures", self._pictures, self._log, durable=True)
        lines = Lines(self.context.settings.site, self._pictures.of)
        given = Given(self._rows, lines, self.context.stdout)
        rows = ((name, TABLE[name]) for name in self._rows.sinks)
        self._sinks = [Outlet(name, row.opened(given), self._log, durable=row.durable) for name, row in rows]

    def handle(self, message: AnyMessage) -> Outputs:
        """Deliver what there is; yield how far every sink is, and what is wrong with one."""
        assert isinstance(message, EventRaised | Ticked)
        if isinstance(message, Ticked):
            self._look_after_room()
        elif self.context.clock.media:
            self._note_timings(message)
        self._deliver()
        yield from self._tell(message.pts_ns, message.utc_ns)

    def pending(self) -> bool:
        """Whether a sink can go on at once."""
        return self._more

    def step(self) -> Outputs:
        """Deliver some more."""
        self._deliver()
        yield from self._tell_delivered()

    def finish(self) -> Outputs:
        """Deliver the rest, as far as sinks take it. Raises SinkUnavailableError in a replay: it has no next start."""
        while self._more or self._behind():
            self._deliver()
            if not self._more:
                break
        yield from self._tell_delivered()
        if self.context.clock.media and (failing := [outlet.failing for outlet in self._sinks if outlet.failing]):
            raise SinkUnavailableError(failing[0])

    def waiting(self) -> bool:
        """Whether a sink that takes events has not got all."""
        return self._more

    def close(self) -> None:
        """Close the sinks."""
        for outlet in (self._kept, *self._sinks):
            outlet.close()

    def _deliver(self) -> None:
        """Keep the pictures first: a sink tells of those that are there."""
        more = self._kept.pump(_AT_ONCE)
        going = [outlet.pump(_AT_ONCE, self._kept.position) for outlet in self._sinks]
        self._more = more or any(going)
        self.dropped = self._pictures.dropped

    def _behind(self) -> bool:
        return any(outlet.position < self._kept.position and not outlet.failing for outlet in self._sinks)

    def _tell(self, pts_ns: Nanoseconds, utc_ns: Nanoseconds) -> Outputs:
        yield from self._tell_delivered()
        for outlet in self._sinks:
            lost = outlet.lost - self._lost.get(outlet.name, 0)
            self._lost[outlet.name] = outlet.lost
            trouble = outlet.trouble or (f"{lost} events cannot be read in the log, or were skipped" if lost else "")
            known = outlet.name in self._troubled
            calm = known and pts_ns - self._troubled[outlet.name] >= _CALM_S * 1e9
            if trouble:
                self._troubled[outlet.name] = pts_ns
            elif calm:
                del self._troubled[outlet.name]
            first = outlet.name not in self._found and not self.context.clock.media
            self._found.add(outlet.name)
            if not first and (known == bool(trouble) or (known and not calm)):
                continue
            reason = trouble or "delivers again"
            if trouble or known:
                log.warning("sink_changed", sink=outlet.name, reason=reason)
            details: events.Details = {"sink": outlet.name, "reason": reason, "lost": outlet.lost}
            if self._pictures.deleted:
                details["pictures_deleted"], self._pictures.deleted = self._pictures.deleted, 0
            yield SinkReported(
                state="degraded" if trouble else "recovered", details=details, pts_ns=pts_ns, utc_ns=utc_ns
            )

    def _tell_delivered(self) -> Outputs:
        position = min(outlet.position for outlet in (self._kept, *self._sinks))
        if position > self._delivered:
            self._delivered = position
            yield EventsDelivered(position=position)

    def _look_after_room(self) -> None:
        """Pictures go where events wait for room; what nobody keeps is not waited for without end."""
        if any(outlet.failing for outlet in self._sinks if outlet.durable):
            self._pictures.make_room()
        for name, outlet in zip(self._rows.sinks, self._sinks, strict=True):
            share = TABLE[name].most_waiting
            if share is None:
                continue
            if reader.bytes_behind(self._log, outlet.position) > self._rows.max_waiting_mb * 1e6 * share:
                outlet.skip_to(reader.newest(self._log))

    def _note_timings(self, message: EventRaised) -> None:
        """What was measured goes beside the events of a replay, so that these are the same in every run."""
        identity = events.ulid(message.utc_ns, telling.source(self.context.settings.site, message.camera), message.key)
        last = message.hops[-1].sent_at if message.hops else 0
        timing = telling.timings(message.hops, last)
        with (self._folder / "timings.jsonl").open("ab") as file:
            file.write(_encoder.encode({"id": identity, "timing_ms": timing}) + b"\n")
