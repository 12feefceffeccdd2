"""Turn an encoder's answer into a vector for comparison and search, and tags."""

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
        """Return a vector of unit length, a copy, and at most `count` tags."""


class Conse:
    """Features of the bundled encoder: its ImageNet likelihoods, mapped into the space of texts."""

    def __init__(self, table: TagTable) -> None:
        self._table = table

    def of(self, encoder: Encoder, count: int) -> tuple[NDArray[np.float32], tuple[Tag, ...]]:
        """See `PictureFeatures`; (384,)."""
        logits = encoder.logits
        return self._table.vector(logits), self._table.tags(logits, count) if count else ()


class Direct:
    """Features of an operator's own encoder: its answer itself.

    Args:
        output: Name of the output.
        table: Table of tags in its space; None: no tags.
    """

    def __init__(self, output: str, table: VectorTable | None) -> None:
        self._output = output
        self._table = table

    def of(self, encoder: Encoder, count: int) -> tuple[NDArray[np.float32], tuple[Tag, ...]]:
        """See `PictureFeatures`; a zero vector stays zero, and fits no tag."""
        vector = encoder.outputs[self._output].reshape(-1).astype(np.float32)
        length = float(np.linalg.norm(vector))
        if not length:
            return vector, ()
        vector = vector / np.float32(length)
        return vector, self._table.tags(vector, count) if self._table and count else ()
