"""Which recordings are found under what is named, and what they are called."""

import os
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError, SourceError
from pipeline.core.settings import CameraSettings, CaptureSettings
from pipeline.runtime.recordings import Recording, address, find
from stages.sources.opening import opened
from tests.clips import write


@pytest.fixture
def folder(tmp_path):
    for name in ("b.mp4", "a.MKV", "yard/c.avi", ".hidden.mp4", ".trash/d.mp4", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def names(recordings):
    return [recording.name for recording in recordings]


def test_a_folder_gives_its_recordings_in_order(folder):
    assert names(find([folder])) == ["a.MKV", "b.mp4", "yard/c.avi"]


def test_a_link_that_leads_nowhere_is_named_not_left_out(folder):
    (folder / "gone.mp4").symlink_to("nowhere.mp4")
    (folder / "loop.mp4").symlink_to("loop.mp4")
    assert {"gone.mp4", "loop.mp4"} < set(names(find([folder])))


def test_a_folder_that_may_not_be_read_is_named_not_left_out(folder, monkeypatch):
    scan = os.scandir

    def refusing(path):
        if str(path).endswith("yard"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert names(find([folder])) == ["a.MKV", "b.mp4", "yard"]


def test_what_may_not_be_looked_at_does_not_keep_others_from_being_found(folder, monkeypatch):
    look = Path.stat

    def refusing(path, **given):
        if "vault" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **given)

    monkeypatch.setattr(Path, "stat", refusing)
    assert names(find([folder / "b.mp4", folder / "vault" / "e.mp4"])) == ["b.mp4", "e.mp4"]


def test_a_stream_is_no_recording_and_its_password_is_not_repeated():
    with pytest.raises(ConfigError) as caught:
        find([Path("rtsp://user:secret@gate/x")])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["with space.mp4", "new\nline.mp4", "q?#%20&.mp4", "-dash.mp4", "b\udcff\udcfe.mp4"])
def test_a_recording_may_be_called_anything(tmp_path, name):
    write(tmp_path / "clip.mp4").rename(tmp_path / name)
    source = opened(CameraSettings(source=address(tmp_path / name)), CaptureSettings())
    assert len(list(source.pictures())) == 20
    source.close()


def test_a_long_name_makes_a_short_camera_that_is_no_other_recordings():
    cameras = {Recording(Path("x"), "x" * 230 + f"{number}.mp4").camera for number in range(20)}
    assert len(cameras) == 20
    assert {len(camera) for camera in cameras} == {60}
    assert Recording(Path("x"), "yard/gate.mp4").camera == "yard~gate.mp4"


def test_a_pipe_is_no_recording(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(SourceError, match="this is a pipe or a device"):
        opened(CameraSettings(source=str(tmp_path / "pipe.mp4")), CaptureSettings())
