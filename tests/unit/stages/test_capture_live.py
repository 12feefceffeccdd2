from __future__ import annotations

import socket
from itertools import pairwise, takewhile

import pytest

from pipeline.core.errors import SourceError
from pipeline.core.messages import CameraChanged
from stages import capture
from stages.capture import Capture
from stages.sources.synthetic import Synthetic
from tests.fakes import NOON_NS, NS, context

DRAWN = "synthetic://?width=64&height=48&fps={fps}&seconds={seconds}"
CAMERA = "rtsp://user:secret@gate/sub?token=secret"
QUARTER_HOUR = 15 * 60


class Live:
    """A camera that sends so many pictures, one each tenth of a second, and then fails."""

    began_utc_ns = None

    def __init__(self, clock, count, failure="the camera fell silent"):
        self._clock, self._count, self._failure = clock, count, failure
        self.closed = False

    def pictures(self):
        for index in range(self._count):
            self._clock.at_ns += NS // 10
            yield next(Synthetic(DRAWN.format(fps=1, seconds=index + 1)).pictures())
        if self._failure:
            raise SourceError(self._failure)

    def close(self):
        self.closed = True


def watch(ring, monkeypatch, sources):
    """A capture of a camera that answers each attempt with the next of these, at the time of the clock."""
    stage = Capture(context(ring, source=CAMERA))
    attempts = []

    def opened(*_):
        attempts.append(stage.context.clock.at_ns / NS)
        answer = sources(stage.context.clock)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(capture, "opened", opened)
    return stage, attempts


def test_a_live_picture_has_the_time_at_which_it_came(ring, monkeypatch):
    stage, _ = watch(ring, monkeypatch, lambda clock: Live(clock, 3))
    found, *frames = takewhile(lambda message: getattr(message, "state", "") != "lost", stage.produce())
    assert found.state == "found"
    assert [message.frame.pts_ns for message in frames] == [NS // 10, NS // 5, NS * 3 // 10]
    assert [message.frame.utc_ns - NOON_NS for message in frames] == [message.frame.pts_ns for message in frames]


@pytest.mark.parametrize(("failure", "reason"), [("it fell silent", "it fell silent"), (None, "the stream ended")])
def test_a_camera_that_goes_is_lost_with_the_reason_and_let_go(ring, monkeypatch, failure, reason):
    made = []
    stage, _ = watch(ring, monkeypatch, lambda clock: made.append(Live(clock, 1, failure)) or made[-1])
    lost = next(message for message in stage.produce() if getattr(message, "state", "") == "lost")
    assert lost.reason == reason
    assert made[0].closed


def test_a_camera_that_is_off_for_a_quarter_of_an_hour_is_found_again(ring, monkeypatch):
    def sources(clock):
        return Live(clock, 5) if clock.at_ns >= QUARTER_HOUR * NS else SourceError("connection refused")

    stage, attempts = watch(ring, monkeypatch, sources)
    found = next(message for message in stage.produce() if getattr(message, "state", "") == "found")
    assert QUARTER_HOUR <= found.pts_ns / NS <= QUARTER_HOUR + 30
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    assert pauses[:7] == pytest.approx([0.5, 1, 2, 4, 8, 16, 30])
    assert max(pauses) == pytest.approx(30)


def test_after_a_picture_the_pauses_begin_anew(ring, monkeypatch):
    stage, attempts = watch(
        ring, monkeypatch, lambda clock: Live(clock, 2) if len(attempts) == 6 else SourceError("refused")
    )
    lost = (message for message in stage.produce() if getattr(message, "state", "") == "lost")
    for _ in range(8):
        next(lost)
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    assert pauses[4:] == pytest.approx([8, 0.2 + 0.5, 1])


def test_a_camera_that_opens_and_sends_nothing_is_not_hammered(ring, monkeypatch):
    stage, attempts = watch(ring, monkeypatch, lambda clock: Live(clock, 0))
    changes = stage.produce()
    for _ in range(20):
        next(changes)
    assert attempts[-1] > 60


def test_no_reason_repeats_the_user_or_the_password(ring):
    with socket.socket() as nobody:  # bound, and not listening: refused at once
        nobody.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{nobody.getsockname()[1]}"
        stage = Capture(context(ring, source=f"rtsp://user:secret@{host}/sub?token=secret"))
        lost = next(stage.produce())
    assert isinstance(lost, CameraChanged)
    assert lost.state == "lost"
    assert lost.reason.startswith(f"rtsp://{host}: ")
    assert "secret" not in lost.reason
    assert "user" not in lost.reason
