"""Recipes, which say how each matrix of a model is stored, by the name of its layer."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from models.llm import repack
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from models.llm.gguf import Kind


class StorageRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rule for storing the matrices of some layers.

    Attributes:
        layers: A glob over the names in MNN's graph, e.g. */self_attn/[qkv]_proj/*.
        keep: Whether the file's own blocks are kept if MNN can hold their values; others are quantised again.
        bits: Bits of quantised levels.
        block: Number of values that share a scale; halved until it divides the matrix's columns.
    """

    layers: str
    keep: bool = False
    bits: Literal[4, 8] = 8
    block: Literal[32, 64, 128] = 32

    def form(self, kind: Kind, columns: int, *, merged: bool) -> tuple[repack.Format, bool]:
        """Return the format of a matrix, and whether its blocks are kept.

        Args:
            kind: Kind of its blocks in the file.
            columns: Number of columns of the matrix.
            merged: Whether an adapter changes its weights, so that its blocks cannot be kept.
        """
        exact = repack.exact_format(kind)
        if self.keep and exact and not merged:
            return exact, True
        return repack.fit_block(repack.Format(self.bits, self.block), columns), False


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of rules; the first whose glob fits a layer decides.

    Attributes:
        rules: The rules, in their order.
        what: Its purpose, for people.
        scales: Type of the scales. float16 saves a fifth of the file; the engine computes with float32 either way.
    """

    rules: tuple[StorageRule, ...]
    what: str = ""
    scales: Literal["float16", "float32"] = "float16"

    @property
    def scale_type(self) -> np.dtype[np.floating]:
        """The numpy type of the scales."""
        return np.dtype(self.scales)

    def rule(self, layer: str) -> StorageRule:
        """Return the rule for a layer. Raises ModelError if none fits."""
        for rule in self.rules:
            if fnmatch.fnmatchcase(layer, rule.layers):
                return rule
        raise ModelError(f"the recipe has no rule for {layer}: end it with one for *")
