from __future__ import annotations

import re
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.core.errors import SourceError
from stages.sources.footage import Footage
from tests.clips import read, write


def box_at(content, kind):
    """Where a box of an MP4 begins."""
    return content.index(kind) - 4


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"clip\.mp4: No such file"):
        Footage(tmp_path / "clip.mp4")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty (0 bytes)"),
        (b"Dear diary,\nnothing moved today.\n", "this is a text file, not a recording"),
        (b"\x00\x01\x02\xff" * 500, "Invalid data"),
    ],
    ids=["empty", "text", "noise"],
)
def test_what_is_no_recording_is_refused_with_the_reason(tmp_path, content, said):
    path = tmp_path / "clip.mp4"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=re.escape(f"clip.mp4: {said}")):
        Footage(path)


def test_a_file_without_pictures_is_refused(tmp_path):
    path = tmp_path / "sound.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
    with pytest.raises(SourceError, match=r"sound\.wav: holds no video stream"):
        Footage(path)


def test_a_recording_cut_before_its_index_says_so(tmp_path):
    path = write(tmp_path / "clip.mp4")
    content = path.read_bytes()
    path.write_bytes(content[: box_at(content, b"moov")])
    with pytest.raises(SourceError, match="no moov atom: the recording was cut"):
        Footage(path)


def test_a_cut_recording_with_its_index_in_front_is_read_and_reported(tmp_path):
    path = write(tmp_path / "clip.mp4", frames=40, options={"movflags": "faststart"})
    content = path.read_bytes()
    start = box_at(content, b"mdat")
    path.write_bytes(content[: start + (len(content) - start) // 2])
    pictures, report = read(path)
    assert 0 < len(pictures) < 40
    assert (report.frames, report.declared) == (len(pictures), 40)
    assert report.truncated


def test_a_cut_avi_is_read_and_reported_with_what_is_missing(tmp_path):
    path = write(tmp_path / "clip.avi", frames=40)
    content = path.read_bytes()
    start = box_at(content, b"movi")
    path.write_bytes(content[: start + (len(content) - start) // 2])
    pictures, report = read(path)
    assert 0 < len(pictures) < 40
    assert report.truncated


def test_an_avi_that_lost_only_its_index_is_reported_too(tmp_path):
    path = write(tmp_path / "clip.avi")
    path.write_bytes(path.read_bytes()[:-20])
    pictures, report = read(path)
    assert len(pictures) == 20
    assert report.truncated == "20 bytes are missing at the end"


def test_a_whole_avi_is_not_called_cut(tmp_path):
    assert read(write(tmp_path / "clip.avi"))[1].truncated is None


def test_a_recording_that_holds_nothing_but_its_index_is_refused(tmp_path):
    path = write(tmp_path / "clip.mp4", options={"movflags": "faststart"})
    content = path.read_bytes()
    path.write_bytes(content[: box_at(content, b"mdat") + 8])
    with pytest.raises(SourceError, match=r"clip\.mp4: no picture could be decoded"):
        read(path)


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    path = write(tmp_path / "clip.mp4")

    def refusing(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(av, "open", refusing)
    monkeypatch.setattr(Path, "open", refusing)
    with pytest.raises(SourceError, match=r"clip\.mp4: Permission denied"):
        Footage(path)


def test_a_recording_whose_times_do_not_begin_with_none_is_not_called_cut(tmp_path):
    pts = [number + 72_000 for number in range(20)]
    _, report = read(write(tmp_path / "clip.mkv", pts=pts))
    assert (report.frames, report.truncated) == (20, None)


def test_a_cut_recording_whose_times_do_not_begin_with_none_is_reported_with_what_is_left(tmp_path):
    path = write(tmp_path / "clip.mkv", frames=40, pts=[number + 72_000 for number in range(40)])
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    _, report = read(path)
    assert report.truncated.endswith("of 4.0 s")


def test_a_recording_with_a_hole_of_hours_is_not_called_cut(tmp_path):
    pts = [number + (72_000 if number > 10 else 0) for number in range(20)]
    _, report = read(write(tmp_path / "clip.mkv", pts=pts))
    assert (report.frames, report.truncated) == (20, None)
