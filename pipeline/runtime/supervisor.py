"""Starts the stage processes, replaces those that die or stand still, stops them in order."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

import structlog

from pipeline import topology
from pipeline.core.errors import PipelineError, TopologyError
from pipeline.core.frames import FramePool
from pipeline.core.stage import StageContext
from pipeline.core.times import Backoff
from pipeline.eventlog import entries
from pipeline.runtime import cores, forking, logs
from pipeline.runtime.board import Board, StageState, Word
from pipeline.runtime.clocks import LiveClock
from pipeline.runtime.host import STOP, Host, refused
from pipeline.runtime.loading import load, preload

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pipeline.core.settings import Settings
    from pipeline.core.stage import Stage
    from pipeline.core.vocabulary import CameraId

log = structlog.get_logger()

_LIVES_TO_BEGIN = 2  # of a stage that is killed before it is ready
_LOOK_S = 0.1  # how often the board is looked at
_HEALTHY_S = 60.0  # a process that lived so long begins its pauses anew
_HURRIED_SHARE = 0.15  # of the time to stop: what each stage may take that has nothing to say in the end


class Home(NamedTuple):
    """The folders and descriptors of a daemon."""

    run_dir: Path
    state_dir: Path
    stdout: int  # a duplicate of standard output, for events
    uris: Mapping[CameraId, str]
    config_hash: str
    log_level: str = "info"
    models_dir: Path | None = None  # the state folder that language models are installed in
    stands_for: str = ""  # see `StageContext`


class Child:
    """One stage process, or the pause before the next."""

    def __init__(self, name: str, pause: Backoff) -> None:
        self.name = name
        self.pause = pause
        self.pid = 0
        self.pidfd = -1
        self.started = 0.0
        self.recycled = 0  # how often govern had it replaced
        self.leaving_by: float | None = None  # it was told to end, and must have until then
        self.lives = 0  # how often it was replaced, as the next process of this name is told
        self.due: float | None = None  # when it is started again
        self.ended = False  # for good


class Supervisor:
    """Owns the shared memory, the board and every child process. It has no thread and no ZeroMQ: it forks."""

    def __init__(self, settings: Settings, home: Home) -> None:
        topology.check(topology.STAGES, topology.LINKS)
        self._settings = settings
        self._home = home
        frames = settings.frames
        born = time.time_ns()  # frames that an earlier daemon's journal names are in none of our rings
        self._rings = {
            camera: FramePool.create(f"fieldwatch-{camera}", frames.slots, frames.largest, born)
            for camera in settings.cameras
        }
        self._keyframes = FramePool.create("fieldwatch-keyframes", frames.keyframes, frames.largest, born)
        names = topology.instances(list(settings.cameras))
        self.board = Board(home.run_dir / "board", names, create=True)
        runtime = settings.runtime
        self.children = {name: Child(name, Backoff(runtime.min_restart_s, runtime.max_restart_s)) for name in names}
        self._plan = cores.planned(settings)
        self.stopping = False

    def start(self) -> None:
        """Fork all stages, wait until every one is ready, then let the sources begin. Raises TopologyError."""
        preload()
        forking.freeze()
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup: stay when the terminal closes
            signal.signal(signal.SIGHUP, self._on_signal)
        for decision in self._plan.decisions:
            log.info("placement", about=decision.about, choice=decision.choice, reason=decision.reason)
        began = time.monotonic()
        for child in self.children.values():
            self._start(child)
        self._await_ready(began + self._settings.runtime.ready_s)
        self.board.go()
        log.info("all_ready", seconds=round(time.monotonic() - began, 3))

    def watch(self) -> None:
        """Replace what dies or stands still, until told to stop or until every source has ended."""
        while not self.stopping and not self._sources_ended():
            self._wait(_LOOK_S)
            self._kill_stalled()
            self._recycle()
            self._start_due()

    def blind(self) -> list[CameraId]:
        """Name the cameras of which no picture ever came."""
        return [name for name in self._rings if not self.board.get(f"motion@{name}", Word.HANDLED)]

    def given_up(self) -> int:
        """Count events that found no room on the disk and that no event tells of."""
        return self.board.get(topology.TELLER, Word.GIVEN_UP)

    def stop(self) -> None:
        """End the stages in the order of `topology.SHUTDOWN`, each within the deadline; kill what does not end.

        Those before trigger get a part of the time, all processes of a stage together: a camera that does not answer
        must not take from trigger and emit what they need to end incidents.
        """
        self.stopping = True
        allowed_s = self._settings.runtime.stop_s
        deadline = time.monotonic() + allowed_s
        for stage in topology.SHUTDOWN:
            group = [child for name, child in self.children.items() if topology.split(name)[0] == stage]
            for child in group:
                self._signal(child, STOP)
            until = time.monotonic() + allowed_s * _HURRIED_SHARE if stage in _HURRIED else deadline
            for child in group:
                self._await_end(child, min(until, deadline))
        for pool in (*self._rings.values(), self._keyframes):
            os.close(pool.descriptor)
            pool.close()

    def _start(self, child: Child) -> None:
        for word in _OF_A_LIFE:
            self.board.set(child.name, word, 0)
        self.board.set(child.name, Word.BEAT_NS, time.monotonic_ns())
        child.due = None
        child.started = time.monotonic()
        child.pid = forking.fork(child.name, lambda: self._run(child.name))
        child.pidfd = os.pidfd_open(child.pid)
        self.board.set(child.name, Word.PID, child.pid)

    def _run(self, name: str) -> int:
        """In the child: host the stage."""
        logs.configure(self._home.log_level, stage=name)
        try:
            place = self._plan.places[topology.split(name)[0]]
            host = Host(name, self._home.run_dir, self.board, place, self._settings.runtime.stop_s * 0.8)
            return host.run(self._make)
        except PipelineError as error:
            return refused(error)

    def _make(self, host: Host) -> Stage:
        stage, camera = topology.split(host.name)
        context = StageContext(
            settings=self._settings,
            rings={
                name: _mapped(pool, writable=stage == "capture" and name == camera)
                for name, pool in self._rings.items()
                if camera in (None, name)
            },
            keyframes=_mapped(self._keyframes, writable=stage == "trigger"),
            clock=LiveClock(lambda: self.board.go_ns, host.to_stop),
            camera=next((name for name in self._rings if name == camera), None),
            lives=self.children[host.name].lives,
            config_hash=self._home.config_hash,
            uris=self._home.uris,
            state_dir=self._home.state_dir,
            log_dir=self._home.state_dir / entries.FOLDER,
            models_dir=self._home.models_dir,
            stands_for=self._home.stands_for,
            stdout=self._home.stdout,
            limits=self.board.limits(),
            threads=self._plan.threads,
        )
        return load(stage, context)

    def _await_ready(self, deadline: float) -> None:
        while waiting := [name for name in self.children if self.board.get(name, Word.STATE) < StageState.READY]:
            self._wait(0.005)
            if self.stopping:
                return
            dead = [child.name for child in self.children.values() if child.due is not None and self._hopeless(child)]
            if not dead:
                self._start_due()
            if dead or time.monotonic() > deadline:
                raise TopologyError(
                    f"{', '.join(dead)} ended before being ready: the log above says why"
                    if dead
                    else f"not ready after {self._settings.runtime.ready_s:g} s: {', '.join(waiting)}"
                )

    def _hopeless(self, child: Child) -> bool:
        """Whether to start it again brings nothing: it says itself that it cannot run, or was killed several times.

        Native code that a damaged model or a device brings down is given up by the next life, which knows of it.
        """
        return self.board.get(child.name, Word.LAST_EXIT) >= 0 or child.lives >= _LIVES_TO_BEGIN

    def _wait(self, seconds: float) -> None:
        """Sleep until a child ends, a signal comes, or the time is over; reap what ended."""
        watched = {child.pidfd: child for child in self.children.values() if child.pidfd >= 0}
        poller = select.poll()
        for descriptor in watched:
            poller.register(descriptor, select.POLLIN)
        for descriptor, _ in poller.poll(seconds * 1000):
            self._reap(watched[descriptor])

    def _reap(self, child: Child) -> None:
        _, status = os.waitpid(child.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        os.close(child.pidfd)
        child.pid, child.pidfd = 0, -1
        done = self.board.get(child.name, Word.STATE) in (StageState.DONE, StageState.STOPPED)
        self.board.set(child.name, Word.LAST_EXIT, code)
        leaving, child.leaving_by = child.leaving_by is not None, None
        if self.stopping or (code == 0 and done and not leaving):
            child.ended = True
            return
        if leaving:
            child.due = time.monotonic()
            return
        if time.monotonic() - child.started > _HEALTHY_S:
            child.pause.reset()
        pause = child.pause.next_s()
        child.due = time.monotonic() + pause
        log.warning("stage_died", of=child.name, exit=code, restart_in_s=pause)

    def _start_due(self) -> None:
        for child in self.children.values():
            if child.due is not None and time.monotonic() >= child.due:
                self._restart(child)

    def _restart(self, child: Child) -> None:
        child.lives = self.board.get(child.name, Word.RESTARTS) + 1  # set before the fork, which inherits it
        try:
            self._start(child)
        except OSError as error:  # no process to be had: the pids or the memory are used up
            child.due = time.monotonic() + child.pause.next_s()
            log.error("fork_failed", of=child.name, reason=error.strerror)  # noqa: TRY400  # the reason is all there is to say
            return
        self.board.set(child.name, Word.RESTARTS, child.lives)

    def _kill_stalled(self) -> None:
        now = time.monotonic_ns()
        for child in self.children.values():
            limit_s = topology.STAGES[topology.split(child.name)[0]].stalled_after_s
            if self.board.get(child.name, Word.STATE) < StageState.READY:
                limit_s = max(limit_s, self._settings.runtime.ready_s)
            if child.pid and now - self.board.get(child.name, Word.BEAT_NS) > limit_s * 1e9:
                log.warning("stage_stalled", of=child.name, without_a_beat_s=limit_s)
                self._signal(child, signal.SIGKILL)

    def _recycle(self) -> None:
        """Replace what has gathered too much, between incidents."""
        now, quiet = time.monotonic(), not self.board.get(topology.TELLER, Word.OPEN)
        for child in self.children.values():
            if child.leaving_by is not None and now > child.leaving_by:
                self._signal(child, signal.SIGKILL)
            wanted = self.board.get(child.name, Word.RECYCLE)
            if wanted > child.recycled and quiet and child.pid:
                child.recycled, child.leaving_by = wanted, now + self._settings.runtime.stop_s
                log.info("stage_recycled", of=child.name)
                self._signal(child, STOP)

    def _sources_ended(self) -> bool:
        return all(child.ended for name, child in self.children.items() if _row(name).source)

    def _await_end(self, child: Child, deadline: float) -> None:
        poller = select.poll()
        if child.pidfd < 0:
            return
        poller.register(child.pidfd, select.POLLIN)
        if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
            log.warning("stage_killed", of=child.name, reason="did not end in time")
            self._signal(child, signal.SIGKILL)
        self._reap(child)

    def _signal(self, child: Child, number: signal.Signals) -> None:
        if child.pidfd >= 0:
            signal.pidfd_send_signal(child.pidfd, number)

    def _on_signal(self, *_: object) -> None:
        self.stopping = True


def _mapped(pool: FramePool, *, writable: bool) -> FramePool:
    return FramePool(pool.descriptor, pool.slots, pool.slot_bytes, writable=writable)


def _row(name: str) -> topology.StageRow:
    return topology.STAGES[topology.split(name)[0]]


_OF_A_LIFE = (
    *(Word.STATE, Word.HANDLED, Word.DROPPED, Word.OVERWRITTEN, Word.UNSENT, Word.REREAD),
    *(Word.OLDEST_NS, Word.BUSY_NS, Word.MISSED, Word.OPEN, Word.ENDED, Word.SPENT, Word.PIECES, Word.PIECES_NS),
    *(Word.GIVEN_UP, Word.UNDELIVERED),
)
_HURRIED = topology.SHUTDOWN[: topology.SHUTDOWN.index(topology.TELLER)]
