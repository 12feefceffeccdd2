"""An emit stage with a trigger that logs before it tells, for tests of sinks and of what reads their files."""

import json
from dataclasses import replace
from pathlib import Path

from pipeline.core import messages as m
from pipeline.core.events import EventData, Media
from pipeline.eventlog import cursor
from pipeline.eventlog.reader import waiting
from stages.emit import Emit
from stages.journal import Journal, Reserve, Weight
from tests.fakes import NOON_NS, NS, FakeClock, context


def event(number=1, *, operation="start", priority=m.Priority.WARNING, camera="gate", keyframes=()):
    return m.EventRaised(
        key=f"inc-1/{number}",
        kind=f"fieldwatch.incident.{operation}.v1",
        camera=camera,
        subject="inc-1",
        priority=priority,
        pts_ns=number * NS,
        utc_ns=NOON_NS + number * NS,
        data=EventData(operation=operation, media=Media(pts_ms=1000.0 * number, frame=number)),
        keyframes=keyframes,
    )


TICK = m.Ticked(pts_ns=0, utc_ns=NOON_NS)
LATER = m.Ticked(pts_ns=60 * NS, utc_ns=NOON_NS)


class Sinks:
    """An emit stage that writes below a folder, and a trigger that logs each event once before it tells of it."""

    def __init__(self, ring, folder, **emit):
        self.ring, self.folder, self.tables = ring, folder, {"folder": str(folder), "fsync": "never"} | emit
        self.log_dir = Path(folder).parent / "eventlog"
        self.journal = Journal(self.log_dir, Reserve(1e6, 64e6))
        self.logged = set()
        self.live()

    def live(self, **more):
        made = context(self.ring, clock=FakeClock(), log_dir=self.log_dir, emit=self.tables)
        self.stage = Emit(replace(made, **more))
        self.stage.warm_up()

    def log(self, message):
        """What trigger does before it tells of an event."""
        if isinstance(message, m.EventRaised) and message.key not in self.logged:
            self.logged.add(message.key)
            assert self.journal.record(message, (message.utc_ns, message.pts_ns, "boot"), Weight.URGENT)

    def tell(self, *messages):
        """Log and tell; return what emit answers, until it has nothing left to do."""
        answers = []
        for message in messages:
            self.log(message)
            answers += self.stage.handle(message)
            while self.stage.pending():
                answers += self.stage.step()
        return answers

    def reported(self, *messages):
        """What emit says of its sinks."""
        return [one.state for one in self.tell(*messages) if isinstance(one, m.SinkReported)]

    def delivered(self):
        """Whether every sink has everything."""
        return not self.stage.waiting() and all(
            waiting(self.log_dir, place.position) == 0 for place in cursor.all_of(self.log_dir / "cursors").values()
        )

    def lines(self):
        text = (self.folder / "events.jsonl").read_text(encoding="utf-8")
        assert text.endswith("\n") or not text
        return [json.loads(line) for line in text.splitlines()]
