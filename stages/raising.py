"""Raising events: into the log first, then said; and what of them found no room."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET

from pipeline.core.errors import EventLogError
from pipeline.core.events import Thermal
from pipeline.core.incident import log_space, telling
from pipeline.core.incident.log_space import LogSpace
from pipeline.core.messages import AnyMessage, DeviceReported, EncoderReported, ModelReported, Priority, SinkReported
from pipeline.core.vocabulary import CameraId, IncidentId
from stages.journal import FilesContent, Journal, Missed, Numbered, Reserve, Weight
from stages.sinks.jsonl import last_written

if TYPE_CHECKING:
    from pipeline.core.events import Details
    from pipeline.core.messages import EventRaised, Hop
    from pipeline.core.stage import Outputs, StageContext
    from pipeline.core.vocabulary import Nanoseconds
    from stages.journal import Entry

Raising: TypeAlias = Generator[AnyMessage, None, bool]
"""What is said, and whether there was room for it in the log."""

_DEVICE = CameraId("device/")  # counts of the device itself; no camera is called so


class At(NamedTuple):
    """A moment: on a camera's timeline, and in UTC."""

    pts_ns: Nanoseconds
    utc_ns: Nanoseconds


def open_journal(context: StageContext) -> Journal:
    """Open the journal of a daemon, or of a recording. Raises EventLogError."""
    emit, site = context.settings.emit, context.settings.site
    sources = {camera or "": telling.source(site, camera) for camera in (None, *context.settings.cameras)}

    def written() -> FilesContent:
        sequences, ended = last_written(Path(emit.folder) / "events.jsonl")
        of_cameras = {camera: sequences.get(source, 0) for camera, source in sources.items()}
        return FilesContent(of_cameras, frozenset(map(IncidentId, ended)))

    assert context.log_dir is not None
    return Journal(context.log_dir, Reserve(emit.reserve_mb * 1e6, emit.max_waiting_mb * 1e6), written)


class Raiser:
    """Says what is in the log, and nothing else.

    Attributes:
        hops: Of the message at hand.
        drops: What all processes gave up so far, by stage.
        space: Events that found no space in the log.
    """

    def __init__(self, context: StageContext, journal: Journal) -> None:
        self.hops: tuple[Hop, ...] = ()
        self.drops: dict[str, int] = {}
        self.space = LogSpace()
        self._context = context
        self._journal = journal

    def next_number(self, counter: CameraId) -> int:
        """Return the next number of a count; it is taken when `Numbered` is remembered."""
        return self._journal.numbers.get(counter, 0) + 1

    def count_unlogged(self, kind: log_space.UnloggedKind, more: int = 1) -> None:
        """Count events that found no space in the log; `more` may be negative, see `log_space`."""
        if more:
            self.space = log_space.count_unlogged(self.space, kind, more)

    def raised(self, event: EventRaised, weight: Weight, *remembered: Entry) -> Raising:
        """Raise an event with what is to be remembered; False: there is no room for it, and nothing was said.

        Raises:
            EventLogError: The same in a replay: a recording can be replayed when there is room.
        """
        limits, clock = self._context.limits.get(), self._context.clock
        data = msgspec.structs.replace(
            event.data,
            clock=clock.state(),
            drops=self.drops or UNSET,
            thermal=UNSET if limits.temp_c is None else Thermal(level=limits.level, temp_c=limits.temp_c),
            timing_ms=UNSET if clock.media else telling.timings(self.hops, clock.monotonic_ns()) or UNSET,
            config_hash=self._context.config_hash,
        )
        event = msgspec.structs.replace(event, data=data)
        recorded = clock.recorded(event.utc_ns, event.pts_ns)
        durable = _flushed(self._context.settings.emit.fsync, event)
        if not self._journal.record(event, recorded, weight, *remembered, durable=durable):
            if clock.media:
                raise EventLogError(
                    f"{self._context.log_dir}: {self._journal.trouble}: make room, or choose another --out"
                )
            return False
        yield event
        return True

    def device(
        self, what: str, priority: Priority, details: Details, at: At, weight: Weight | None = None, *remembered: Entry
    ) -> Raising:
        """Tell of the device itself; `what` is AREA.WHAT."""
        number = self.next_number(_DEVICE)
        event = telling.device_event(what, number, priority, details, at.pts_ns, at.utc_ns)
        weight = weight or (Weight.ROUTINE if priority is Priority.ROUTINE else Weight.URGENT)
        told = yield from self.raised(event, weight, Numbered(_DEVICE, number), *remembered)
        self.count_unlogged("notices", not told)
        return told

    def starting(self, at: At) -> Outputs:
        """Say that the daemon has begun, and what was found of its log."""
        context, journal = self._context, self._journal
        details: Details = {"cameras": len(context.settings.cameras), "config_hash": context.config_hash}
        if journal.damaged:
            details["log_records_damaged"] = journal.damaged
        if journal.put_aside:
            details["log_put_aside"] = ", ".join(journal.put_aside)
        yield from self.device("system.started", Priority.ROUTINE, details, at)

    def stopping(self, at: At) -> Raising:
        """Say that the daemon ends, and what found no room until then."""
        told = yield from self.device("system.stopping", Priority.ROUTINE, self.space.as_details, at, Weight.END)
        if told:
            self.space = self.space._replace(unlogged=())
        return told

    def reported(self, message: AnyMessage) -> Outputs:
        """Tell what another stage has to say of the device, of a model, or of a sink."""
        match message:
            case ModelReported() | EncoderReported():
                what = f"model.{message.state}"
                priority = Priority.ROUTINE if message.state == "loaded" else Priority.WARNING
            case SinkReported():
                yield from self._sink(message)
                return
            case DeviceReported():
                what, priority = message.what, message.priority
            case _:
                return
        yield from self.device(what, priority, message.details, At(message.pts_ns, message.utc_ns))

    def report_space(self, at: At) -> Outputs:
        """Say once that the log's disk is in trouble, and once that it is not, with what was given up meanwhile."""
        self._journal.refill()
        trouble = self._journal.trouble
        self.space, tell = log_space.report_due(self.space, at.pts_ns, trouble=bool(trouble))
        if not tell:
            return
        details: Details = {
            "what": "event log",
            "error": trouble or "there is room again",
            "room_kb": self._journal.room_bytes // 1000,
            **self.space.as_details,
        }
        if (yield from self.device("system.disk_low", Priority.WARNING, details, at, Weight.END)):
            self.space = log_space.after_report(at.pts_ns, trouble=bool(trouble))

    def _sink(self, message: SinkReported) -> Outputs:
        """Tell of a sink where that is news: emit says in each of its lives how its sinks are."""
        sink = CameraId(f"sink/{message.details['sink']}")
        failing = message.state == "degraded"
        if failing == (sink in self._journal.missed):
            return
        remembered = Missed(sink, "failing" if failing else "")
        at = At(message.pts_ns, message.utc_ns)
        yield from self.device(f"sink.{message.state}", Priority.WARNING, message.details, at, None, remembered)


def _flushed(policy: str, event: EventRaised) -> bool:
    """Whether an event has to be on the disk before it is said: power may fail, too."""
    return policy == "always" or (policy == "incident" and event.data.operation in ("start", "end"))
