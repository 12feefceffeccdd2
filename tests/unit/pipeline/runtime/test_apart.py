"""Work in a process of its own: its results come one by one, and its death is an error with a name."""

from __future__ import annotations

import os
import time

import pytest

from pipeline.core.errors import ConfigError, ModelError
from pipeline.runtime.apart import apart


def test_results_come_in_their_order_from_another_process():
    pids = list(apart("work", lambda: iter([os.getpid(), 2, 3]), int))
    assert pids[1:] == [2, 3]
    assert list(apart("work", lambda: (os.getpid() for _ in range(1)), int)) != [os.getpid()]


def test_what_the_work_could_not_do_is_raised_here():
    def work():
        yield 1
        raise ConfigError("no model")

    results = apart("work", work, int)
    assert next(results) == 1
    with pytest.raises(ModelError, match="no model"):
        next(results)


@pytest.mark.parametrize(("how", "said"), [(9, "SIGKILL"), (15, "SIGTERM")])
def test_a_process_that_is_killed_is_named_with_the_signal(how, said):
    def work():
        yield 1
        os.kill(os.getpid(), how)

    with pytest.raises(ModelError, match=f"the process of a/1 was killed by {said}: `pipeline models verify`"):
        list(apart("a/1", work, int))


def test_a_process_that_nobody_reads_from_is_ended():
    def work():
        while True:
            yield os.getpid()
            time.sleep(0.01)

    results = apart("work", work, int)
    pid = next(results)
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def noisy(ending):
    def work():
        os.write(1, b"native noise\n")
        os.write(2, b"more of it\n")
        yield 1
        ending()

    return work


def test_what_native_code_says_is_kept_back_where_that_is_asked(capfd):
    assert list(apart("work", noisy(lambda: None), int, quiet=True)) == [1]
    with pytest.raises(ModelError, match="no model"):
        list(apart("work", noisy(lambda: refused("no model")), int, quiet=True))
    assert capfd.readouterr() == ("", "")
    list(apart("work", noisy(lambda: None), int))
    assert "native noise" in "".join(capfd.readouterr())


def test_what_native_code_said_before_it_died_is_told(capfd):
    with pytest.raises(ModelError, match="SIGKILL"):
        list(apart("work", noisy(lambda: os.kill(os.getpid(), 9)), int, quiet=True))
    assert "native noise\nmore of it\n" in capfd.readouterr().err


def refused(text):
    raise ConfigError(text)
