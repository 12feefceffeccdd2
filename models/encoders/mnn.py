"""Encoders on MNN: its own file format, and a device for the whole graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import MNN

from models.encoders.answers import Answers
from models.encoders.placement import Node, Part, Placement
from models.foreign import catch_library_errors
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

_FORWARDS = {0: "MNN-CPU", 1: "MNN-METAL", 2: "MNN-CUDA", 3: "MNN-OPENCL", 5: "MNN-NN", 7: "MNN-VULKAN", 13: "MNN-CPU"}
_BACKENDS = 2  # of `getSessionInfo`: what the session runs on, whatever was asked for
_WHOLE = Node("", "graph")


class MnnEncoder(Answers):
    """A model on MNN. If a device is missing MNN silently uses the CPU; `placement()` shows it.

    MNN records what a session runs on, not what a node runs on: the graph counts as one node.

    Args:
        path: A file of MNN's, made by `mnnconvert`; one input, float32.
        settings: `backend`: CPU, OPENCL, VULKAN or NN.

    Raises:
        ModelError: The file is none of MNN's.
    """

    def __init__(self, path: Path, settings: Mapping[str, str]) -> None:
        if path.suffix != ".mnn":
            raise ModelError(f"{path} is no file of MNN's: convert it with `mnnconvert`, name it in encode.artefact")
        asked = settings.get("backend", "OPENCL")
        with catch_library_errors(f"MNN cannot open {path}, which is damaged, or of a newer MNN"):
            self._net = MNN.Interpreter(str(path))
            self._session = self._net.createSession({"backend": asked, "numThread": 1})
            if self._session is None:
                raise ModelError(f"MNN cannot open {path}: it is damaged, or of a newer MNN")
            self._requested = f"MNN-{asked}"
            self._input: NDArray[np.float32] = self._net.getSessionInput(self._session).getNumpyData()
            self._tensors = self._net.getSessionOutputAll(self._session)
            self._outputs: dict[str, NDArray[np.float32]] = {}
            self._read()

    @property
    def input(self) -> NDArray[np.float32]:
        """The session's own input, written in place."""
        return self._input

    @property
    def output(self) -> NDArray[np.float32]:
        """The embedding of the last run, or, as MNN keeps no order of outputs, the first by name; flat, borrowed."""
        return self._outputs.get("embedding", next(iter(self._outputs.values()))).reshape(-1)

    @property
    def zero_copy(self) -> bool:
        """Only the CPU reads the array itself."""
        return self._ran_on() == "MNN-CPU"

    def run(self) -> None:
        """Encodes what `input` holds."""
        self._net.runSession(self._session)
        self._read()

    def placement(self) -> Placement:
        """What the session says it runs on."""
        return Placement(self._requested, (Part(self._ran_on(), (_WHOLE,)),))

    def _ran_on(self) -> str:
        kind = self._net.getSessionInfo(self._session, _BACKENDS)
        return _FORWARDS.get(kind, f"MNN-{kind}")

    def _read(self) -> None:
        self._outputs = {name: tensor.getNumpyData() for name, tensor in sorted(self._tensors.items())}
