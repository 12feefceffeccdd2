from __future__ import annotations

import pytest

from pipeline.core.errors import FrameTooLargeError, SourceError
from pipeline.core.messages import FrameCaptured
from stages.capture import Capture
from stages.sources.synthetic import Synthetic
from tests.clips import write
from tests.fakes import NOON_NS, NS, FakeClock, context, picture, values

DRAWN = "synthetic://?width=64&height=48&fps={fps}&seconds={seconds}"


def replay(ring, *, fps=30, seconds=2, frames_per_s=10, **given):
    source = DRAWN.format(fps=fps, seconds=seconds)
    settings = {"capture": {"frames_per_s": frames_per_s}}
    return Capture(context(ring, clock=FakeClock(media=True), source=source, **settings, **given))


@pytest.mark.parametrize(("fps", "expected"), [(30, 20), (10, 20), (4, 8)])
def test_a_replay_yields_frames_at_the_wanted_rate_at_most(ring, fps, expected):
    messages = list(replay(ring, fps=fps).produce())
    assert all(isinstance(message, FrameCaptured) for message in messages)
    assert len(messages) == expected


def test_a_replay_has_media_time_and_does_not_sleep(ring):
    stage = replay(ring)
    frames = [message.frame for message in stage.produce()]
    assert [frame.pts_ns for frame in frames] == pytest.approx([number * NS / 10 for number in range(20)], abs=2)
    assert [frame.utc_ns for frame in frames] == [frame.pts_ns for frame in frames]
    assert [frame.index for frame in frames] == list(range(0, 60, 3))
    assert [frame.sequence for frame in frames] == list(range(1, 21))
    assert stage.context.clock.slept == []


def test_a_replay_counts_from_when_the_recording_began(ring):
    stage = replay(ring)
    object.__setattr__(stage.context, "began_utc_ns", NOON_NS)
    assert next(stage.produce()).frame.utc_ns == NOON_NS


def test_a_replay_reports_how_much_was_there(ring):
    stage = replay(ring)
    list(stage.produce())
    assert stage.report.frames == stage.report.declared == 60


def test_a_replay_without_a_recording_fails(ring, tmp_path):
    stage = Capture(context(ring, clock=FakeClock(media=True), source=str(tmp_path / "clip.mp4")))
    with pytest.raises(SourceError, match=r"clip\.mp4: No such file"):
        list(stage.produce())


def test_the_pixels_lie_in_the_ring(ring):
    frame = next(replay(ring).produce()).frame
    drawn = picture(0)
    next(Synthetic(DRAWN.format(fps=30, seconds=2)).pictures()).copy_to(drawn)
    with ring.reading(frame) as planes:
        assert (planes.y == drawn.y).all()
        assert values((planes.u,)) == {136}


def test_a_recording_can_be_played_at_the_speed_of_a_camera(ring):
    stage = Capture(context(ring, source=DRAWN.format(fps=10, seconds=3)))
    found, *frames, ended = stage.produce()
    assert (found.state, ended.state, ended.reason) == ("found", "ended", "eof")
    assert [message.frame.pts_ns for message in frames] == [number * NS // 10 for number in range(30)]
    assert [message.frame.utc_ns - NOON_NS for message in frames] == [message.frame.pts_ns for message in frames]
    assert sum(stage.context.clock.slept) == pytest.approx(2.9)


def test_what_is_long_past_is_skipped_as_a_camera_would(ring):
    stage = Capture(context(ring, source=DRAWN.format(fps=10, seconds=3)))
    messages = stage.produce()
    next(messages)
    first = next(messages).frame
    stage.context.clock.at_ns += 2 * NS
    second = next(messages).frame
    assert (first.pts_ns, second.pts_ns) == (0, NS * 3 // 2)


@pytest.mark.parametrize(("source", "said"), [("gone.mp4", "gone.mp4: No such file"), ("ftp://x", "no such kind")])
def test_a_recording_that_cannot_be_read_is_lost_which_operators_are_told(ring, source, said):
    (lost,) = Capture(context(ring, source=source)).produce()
    assert lost.state == "lost"
    assert said in lost.reason


def test_a_recording_with_a_picture_too_large_for_the_ring_is_lost_naming_the_setting(ring):
    _, lost = Capture(context(ring, source="synthetic://?width=640&height=480&seconds=1")).produce()
    assert lost.state == "lost"
    assert "frames.largest" in lost.reason


def test_a_picture_too_large_for_the_ring_fails_a_replay(ring):
    stage = Capture(context(ring, clock=FakeClock(media=True), source="synthetic://?width=640&height=480&seconds=1"))
    with pytest.raises(FrameTooLargeError):
        list(stage.produce())


@pytest.mark.parametrize("size", [(1, 1), (15, 400), (400, 2)])
def test_a_recording_of_pictures_that_are_too_small_is_refused_with_a_word(ring, tmp_path, size):
    clip = write(tmp_path / "clip.nut", size=size, codec="ffv1", pixels="yuv420p", frames=3)
    stage = Capture(context(ring, clock=FakeClock(media=True), source=str(clip)))
    with pytest.raises(SourceError, match=f"pictures of {size[0]}x{size[1]} pixels are too small: 16x16 is the least"):
        list(stage.produce())


def test_a_camera_of_pictures_that_are_too_small_is_lost_and_told_of_once(ring, tmp_path):
    clip = write(tmp_path / "clip.nut", size=(1, 1), codec="ffv1", pixels="yuv420p", frames=3)
    told = list(Capture(context(ring, source=str(clip))).produce())
    assert [one.state for one in told] == ["found", "lost"]
    assert "too small" in told[-1].reason
