"""Replay of one recording in one process: every message is followed to its end before the next frame is taken.

No queue, no drop, no clock: the same footage gives the same events on a machine, at any load. Decoding runs ahead in a
thread, so that it has a core of its own where there is one.
"""

from __future__ import annotations

import queue
import threading
import time
from array import array
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from pipeline import topology
from pipeline.core.messages import Hop, Ticked
from pipeline.core.vocabulary import Nanoseconds
from pipeline.runtime.loading import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs, Stage, StageContext

_BEING_READ_AND_WRITTEN = 4  # slots that the queue must leave: one read, one written, the spare one, and its margin


class Lockstep:
    """All stages of the topology, for one camera, in this process."""

    def __init__(
        self,
        context: StageContext,
        watch: Callable[[AnyMessage], None] = lambda _: None,
        ticks: Callable[[AnyMessage], Iterator[Ticked]] = lambda _: iter(()),
    ) -> None:
        """`watch` is called with every message before it is handled; `ticks` then, for what the governor is told."""
        self._ticks = ticks
        self._stages: dict[str, Stage] = {name: load(name, context) for name in topology.STAGES}
        self._ahead = max(1, context.settings.frames.slots - _BEING_READ_AND_WRITTEN)  # 0 is no bound to a queue
        self._watch = watch
        self.work_ms = {name: array("f") for name in topology.STAGES}  # for every message that a stage handled
        self.counts = dict.fromkeys(topology.LINKS, 0)

    @property
    def source(self) -> Stage:
        """The stage that reads nothing."""
        return next(self._stages[name] for name, row in topology.STAGES.items() if row.source)

    def run(self) -> None:
        """Run to the end of the footage. What a stage raises ends the run, after all others have finished."""
        for stage in self._stages.values():
            stage.warm_up()
        for stage in self._stages.values():
            self._follow(stage.begin())
        name = next(name for name, row in topology.STAGES.items() if row.source)
        try:
            for message in self._decoded_ahead(name, self.source.produce()):
                self._follow(iter((message,)))
        finally:
            for stage_name in topology.SHUTDOWN:
                self._follow(self._stages[stage_name].finish())
            for stage in self._stages.values():
                stage.close()

    def _follow(self, outputs: Outputs) -> None:
        """Deliver messages in the order in which they were said, until nobody has anything left to say or to do."""
        said: deque[AnyMessage] = deque(outputs)
        while said or self._stepped(said):
            if not said:
                continue
            message = said.popleft()
            self._watch(message)
            for tick in self._ticks(message):
                said.extend(self._stages[topology.GOVERNOR].handle(tick))
            link = topology.link_of(message)
            self.counts[link] += 1
            for reader in topology.readers(link):
                received = time.monotonic_ns()
                answers = list(self._stages[reader].handle(message))
                sent = time.monotonic_ns()
                self.work_ms[reader].append((sent - received) / 1e6)
                hop = Hop(reader, Nanoseconds(received), Nanoseconds(sent))
                said.extend(msgspec.structs.replace(answer, hops=(*message.hops, hop)) for answer in answers)

    def _stepped(self, said: deque[AnyMessage]) -> bool:
        """Let one stage do a piece of the work that may wait. Returns whether there was any."""
        for name, stage in self._stages.items():
            if stage.pending():
                started = time.monotonic_ns()
                outputs = list(stage.step())
                self.work_ms[name].append((time.monotonic_ns() - started) / 1e6)
                said.extend(_stamped(output, name) for output in outputs)
                return True
        return False

    def _decoded_ahead(self, name: str, messages: Iterator[AnyMessage]) -> Iterator[AnyMessage]:
        """Run a source in a thread, a few frames ahead: fewer than the ring has slots."""
        ready: queue.Queue[AnyMessage | BaseException | None] = queue.Queue(self._ahead)
        stop = threading.Event()

        def decode() -> None:
            end: BaseException | None = None
            try:
                started = time.monotonic_ns()
                for message in messages:
                    now = time.monotonic_ns()
                    self.work_ms[name].append((now - started) / 1e6)
                    hop = Hop(name, Nanoseconds(started), Nanoseconds(now))
                    ready.put(msgspec.structs.replace(message, hops=(hop,)))
                    if stop.is_set():
                        break
                    started = time.monotonic_ns()
            except BaseException as error:  # noqa: BLE001  # carried to the thread that waits for it, and raised there
                end = error
            finally:
                ready.put(end)

        thread = threading.Thread(target=decode, name="decode", daemon=True)
        thread.start()
        try:
            while isinstance(item := ready.get(), msgspec.Struct):
                yield item
            if item is not None:
                raise item
        finally:
            stop.set()
            while thread.is_alive():
                _emptied(ready)
                thread.join(0.01)


def _stamped(output: AnyMessage, stage: str) -> AnyMessage:
    """With the time from the question to the answer: the steps of others may have come between."""
    now = Nanoseconds(time.monotonic_ns())
    asked = output.hops[-1].sent_at if output.hops else now
    return msgspec.structs.replace(output, hops=(*output.hops, Hop(stage, asked, now)))


def _emptied(ready: queue.Queue[AnyMessage | BaseException | None]) -> None:
    try:
        while True:
            ready.get_nowait()
    except queue.Empty:
        return
