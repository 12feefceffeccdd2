"""Encoders on Rockchip's NPU, by way of rknn-toolkit-lite2, which exists for ARM64 boards only."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from models.encoders.answers import Answers
from models.encoders.placement import Placement
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

MODULE = "rknnlite.api"


class RknnEncoder(Answers):
    """A model on an RK3588-class NPU. Its runtime keeps no record of what ran where, so its placement is untold.

    Args:
        path: A file that rknn-toolkit2 made for this board.
        shape: Of the input, (1, 3, H, W).
        names: Of the outputs, in the model's order.

    Raises:
        ModelError: The runtime is not installed, or does not take the file.
    """

    def __init__(self, path: Path, shape: Sequence[int], names: Sequence[str]) -> None:
        if path.suffix != ".rknn":
            raise ModelError(
                f"{path} is no file of RKNN's: `pipeline models convert MODEL --target rknn` writes what rknn-toolkit2 "
                "takes; name what that makes in encode.artefact"
            )
        try:
            runtime = importlib.import_module(MODULE)
        except ImportError as error:
            raise ModelError(f"package rknn-toolkit-lite2 is not installed: {error}") from error
        self._engine: Any = runtime.RKNNLite()
        if self._engine.load_rknn(str(path)) or self._engine.init_runtime():
            raise ModelError(f"the NPU does not take {path}: it may be made for another chip, or another driver")
        self._input = np.zeros(shape, np.float32)
        self._names = tuple(names)
        self._outputs: dict[str, NDArray[np.float32]] = {}
        self.run()

    @property
    def input(self) -> NDArray[np.float32]:
        """(1, 3, H, W) float32, filled in place, copied at every run."""
        return self._input

    @property
    def zero_copy(self) -> bool:
        """The toolkit copies in and out."""
        return False

    def run(self) -> None:
        """Encodes what `input` holds."""
        found = self._engine.inference(inputs=[self._input], data_format=["nchw"])
        self._outputs = dict(zip(self._names, found, strict=True))

    def placement(self) -> Placement:
        """Nothing that the runtime recorded."""
        return Placement("RKNN", recorded=False)
