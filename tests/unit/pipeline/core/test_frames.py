from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pipeline.core.errors import FrameOverwrittenError, FrameTooLargeError
from pipeline.core.frames import picture_bytes
from tests.fakes import blocks, frame, picture, values

SIZES = [(64, 48), (63, 47), (1, 1), (16, 16), (2, 33)]


@pytest.mark.parametrize("size", SIZES)
def test_a_reader_sees_what_was_written_and_cannot_change_it(ring, size):
    sequence = ring.copy(picture(77, size))
    with ring.reading(frame(sequence, size=size)) as planes:
        assert planes.y.shape == size[::-1]
        assert values(planes) == {77}
        for plane in planes[:3]:
            with pytest.raises(ValueError, match="read-only"):
                plane[0, 0] = 1


def test_the_planes_of_a_picture_do_not_overlap(ring):
    ring.reserve(63, 47)
    _, planes = ring.begin(63, 47)
    for value, plane in enumerate(planes[:3]):
        plane.fill(value)
    assert [values((plane,)) for plane in planes[:3]] == [{0}, {1}, {2}]
    assert sum(plane.size for plane in planes[:3]) == picture_bytes(63, 47)


def test_a_frame_lives_until_all_slots_but_two_were_begun_anew(new_ring):
    ring = new_ring(slots=5)
    old = frame(ring.copy(picture(7)))
    for value in range(3):
        ring.copy(picture(value))
        with ring.reading(old) as planes:
            assert values(planes) == {7}
    ring.copy(picture(9))
    with pytest.raises(FrameOverwrittenError), ring.reading(old):
        pytest.fail("the frame is gone")


def test_a_frame_that_is_overwritten_while_it_is_read_is_told_of(ring):
    old = frame(ring.copy(picture(7)))
    reading = ring.reading(old)
    reading.__enter__()  # what happens in between is the test
    for value in range(3):
        ring.copy(picture(value))
    with pytest.raises(FrameOverwrittenError):
        reading.__exit__(None, None, None)


def test_the_writer_writes_in_place(ring):
    ring.reserve(64, 48)
    sequence, planes = ring.begin(64, 48)
    planes.y.fill(5)
    with ring.reading(frame(sequence)) as read:
        assert read.y.ctypes.data == planes.y.ctypes.data
        assert read.y.min() == 5


def test_full_range_travels_with_the_frame(ring):
    sequence = ring.copy(picture(1))
    with ring.reading(frame(sequence, full_range=True)) as planes:
        assert planes.full_range


def test_a_picture_that_is_too_large_is_refused_naming_the_setting(ring):
    with pytest.raises(FrameTooLargeError, match=r"640x480.*raise frames\.largest"):
        ring.reserve(640, 480)


def test_memory_is_taken_for_the_real_size_only(new_ring):
    ring = new_ring(slots=4, largest=(4096, 2160))
    ring.copy(picture(1))
    assert blocks(ring) < picture_bytes(4096, 2160)


def test_memory_behind_larger_pictures_is_given_back(new_ring):
    ring = new_ring(slots=4, largest=(640, 480))
    for value in range(4):
        ring.copy(picture(value, (640, 480)))
    assert blocks(ring) >= 4 * picture_bytes(640, 480)
    for value in range(4):
        ring.copy(picture(value, (64, 48)))
    assert blocks(ring) < picture_bytes(640, 480)


def test_pictures_may_grow_again(new_ring):
    ring = new_ring(slots=4, largest=(640, 480))
    for size in [(640, 480), (64, 48), (64, 32), (319, 239), (640, 480)] * 4:
        sequence = ring.copy(picture(42, size))
        with ring.reading(frame(sequence, size=size)) as planes:
            assert values(planes) == {42}


def test_a_full_memory_is_a_refusal_that_names_the_need(ring, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(FrameTooLargeError, match=r"no memory.*64x48.*fewer frames\.slots"):
        ring.reserve(64, 48)


def test_nobody_can_shorten_or_lengthen_the_memory(ring):
    size = os.fstat(ring.descriptor).st_size
    for length in (4096, size * 2):
        with pytest.raises(PermissionError):
            os.ftruncate(ring.descriptor, length)


def test_a_ring_has_no_name_in_the_file_system(ring):
    assert Path(f"/proc/self/fd/{ring.descriptor}").readlink().name.endswith("(deleted)")
