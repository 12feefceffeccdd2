"""What a daemon may delete, and who may write where."""

import pytest

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
