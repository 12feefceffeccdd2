"""Opening, reading and replacing files that somebody else may have put there."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from pipeline.core import files


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "device"])
def test_only_regular_files_are_opened(tmp_path, kind):
    path = _odd(tmp_path, kind)
    with pytest.raises(OSError, match="not a regular file") as refused:
        files.open_regular(path)
    assert refused.value.filename == str(path)


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "device"])
def test_nothing_else_is_opened_for_writing_either(tmp_path, kind):
    path = _odd(tmp_path, kind)
    with pytest.raises(OSError, match="not a regular file"):
        files.open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    assert not (tmp_path / "target").exists() or (tmp_path / "target").read_text() == "precious"


def test_a_link_that_an_operator_named_is_followed(tmp_path):
    path = _odd(tmp_path, "link")
    assert files.read_bounded(path, follow=True) == b"precious"


def test_a_link_to_a_pipe_is_refused_where_links_are_followed(tmp_path):
    pipe = _odd(tmp_path, "pipe")
    (link := tmp_path / "link").symlink_to(pipe)
    with pytest.raises(OSError, match="is a pipe"):
        files.read_bounded(link, follow=True)


def test_a_missing_file_is_told_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.read_bounded(tmp_path / "none")


def test_a_missing_file_is_made_with_its_mode(tmp_path):
    os.close(files.open_regular(tmp_path / "new", os.O_RDWR | os.O_CREAT, 0o640))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) & ~0o640 == 0


def test_a_link_that_leads_nowhere_makes_no_file(tmp_path):
    (link := tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="a link"):
        files.open_regular(link, os.O_WRONLY | os.O_CREAT)
    assert not (tmp_path / "elsewhere").exists()


def test_an_opened_file_is_truncated_where_that_is_asked_for(tmp_path):
    (path := tmp_path / "file").write_text("old")
    os.close(files.open_regular(path, os.O_WRONLY | os.O_TRUNC))
    assert path.read_bytes() == b""


def test_an_opened_file_waits_for_its_data_and_is_closed_in_children(tmp_path):
    (path := tmp_path / "file").write_text("old")
    descriptor = files.open_regular(path)
    assert os.get_blocking(descriptor)
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_a_file_of_the_largest_size_is_read(tmp_path):
    (path := tmp_path / "file").write_bytes(b"12345")
    assert files.read_bounded(path, 5) == b"12345"


def test_a_file_that_is_too_large_is_refused(tmp_path):
    (path := tmp_path / "file").write_bytes(b"123456")
    with pytest.raises(OSError, match="has more than 5 bytes") as refused:
        files.read_bounded(path, 5)
    assert refused.value.errno == errno.EFBIG


def test_a_file_of_the_kernel_that_says_no_size_is_read():
    assert files.read_bounded(Path("/proc/self/status")).startswith(b"Name:")


def test_a_file_is_replaced_with_its_mode_and_nothing_is_left_beside_it(tmp_path):
    (path := tmp_path / "file").write_text("old")
    files.replace(path, b"new", 0o600)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="is a pipe, not a regular file"):
        files.replace(pipe, b"new")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_planted_link_is_replaced_and_its_target_is_left_alone(tmp_path):
    link = _odd(tmp_path, "link")
    files.replace(link, b"new")
    assert (tmp_path / "target").read_text() == "precious"
    assert not link.is_symlink()


def test_a_link_planted_where_the_new_file_is_written_is_not_followed(tmp_path):
    (tmp_path / "target").write_text("precious")
    (tmp_path / f".file.{os.getpid()}.part").symlink_to(tmp_path / "target")
    files.replace(tmp_path / "file", b"new")
    assert (tmp_path / "target").read_text() == "precious"
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_file_that_cannot_be_replaced_is_left_as_it_was(tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        files.replace(tmp_path / "file", b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_readers_of_a_replaced_file_see_the_old_or_the_new(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a" * 1000)
    seen = set()
    reading = threading.Thread(target=lambda: seen.update(files.read_bounded(path) for _ in range(200)))
    reading.start()
    for letter in (b"b", b"c", b"d"):
        files.replace(path, letter * 1000)
    reading.join()
    assert all(len(data) == 1000 and len(set(data)) == 1 for data in seen)


def _odd(folder, kind):
    path = folder / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        (folder / "target").write_text("precious")
        path.symlink_to(folder / "target")
    else:
        return Path("/dev/zero")
    return path


def test_a_file_that_finds_no_room_is_named(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        files.replace(tmp_path / "notes.json", b"{}")
    assert caught.value.filename == str(tmp_path / "notes.json")
    assert not list(tmp_path.iterdir())
