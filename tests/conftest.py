"""Fixtures that several tests share."""

from __future__ import annotations

import os

import hypothesis
import pytest

from models.llm import layout
from models.llm.graph import MnnGraph
from pipeline.core.frames import FramePool
from stages.journal import Journal, Reserve
from tests import ggufs

hypothesis.settings.register_profile("same", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile("same")


@pytest.fixture
def new_ring():
    """Make rings that are closed after the test."""
    made = []

    def new(slots=4, largest=(64, 48)):
        made.append(FramePool.create("test", slots, largest))
        return made[-1]

    yield new
    for pool in made:
        pool.close()
        os.close(pool.descriptor)


@pytest.fixture
def ring(new_ring):
    """A ring of four slots for pictures up to 64x48."""
    return new_ring()


@pytest.fixture
def log_folder(tmp_path):
    """Where the event log of a test lies."""
    return tmp_path / "eventlog"


@pytest.fixture
def open_journal(log_folder):
    """Open the journal, again if need be, as a new life of the stage does."""
    lives = []

    def again(reserve_mb=1.0, max_waiting_mb=4.0):
        for life in lives:
            life.close()
        lives.append(Journal(log_folder, Reserve(reserve_mb * 1e6, max_waiting_mb * 1e6)))
        return lives[-1]

    yield again
    for life in lives:
        life.close()


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Write small language models that a graph of their size is known for; all of Q4_1 unless said otherwise."""
    graph = ggufs.tiny_template().data
    monkeypatch.setitem(layout.TEMPLATES, "graph-smollm2-135m", ggufs.TINY)
    monkeypatch.setattr(layout, "load_graph", lambda _: MnnGraph(graph, "tiny"))

    def write(kinds=None, metadata=None, tensors=None):
        path = tmp_path / "tiny.gguf"
        parts = ggufs.tiny_tensors(kinds or {}) | (tensors or {})
        path.write_bytes(ggufs.gguf(ggufs.tiny_metadata() | (metadata or {}), parts))
        return path

    return write
