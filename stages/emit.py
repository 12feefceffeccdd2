"""Emit: every event to every sink, in order, once, with its evidence."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog
from msgspec import UNSET

from pipeline.core import events, telling
from pipeline.core.errors import FrameOverwrittenError, SinkUnavailableError
from pipeline.core.messages import EventDelivered, EventKey, EventRaised, Priority, Ticked
from pipeline.core.stage import Stage
from stages import evidence
from stages.sinks.jsonl import RECENT, JsonLines
from stages.sinks.spool import Spooled
from stages.sinks.stdout import Stdout

if TYPE_CHECKING:
    from pipeline.core.events import Event, Evidence
    from pipeline.core.messages import AnyMessage, Keyframe
    from pipeline.core.stage import Outputs, StageContext
    from pipeline.core.vocabulary import Nanoseconds

log = structlog.get_logger()

_PRUNE_EVERY = 50  # pictures

_encoder = msgspec.json.Encoder()


class Emit(Stage):
    """The only one that writes events. An event is acknowledged when every sink has it or keeps it."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self._rows = context.settings.emit
        self._folder = Path(self._rows.folder)
        self._sinks: list[Spooled] = []
        self._sequences: dict[str, int] = {}
        self._recent: dict[str, None] = {}  # the newest ids, oldest first
        self._owed: dict[EventKey, None] = {}  # events to acknowledge, in order
        self._told: dict[str, str | None] = {}  # sinks whose trouble was told
        self._pictures = 0

    def warm_up(self) -> None:
        """Open the sinks and go on where they end."""
        for name in self._rows.sinks:
            if name == "stdout":
                sink = Spooled(name, Stdout(self.context.stdout), self._rows.spool, durable=False)
                self._sinks.append(sink)
                continue
            lines = JsonLines(self._folder / "events.jsonl", self._rows)
            try:
                written = lines.open()
                self._sequences |= written.sequences
                self._recent = dict.fromkeys(written.ids)
            except SinkUnavailableError:  # told with the first event that waits for it
                pass
            self._sinks.append(Spooled(name, lines, self._rows.spool, durable=True))

    def handle(self, message: AnyMessage) -> Outputs:
        """Yield EventDelivered for every event, seen before or not, once the durable sinks have it."""
        assert isinstance(message, EventRaised | Ticked)
        if isinstance(message, EventRaised):
            self._owed[message.key] = None
            self._write(message)
        else:
            self._make_room()
            for sink in self._sinks:
                sink.flush()
        self._tell_of_sinks(message.pts_ns, message.utc_ns)
        if any(len(sink) for sink in self._sinks if sink.durable):
            return
        for key in self._owed:
            yield EventDelivered(key=key)
        self._owed.clear()

    def close(self) -> None:
        """Close the sinks."""
        for sink in self._sinks:
            sink.close()

    def _write(self, message: EventRaised) -> None:
        source = telling.source(self.context.settings.site, message.camera)
        identity = events.ulid(message.utc_ns, source, message.key)
        if identity in self._recent:
            return
        event = self._event(message, source, identity)
        line = _encoder.encode(event) + b"\n"
        if not self.context.clock.media:
            log.info("event", type=event.type, subject=event.subject, severity=event.severitytext)
        for sink in self._sinks:
            sink.offer(event, line)
        if self.context.clock.media:
            self._note_timings(identity, message)
        self._sequences[source] = int(event.sequence)
        self._recent[identity] = None
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        for sink in self._sinks:
            sink.rotate(self._sequences)

    def _note_timings(self, identity: str, message: EventRaised) -> None:
        """What was measured goes beside the events of a replay, so that these are the same in every run."""
        with (self._folder / "timings.jsonl").open("ab") as file:
            file.write(_encoder.encode({"id": identity, "timing_ms": _timings(message)}) + b"\n")

    def _event(self, message: EventRaised, source: str, identity: str) -> Event:
        clock = self.context.clock
        data = msgspec.structs.replace(
            message.data,
            clock=clock.state(),
            evidence=self._evidence(message.keyframes) or UNSET,
            timing_ms=UNSET if clock.media else _timings(message),
            config_hash=self.context.config_hash,
        )
        stamps = clock.recorded(message.utc_ns, message.pts_ns)
        return telling.enveloped(message, data, source, identity, self._sequences.get(source, 0) + 1, stamps)

    def _evidence(self, keyframes: tuple[Keyframe, ...]) -> tuple[Evidence, ...]:
        if not self._rows.evidence:
            return ()
        kept = (self._picture(keyframe) for keyframe in keyframes)
        return tuple(one for one in kept if one is not None)

    def _picture(self, keyframe: Keyframe) -> Evidence | None:
        """Write a picture unless an earlier event did; a missing one is counted, and the event goes out without."""
        path = self._folder / keyframe.ref
        try:
            if path.exists():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                with self.context.keyframes.reading(keyframe.frame) as planes:
                    data = evidence.jpeg(planes, keyframe.frame.rotation, self._rows.jpeg_quality)
                digest = self._stored(path, data)
        except (FrameOverwrittenError, OSError):
            self.dropped += 1
            return None
        return events.Evidence(kind="frame", ref=keyframe.ref, sha256=digest, pts_ms=keyframe.pts_ms)

    def _stored(self, path: Path, data: bytes) -> str:
        """Events go before pictures: a full disk costs the oldest pictures first."""
        self._pictures += 1
        if self._pictures % _PRUNE_EVERY == 0:
            evidence.prune(path.parent, self._rows.evidence_most_mb * 1e6)
        if not evidence.room(self._folder, len(data)):
            evidence.thin_out(path.parent)
            if not evidence.room(self._folder, len(data)):
                raise OSError(errno.ENOSPC, "what is left of the disk is for events")
        try:
            return evidence.write(path, data)
        except OSError:
            evidence.thin_out(path.parent)
            return evidence.write(path, data)

    def _make_room(self) -> None:
        """Pictures go where events wait for room on the disk."""
        waiting = any(len(sink) for sink in self._sinks if sink.durable)
        if waiting and self._folder.is_dir() and not evidence.room(self._folder):
            evidence.thin_out(self._folder / "evidence")

    def _tell_of_sinks(self, pts_ns: Nanoseconds, utc_ns: Nanoseconds) -> None:
        """Say once that a sink fails, and once that it is back; a failing sink gets the event when it recovers."""
        for sink in self._sinks:
            if bool(sink.failing) == bool(self._told.get(sink.name)):
                continue
            self._told[sink.name] = sink.failing
            what = "degraded" if sink.failing else "recovered"
            log.warning("sink_changed", sink=sink.name, state=what, reason=sink.failing or "delivers again")
            details: events.Details = {"sink": sink.name, "reason": sink.failing or "delivers again", "lost": sink.lost}
            number = self._sequences.get(telling.source(self.context.settings.site), 0) + 1
            event = telling.device_event(f"sink.{what}", number, Priority.WARNING, details, pts_ns, utc_ns)
            self._write(msgspec.structs.replace(event, key=EventKey(f"sink-{sink.name}/{number}")))


def _timings(message: EventRaised) -> dict[str, float]:
    """Per stage, from receiving to sending, and from the first to the last of them."""
    hops = message.hops
    if not hops:
        return {}
    spent = {hop.stage: round((hop.sent_at - hop.received_at) / 1e6, 3) for hop in hops}
    return {**spent, "total": round((hops[-1].sent_at - hops[0].received_at) / 1e6, 3)}
