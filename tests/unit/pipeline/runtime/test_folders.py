"""What a daemon may delete, and who may write where."""

import stat

import pytest

from pipeline.core import files
from pipeline.core.errors import RunDirectoryError
from pipeline.runtime import folders
from pipeline.runtime.folders import RunDirectory


@pytest.fixture
def private(tmp_path):
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    return path


def test_a_run_folder_is_swept_of_what_daemons_leave_and_of_nothing_else(private):
    ours = ("board", "board.names", "trigger.in", "capture@north.side.tap")
    theirs = (".bashrc", "events.jsonl", "incidents.journal", "notes.in", "thesis.txt", "lock")
    for name in (*ours, *theirs):
        (private / name).touch()
    held = RunDirectory(private)
    assert {path.name for path in private.iterdir()} == set(theirs)
    held.close()
    assert {path.name for path in private.iterdir()} == set(theirs) - {"lock"}


def test_a_run_folder_that_is_let_go_of_soon_is_waited_for(private, monkeypatch):
    held = RunDirectory(private)
    monkeypatch.setattr(folders.time, "sleep", lambda _: held.close() if held.path.exists() and is_locked(held) else 0)
    RunDirectory(private).close()


def is_locked(held):
    return (held.path / "lock").exists()


def test_two_do_not_write_into_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_PATIENCE_S", 0.0)
    with (
        folders.held(tmp_path, "choose another"),
        pytest.raises(RunDirectoryError, match="choose another"),
        folders.held(tmp_path, "choose another"),
    ):
        pytest.fail("both write")
    with folders.held(tmp_path, "it is free again"):
        assert not list(tmp_path.iterdir())


def test_a_state_folder_is_made_for_its_user_alone(tmp_path):
    files.own_folder(tmp_path / "var" / "state")
    assert stat.S_IMODE((tmp_path / "var" / "state").stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_a_state_folder_may_be_read_by_others(tmp_path, mode):
    (state := tmp_path / "state").mkdir()
    state.chmod(mode)
    files.own_folder(state)


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_state_folder_that_others_may_write_into_is_refused_with_the_command_that_closes_it(tmp_path, mode):
    (state := tmp_path / "my state").mkdir()
    state.chmod(mode)
    with pytest.raises(RunDirectoryError, match=r"others may write into it: chmod go-w '.*my state'"):
        files.own_folder(state)


def test_a_state_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    (state := tmp_path / "state").mkdir()
    monkeypatch.setattr(files.os, "geteuid", lambda: state.stat().st_uid + 1)
    with pytest.raises(RunDirectoryError, match="belongs to another user"):
        files.own_folder(state)


def test_a_link_to_a_state_folder_is_followed(tmp_path):
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "state")
    files.own_folder(tmp_path / "link")


def test_a_file_in_the_place_of_a_state_folder_is_told(tmp_path):
    (tmp_path / "state").touch()
    with pytest.raises(RunDirectoryError, match=r"state: is a file, not a folder: choose another --state-dir"):
        files.own_folder(tmp_path / "state")


def test_a_link_to_nothing_in_the_place_of_a_state_folder_is_told(tmp_path):
    (tmp_path / "state").symlink_to(tmp_path / "unplugged disk")
    with pytest.raises(RunDirectoryError, match=r"state: is a link to what is not there: choose another --state-dir"):
        files.own_folder(tmp_path / "state")


def test_a_mounted_disk_that_is_sticky_will_do_and_is_warned_of(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    disk.chmod(0o1777)
    files.own_folder(disk)
    assert files.open_to_others(disk) == f"{disk}: others may put files into it: chmod go-w {disk}"
    disk.chmod(0o750)
    assert files.open_to_others(disk) == ""
