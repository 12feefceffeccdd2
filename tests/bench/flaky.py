"""Run the tests in circumstances that they must not depend on, and name those that fail by luck.

quiet    as they are
niced    with less of the cores: niceness 8, beside two processes that are always busy
ignored  with SIGINT and SIGHUP ignored, as a job in the background and `nohup` inherit them
bare     with nothing in the environment but PATH and HOME, and as another user where we are root
random   in another order, by a seed that is printed

usage: python -m tests.bench.flaky [--runs quiet,random] [--select EXPR] [PATH ...]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline import early
from tests.bench.report import last_line, table

ROOT = Path(__file__).parents[2]
PATHS = ("tests/unit", "tests/integration", "tests/e2e")
RUNS = ("quiet", "niced", "ignored", "bare", "random")
NICE = 8
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_TOLD = re.compile(r"(\d+) (passed|failed|errors?|skipped)\b")
_NOBODY = 65534
_NOTHING_RAN = 5  # pytest's exit status where no test was chosen


class Ran(NamedTuple):
    """How one run of the tests went."""

    run: str
    status: int
    passed: int
    failed: tuple[str, ...]
    seconds: float
    how: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=list(PATHS), metavar="PATH")
    parser.add_argument("--runs", type=_runs, default=RUNS, help=f"of {', '.join(RUNS)}; default: all")
    parser.add_argument("--select", default="", metavar="EXPR", help="only tests that pytest's -k takes")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random order; default: the time")
    parser.add_argument("--workers", default="2", help="of pytest-xdist; 0: none")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, early.leave)  # and nothing that was started goes on
    options = ["-n", given.workers, *(["-k", given.select] if given.select else []), *given.paths]
    found = []
    for run in given.runs:
        found.append(_ran(run, options, given.seed))
        print(f"{run}: {found[-1].passed} passed in {found[-1].seconds:.0f} s", *found[-1].failed, file=sys.stderr)
    rows = [(one.run, one.passed, len(one.failed), f"{one.seconds:.0f}", one.how) for one in found]
    table("Tests in circumstances that they must not depend on", ("run", "passed", "failed", "s", "how"), rows)
    for one in found:
        for name in one.failed:
            print(f"  {one.run}: {name}")
    failures = sum(len(one.failed) or int(one.status != 0) for one in found)
    last_line(
        {
            "runs": len(found),
            "failures": failures,
            "failed": {one.run: list(one.failed) for one in found if one.failed},
            "passed": {one.run: one.passed for one in found},
            "seed": given.seed,
        },
        f"python -m tests.bench.flaky --runs {','.join(given.runs)} --seed {given.seed} {' '.join(given.paths)}",
    )
    return 1 if failures else 0


def _runs(text: str) -> tuple[str, ...]:
    wanted = tuple(text.split(","))
    if unknown := set(wanted) - set(RUNS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are {', '.join(RUNS)}")
    return wanted


def _ran(run: str, options: list[str], seed: int) -> Ran:
    with ExitStack() as kept, tempfile.TemporaryDirectory(prefix="flaky-") as folder:
        command, more, how = _circumstances(run, options, seed, Path(folder))
        if run == "niced":
            kept.enter_context(_busy(2))
        began = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **more)
        seconds = time.monotonic() - began
    failed = tuple(sorted(set(_FAILED.findall(done.stdout))))
    passed = sum(int(number) for number, what in _TOLD.findall(done.stdout) if what == "passed")
    if done.returncode and not failed:
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
        how = "no test was chosen" if done.returncode == _NOTHING_RAN else f"pytest ended with {done.returncode}"
    return Ran(run, done.returncode, passed, failed, seconds, how)


def _circumstances(run: str, options: list[str], seed: int, folder: Path) -> tuple[list[str], dict[str, object], str]:
    """The command, what else it is started with, and what is said of it."""
    pytest = [sys.executable, "-m", "pytest", "-q", "--no-header", f"--basetemp={folder / 'tests'}", *options]
    if run == "niced":
        return ["nice", "-n", str(NICE), *pytest], {}, f"niceness {NICE}, beside two busy processes"
    if run == "ignored":
        return pytest, {"preexec_fn": _ignoring}, "SIGINT and SIGHUP ignored"
    if run == "random":
        return [*pytest, "-p", "tests.shuffled", "--shuffle", str(seed)], {}, f"seed {seed}"
    if run == "bare":
        return _bare(pytest, folder)
    return pytest, {}, ""


def _bare(pytest: list[str], folder: Path) -> tuple[list[str], dict[str, object], str]:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    if os.geteuid() != 0:
        return pytest, {"env": environment}, "PATH and HOME only; no other user, as we are not root"
    other = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    if not shutil.which("setpriv") or not _may(other):
        return pytest, {"env": environment}, f"PATH and HOME only; no other user, who may not read {ROOT} or its Python"
    os.chown(folder, _NOBODY, _NOBODY)
    return [*other, *pytest], {"env": environment}, f"PATH and HOME only, as user {_NOBODY}"


def _may(other: list[str]) -> bool:
    """Whether another user can read what the tests need, and start Python without our help."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import pytest, tests.fakes'], check=True)"
    tried = [*other, sys.executable, "-c", code]
    return subprocess.run(tried, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _ignoring() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _busy(count):
    """So many processes that take all they get."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


if __name__ == "__main__":
    sys.exit(main())
