from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import FrameOverwrittenError
from pipeline.core.frames import FramePool
from tests.fakes import blocks, frame, picture, values
from tests.paths import ROOT

READER = """
import mmap
import sys
from pipeline.core.frames import FramePool
from pipeline.core.messages import FrameRef
pool = FramePool(int(sys.argv[1]), 4, int(sys.argv[2]), writable=False)
with pool.reading(FrameRef("gate", int(sys.argv[3]), 0, 0, 0, 64, 48)) as planes:
    start = planes.y.ctypes.data - pool.address
    print(int(planes.y[47, 63]), 0 <= start < mmap.PAGESIZE + 4 * pool.slot_bytes, flush=True)
    sys.stdin.readline()
"""


def test_a_second_mapping_of_the_descriptor_sees_the_same_memory(ring):
    reader = FramePool(ring.descriptor, ring.slots, ring.slot_bytes, writable=False)
    sequence = ring.copy(picture(3))
    with reader.reading(frame(sequence)) as planes:
        assert values(planes) == {3}
        assert reader.begun == 1
    del planes
    reader.close()


def test_another_process_reads_in_place_and_leaves_nothing_when_it_is_killed(ring):
    for _ in range(ring.slots):
        first = ring.copy(picture(99))
    before = blocks(ring)
    command = [sys.executable, "-c", READER, str(ring.descriptor), str(ring.slot_bytes), str(first)]
    with subprocess.Popen(
        command, cwd=ROOT, pass_fds=[ring.descriptor], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout.readline() == "99 True\n"
        reader.kill()
        assert reader.wait() == -signal.SIGKILL
    for value in range(2 * ring.slots):
        sequence = ring.copy(picture(value))
        with ring.reading(frame(sequence)) as planes:
            assert values(planes) == {value}
    assert blocks(ring) == before


moves = ["write", "write", "write", "half", "close", *range(8)]  # a number opens the frame that is so old


@given(st.lists(st.sampled_from(moves), min_size=20, max_size=60))
def test_no_order_of_writing_and_reading_lets_a_torn_picture_pass(order):
    pool = FramePool.create("test", 4, (8, 8))
    written, readings = [], []

    def close():
        sequence, reading, planes = readings.pop(0)
        content = values(planes)
        with suppress(FrameOverwrittenError):
            reading.__exit__(None, None, None)
            assert content == {sequence}

    for move in order:
        if move == "write":
            written.append(pool.copy(picture(pool.begun + 1, (8, 8))))
        elif move == "half":  # the writer is killed in the middle of a picture
            pool.reserve(8, 8)
            pool.begin(8, 8)[1].y[:4].fill(255)
        elif move == "close" and readings:
            close()
        elif move != "close" and move < len(written):
            reading = pool.reading(frame(written[-1 - move], size=(8, 8)))
            with suppress(FrameOverwrittenError):
                readings.append((written[-1 - move], reading, reading.__enter__()))
    while readings:
        close()
    pool.close()
    os.close(pool.descriptor)
