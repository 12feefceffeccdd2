"""What is told of cameras that come and go, where the event log has no space for it."""

from __future__ import annotations

from collections import Counter

from pipeline.core.incident.cameras import Camera
from pipeline.core.incident.flapping import MAX_TOLD
from stages.cameras import Cameras
from stages.raising import At
from tests.fakes import NS, context


class FullLog:
    """A journal and a raiser for which there is no space."""

    def __init__(self):
        self.missed, self.unlogged = {}, Counter()

    def next_number(self, _):
        return 1

    def raised(self, *_):
        return False
        yield

    def count_unlogged(self, kind, more=1):
        self.unlogged[kind] += more

    def remember(self, _):
        pass


def test_a_summary_that_finds_no_space_in_the_log_is_counted(ring):
    full = FullLog()
    stage = Cameras(context(ring), full, full)
    camera = Camera()
    stage.known = {"gate": camera}
    for turn in range(2 * MAX_TOLD + 2):
        list(stage.tell("gate", "found" if turn % 2 else "lost", "", "", At(turn * NS, 0)))
    before = full.unlogged["notices"]
    list(stage.sum_up(At(10_000 * NS, 0)))
    assert full.unlogged["notices"] == before + 1
