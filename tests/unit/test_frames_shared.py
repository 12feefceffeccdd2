from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack

from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import FrameOverwrittenError
from pipeline.core.frames import FramePool
from tests.fakes import blocks, frame, picture, values

READER = """
import sys
import numpy as np
from pipeline.core.frames import FramePool
from pipeline.core.messages import FrameRef
pool = FramePool(int(sys.argv[1]), 4, int(sys.argv[2]), writable=False)
with pool.reading(FrameRef("gate", 1, 0, 0, 0, 64, 48)) as planes:
    start = planes.y.ctypes.data - pool.address
    print(int(planes.y[47, 63]), 0 <= start < 4096 + 4 * pool.slot_bytes, flush=True)
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
    ring.copy(picture(99))
    before = blocks(ring)
    command = [sys.executable, "-c", READER, str(ring.descriptor), str(ring.slot_bytes)]
    with subprocess.Popen(
        command, pass_fds=[ring.descriptor], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout.readline() == "99 True\n"
        reader.kill()
        assert reader.wait() == -signal.SIGKILL
    for value in range(2 * ring.slots):
        sequence = ring.copy(picture(value))
        with ring.reading(frame(sequence)) as planes:
            assert values(planes) == {value}
    assert blocks(ring) == before


steps = st.lists(
    st.sampled_from(["write", "half", "open", "close"]) | st.tuples(st.just("old"), st.integers(0, 9)),
    max_size=60,
)


@given(steps)
def test_no_order_of_writing_and_reading_lets_a_torn_picture_pass(order):
    pool = FramePool.create("test", 4, (8, 8))
    written, readings = [], []

    def check():
        chosen, stack, planes = readings.pop(0)
        content = values(planes)
        try:
            stack.close()
        except FrameOverwrittenError:
            return
        assert content == {chosen % 256}

    for step in order:
        if step == "write":
            written.append(pool.copy(picture(pool.begun + 1, (8, 8))))
        elif step == "half":  # a writer that is killed in the middle of a picture
            pool.reserve(8, 8)
            pool.begin(8, 8)[1].y[:4].fill(255)
        elif step == "close" and readings:
            check()
        elif written and step != "close":
            chosen = written[-1 if step == "open" else step[1] % len(written)]
            stack = ExitStack()
            try:
                planes = stack.enter_context(pool.reading(frame(chosen, size=(8, 8))))
            except FrameOverwrittenError:
                continue
            readings.append((chosen, stack, planes))
    while readings:
        check()
    pool.close()
    os.close(pool.descriptor)
