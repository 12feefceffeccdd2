"""The memory in which processes tell how they are."""

from __future__ import annotations

import errno
import os

import pytest

from pipeline.runtime.board import Board


def test_a_board_has_its_room_on_the_disk_before_anybody_writes(tmp_path):
    board = Board(tmp_path / "board", ["trigger", "emit"], create=True)
    status = (tmp_path / "board").stat()
    assert status.st_blocks * 512 >= status.st_size > 0
    assert not board.row("emit").any()


def test_a_disk_without_room_for_a_board_is_an_error_that_names_it(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left") as caught:
        Board(tmp_path / "board", ["trigger"], create=True)
    assert caught.value.filename == str(tmp_path / "board")
