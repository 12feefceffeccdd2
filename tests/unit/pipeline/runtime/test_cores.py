"""What the kernel tells of cores, read from made trees, and how a process is put in its place."""

import errno
import os
import resource
import threading

import pytest

from pipeline.core.device.placing import Core, StagePlace
from pipeline.core.settings import Settings
from pipeline.runtime import cores
from pipeline.runtime.cores import HERE
from tests import trees

EIGHT = set(range(8))


def here(root, **more):
    return HERE._replace(sys=root, **more)


def in_container(made):
    groups, proc = made
    return HERE._replace(groups=groups, proc=proc)


def test_a_board_with_two_kinds_of_cores_is_told_by_its_capacities(tmp_path):
    found = cores.read(here(trees.rk3588(tmp_path)), EIGHT)
    assert [core.capacity for core in found.cores] == [414] * 4 + [1024] * 4
    assert found.cores[7].most_khz == 2304000
    assert cores.planned(Settings(), found).places["encode"].cores == (5, 6, 7)


def test_a_hybrid_processor_is_told_by_its_clocks(tmp_path):
    found = cores.planned(Settings(), cores.read(here(trees.hybrid(tmp_path)), EIGHT))
    assert (found.big, found.little) == ((0, 1, 2, 3), (4, 5, 6, 7))


@pytest.mark.parametrize(("board", "count"), [(trees.pi4, 4), (trees.jetson, 6)])
def test_equal_cores_are_all_big(tmp_path, board, count):
    found = cores.planned(Settings(), cores.read(here(board(tmp_path)), EIGHT))
    assert (len(found.big), found.little, found.threads) == (count, (), count - 1)


def test_only_cores_that_this_process_may_use_count(tmp_path):
    found = cores.read(here(trees.rk3588(tmp_path)), {0, 4, 6, 11})
    assert [core.number for core in found.cores] == [0, 4, 6]


def test_a_kernel_that_tells_of_no_core_has_them_all_the_same(tmp_path):
    assert cores.read(here(tmp_path), {0, 1}).cores == (Core(0), Core(1))


@pytest.mark.parametrize("made", [trees.container, trees.container_of_old])
def test_a_container_is_granted_what_its_control_group_says(tmp_path, made):
    roots = in_container(made(tmp_path))
    assert cores.quota(roots) == 1.5
    found = cores.read(roots._replace(sys=trees.pi4(tmp_path)), {0, 1, 2})
    assert cores.planned(Settings(), found).threads == 1


def test_the_tightest_group_above_decides(tmp_path):
    groups, proc = trees.container(tmp_path, quota="300000 100000")
    trees.write(groups, {"cpu.max": "max 100000"})
    assert cores.quota(in_container((groups, proc))) == 3.0
    trees.write(groups, {"cpu.max": "50000 100000"})
    assert cores.quota(in_container((groups, proc))) == 0.5


def test_a_path_that_only_the_host_has_leads_to_the_groups_at_the_root(tmp_path):
    groups = trees.write(tmp_path / "cgroup", {"cpu.max": "200000 100000"})
    proc = trees.write(tmp_path / "proc", {"self/cgroup": "0::/system.slice/docker-1234.scope"})
    assert cores.quota(in_container((groups, proc))) == 2.0


@pytest.mark.parametrize("quota", ["max 100000", "", "nonsense", "100000 0"])
def test_no_quota_is_none(tmp_path, quota):
    assert cores.quota(in_container(trees.container(tmp_path, quota=quota))) is None


def test_an_old_group_without_a_quota_says_minus_one(tmp_path):
    assert cores.quota(in_container(trees.container_of_old(tmp_path, quota_us=-1))) is None


def test_limits_of_memory_and_processes_are_read_of_both_versions(tmp_path):
    new = in_container(trees.container(tmp_path / "new", memory=2**30))
    old = in_container(trees.container_of_old(tmp_path / "old"))
    memory, pids = ("memory.max", "memory.limit_in_bytes"), ("pids.max", "pids.max")
    assert (cores.limit("memory", memory, new), cores.limit("pids", pids, new)) == (2**30, None)
    assert (cores.limit("memory", memory, old), cores.limit("pids", pids, old)) == (2**31, 512)


def test_nothing_told_of_groups_is_no_limit(tmp_path):
    assert cores.quota(HERE._replace(groups=tmp_path, proc=tmp_path)) is None


def test_a_capability_permits_what_limits_forbid(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpriority", lambda *_: 5)  # whoever runs the tests may be nice
    monkeypatch.setattr(resource, "getrlimit", lambda _: (0, 0))
    able = trees.write(tmp_path / "able", {"self/status": "Name:\tx\nCapEff:\t0000000000800000"})
    unable = trees.write(tmp_path / "unable", {"self/status": "Name:\tx\nCapEff:\t0000000000000000"})
    assert cores.read(HERE._replace(proc=able)).least_nice == -20
    assert cores.read(HERE._replace(proc=able)).may_realtime
    assert cores.read(HERE._replace(proc=unable)).least_nice == 5


def test_numbers_of_cores_are_read_as_the_kernel_writes_them():
    assert cores.listed("0-2,5") == {0, 1, 2, 5}
    assert cores.listed("") == set()


def test_what_is_asked_for_is_done(monkeypatch):
    done = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, those: done.append(those))
    monkeypatch.setattr(os, "nice", done.append)
    monkeypatch.setattr(os, "sched_setscheduler", lambda _, policy, __: done.append(policy))
    assert cores.apply(StagePlace((1, 2), 5, realtime=True)) == []
    assert done == [(1, 2), 5, os.SCHED_RR]
    assert cores.apply(StagePlace()) == []
    assert len(done) == 3


@pytest.mark.parametrize("number", [errno.EPERM, errno.EINVAL])
def test_what_is_refused_is_told_and_the_rest_is_done(monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    done = []
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    monkeypatch.setattr(os, "nice", done.append)
    assert cores.apply(StagePlace((6, 7), -5)) == [f"cores 6-7: {os.strerror(number)}"]
    assert done == [-5]


def test_a_process_that_is_pinned_hands_its_cores_on_to_its_threads():
    mine = sorted(os.sched_getaffinity(0))
    try:
        assert cores.apply(StagePlace((mine[0],))) == []
        seen = []
        thread = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
        thread.start()
        thread.join()
        assert seen == [{mine[0]}]
    finally:
        os.sched_setaffinity(0, mine)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,6", {0, 1, 2, 3, 6}),
        ("", set()),
        ("0-99999999", set()),
        ("nonsense", set()),
        ("\u00b2,3", {3}),
        ("1,-,2", {1, 2}),
    ],
)
def test_lists_of_cores_are_read_and_what_is_none_is_left_out(text, numbers):
    assert cores.listed(text) == numbers
