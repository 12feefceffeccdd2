"""Runs llmexport, which turns a model of transformers into one of MNN, in an environment of its own, as it needs torch.

What is known of llmexport 0.0.5, and done about it here:

- Its console command is broken (it cannot find its own `utils`). The file is run, with PYTHONPATH set to its folder.
- Left to itself it imports MNN.tools, which runs the first `pip` it finds on PATH to install a package, and calls home.
  It is given a converter of ours that calls the engine's library and nothing else, and a PATH on which there is no pip.
- That converter's command line is joined by blanks without quotes: it runs in a folder of its own, all paths relative.
- A path with `bge`, `gte` or `Qwen3-Embedding` anywhere in it is taken for an embedding model: the model is linked
  there under a plain name.
- A matrix whose symmetry is not that of the command line gets wrong parameters: nobody asks for symmetry here.
- It loads a model's own Python code, where its folder has such: look at a folder before exporting it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

PINNED = {
    "llmexport": "0.0.5",
    "torch": "2.14.1",
    "transformers": "5.24.0",
    "accelerate": "1.15.0",
    "onnx": "1.23.2",
    "MNN": "3.6.1",
}
"""What it was tried with."""
ENVIRONMENT = "FIELDWATCH_TORCH_PYTHON"
"""Names the Python that has them."""

_LOOK = """
import importlib.metadata, importlib.util, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
spec = importlib.util.find_spec("llmexport")
print(json.dumps([found, list(spec.submodule_search_locations)[0] if spec else ""]))
"""
_CONVERT = "import sys, _tools; _tools.mnnconvert(['mnnconvert', *sys.argv[1:]])"
_TAIL = 1500


class Exporter(NamedTuple):
    """An environment that can export.

    Attributes:
        python: Its interpreter; a link stays one, as an environment is found by it.
        home: The folder of llmexport.
        versions: Of the packages.
    """

    python: Path
    home: Path
    versions: dict[str, str]

    def run(self, model: Path, words: Sequence[str], work: Path) -> Path:
        """Export a model.

        Args:
            model: A folder of transformers.
            words: More for the command line.
            work: An empty folder.

        Returns:
            The folder in `work` with what was exported.

        Raises:
            ModelError: It failed; the text has the end of what it said.
        """
        (work / "model").symlink_to(model.absolute())
        (work / "bin").mkdir()
        converter = work / "bin" / "mnnconvert"
        converter.write_text(
            f'#!/bin/sh\nexec {shlex.quote(str(self.python))} -I -c "{_CONVERT}" "$@"\n', encoding="utf-8"
        )
        converter.chmod(0o755)
        script = str(self.home / "llmexport.py")
        fixed = ["--path", "model", "--export", "mnn", "--mnnconvert", "bin/mnnconvert", "--dst_path", "out"]
        with (work / "log").open("wb") as log:
            done = subprocess.run(  # noqa: S603  # our own words
                [str(self.python), script, *fixed, *words],
                cwd=work,
                env=environment(self.home, work),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode or not (work / "out" / "llm.mnn").is_file():
            said = (work / "log").read_text(encoding="utf-8", errors="replace")[-_TAIL:]
            raise ModelError(
                f"llmexport failed on {model} (status {done.returncode}); the end of what it said:\n{said}"
            )
        return work / "out"


def environment(home: Path, work: Path) -> dict[str, str]:
    """What the child sees: nothing of ours but the place of temporary files, no pip, no way to a hub."""
    kept = {name: os.environ[name] for name in ("TMPDIR", "LANG", "OMP_NUM_THREADS") if name in os.environ}
    return kept | {
        "PATH": str(work / "bin"),
        "HOME": str(work),
        "PYTHONPATH": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def find(python: Path | None) -> Exporter:
    """Look whether an environment can export. Nothing of it is imported.

    Args:
        python: Its interpreter; None: the one that FIELDWATCH_TORCH_PYTHON names.

    Raises:
        ConfigError: None is named, it does not run, or a package is missing; the text says how to make one.
    """
    python = python or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None)
    if python is None:
        raise ConfigError(f"torch and llmexport need an environment of their own. {remedy(PINNED)}")
    try:
        said = subprocess.run([python, "-I", "-c", _LOOK, *PINNED], capture_output=True, check=True).stdout  # noqa: S603  # named by the user
        versions, home = json.loads(said)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise ConfigError(f"{python} does not run as a Python ({error}). {remedy(PINNED)}") from error
    if missing := [name for name in PINNED if name not in versions]:
        raise ConfigError(f"{python} lacks {', '.join(missing)}. {remedy(missing)}")
    return Exporter(python.absolute(), Path(home), versions)


def remedy(packages: Sequence[str] | dict[str, str]) -> str:
    """How to make an environment that has what is missing."""
    pins = " ".join(f"{name}=={PINNED[name]}" for name in packages)
    return (
        f"Make one: `python3 -m venv torch-env && torch-env/bin/pip install {pins}` (about 6 GB), and name it: "
        f"--python torch-env/bin/python, or {ENVIRONMENT}"
    )
