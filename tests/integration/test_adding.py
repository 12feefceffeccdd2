"""docs/adding.md: its example is followed step by step in a copy of the project, and the new sink gets events."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemons import PATIENCE

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "docs/adding.md").read_text(encoding="utf-8").partition("## Everything else")[0]
SITE = """
[cameras.gate]
source = "synthetic://?width=320&height=180&seconds=60&walks=20&pause_s=1&walk_s=2"
[emit]
sinks = ["jsonl", "datagram"]
datagram_address = "127.0.0.1:{port}"
[describe]
model = "none"
sentence_encoder = false
"""


def steps():
    """File, kind and text of every block of the example, in its order."""
    file = ""
    for line in re.finditer(r"^`([\w/.]+)`$|^```(python|diff)\n(.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL):
        file = line[1] or file
        if line[2]:
            yield file, line[2], line[3]


def changed(text, difference):
    """A text with one difference applied, whose old lines stand in it once."""
    old, new = [], []
    for line in difference.splitlines():
        (old.append(line[1:]) if line[:1] in " -" else None, new.append(line[1:]) if line[:1] in " +" else None)
    before = "".join(f"{line}\n" for line in old)
    assert text.count(before) == 1, f"stands {text.count(before)} times:\n{before}"
    return text.replace(before, "".join(f"{line}\n" for line in new))


@pytest.fixture
def copy(tmp_path):
    """The project's packages, with the example's changes."""
    there = tmp_path / "project"
    for package in ("pipeline", "stages", "models", "config"):
        shutil.copytree(ROOT / package, there / package, ignore=shutil.ignore_patterns("__pycache__", "bundled"))
    (there / "models" / "bundled").symlink_to(ROOT / "models" / "bundled")
    for name, kind, text in steps():
        file = there / name
        file.write_text(text if kind == "python" else changed(file.read_text(encoding="utf-8"), text), encoding="utf-8")
    return there


def test_the_sink_of_the_worked_example_gets_events(copy, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(20 * PATIENCE)
        site = tmp_path / "site.toml"
        site.write_text(SITE.format(port=receiver.getsockname()[1]), encoding="utf-8")
        folders = ["--run-dir", tmp_path / "run", "--state-dir", tmp_path / "state"]
        command = [sys.executable, "-m", "pipeline", "run", site, *folders]
        daemon = subprocess.Popen(command, cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)})
        try:
            while json.loads(receiver.recv(1 << 16))["type"] != "fieldwatch.incident.start.v1":
                pass
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(20 * PATIENCE)
    assert daemon.returncode == 0


def test_the_files_that_the_page_names_are_there():
    page = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:pipeline|stages|models|tests|config)/[\w/]+\.\w+)`", page))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == ["stages/sinks/datagram.py"]
