from __future__ import annotations

import base64
import io
import queue
import re
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.core.messages import CameraChanged, FrameCaptured
from pipeline.runtime.board import Word
from pipeline.runtime.clocks import LiveClock
from stages.capture import Capture
from tests.daemons import PATIENCE, Daemon, alive, eventually, free_port
from tests.fakes import NS, context

SERVER = [*["/usr/bin/python3"], str(Path(__file__).parents[1] / "servers" / "rtsp.py")]
OPEN_S, READ_S = 2.0, 1.5
SLACK_S = 10.0  # of a machine with other things to do; only a failing test waits for it
CAPTURE = {
    "open_timeout_s": OPEN_S,
    "read_timeout_s": READ_S,
    "min_reconnect_s": 0.2,
    "max_reconnect_s": 1.0,
    "frames_per_s": 30.0,
}


@pytest.fixture(scope="session")
def gstreamer():
    """Skip where there is no RTSP server to be had."""
    try:
        probe = subprocess.run([*SERVER, "--probe"], capture_output=True, text=True, check=False, timeout=30 * PATIENCE)
    except OSError as error:
        pytest.skip(f"no system Python for GStreamer: {error}")
    if probe.returncode:
        pytest.skip(f"no RTSP server: {(probe.stderr.strip() or 'no reason given').splitlines()[-1]}")


