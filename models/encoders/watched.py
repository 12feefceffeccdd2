"""Watch an accelerator that passed the gate, as it may fail later: raise, answer nonsense, crash, or hang.

The first two are noticed here, and the picture is encoded on the CPU instead, in the same run. The last two end the
process; a byte of a mapped file, which survives a kill, shows the next process that a run was going on. An
accelerator that failed is abandoned until the daemon is restarted.
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

State: TypeAlias = Literal["idle", "running", "abandoned"]

_STATES: tuple[State, ...] = ("idle", "running", "abandoned")
_PROBE_INTERVAL = 200  # runs between two probes; a probe is half a percent of the work


class StateFile:
    """Keeps in a file what an accelerator was doing when its process ended.

    Args:
        path: A file of one byte; None, or if it cannot be written: nothing is kept.
        lives: Number of restarts of the process since the daemon started; 0 resets the state.
    """

    def __init__(self, path: Path | None, lives: int) -> None:
        self._kept: mmap.mmap | None = None
        if path is None:
            return
        try:
            file = files.open_regular(path, os.O_RDWR | os.O_CREAT)
            try:
                os.posix_fallocate(file, 0, 1)  # else a full disk is told by a signal that ends the process
                self._kept = mmap.mmap(file, 1)
            finally:
                os.close(file)
        except OSError as error:
            log.warning("encoder_mark_not_kept", path=str(path), reason=str(error))
            return
        if not lives:
            self._kept[0] = 0

    def state(self) -> State:
        """Return the state."""
        value = self._kept[0] if self._kept is not None else 0
        return _STATES[value] if value < len(_STATES) else "idle"

    def set(self, state: State) -> None:
        """Set the state; `abandoned` is never left."""
        if self._kept is not None and (state == "abandoned" or self.state() != "abandoned"):
            self._kept[0] = _STATES.index(state)


class WatchedEncoder:
    """An accelerator with a fallback to the CPU; an `Encoder`, but `input` becomes another array after a fault.

    Args:
        encoder: The accelerator that the gate admitted.
        baseline: Opens the same model on the CPU.
        least: Least cosine between answers to the same probe, 0..1.
        mark: The state that outlives this process.
        reading: The picture format of the model.
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
        """Why the accelerator was abandoned; empty if it is in use."""

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
        """That of the encoder that runs now."""
        return bool(self._encoder.zero_copy)

    def placement(self) -> Placement:
        """That of the encoder that runs now."""
        found: Placement = self._encoder.placement()
        return found

    def run(self) -> None:
        """Encode the picture in `input`; after the first fault on the CPU."""
        if self.fault:
            self._encoder.run()
            return
        self._mark.set("running")
        try:
            with catch_library_errors("it failed in mid-run"):
                self._encoder.run()
                fault = self._find_fault()
        except ModelError as error:
            text = str(error)
            fault = text if text.startswith("it failed in mid-run") else f"it failed in mid-run: {text}"
        self._mark.set("idle")
        if fault:
            self._give_up(fault)

    def _find_fault(self) -> str:
        """Return the fault of the last answer; empty if none is found."""
        self._runs += 1
        if not (np.isfinite(self.output).all() and np.isfinite(self.logits).all()):
            return "it answered what is no number in mid-run"
        seen = zlib.crc32(self.input.data), zlib.crc32(np.ascontiguousarray(self.logits).data)
        before, self._seen = self._seen, seen
        if before is not None and before[0] != seen[0] and before[1] == seen[1]:
            return "it answers the same whatever it is shown"
        return self._probe_again() if self._runs % _PROBE_INTERVAL == 0 else ""

    def _probe_again(self) -> str:
        """Run a probe of the gate again and compare the answers; keeps the picture in `input`."""
        picture = self.input.copy()
        cosine = min_cosine(collect_answers(self._encoder, self._probe), self._truth)
        self.input[...] = picture
        self._encoder.run()
        return "" if cosine >= self._least else f"its answers drifted from the CPU's in mid-run: cosine {cosine:.4f}"

    def _give_up(self, fault: str) -> None:
        log.warning("encoder_given_up", reason=fault)
        self.fault = fault
        self._mark.set("abandoned")
        cpu = self._baseline()
        cpu.input[...] = self._encoder.input
        cpu.run()
        self._encoder = cpu
