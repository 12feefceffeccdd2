from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core import sources
from pipeline.core.errors import SourceError
from pipeline.core.frames import picture_bytes
from pipeline.core.secrets import redact
from pipeline.core.settings import CameraSettings, CaptureSettings
from stages.sources.decoder import Timeline
from stages.sources.opening import OPENERS, is_live, opened
from stages.sources.stream import options
from stages.sources.synthetic import Synthetic
from tests.fakes import NS, picture

HOUR = 3600 * NS
STEP = NS // 10

stamps = st.lists(st.none() | st.integers(-(10**15), 10**15), max_size=60)


def placed(*pts, fps=10):
    timeline = Timeline(fps)
    return [timeline.place(one) for one in pts]


def drawn(url):
    """The pixels of every picture of a drawing."""
    pixels = []
    for one in Synthetic(url).pictures():
        target = picture(0, (one.width, one.height))
        one.copy_to(target)
        pixels.append(np.concatenate([plane.ravel() for plane in target[:3]]))
    return np.array(pixels)


def test_media_time_begins_at_the_first_picture():
    assert placed(5 * NS, 5 * NS + STEP) == [0, STEP]


def test_without_time_stamps_pictures_are_counted():
    assert placed(None, None, None) == [0, STEP, 2 * STEP]


def test_late_time_stamps_go_on_from_the_counted_pictures():
    assert placed(None, None, 90 * NS, 90 * NS + 3 * STEP) == [0, STEP, 2 * STEP, 5 * STEP]


def test_a_missing_time_stamp_is_one_picture_later():
    assert placed(0, None, 2 * STEP, 3 * STEP) == [0, STEP, 2 * STEP, 3 * STEP]


def test_a_gap_in_the_recording_stays_a_gap():
    assert placed(0, 40 * 60 * NS) == [0, 40 * 60 * NS]


@pytest.mark.parametrize("jump", [-HOUR, HOUR, 50 * HOUR, -1, 0])
def test_a_clock_that_was_set_is_no_gap(jump):
    assert placed(0, STEP, STEP + jump, 2 * STEP + jump) == [0, STEP, 2 * STEP, 3 * STEP]


@given(stamps)
def test_media_time_always_advances_by_less_than_an_hour(pts):
    times = [0, *placed(None, *pts)]
    assert all(0 < step < HOUR for step in np.diff(times[1:]))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("rtsp://user:secret@gate:554/h264?token=secret#secret", "rtsp://gate:554"),
        ("rtsp://user@gate/sub", "rtsp://gate"),
        ("http://user:sec@ret@gate/mjpeg?password=secret", "http://gate"),
        ("rtsp://[fe80::1]:554/sub", "rtsp://[fe80::1]:554"),
        ("/dev/video0", "/dev/video0"),
        ("clips/walk.mp4", "clips/walk.mp4"),
    ],
)
def test_a_camera_is_named_by_its_host_alone_and_a_file_or_device_by_its_path(url, expected):
    assert redact(url) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("rtsp://gate/sub", True),
        ("http://gate/mjpeg", True),
        ("/dev/video0", True),
        ("v4l2:/dev/v4l/by-id/cam", True),
        ("synthetic://", False),
        ("file:///clips/walk.mp4", False),
        ("walk.mp4", False),
    ],
)
def test_cameras_are_live_and_files_are_not(source, expected):
    assert is_live(source) is expected


def test_every_kind_of_source_has_what_opens_it():
    assert set(OPENERS) == {kind.name for kind in sources.TABLE}


@pytest.mark.parametrize("kind", sources.TABLE, ids=lambda kind: kind.name)
def test_every_row_of_the_table_of_kinds_is_complete(kind):
    assert [sources.find_kind(begin.upper() + "x") for begin in kind.begins] == [kind] * len(kind.begins)
    assert all(begin == begin.lower() for begin in kind.begins)
    assert kind.name in sources.SCHEMES
    assert kind.written in sources.HOW
    assert all(begin.endswith("://") for begin in kind.begins) or kind.shown != "host"


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("RTSP://User@Gate/Sub", "rtsp://User@Gate/Sub"),
        ("V4L2:/dev/video0", "v4l2:/dev/video0"),
        ("Clips/Walk.mp4", "Clips/Walk.mp4"),
        ("File:Walk.mp4", "File:Walk.mp4"),
    ],
)
def test_an_address_is_opened_with_its_scheme_in_small_letters_and_a_path_as_it_is(written, spelt):
    assert sources.lower_scheme(written) == spelt


def test_an_unknown_kind_of_source_is_refused_without_its_password():
    with pytest.raises(SourceError, match="no such kind of source") as caught:
        opened(CameraSettings(source="ftp://user:secret@gate/x"), CaptureSettings())
    assert "secret" not in str(caught.value)


def test_a_file_may_be_given_as_an_address(tmp_path):
    with pytest.raises(SourceError, match=r"a b\.mp4: No such file"):
        opened(CameraSettings(source=f"file://{tmp_path}/a%20b.mp4"), CaptureSettings())


def test_rtsp_runs_over_tcp_and_every_stream_has_a_time_limit():
    settings = CaptureSettings(read_timeout_s=2.5)
    assert options("rtsp://gate", settings)["rtsp_transport"] == "tcp"
    assert options("rtsp://gate", settings)["timeout"] == "2500000"
    assert options("http://gate", settings)["rw_timeout"] == "2500000"
    assert options("/dev/video0", settings) == {}


def test_a_drawing_is_the_same_every_time_and_another_by_another_seed():
    url = "synthetic://?width=64&height=48&seconds=2&pause_s=0.5&walk_s=1&seed={}"
    assert np.array_equal(drawn(url.format(3)), drawn(url.format(3)))
    assert not np.array_equal(drawn(url.format(3)), drawn(url.format(4)))


def test_something_walks_through_a_drawing():
    pixels = drawn("synthetic://?width=64&height=48&seconds=2&pause_s=0.5&walk_s=1&noise=0").astype(int)
    changed = [(pixels[number] != pixels[0]).any() for number in range(20)]
    assert not any(changed[:5])
    assert sum(changed) >= 9


def test_a_drawing_has_the_size_and_the_times_that_were_asked_for():
    source = Synthetic("synthetic://?width=63&height=47&fps=5&seconds=2")
    pictures = list(source.pictures())
    assert {(one.width, one.height) for one in pictures} == {(63, 47)}
    assert [one.pts_ns for one in pictures] == [number * NS // 5 for number in range(10)]
    assert source.report()._asdict() == {"frames": 10, "declared": 10, "corrupt": 0, "truncated": None}
    assert drawn("synthetic://?width=63&height=47&fps=5&seconds=1").shape == (5, picture_bytes(63, 47))


@pytest.mark.parametrize(
    ("url", "said"), [("synthetic://?widht=64", "no field `widht`.*width"), ("synthetic://?width=wide", "`width=wide`")]
)
def test_an_unknown_or_wrong_field_of_a_drawing_is_refused(url, said):
    with pytest.raises(SourceError, match=said):
        Synthetic(url)
