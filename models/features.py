"""What an encoder's answer amounts to: a vector to compare and search by, and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.encoders import Encoder
    from models.tags import Tag, TagTable, VectorTable


class PictureFeatures(Protocol):
    """Reads the last answer of an encoder."""

    def of(self, encoder: Encoder, count: int) -> tuple[NDArray[np.float32], tuple[Tag, ...]]:
        """A vector of unit length, the caller's own, and at most so many tags."""


class Conse:
    """Of the bundled encoder: its ImageNet likelihoods, read as a point among texts."""

    def __init__(self, table: TagTable) -> None:
        self._table = table

    def of(self, encoder: Encoder, count: int) -> tuple[NDArray[np.float32], tuple[Tag, ...]]:
        """See `PictureFeatures`; (384,)."""
        logits = encoder.logits
        return self._table.vector(logits), self._table.tags(logits, count) if count else ()


class Direct:
    """Of an encoder that an operator brought: its answer itself.

    Args:
        output: The name of the answer.
        table: Of tags in its space; None: there are none.
    """

    def __init__(self, output: str, table: VectorTable | None) -> None:
        self._output = output
        self._table = table

    def of(self, encoder: Encoder, count: int) -> tuple[NDArray[np.float32], tuple[Tag, ...]]:
        """See `PictureFeatures`; a vector without length stays so, and fits no tag."""
        vector = encoder.outputs[self._output].reshape(-1).astype(np.float32)
        length = float(np.linalg.norm(vector))
        if not length:
            return vector, ()
        vector = vector / np.float32(length)
        return vector, self._table.tags(vector, count) if self._table and count else ()
