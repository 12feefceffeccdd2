"""The encoder on onnxruntime's own CPU execution provider, and how sessions on it are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

from models.encoders import Placement

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

PROVIDER = "CPUExecutionProvider"


def cpu_session(path: Path) -> Any:
    """An onnxruntime `InferenceSession` on one CPU thread.

    One thread, as every stage owns one core at most; no spinning, as a spinning pool burns power between
    frames. The memory arena is left on: after the first run, runs ask the system for no memory.

    Args:
        path: An ONNX file.

    Raises:
        Exception: One of onnxruntime's own, which share no base: the runtime cannot read the model.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return ort.InferenceSession(str(path), options, providers=[PROVIDER])


class CpuEncoder:
    """EfficientNet-Lite0 on the CPU: the baseline that every other back end is compared with.

    Input and outputs are bound once and stay at their addresses. Not safe for calls from two threads at once.

    Args:
        path: The ONNX file; input (1, 3, H, W) float32, outputs `logits` and `embedding`.
    """

    def __init__(self, path: Path) -> None:
        self._session = cpu_session(path)
        feed = self._session.get_inputs()[0]
        shapes = {output.name: output.shape for output in self._session.get_outputs()}
        self._input = np.zeros(feed.shape, np.float32)
        self._outputs: dict[str, NDArray[np.float32]] = {
            name: np.zeros(shapes[name], np.float32) for name in ("logits", "embedding")
        }
        self._values = [ort.OrtValue.ortvalue_from_numpy(a) for a in (self._input, *self._outputs.values())]
        self._binding = self._session.io_binding()
        self._binding.bind_ortvalue_input(feed.name, self._values[0])
        for name, value in zip(self._outputs, self._values[1:], strict=True):
            self._binding.bind_ortvalue_output(name, value)

    @property
    def input(self) -> NDArray[np.float32]:
        """(1, 3, H, W) float32, filled in place; see `models.encoders.fill`."""
        return self._input

    @property
    def output(self) -> NDArray[np.float32]:
        """The embedding of the last run, (1280,) float32, borrowed until the next."""
        return self._outputs["embedding"].reshape(-1)

    @property
    def logits(self) -> NDArray[np.float32]:
        """The ImageNet logits of the last run, (1000,) float32, borrowed until the next."""
        return self._outputs["logits"].reshape(-1)

    @property
    def zero_copy(self) -> bool:
        """The CPU provider works on the bound arrays themselves."""
        return True

    def run(self) -> None:
        """Encodes what `input` holds."""
        self._session.run_with_iobinding(self._binding)

    def placement(self) -> Placement:
        """The recorded assignment; all of it is the CPU's."""
        nodes: dict[str, int] = {}
        for part in self._session.get_provider_graph_assignment_info():
            nodes[part.ep_name] = nodes.get(part.ep_name, 0) + len(part.get_nodes())
        return Placement(PROVIDER, nodes, "cpu_baseline")
