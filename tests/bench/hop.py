"""One frame from hand to hand: our ring and links beside a bare ZeroMQ message, and beside the pickled frame.

Two processes, 1080p, paced: the receiver sleeps before every frame, as it does beside a camera. The three ways take
turns, round by round, so that what else runs on the machine hits all alike.

usage: python -m tests.bench.hop [--frames N] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import pickle
import statistics
import struct
import tempfile
import time
from pathlib import Path

import numpy as np
import zmq

from pipeline.core.frames import FramePool
from pipeline.core.messages import FrameCaptured, FrameRef
from pipeline.runtime import links
from tests.bench.report import last_line, table

WIDTH, HEIGHT = 1920, 1080
CAMERA = "bench"


def _ours(folder: Path, pool: FramePool, frames: int, pause_s: float, results: int) -> None:
    """Descriptor over a link, the luma plane lent in place; touch it, so that it is really there."""
    child = os.fork()
    if child == 0:
        context = links.new_context()
        mailbox = links.Mailbox(context, folder, f"motion@{CAMERA}", 2000)
        reading = FramePool(pool.descriptor, pool.slots, pool.slot_bytes, writable=False)
        got, inside = [], 0
        while len(got) < frames:
            for message in mailbox.take():
                with reading.reading(message.frame) as planes:
                    got.append((message.frame.index, time.monotonic_ns()))
                    start = planes.y.ctypes.data - reading.address
                    inside += 0 <= start < reading.slots * reading.slot_bytes + 4096 and not planes.y.flags.owndata
        os.write(results, pickle.dumps((got, inside)))
        os._exit(0)
    context = links.new_context()
    post = links.Post(context, folder, f"capture@{CAMERA}")
    time.sleep(0.3)
    sent = []
    for index in range(frames):
        time.sleep(pause_s)
        sequence, planes = pool.begin(WIDTH, HEIGHT)
        planes.y[0, 0] = index & 255
        sent.append(time.monotonic_ns())
        frame = FrameRef(CAMERA, sequence, index, index, index, WIDTH, HEIGHT)
        post.send(FrameCaptured(frame=frame))
    os.waitpid(child, 0)
    post.close()
    context.term()
    _SENT.append(sent)


def _raw(folder: Path, payload: object, frames: int, pause_s: float, results: int) -> None:
    """Send 24 bytes, or a pickled frame where `payload` is an array."""
    address = f"ipc://{folder}/raw"
    child = os.fork()
    if child == 0:
        socket = zmq.Context().socket(zmq.PULL)
        socket.bind(address)
        got = []
        while len(got) < frames:
            data = socket.recv()
            if payload is not None:
                pickle.loads(data)
            got.append((len(got), time.monotonic_ns()))
        os.write(results, pickle.dumps((got, 0)))
        os._exit(0)
    context = zmq.Context()
    socket = context.socket(zmq.PUSH)
    socket.connect(address)
    time.sleep(0.3)
    sent = []
    for index in range(frames):
        time.sleep(pause_s)
        sent.append(time.monotonic_ns())
        socket.send(struct.pack("<QQQ", index, index, index) if payload is None else pickle.dumps(payload))
    os.waitpid(child, 0)
    socket.close()
    context.term()
    _SENT.append(sent)


_SENT: list[list[int]] = []


def _round(way: object, *arguments: object) -> tuple[list[float], int]:
    reader, writer = os.pipe()
    os.set_blocking(reader, True)
    _SENT.clear()
    # the child's answer fits a pipe's buffer for the frame counts used here, so nobody waits for anybody
    way(*arguments, writer)
    os.close(writer)
    data = b""
    while block := os.read(reader, 1 << 16):
        data += block
    os.close(reader)
    got, inside = pickle.loads(data)
    return [(at - _SENT[0][index]) / 1000 for index, at in got], inside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pause_s = 1 / 60
    pool = FramePool.create("bench", 8, (WIDTH, HEIGHT))
    pool.reserve(WIDTH, HEIGHT)
    picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    times: dict[str, list[float]] = {"bare 24-byte message": [], "our frame hand-over": [], "pickled BGR frame": []}
    lent = 0
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="hop") as name:
            folder = Path(name)
            times["bare 24-byte message"] += _round(_raw, folder, None, options.frames, pause_s)[0]
            ours, inside = _round(_ours, folder, pool, options.frames, pause_s)
            times["our frame hand-over"] += ours
            lent += inside
            times["pickled BGR frame"] += _round(_raw, folder, picture, max(options.frames // 5, 5), pause_s)[0]
    p50 = {way: statistics.median(values) for way, values in times.items()}
    rows = [(way, f"{p50[way]:.0f}", f"{np.percentile(values, 99):.0f}", len(values)) for way, values in times.items()]
    table("One hop, 1920x1080, microseconds", ("way", "p50", "p99", "frames"), rows)
    copies = options.frames * options.rounds - lent
    last_line(
        {
            "hop_vs_bare_message": round(p50["our frame hand-over"] / p50["bare 24-byte message"], 3),
            "pickled_frame_vs_hop": round(p50["pickled BGR frame"] / p50["our frame hand-over"], 1),
            "pixel_copies": copies,
        },
        "python -m tests.bench.hop",
    )


if __name__ == "__main__":
    main()
