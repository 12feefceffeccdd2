"""Signals are answered from the first moment on, whatever is being imported; those ignored at the start stay so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemons import PATIENCE, heeding

ROOT = Path(__file__).parents[2]
SENT = """
import os, signal, sys

class Sends:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.{signal})

sys.meta_path.insert(0, Sends())
sys.argv = {argv!r}
import runpy
runpy.run_module({program!r}, run_name="__main__", alter_sys=True)
"""
RUN = ("pipeline", ["pipeline", "run", "site.toml", "--run-dir", "run", "--state-dir", "state"])
REPLAY = ("pipeline", ["pipeline", "replay", "clip.mp4", "--out", "out"])
TWIN = ("tools.thermal_twin", ["thermal_twin", "rk3588", "--root", "board", "--", "sleep", "60"])


def sent(folder, program, module, number, **more):
    """Run a program that gets a signal the moment it begins to import a module."""
    name, argv = program
    (folder / "site.toml").write_text('[cameras.gate]\nsource = "synthetic://?seconds=1"\n')
    (folder / "clip.mp4").write_bytes(b"x")
    code = SENT.format(module=module, signal=signal.Signals(number).name, argv=argv, program=name)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60 * PATIENCE, check=False, **more
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize(
    ("program", "module"),
    [
        (RUN, "click"),
        (RUN, "msgspec"),
        (RUN, "pipeline.runtime.daemon"),
        (RUN, "zmq"),
        (RUN, "stages.trigger"),
        (REPLAY, "pipeline.cli"),
        (REPLAY, "pipeline.runtime.replay"),
        (TWIN, "subprocess"),
        (TWIN, "pipeline.core.device.heat"),
    ],
)
def test_a_signal_while_a_program_starts_ends_it_at_once(tmp_path, program, module, number):
    done = sent(tmp_path, program, module, number, preexec_fn=heeding)
    assert done.returncode == 128 + number
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_was_ignored_when_it_was_started_stays_ignored(tmp_path, number):
    done = sent(tmp_path, REPLAY, "pipeline.cli", number, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    assert done.returncode in {1, 3}  # the clip is none
    assert "clip" in done.stdout + done.stderr
