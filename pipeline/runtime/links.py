"""ZeroMQ, and nothing else in the project speaks it.

Every process has one mailbox, which it binds; whoever writes to it connects, so that either end may die and come back.
While somebody listens (`pipeline tap`), a process also publishes what it sends; nobody listening costs nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import zmq

from pipeline import topology
from pipeline.core import messages
from pipeline.core.errors import RunDirectoryError
from pipeline.core.inbox import Inbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeline.core.messages import AnyMessage

Context: TypeAlias = "zmq.Context[zmq.Socket[bytes]]"

_PATH_MOST = 100  # bytes; a Unix socket's path ends at 107
_RECONNECT_MS = 10  # a reader that was replaced is found again within this time
_SEND_DEPTH = 1000  # messages kept for a reader that is away
_LINGER_MS = 1000
_ASK_EVERY_S = 0.5


def new_context() -> Context:
    """Return a context; each process makes its own, once, after it was forked."""
    return zmq.Context()


class Post:
    """The sending end of one process: to the mailboxes of its readers."""

    def __init__(
        self, context: Context, run_dir: Path, writer: str, tapped: Callable[[], bool] = lambda: False
    ) -> None:
        """`tapped`: whether somebody listens just now."""
        self.unsent = 0  # messages that found no room for their reader
        row = topology.STAGES[topology.split(writer)[0]]
        targets = {link: topology.targets(link, writer) for link in row.writes}
        self._sockets = {
            name: _pusher(context, run_dir, name)
            for name in sorted({name for names in targets.values() for name in names})
        }
        self._routes = {
            kind: (f"{link}\0".encode(), [self._sockets[name] for name in names], topology.LINKS[link].counted)
            for link, names in targets.items()
            for kind in topology.LINKS[link].carries
        }
        self._tapped = tapped
        self._tap: zmq.Socket[bytes] | None = None
        self._open_tap: Callable[[], zmq.Socket[bytes]] = lambda: _publisher(context, run_dir, writer)

    def send(self, message: AnyMessage) -> None:
        """Send without waiting; what finds no room is counted."""
        data = messages.encode(message)
        topic, sockets, counted = self._routes[type(message)]
        for socket in sockets:
            try:
                socket.send(data, zmq.NOBLOCK)
            except zmq.Again:
                self.unsent += counted
        if self._tapped():
            self._tap = self._tap or self._open_tap()
            self._tap.send(topic + data, zmq.NOBLOCK)

    def close(self) -> None:
        """Give what is queued a second to leave."""
        for socket in self._sockets.values():
            socket.close(linger=_LINGER_MS)
        if self._tap is not None:
            self._tap.close(linger=0)


class Mailbox:
    """The receiving end of one process: drains its socket into one inbox a link, which decide what to keep.

    A high-water mark of 1 on an ipc socket still takes 282 messages of 64 bytes (measured), so the bound that the
    topology promises is kept here and not by ZeroMQ.
    """

    def __init__(self, context: Context, run_dir: Path, reader: str, timeout_ms: int) -> None:
        self.dropped = 0  # given up by an inbox
        self.garbled = 0  # no message of ours
        reads = topology.STAGES[topology.split(reader)[0]].reads
        inboxes = {link: Inbox(given.keep, given.depth) for link, given in reads.items()}
        self._inboxes = tuple(inboxes.values())
        self._inbox_of = {kind: inbox for link, inbox in inboxes.items() for kind in topology.LINKS[link].carries}
        self._socket = context.socket(zmq.PULL)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        self._socket.setsockopt(zmq.RCVTIMEO, timeout_ms)
        self._socket.bind(_address(run_dir, reader, "in"))

    def take(self, *, wait: bool = True) -> Iterator[AnyMessage]:
        """Wait for something to come unless told not to, then yield one message of every inbox that has any.

        What came while the last messages were handled is taken in first; what is waited for is yielded at once,
        as looking for more would come between a frame and its reader. Yields nothing when nothing came in time.
        """
        while (message := self._receive(zmq.NOBLOCK)) is not None:
            self.dropped += self._inbox_of[type(message)].offer(message)
        if not any(self._inboxes):
            if wait and (message := self._receive(0)) is not None:
                yield message
            return
        for inbox in self._inboxes:
            if inbox:
                yield inbox.take(time.monotonic_ns())

    def since_ns(self) -> int:
        """Monotonic time at which the oldest message was sent that waits here; 0: none waits."""
        return min((inbox.since_ns for inbox in self._inboxes if inbox), default=0)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close(linger=0)

    def _receive(self, flags: int) -> AnyMessage | None:
        """Return the next message that is for us; None when there is none (in time)."""
        while True:
            try:
                message = messages.decode(self._socket.recv(flags))
            except zmq.Again:
                return None
            except msgspec.DecodeError:
                self.garbled += 1
                continue
            if type(message) in self._inbox_of:
                return message
            self.garbled += 1


class Tap:
    """Listens to what some processes send, without their knowing."""

    def __init__(self, run_dir: Path, writers: list[str], link: str, keep_asking: Callable[[], None]) -> None:
        """`keep_asking`: tells the writers, again and again, that somebody listens."""
        self._keep_asking = keep_asking
        self._context = new_context()
        self._socket = self._context.socket(zmq.SUB)
        self._topic = f"{link}\0".encode()
        self._socket.setsockopt(zmq.SUBSCRIBE, self._topic)
        for writer in writers:
            self._socket.connect(_address(run_dir, writer, "tap"))

    def messages(self, timeout_s: float | None = None) -> Iterator[AnyMessage]:
        """Yield messages as they pass; ends when none came for `timeout_s`."""
        self._socket.setsockopt(zmq.RCVTIMEO, round(_ASK_EVERY_S * 1000))
        waited_s = 0.0
        while timeout_s is None or waited_s < timeout_s:
            self._keep_asking()
            try:
                data = self._socket.recv()
            except zmq.Again:
                waited_s += _ASK_EVERY_S
                continue
            waited_s = 0.0
            yield messages.decode(data[len(self._topic) :])

    def within(self, seconds: float) -> Iterator[AnyMessage]:
        """Yield what comes within a time: the next message at most, and what has come with it."""
        self._socket.setsockopt(zmq.RCVTIMEO, max(1, round(seconds * 1000)))
        flags = 0
        while True:
            try:
                data = self._socket.recv(flags)
            except zmq.Again:
                return
            flags = zmq.NOBLOCK
            yield messages.decode(data[len(self._topic) :])

    def close(self) -> None:
        """Stop listening."""
        self._socket.close(linger=0)
        self._context.term()


def _pusher(context: Context, run_dir: Path, name: str) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.PUSH)
    socket.setsockopt(zmq.SNDHWM, _SEND_DEPTH)
    socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MS)
    socket.connect(_address(run_dir, name, "in"))
    return socket


def _publisher(context: Context, run_dir: Path, name: str) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.PUB)
    socket.bind(_address(run_dir, name, "tap"))
    return socket


def _address(run_dir: Path, name: str, kind: str) -> str:
    path = f"{run_dir}/{name}.{kind}"
    if len(path.encode()) > _PATH_MOST:
        raise RunDirectoryError(f"{path}: too long for a socket: set runtime.run_dir to a shorter folder")
    return f"ipc://{path}"
