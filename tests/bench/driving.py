"""What the benchmarks of load share: a real daemon whose cameras see nothing, and incidents that are put in by hand."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline.core.messages import (
    DescriptionWanted,
    FrameRef,
    IncidentDescribed,
    Priority,
    SceneClassified,
)
from pipeline.core.track.sight import Detection, Sight, TrackRules
from pipeline.core.track.thing import report
from pipeline.core.track.tracker import Tracker, step
from pipeline.runtime import links
from pipeline.runtime.board import Board, Word
from pipeline.runtime.loads import own_mb
from tests.bench import asking
from tests.llms import boot_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.core.vocabulary import IncidentId

ROOT = Path(__file__).parents[2]
NOBODY = "rtsp://127.0.0.1:9/nobody"  # a camera that never comes
COLUMNS, ROWS = 20, 10

_RULES = TrackRules()


class Answer(NamedTuple):
    """What became of a question.

    Attributes:
        asked_s: When, monotonic.
        first_s: When the first answer came, a verdict at least; None: none did.
        told_s: When the last came.
        status: Of the last; pending: it never came.
        priority: Of the question.
    """

    asked_s: float
    priority: Priority
    first_s: float | None = None
    told_s: float | None = None
    status: str = "pending"


class Driven:
    """A daemon, and its links.

    Args:
        more: Tables of its configuration.
        before: What its command line begins with, such as `taskset -c 0`.
        command: What runs it; the default is a plain process.
    """

    def __init__(
        self, more: str = "", before: Sequence[str] = (), *, zones: str = "", state: Path | None = None
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fieldwatch-load-"))
        self.run_dir = self.folder / "run"
        self.state = self.folder / "state"
        self.state.mkdir()
        (self.state / "models").symlink_to((state or boot_state()) / "models")
        config = self.folder / "pipeline.toml"
        config.write_text(f'[cameras.gate]\nsource = "{NOBODY}"\n{zones}\n{more}', encoding="utf-8")
        self.command = [
            *before, sys.executable, "-m", "pipeline", "run", str(config), "--run-dir", str(self.run_dir),
            "--state-dir", str(self.state),
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None
        self.answers: dict[IncidentId, Answer] = {}
        self._tracker = Tracker()

    def start(self) -> Driven:
        """Start it in a process group of its own, and wait until its model speaks."""
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(self.command, cwd=ROOT, stderr=log, stdout=log, start_new_session=True)
        return self.join()

    def join(self, within_s: float = 90.0) -> Driven:
        """Wait until its model speaks, and open the links."""
        until = time.monotonic() + within_s
        while "model.loaded" not in self.events_text():
            if time.monotonic() > until:
                raise SystemExit(f"the daemon's model does not speak: {self.log()[-2000:]}")
            time.sleep(0.1)
        self.board = Board.open(self.run_dir / "board")
        self._context = links.new_context()
        self._trigger = links.Post(self._context, self.run_dir, "trigger")
        self._classify = links.Post(self._context, self.run_dir, "classify")
        self._tap = links.Tap(self.run_dir, ["describe"], "reports", self._listen)
        for number in range(20):  # the side that is listened to opens with its first answer, which is not heard
            name = self.ask(number, Priority.ALARM, "opening")
            self.hear(1.0)
            if name not in self.outstanding():
                break
        self.answers.clear()
        return self

    def await_answer(self, name: str, within_s: float = 30.0) -> Answer:
        """Wait for the last answer to a question."""
        until = time.monotonic() + within_s
        while name in self.outstanding():
            if time.monotonic() > until:
                raise SystemExit(f"no answer to {name} within {within_s:g} s: {self.log()[-2000:]}")
            self.hear(0.005)
        return self.answers[name]

    def ask(self, number: int, priority: Priority, name: str = "q") -> str:
        """Put a question to the language model, as trigger does."""
        incident = f"{name}-{number}"
        self.answers[incident] = Answer(time.monotonic(), priority)
        self._trigger.send(
            DescriptionWanted(
                incident=incident, revision=1, priority=priority, facts=asking.various(number), final=False
            )
        )
        return incident

    def show(self, number: int, boxes: Sequence[tuple[float, float, float, float]]) -> None:
        """Show persons to trigger, as classify does."""
        now = time.monotonic_ns() - self.board.go_ns
        sight = Sight(now, tuple(boxes), detections=[Detection("person", "person", 0.9, box) for box in boxes])
        self._tracker = step(self._tracker, sight, _RULES)
        things = tuple(report(thing, now, _RULES) for thing in self._tracker.things)
        frame = FrameRef("gate", 10_000 + number, number, now, time.time_ns(), 640, 480)
        self._classify.send(SceneClassified(frame=frame, area_ratio=0.01 * len(boxes), looked=True, things=things))

    def hear(self, seconds: float) -> None:
        """Take in answers for so long."""
        self._listen()
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            for message in self._tap.within(left):
                self._heard(message)

    def outstanding(self) -> list[str]:
        """Questions that wait for their last answer."""
        return [name for name, one in self.answers.items() if one.status == "pending"]

    def events_text(self) -> str:
        """All lines so far."""
        path = self.state / "events.jsonl"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def events(self) -> list[dict]:
        """All events so far."""
        return [json.loads(line) for line in self.events_text().splitlines()]

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8") if (self.folder / "log").exists() else ""

    def memory_mb(self) -> dict[str, float]:
        """Of every process its own."""
        return {name: own_mb(self.board.get(name, Word.PID)) or 0.0 for name in self.board.names[1:]}

    def leave(self) -> None:
        """Close the links."""
        self._trigger.close()
        self._classify.close()
        self._tap.close()
        self._context.term()

    def stop(self) -> tuple[int, float]:
        """End it; exit status and how long that took."""
        self.leave()
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30), time.monotonic() - began

    def remove(self) -> None:
        """Its folders."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _listen(self) -> None:
        self.board.set("describe", Word.TAPPED_UNTIL_NS, time.monotonic_ns() + 3_000_000_000)

    def _heard(self, message: object) -> None:
        if not isinstance(message, IncidentDescribed) or message.incident not in self.answers:
            return
        now, was = time.monotonic(), self.answers[message.incident]
        status = message.analysis.status if message.analysis is not None else was.status
        self.answers[message.incident] = was._replace(first_s=was.first_s or now, told_s=now, status=status)


def cell(number: int) -> tuple[float, float, float, float]:
    """A box in the middle of the zone of this number."""
    x, y = (number % COLUMNS + 0.5) / COLUMNS, (number // COLUMNS + 0.5) / ROWS
    return (round(x - 0.01, 4), round(y - 0.03, 4), round(x + 0.01, 4), round(y + 0.03, 4))


def grid(restricted_every: int) -> str:
    """Zones of the camera, side by side; every so many-th is restricted, so that somebody there is an alarm."""
    tables = []
    for number in range(COLUMNS * ROWS):
        left, top = number % COLUMNS / COLUMNS, number // COLUMNS / ROWS
        right, bottom = left + 1 / COLUMNS, top + 1 / ROWS
        outline = [[left, top], [right, top], [right, bottom], [left, bottom]]
        restricted = "true" if number % restricted_every == 0 else "false"
        tables.append(f"[cameras.gate.zones.z{number}]\npolygon = {outline}\nrestricted = {restricted}\n")
    return "".join(tables)