class Camera:
    """A real RTSP server in a process of its own."""

    def __init__(self, *arguments, port=0, size="320x240"):
        self._process = subprocess.Popen(
            [*SERVER, "--port", str(port), "--size", size, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.port = int(self._process.stdout.readline())

    def tell(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def die(self):
        self._process.kill()
        self._process.wait(30 * PATIENCE)
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture
def new_camera(gstreamer):
    """Make cameras that go with the test."""
    made = []

    def new(*arguments, **more):
        made.append(Camera(*arguments, **more))
        return made[-1]

    yield new
    for one in made:
        one.die()


class Watch:
    """A capture stage that runs in a thread, as it would in its process; its messages in order."""

    def __init__(self, ring, source):
        began = time.monotonic_ns()
        clock = LiveClock(lambda: began, lambda: self._stopping)
        self._stage = Capture(context(ring, clock=clock, source=source, capture=CAPTURE))
        self._stopping = False
        self._messages = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.reasons = []

    def _run(self):
        for message in self._stage.produce():
            self._messages.put(message)
            if self._stopping:
                return

    def next(self, kind, seconds=OPEN_S + READ_S + SLACK_S, **wanted):
        """Wait for the next message of a kind with these values."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with suppress(queue.Empty):
                message = self._messages.get(timeout=left)
                if isinstance(message, CameraChanged):
                    self.reasons.append(message.reason)
                if isinstance(message, kind) and all(getattr(message, name) == wanted[name] for name in wanted):
                    return message
        pytest.fail(f"no {kind.__name__} {wanted} within {seconds} s; so far: {self.reasons}")

    def found(self, seconds=OPEN_S + READ_S + SLACK_S):
        return self.next(CameraChanged, seconds, state="found")

    def lost(self, seconds=OPEN_S + READ_S + SLACK_S):
        return self.next(CameraChanged, seconds, state="lost")

    def frames(self, count):
        return [self.next(FrameCaptured).frame for _ in range(count)]

    def close(self):
        self._stopping = True
        self._thread.join(OPEN_S + READ_S + SLACK_S)
        assert not self._thread.is_alive(), "capture does not come back from its source"


@pytest.fixture
def watch(new_ring):
    """Watch sources until the test is over."""
    made = []

    def new(source):
        made.append(Watch(new_ring(slots=4, largest=(640, 480)), source))
        return made[-1]

    yield new
    for one in made:
        one.close()


def address(port, login=""):
    return f"rtsp://{login}127.0.0.1:{port}/test"


def shown(port):
    """What is told of the address of a camera: nothing of its path, where passwords may stand."""
    return f"rtsp://127.0.0.1:{port}"


def size_of(frame):
    return f"{frame.width}x{frame.height}"


@pytest.mark.rtsp
def test_a_stream_that_is_there_is_watched_and_its_pictures_arrive(new_camera, watch):
    watched = watch(address(new_camera().port))
    watched.found()
    frames = watched.frames(10)
    assert {size_of(frame) for frame in frames} == {"320x240"}
    assert [frame.sequence for frame in frames] == list(range(1, 11))
    assert all(later.pts_ns > earlier.pts_ns and later.utc_ns > earlier.utc_ns for earlier, later in pairwise(frames))


@pytest.mark.rtsp
def test_a_camera_that_is_not_there_at_the_start_is_found_when_it_comes(new_camera, watch):
    port = free_port()
    watched = watch(address(port))
    assert "Connection refused" in watched.lost().reason
    watched.lost()
    new_camera(port=port)
    watched.found(6)
    assert watched.frames(3)


@pytest.mark.rtsp
def test_a_stream_that_freezes_is_lost_within_the_read_timeout_and_found_again(new_camera, watch):
    camera = new_camera()
    watched = watch(address(camera.port))
    watched.frames(5)
    camera.tell("freeze")
    frozen = time.monotonic()
    lost = watched.lost()
    assert time.monotonic() - frozen < READ_S + SLACK_S
    assert lost.reason == f"{shown(camera.port)}: sent nothing for 1.5 s"
    watched.lost()  # and it is not found at every attempt
    camera.tell("thaw")
    watched.found(8)
    assert watched.frames(3)
    assert watched.reasons.count("opened") == 2


@pytest.mark.rtsp
def test_a_server_that_dies_is_tried_again_with_longer_and_longer_pauses_until_it_returns(new_camera, watch):
    camera = new_camera()
    watched = watch(address(camera.port))
    watched.frames(3)
    camera.die()
    lost = [watched.lost() for _ in range(5)]
    pauses = [(later.pts_ns - earlier.pts_ns) / NS for earlier, later in pairwise(lost)]
    assert pauses == pytest.approx([0.2, 0.4, 0.8, 1.0], abs=0.15)
    new_camera(port=camera.port)
    watched.found(6)
    assert watched.frames(3)[0].pts_ns > lost[-1].pts_ns


@pytest.mark.rtsp
def test_a_stream_that_changes_its_size_goes_on(new_camera, watch):
    camera = new_camera()
    watched = watch(address(camera.port))
    before = watched.frames(3)
    for size in ("160x120", "640x480"):
        camera.tell(f"size {size}")
        eventually(lambda wanted=size: size_of(*watched.frames(1)) == wanted, 5, size)
    assert {size_of(frame) for frame in before} == {"320x240"}
    assert watched.reasons == ["opened"]


@pytest.mark.rtsp
def test_a_wrong_password_is_reported_and_appears_nowhere(new_camera, watch, capfd):
    camera = new_camera("--login", "viewer:right")
    watched = watch(address(camera.port, "viewer:wr0ng@"))
    assert watched.lost().reason == f"{shown(camera.port)}: user name or password refused"
    watched.lost()
    watched.close()
    told = "".join(watched.reasons) + "".join(capfd.readouterr())
    assert "wr0ng" not in told
    assert "viewer" not in told


@pytest.mark.rtsp
def test_the_right_password_opens(new_camera, watch):
    camera = new_camera("--login", "viewer:right")
    watched = watch(address(camera.port, "viewer:right@"))
    watched.found()
    assert watched.frames(2)


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
def test_an_address_that_accepts_and_never_answers_does_not_block_for_ever(watch, scheme):
    with socket.create_server(("127.0.0.1", 0)) as hole:
        watched = watch(f"{scheme}://127.0.0.1:{hole.getsockname()[1]}/test")
        for _ in range(2):
            assert watched.lost(OPEN_S + SLACK_S).reason.endswith("no answer or no picture within 1.5 s")
        watched.close()


def transport_stream(seconds):
    """Bytes of an MPEG transport stream with a moving bar."""
    made = io.BytesIO()
    with av.open(made, "w", format="mpegts") as container:
        stream = container.add_stream("mpeg2video", rate=15)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        stream.time_base = Fraction(1, 15)
        for index in range(round(seconds * 15)):
            luma = np.full((180, 160), 128, np.uint8)
            luma[:120, index % 150 : index % 150 + 10] = 220
            frame = av.VideoFrame.from_ndarray(luma, format="yuv420p")
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return made.getvalue()


@contextmanager
def http_server(answer):
    """Lend the port of a server that answers every request so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            with suppress(OSError):  # the reader has hung up
                answer(self)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_an_http_stream_is_watched_and_lost_when_it_ends(watch):
    data = transport_stream(4)

    def answer(request):
        request.send_response(200)
        request.send_header("Content-Type", "video/mp2t")
        request.send_header("Connection", "close")
        request.end_headers()
        for start in range(0, len(data), 4096):
            request.wfile.write(data[start : start + 4096])
            time.sleep(4096 / len(data))

    with http_server(answer) as port:
        watched = watch(f"http://127.0.0.1:{port}/live?token=secret")
        watched.found()
        assert {size_of(frame) for frame in watched.frames(10)} == {"160x120"}
        reason = watched.lost(6).reason  # libav calls it an I/O error, as no length was announced
        assert "the stream ended" in reason or "Input/output error" in reason
        assert "secret" not in reason
        watched.close()


def test_an_http_camera_that_refuses_the_password_says_so_and_does_not_repeat_it(watch):
    asked = []

    def answer(request):
        asked.append(request.headers["Authorization"])
        request.send_response(401)
        request.send_header("WWW-Authenticate", 'Basic realm="camera"')
        request.end_headers()

    with http_server(answer) as port:
        watched = watch(f"http://viewer:wr0ng@127.0.0.1:{port}/live")
        assert watched.lost().reason == f"http://127.0.0.1:{port}: user name or password refused"
        watched.close()
    assert f"Basic {base64.b64encode(b'viewer:wr0ng').decode()}" in asked


@pytest.mark.rtsp
def test_the_daemon_tells_of_a_camera_that_dies_and_returns_and_ends_in_order(new_camera, tmp_path):
    camera = new_camera("--login", "viewer:s3cret")
    settings = "\n".join(["[capture]", *(f"{name} = {value}" for name, value in CAPTURE.items())])
    daemon = Daemon(tmp_path, address(camera.port, "viewer:s3cret@"), settings)
    try:
        daemon.start()
        eventually(lambda: daemon.board("motion@gate", Word.HANDLED) > 5, 8, "pictures pass")
        camera.die()
        lost = daemon.await_event("camera.lost", 5)
        camera = new_camera("--login", "viewer:s3cret", port=camera.port)
        found = daemon.await_event("camera.found", 8)
        children = daemon.children()
        status, seconds = daemon.stop()
        assert status == 0
        assert seconds < 6 * PATIENCE
        assert not alive(children)
        assert not list(daemon.run_dir.iterdir())
        assert lost["data"]["details"]["uri"] == shown(camera.port)
        assert found["time"] > lost["time"]
        log = b"".join(path.read_bytes() for path in (daemon.state / "eventlog").glob("*.log"))
        written = (daemon.log() + daemon.events_file.read_text()).encode() + log
        assert not re.search(b"s3cret|viewer", written)
    finally:
        daemon.close()
