"""Play a board that warms up, beside real processes: they see its files as `/sys`, and are slowed down as it would be.

The two-node model of `pipeline/core/device/heat.py` is fed with the CPU time that a command and all its processes
really take; temperatures and frequencies lie in a tree of files as the kernel's; the daemon finds it by
`[governor] sysfs = "ROOT"`.
What the governor writes there, and what the board's own firmware does at its trip (the lowest frequency, until it has
cooled to 70 C), is obeyed by really limiting the processes: by the cgroup's CPU quota where it may be written (v2
cpu.max, v1 cpu.cfs_quota_us), else by stopping and continuing them many times a second.

A daemon on such a board: put `[governor] sysfs = "/tmp/board"` into site.toml, then

  python -m tools.thermal_twin rk3588@35 --root /tmp/board --report heat.svg -- pipeline run site.toml

usage: python -m tools.thermal_twin BOARD[@AMBIENT] --root ROOT [--rows FILE] [--report FILE.svg] -- COMMAND ...
       python -m tools.thermal_twin --draw heat.jsonl --report FILE.svg
"""

from __future__ import annotations

from pipeline import early

if __name__ == "__main__":
    early.install()  # before the imports below, which take a moment

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pipeline.core.device import heat
from pipeline.core.device.limits import Rung
from pipeline.core.errors import ConfigError
from pipeline.runtime.board import Board, BoardLimits
from pipeline.runtime.forking import die_with_parent
from pipeline.runtime.loads import work
from pipeline.runtime.played import PlayedBoard
from pipeline.view import heatplot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TICK_S = 0.25  # of the model and of the files
PERIOD_S = 0.05  # of stopping and continuing; a cgroup's period is 0.1 s
_PATIENCE_S = 10.0  # for a command to end
_GROUP = "fieldwatch-twin-"
_TICKS_A_S = os.sysconf("SC_CLK_TCK")


class Limiter(Protocol):
    """Keeps processes to a share of the CPU time that they would take."""

    name: str

    def hold(self, share: float, seconds: float) -> None:
        """Let so much time pass with this share."""
        ...

    def close(self) -> None:
        """Let them go."""
        ...


