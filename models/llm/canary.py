"""Try out a loaded engine: read a text whose next word every language model knows, in two ways.

A wrong weight cache, a wrong graph or a broken kernel loads without complaint and answers nonsense; keys and values
that are kept wrongly show only where a text is read in more than one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.llm.engine import Engine, Logits

_TEXT = "alpha bravo charlie delta echo foxtrot golf hotel india juliett. alpha bravo charlie delta echo foxtrot golf"
_NEXT = " hotel"
_BEST = 5
_DIVERGENCE_MOST = 0.1
"""Nats between reading at once and in pieces, of several tokens and of one: .007 where all is well, 0.4 and more with
quantised keys and values."""


class Canary(NamedTuple):
    """The answer of an engine.

    Attributes:
        best: The numbers of its five most likely tokens, the likeliest first.
        divergence: KL divergence to the answer when the text is read in pieces, in nats.
    """

    best: tuple[int, ...]
    divergence: float


def try_engine(engine: Engine, name: str) -> Canary:
    """Try out an engine; its cache is empty afterwards.

    Args:
        engine: A freshly loaded engine.
        name: Name of the model, for the error.

    Raises:
        ModelError: Its answers are wrong.
    """
    numbers, (wanted, *_) = engine.encode(_TEXT), engine.encode(_NEXT)
    whole = _answer(engine, [numbers])
    pieces = _answer(engine, [numbers[:8], numbers[8:16], *([number] for number in numbers[16:])])
    engine.rewind(0)
    if not (np.isfinite(whole).all() and np.ptp(whole) > 0):
        raise ModelError(f"{name}: the engine's answers are no numbers: {_REMEDY}")
    found = Canary(tuple(map(int, np.argsort(-whole)[:_BEST])), _kl_divergence(whole, pieces))
    if wanted not in found.best:
        raise ModelError(f"{name}: the engine cannot go on with a list that it has just read: {_REMEDY}")
    if not found.divergence < _DIVERGENCE_MOST:
        raise ModelError(f"{name}: what is read in pieces reads differently (KL {found.divergence:.2f}): {_REMEDY}")
    return found


_REMEDY = "its weights are not this model's, or this engine cannot run it: pull or convert it again"


def _answer(engine: Engine, pieces: Sequence[Sequence[int]]) -> Logits:
    engine.rewind(0)
    for piece in pieces:
        logits = engine.forward(piece)
    return logits.copy()


def _kl_divergence(one: Logits, other: Logits) -> float:
    """KL(one || other) of the next token, in nats."""
    left, right = _log_likelihoods(one), _log_likelihoods(other)
    return float((np.exp(left) * (left - right)).sum())


def _log_likelihoods(logits: Logits) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    shifted = logits.astype(np.float64) - logits.max()
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = shifted - np.log(np.exp(shifted).sum())
    return found
