"""Recipes: how each matrix of a model is stored, by the name of its layer."""

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
    """How the matrices of some layers are stored.

    Attributes:
        layers: A glob over the names in MNN's graph, e.g. */self_attn/[qkv]_proj/*.
        keep: The file's own blocks are taken over where MNN can hold their values; only the rest is quantised anew.
        bits: Of what is quantised anew.
        block: Values that share a scale; halved until it divides the matrix's columns.
    """

    layers: str
    keep: bool = False
    bits: Literal[4, 8] = 8
    block: Literal[32, 64, 128] = 32

    def form(self, kind: Kind, columns: int, *, merged: bool) -> tuple[repack.Format, bool]:
        """The format of a matrix, and whether its blocks are taken over.

        Args:
            kind: How the file stores it.
            columns: Of the matrix.
            merged: Something is added to its weights, so that its blocks no longer hold.
        """
        exact = repack.exact_format(kind)
        if self.keep and exact and not merged:
            return exact, True
        return repack.fit_block(repack.Format(self.bits, self.block), columns), False


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of rules; the first whose glob fits a layer decides.

    Attributes:
        rules: In order.
        what: What it is good for.
        scales: How scales are stored. float16 saves a fifth of the file; the engine computes with float32 either way.
    """

    rules: tuple[StorageRule, ...]
    what: str = ""
    scales: Literal["float16", "float32"] = "float16"

    @property
    def scale_type(self) -> np.dtype[np.floating]:
        """The numpy type of the scales."""
        return np.dtype(self.scales)

    def rule(self, layer: str) -> StorageRule:
        """The rule for a layer. Raises ModelError: none fits."""
        for rule in self.rules:
            if fnmatch.fnmatchcase(layer, rule.layers):
                return rule
        raise ModelError(f"the recipe has no rule for {layer}: end it with one for *")