class Quota:
    """By the quota of a cgroup of their own (version 1), or `cpu.max` (version 2)."""

    def __init__(self, session: int, cores: float) -> None:
        """Raises OSError: no group can be made, or its quota not be written."""
        self._cores = cores
        self._folder = _new_group(f"{_GROUP}{session}")
        self._second = (self._folder / "cpu.max").exists()
        self.name = f"quota of {self._folder}"
        try:
            self._session = session
            self._join()
            self._write(1.0)
        except OSError:
            self.close()
            raise

    def hold(self, share: float, seconds: float) -> None:
        """Let so much time pass; processes that are new are taken in first."""
        self._join()
        self._write(share)
        time.sleep(seconds)

    def close(self) -> None:
        """Put them back, and remove the group."""
        with suppress(OSError):
            for pid in (self._folder / "cgroup.procs").read_text(encoding="ascii").split():
                (self._folder.parent / "cgroup.procs").write_text(pid, encoding="ascii")
            self._folder.rmdir()

    def _join(self) -> None:
        inside = set(map(int, (self._folder / "cgroup.procs").read_text(encoding="ascii").split()))
        for pid in set(of_session(self._session)) - inside:
            with suppress(ProcessLookupError):
                (self._folder / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def _write(self, share: float) -> None:
        period_us = 100_000
        quota_us = max(1000, round(period_us * self._cores * share))
        if self._second:
            (self._folder / "cpu.max").write_text(f"{quota_us} {period_us}", encoding="ascii")
            return
        (self._folder / "cpu.cfs_period_us").write_text(str(period_us), encoding="ascii")
        (self._folder / "cpu.cfs_quota_us").write_text(str(quota_us), encoding="ascii")


class Stops:
    """By stopping all processes of a session for a part of every period."""

    name = "stopping and continuing"

    def __init__(self, session: int) -> None:
        self._session = session

    def hold(self, share: float, seconds: float) -> None:
        """Let so much time pass."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if share >= 1:
                time.sleep(left)
                return
            time.sleep(PERIOD_S * share)
            self._signal(signal.SIGSTOP)
            time.sleep(PERIOD_S * (1 - share))
            self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Let them go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in of_session(self._session):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def limiter(session: int, cores: float) -> Limiter:
    """The best that can be had here."""
    try:
        return Quota(session, cores)
    except OSError:
        return Stops(session)


def of_session(session: int) -> list[int]:
    """Every process of a session."""
    return [pid for pid, fields in _stats() if int(fields[3]) == session]


def cpu_s(session: int) -> float:
    """CPU time of all living processes of a session, and of their children that have ended."""
    return sum(
        sum(int(field) for field in fields[11:15]) / _TICKS_A_S for _, fields in _stats() if int(fields[3]) == session
    )


def _stats() -> Iterator[tuple[int, list[str]]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                text = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
                yield int(entry.name), text.rpartition(")")[2].split()


def _new_group(name: str) -> Path:
    """A cgroup below our own, of version 2 or 1. Raises OSError."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for root in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct") if controllers else ("/sys/fs/cgroup",):
            for own in (Path(root + path), Path(root)):
                folder = own / name
                for left in own.glob(f"{_GROUP}*"):  # of boards that were killed; one that is in use cannot be removed
                    with suppress(OSError):
                        left.rmdir()
                with suppress(OSError):
                    folder.mkdir()
                    if any((folder / file).exists() for file in ("cpu.max", "cpu.cfs_quota_us")):
                        return folder
                    folder.rmdir()
    raise OSError("no cgroup with a CPU quota can be made")


class Twin:
    """A played board and the processes on it.

    Args:
        place: The board.
        root: Where its files lie.
        command: What runs on it.
        cores: So many busy cores are its full load.
        warm: The load under which it has been so far.
        run_dir: Of the daemon among the processes: what waits and is given up is read there; None: nowhere.
    """

    def __init__(
        self,
        place: heat.WarmBoard,
        root: Path,
        command: Sequence[str],
        *,
        cores: float,
        warm: float,
        run_dir: Path | None,
    ) -> None:
        self.board = PlayedBoard(place, root, warm)
        self._cores, self._run_dir = cores, run_dir
        self.process = subprocess.Popen(  # noqa: S603  # what the user said
            command,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # one call into libc: nobody is to stay stopped, or limited, when the board is killed
        )
        self._limiter = limiter(self.process.pid, cores)
        self.limited_by = self._limiter.name
        self._spent_s = 0.0
        self.rows: list[dict[str, object]] = []

    def run(self, seconds: float | None = None, stopping: Callable[[], bool] = lambda: False) -> None:
        """Until the command has ended, or for so long, or until somebody wants it to stop."""
        began = last = time.monotonic()
        try:
            while not stopping() and self.process.poll() is None and (seconds is None or last - began < seconds):
                share = heat.speed(self.board.moment.frequency)
                self._limiter.hold(share, TICK_S)
                now, spent = time.monotonic(), cpu_s(self.process.pid)
                passed = now - last
                used = max(0.0, spent - self._spent_s)
                load = min(1.0, used / (passed * share * self._cores))
                moment = self.board.pass_s(passed, load)
                last, self._spent_s = now, spent
                if not self.rows or now - began - float(str(self.rows[-1]["at_s"])) >= 1.0:
                    self.rows.append({"at_s": round(now - began, 2), **moment._asdict(), **self._daemon(load)})
        finally:
            self._limiter.close()

    def _daemon(self, load: float) -> dict[str, object]:
        found: dict[str, object] = {"level": 0, "rung": "full", "queue_s": 0.0, "served_s": round(load, 3)}
        if self._run_dir is None:
            return found
        try:
            board = Board.open(self._run_dir / "board")
        except OSError:  # not there yet
            return found
        limits = BoardLimits(board).get()
        waits = work(board, time.monotonic_ns()).question_s
        return found | {"level": limits.level, "rung": Rung(limits.rung).name.lower(), "queue_s": round(waits, 3)}


