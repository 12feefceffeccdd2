"""The encoder on onnxruntime's own CPU execution provider, and how sessions on it are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnxruntime as ort

from models.encoders.bound import BoundEncoder, make_options, open_session
from models.encoders.placement import CPU

if TYPE_CHECKING:
    from pathlib import Path


def open_cpu_session(model: Path | bytes, *, optimised: bool = True, profile: Path | None = None) -> Any:
    """An onnxruntime `InferenceSession` on one CPU thread.

    Args:
        model: An ONNX file, or its bytes.
        optimised: False: every node is computed as the graph says, nothing is fused.
        profile: See `make_options`.

    Raises:
        Exception: One of `models.encoders.bound.FAULTS`: the runtime cannot read the model.
    """
    made = make_options(profile)
    if not optimised:
        made.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return open_session(model, made, providers=[CPU])


class CpuEncoder(BoundEncoder):
    """A model on the CPU: the baseline that every other back end is compared with.

    Args:
        path: The ONNX file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(open_cpu_session(path), CPU)
