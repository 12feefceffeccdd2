"""Runs one stage in this process: joins it to its links, stamps and counts what passes, ends it in order."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import msgspec
import structlog

from pipeline import topology
from pipeline.core.errors import FrameOverwrittenError, PipelineError, StageBrokenError
from pipeline.core.messages import Hop, StageRestarted, Ticked
from pipeline.core.vocabulary import Nanoseconds
from pipeline.runtime import cores, links, loads
from pipeline.runtime.board import Board, StageState, Word
from pipeline.runtime.failures import Failures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.core.device.placing import StagePlace
    from pipeline.core.messages import AnyMessage
    from pipeline.core.stage import Outputs, Stage

log = structlog.get_logger()

STOP = signal.SIGUSR1  # from the supervisor: whoever ends a service sends SIGTERM to all processes at once
_WAKE_MS = 200  # how long a stage sleeps at most: bounds the answer to a signal and the beat
_TICK_NS = 500_000_000
_GO_POLL_S = 0.005
_RECYCLED = "replaced between incidents, for the memory that it had gathered"
_DRAIN_TURNS = 2  # turns without a message before a stopping stage believes that none will come


class Host:
    """Joins one stage to its links."""

    def __init__(self, name: str, run_dir: Path, board: Board, place: StagePlace, grace_s: float) -> None:
        self.name = name
        self.stopping = False
        self._kind = topology.split(name)[0]
        self._row = topology.STAGES[self._kind]
        for refused in cores.apply(place):  # before anything starts a thread, which inherits its place
            log.info("place_refused", reason=refused)  # asking for more than the user may have is no error
        self._board = board
        self._counts = board.row(name)
        self._grace_s = grace_s
        self._ticked_ns = 0
        self._failures = Failures()
        self._context = links.new_context()
        self._mailbox = links.Mailbox(self._context, run_dir, name, _WAKE_MS) if not self._row.source else None
        self._post = links.Post(self._context, run_dir, name, self._tapped)
        signal.signal(STOP, self._stop)
        for number in (
            signal.SIGTERM,
            signal.SIGINT,
            signal.SIGHUP,
        ):  # sent to a whole group, they are the supervisor's business
            signal.signal(number, signal.SIG_IGN)

    def run(self, make: Callable[[Host], Stage]) -> int:
        """Warm up, work until told to stop or until the footage ends, say what is left, close."""
        stage = self._stage = make(self)
        stage.warm_up()
        self._set(Word.STATE, StageState.READY)
        log.info("stage_ready", pid=os.getpid())
        self._wait_for_go()
        self._set(Word.STATE, StageState.RUNNING)
        self._forward(stage.begin())
        if self._mailbox is None:
            self._forward(stage.produce())
        else:
            self._work(stage, self._mailbox)
        self._forward(stage.finish())
        self._stay(stage)
        stage.close()
        self._close()
        return 0

    def _work(self, stage: Stage, mailbox: links.Mailbox) -> None:
        idle = 0
        while not self.stopping or idle < _DRAIN_TURNS:
            idle = 0 if self._turn(stage, mailbox) else idle + 1

    def _turn(self, stage: Stage, mailbox: links.Mailbox) -> int:
        """Handle what has come; return how many messages that were."""
        count = 0
        busy = stage.pending()
        for message in mailbox.take(wait=not busy):
            self._handle(stage, message)
            count += 1
        if busy and not count:
            self._guarded(stage.step, type(stage).__name__, infers=True)
        self._beat()
        self._told(stage, mailbox)
        if self._row.ticks:
            self._tick(stage)
        return count

    def _told(self, stage: Stage, mailbox: links.Mailbox) -> None:
        """Put on the board how things stand."""
        self._counts[Word.DROPPED] = mailbox.dropped + mailbox.garbled + stage.dropped
        self._counts[Word.UNSENT] = self._post.unsent
        self._counts[Word.REREAD] = stage.reread
        self._counts[Word.MISSED] = stage.missed
        self._counts[Word.OPEN], self._counts[Word.ENDED] = stage.open, stage.ended
        self._counts[Word.GIVEN_UP], self._counts[Word.UNDELIVERED] = stage.given_up, stage.undelivered
        self._counts[Word.SPENT] = round(1000 * stage.spent())
        asked = stage.since_ns()
        since = [mailbox.since_ns()] if asked is None else [mailbox.since_ns(), asked + self._board.go_ns]
        self._counts[Word.OLDEST_NS] = min((one for one in since if one), default=0)

    def _tick(self, stage: Stage) -> None:
        now = time.monotonic_ns()
        if now - self._ticked_ns < _TICK_NS:
            return
        self._ticked_ns = now
        utc = Nanoseconds(time.time_ns())
        work = loads.work(self._board, now) if self._row.role == "governor" else None
        energy_j = self._board.get(Board.DEVICE, Word.ENERGY_MJ) / 1e3 or None
        tick = Ticked(pts_ns=self._timeline(now), utc_ns=utc, drops=self._drops(), work=work, energy_j=energy_j)
        self._handle(stage, tick)
        if self._row.role == "teller":
            self._tell_restarts(stage, now)

    def _drops(self) -> dict[str, int]:
        """What all processes gave up so far, by stage; a stage that gave up nothing is left out."""
        drops: dict[str, int] = {}
        for name in self._board.names[1:]:
            words = (Word.DROPPED, Word.OVERWRITTEN, Word.UNSENT, Word.FAILED)
            if count := sum(self._board.get(name, word) for word in words):
                stage = topology.split(name)[0]
                drops[stage] = drops.get(stage, 0) + count
        return drops

    def _tell_restarts(self, stage: Stage, now: int) -> None:
        """Tell of every restart once: what was told is on the board, and outlives the teller."""
        for name in self._board.names[1:]:
            restarts = self._board.get(name, Word.RESTARTS)
            for number in range(self._board.get(name, Word.REPORTED) + 1, restarts + 1):
                status = self._board.get(name, Word.LAST_EXIT)
                reason = f"signal {-status}" if status < 0 else f"exit status {status}" if status else _RECYCLED
                message = StageRestarted(
                    stage=name,
                    restarts=number,
                    reason=reason,
                    pts_ns=self._timeline(now),
                    utc_ns=Nanoseconds(time.time_ns()),
                )
                self._handle(stage, message)
                self._board.set(name, Word.REPORTED, number)

    def _handle(self, stage: Stage, message: AnyMessage) -> None:
        received = Nanoseconds(time.monotonic_ns())
        self._counts[Word.HANDLED] += 1
        infers = self._row.infers and not self._row.ticks
        self._guarded(lambda: stage.handle(message), type(message).__name__, message.hops, received, infers=infers)

    def _guarded(
        self,
        work: Callable[[], Outputs],
        what: str,
        hops: tuple[Hop, ...] = (),
        received: Nanoseconds | None = None,
        *,
        infers: bool = False,
    ) -> None:
        began = time.monotonic_ns()
        try:
            self._forward(work(), hops, received)
        except FrameOverwrittenError:
            self._counts[Word.OVERWRITTEN] += 1
        except StageBrokenError:
            raise
        except Exception as error:  # noqa: BLE001  # the host loop: a message that a stage chokes on takes no others along
            self._counts[Word.FAILED] += 1
            self._failures.tell("message_failed", error, message_type=what)
        finally:
            took = time.monotonic_ns() - began
            self._counts[Word.BUSY_NS] += took
            self._counts[Word.PIECES] += infers
            self._counts[Word.PIECES_NS] += took * infers

    def to_stop(self) -> bool:
        """Whether to stop; who asks is alive: a source that waits for its camera does not stand still."""
        self._beat()
        return self.stopping

    def _forward(self, outputs: Outputs, hops: tuple[Hop, ...] = (), received: Nanoseconds | None = None) -> None:
        """Send what a stage yields, stamped; a source's time begins anew with each."""
        started = received or Nanoseconds(time.monotonic_ns())
        for output in outputs:
            now = Nanoseconds(time.monotonic_ns())
            before = hops or output.hops  # what a step yields has had its message's with it all along
            began = output.hops[-1].sent_at if output.hops else started
            self._post.send(msgspec.structs.replace(output, hops=(*before, Hop(self._kind, began, now))))
            if self._mailbox is None:
                self._counts[Word.HANDLED] += 1
                self._counts[Word.DROPPED] = self._stage.dropped
                self._beat()
                started = Nanoseconds(time.monotonic_ns())
                if self.stopping:
                    return

    def _stay(self, stage: Stage) -> None:
        """A stage that waits for answers stays for them, within the grace."""
        until = time.monotonic() + self._grace_s
        while self._mailbox is not None and stage.waiting() and time.monotonic() < until:
            self._turn(stage, self._mailbox)
        if stage.waiting():
            log.warning("stopped_without_answers")

    def _close(self) -> None:
        self._post.close()
        if self._mailbox is not None:
            self._told(self._stage, self._mailbox)
            self._mailbox.close()
        self._context.term()
        self._set(Word.STATE, StageState.STOPPED if self.stopping else StageState.DONE)
        log.info("stage_stopped", handled=int(self._counts[Word.HANDLED]))

    def _wait_for_go(self) -> None:
        while not self._board.go_ns and not self.stopping:
            self._beat()
            time.sleep(_GO_POLL_S)

    def _timeline(self, monotonic_ns: int) -> Nanoseconds:
        return Nanoseconds(monotonic_ns - self._board.go_ns)

    def _beat(self) -> None:
        self._counts[Word.BEAT_NS] = time.monotonic_ns()

    def _set(self, word: Word, value: int) -> None:
        self._counts[word] = value

    def _tapped(self) -> bool:
        return bool(self._counts[Word.TAPPED_UNTIL_NS] > time.monotonic_ns())

    def _stop(self, *_: object) -> None:
        self.stopping = True


def refused(error: PipelineError) -> int:
    """Log why a stage cannot run; the exit status tells the supervisor that trying again will not help soon."""
    log.error("stage_refused", reason=str(error))
    return 78  # sysexits.h: EX_CONFIG
