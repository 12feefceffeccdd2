"""The outputs of an encoder's last run, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Answers:
    """Base of all encoders: finds the embedding and the logits among the outputs."""

    _outputs: dict[str, NDArray[np.float32]]

    @property
    def outputs(self) -> dict[str, NDArray[np.float32]]:
        """Every output of the last run by its name, in its own shape, borrowed until the next."""
        return self._outputs

    @property
    def output(self) -> NDArray[np.float32]:
        """The embedding of the last run, or the model's last output; flat, borrowed until the next."""
        return self._outputs.get("embedding", next(reversed(self._outputs.values()))).reshape(-1)

    @property
    def logits(self) -> NDArray[np.float32]:
        """The logits of the last run, or the model's first output; flat, borrowed until the next."""
        return self._outputs.get("logits", next(iter(self._outputs.values()))).reshape(-1)
