"""An accelerator in use, which passed the gate and may still fail later: it raises, answers nonsense, dies, or hangs.

The first two are seen here and the picture is encoded on the CPU instead, within the same run. The last two take the
process; a byte of a mapped file, which the system keeps when a process is killed, tells the next one that a run was
going on, and it does without the accelerator. It is given up until the daemon starts anew.
"""

from __future__ import annotations

import mmap
import os
import zlib
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import structlog

from models.encoders import OURS, PictureFormat
from models.encoders.gate import collect_answers, make_probes, min_cosine
from models.foreign import catch_library_errors
from pipeline.core import files
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from models.encoders import Encoder
    from models.encoders.placement import Placement

log = structlog.get_logger()

State: TypeAlias = Literal["idle", "running", "given_up"]

_STATES: tuple[State, ...] = ("idle", "running", "given_up")
_PROBE_INTERVAL = 200  # runs: one probe more is half a percent of the work


class StateFile:
    """What an accelerator was doing when its process ended.

    Args:
        path: Of a file of one byte. None, or where it cannot be written: nothing is kept.
        lives: How often the process was replaced since the daemon began; a new daemon begins anew.
    """

    def __init__(self, path: Path | None, lives: int) -> None:
        self._kept: mmap.mmap | None = None
        if path is None:
            return
        try:
            file = files.open_regular(path, os.O_RDWR | os.O_CREAT)
            try:
                os.ftruncate(file, 1)
                self._kept = mmap.mmap(file, 1)
            finally:
                os.close(file)
        except OSError as error:
            log.warning("encoder_mark_not_kept", path=str(path), reason=str(error))
            return
        if not lives:
            self._kept[0] = 0

    def state(self) -> State:
        """What it was, or is, doing."""
        value = self._kept[0] if self._kept is not None else 0
        return _STATES[value] if value < len(_STATES) else "idle"

    def set(self, state: State) -> None:
        """Say what it does from now on; what was given up stays so."""
        if self._kept is not None and (state == "given_up" or self.state() != "given_up"):
            self._kept[0] = _STATES.index(state)


class Watched:
    """An accelerator with the CPU behind it; fulfils `Encoder`, but for that `input` is another array after a fault.

    Args:
        encoder: The accelerator, as the gate admitted it.
        baseline: Opens the same model on the CPU.
        least: Of the cosine between the answers to a probe, 0..1.
        mark: Outlives this process.
        reading: How the model wants its picture.
    """

    def __init__(  # all of it is one device
        self,
        encoder: Any,
        baseline: Callable[[], Encoder],
        least: float,
        mark: StateFile,
        reading: PictureFormat = OURS,
    ) -> None:
        self._encoder: Any = encoder
        self._baseline = baseline
        self._least = least
        self._mark = mark
        self._probe = make_probes(encoder.input.shape, 1, reading)
        self._truth = collect_answers(baseline(), self._probe)
        self._runs = 0
        self._seen: tuple[int, int] | None = None  # of the last run: checksums of input and output
        self.fault = ""
        """Why the accelerator was given up; empty: it was not."""

    @property
    def input(self) -> NDArray[np.float32]:
        """What `run` reads."""
        found: NDArray[np.float32] = self._encoder.input
        return found

    @property
    def outputs(self) -> dict[str, NDArray[np.float32]]:
        """Every output of the last run by its name."""
        found: dict[str, NDArray[np.float32]] = self._encoder.outputs
        return found

    @property
    def output(self) -> NDArray[np.float32]:
        """The embedding of the last run."""
        found: NDArray[np.float32] = self._encoder.output
        return found

    @property
    def logits(self) -> NDArray[np.float32]:
        """The logits of the last run."""
        found: NDArray[np.float32] = self._encoder.logits
        return found

    @property
    def zero_copy(self) -> bool:
        """Of what runs now."""
        return bool(self._encoder.zero_copy)

    def placement(self) -> Placement:
        """Of what runs now."""
        found: Placement = self._encoder.placement()
        return found

    def run(self) -> None:
        """Encodes what `input` holds; on the CPU, from the first fault on."""
        if self.fault:
            self._encoder.run()
            return
        self._mark.set("running")
        try:
            with catch_library_errors("it failed in mid-run"):
                self._encoder.run()
                fault = self._nonsense()
        except ModelError as error:
            text = str(error)
            fault = text if text.startswith("it failed in mid-run") else f"it failed in mid-run: {text}"
        self._mark.set("idle")
        if fault:
            self._give_up(fault)

    def _nonsense(self) -> str:
        """What is wrong with an answer; empty: nothing that can be seen."""
        self._runs += 1
        if not (np.isfinite(self.output).all() and np.isfinite(self.logits).all()):
            return "it answered what is no number in mid-run"
        seen = zlib.crc32(self.input.data), zlib.crc32(np.ascontiguousarray(self.logits).data)
        before, self._seen = self._seen, seen
        if before is not None and before[0] != seen[0] and before[1] == seen[1]:
            return "it answers the same whatever it is shown"
        return self._probed() if self._runs % _PROBE_INTERVAL == 0 else ""

    def _probed(self) -> str:
        """Ask what the gate asked; what is being encoded stays."""
        picture = self.input.copy()
        cosine = min_cosine(collect_answers(self._encoder, self._probe), self._truth)
        self.input[...] = picture
        self._encoder.run()
        return "" if cosine >= self._least else f"its answers drifted from the CPU's in mid-run: cosine {cosine:.4f}"

    def _give_up(self, fault: str) -> None:
        log.warning("encoder_given_up", reason=fault)
        self.fault = fault
        self._mark.set("given_up")
        cpu = self._baseline()
        cpu.input[...] = self._encoder.input
        cpu.run()
        self._encoder = cpu
