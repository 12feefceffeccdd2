from __future__ import annotations

import av
import pytest

from tests.clips import read, write
from tests.fakes import NS


def test_a_recording_is_read_picture_by_picture(tmp_path):
    pictures, report = read(write(tmp_path / "clip.mp4"))
    assert [one.index for one, _ in pictures] == list(range(20))
    assert [one.pts_ns for one, _ in pictures] == [number * NS // 10 for number in range(20)]
    assert report._asdict() == {"frames": 20, "declared": 20, "corrupt": 0, "truncated": None}
    brightness = [planes.y.mean() for _, planes in pictures]
    assert brightness == sorted(brightness)
    assert brightness[-1] > brightness[0] + 60


@pytest.mark.parametrize(
    ("size", "codec", "pixels"),
    [
        ((318, 238), "mpeg4", "yuv420p"),
        ((16, 16), "libx264", "yuv420p"),
        ((33, 17), "ffv1", "yuv420p"),
        ((17, 16), "ffv1", "yuv420p"),
        ((31, 23), "rawvideo", "rgb24"),
        ((64, 48), "mjpeg", "yuvj420p"),
        ((64, 48), "ffv1", "gray"),
    ],
)
def test_any_size_and_pixel_format_becomes_planes(tmp_path, size, codec, pixels):
    if codec not in av.codecs_available:
        pytest.skip(f"libav lacks {codec}")
    pictures, _ = read(write(tmp_path / "clip.nut", size=size, codec=codec, pixels=pixels, frames=3))
    assert len(pictures) == 3
    one, planes = pictures[0]
    assert (one.width, one.height) == size
    assert one.full_range is (pixels == "yuvj420p")
    expected = 40 if one.full_range else 16 + 40 * 219 / 255
    assert abs(planes.y.astype(int) - expected).max() <= 3
    assert abs(planes.u.astype(int) - 128).max() <= 2


def test_one_picture_is_a_recording(tmp_path):
    pictures, report = read(write(tmp_path / "clip.mp4", frames=1))
    assert len(pictures) == report.frames == 1
    assert report.truncated is None


def test_a_hole_in_the_recording_stays_in_its_times(tmp_path):
    pts = [0, 1, 2, 23, 24]
    pictures, report = read(write(tmp_path / "clip.mkv", frames=5, pts=pts))
    assert [one.pts_ns for one, _ in pictures] == [number * NS // 10 for number in pts]
    assert report.truncated is None


@pytest.mark.skipif("libx264" not in av.codecs_available, reason="libav lacks libx264")
def test_a_stream_without_a_container_is_counted_by_its_rate(tmp_path):
    pictures, report = read(write(tmp_path / "clip.h264", codec="libx264", fps=25))
    times = [one.pts_ns for one, _ in pictures]
    assert times == sorted(set(times))
    assert times[0] == 0
    assert report.declared is None


def test_the_configured_rotation_goes_before_that_of_the_stream(tmp_path):
    pictures, _ = read(write(tmp_path / "clip.mp4", frames=1), rotation=270)
    assert pictures[0][0].rotation == 270