def main(words: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit status is the command's."""
    given = list(sys.argv[1:] if words is None else words)
    cut = given.index("--") if "--" in given else len(given)
    parser = _parser()
    args = parser.parse_args(given[:cut])
    for path in (args.rows, args.report):
        if path is not None and not path.absolute().parent.is_dir():
            parser.error(f"{path}: there is no folder {path.absolute().parent}")
    try:
        return _drawn(parser, args) if args.draw else _played(parser, args, given[cut + 1 :])
    except (ConfigError, OSError) as error:
        print(f"thermal_twin: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.thermal_twin", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    everything = float(len(os.sched_getaffinity(0)))
    parser.add_argument("board", nargs="?", help=f"{', '.join(heat.BODIES)}; with @AMBIENT in degrees Celsius")
    parser.add_argument("--root", type=Path, help="where the board's files are to be")
    parser.add_argument(
        "--cores", type=_over(0.0), default=everything, help="busy cores that are full load; default: all there are"
    )
    parser.add_argument(
        "--warm", type=_share, default=0.0, metavar="LOAD", help="it has worked at this load for long, 0..1"
    )
    parser.add_argument("--seconds", type=_over(0.0), help="end the command after so long")
    parser.add_argument("--run-dir", type=Path, help="the daemon's runtime folder: then what waits is recorded too")
    parser.add_argument("--rows", type=Path, help="write one line a second")
    parser.add_argument("--report", type=Path, help="draw the run, an SVG")
    parser.add_argument(
        "--draw", type=Path, metavar="FILE", help="draw these rows (heat.jsonl of a replay) and run nothing"
    )
    return parser


def _over(least: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        if not (value := float(text)) > least:
            raise argparse.ArgumentTypeError(f"{text}: a number over {least:g} is wanted")
        return value

    return number


def _share(text: str) -> float:
    if not 0 <= (value := float(text)) <= 1:
        raise argparse.ArgumentTypeError(f"{text}: a share from 0 to 1 is wanted")
    return value


def _drawn(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    if not args.report:
        parser.error("--draw needs --report FILE.svg")
    args.report.write_text(heatplot.draw_svg(args.draw.name, heatplot.read(args.draw)), encoding="utf-8")
    return 0


def _played(parser: argparse.ArgumentParser, args: argparse.Namespace, command: Sequence[str]) -> int:
    if not (args.board and args.root and command):
        parser.error("a board, --root ROOT, and behind -- a command are needed")
    root, place = args.root.absolute(), heat.place(args.board)
    asked: list[int] = []  # signals: each asks for the end, and none cuts the clearing up short
    with _asking(asked):
        twin = Twin(place, root, command, cores=args.cores, warm=args.warm, run_dir=args.run_dir)
        print(f'{args.board}: [governor] sysfs = "{root}"; limited by {twin.limited_by}', file=sys.stderr)
        twin.run(args.seconds, lambda: bool(asked))
        status = _ended(twin.process)
    if args.rows:
        args.rows.write_text("".join(json.dumps(row) + "\n" for row in twin.rows), encoding="utf-8")
    if args.report and twin.rows:
        args.report.write_text(heatplot.draw_svg(args.board, twin.rows), encoding="utf-8")
    return 128 - status if status < 0 else status


@contextmanager
def _asking(asked: list[int]) -> Iterator[None]:
    """Take signals for the wish that the run ends, and note them."""
    before = {number: signal.getsignal(number) for number in early.ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Ask a process to end, and see that it does."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


if __name__ == "__main__":
    sys.exit(main())
