"""Adapters (LoRA, Hu et al. 2021) that are added to a model's weights before these are quantised.

The file is safetensors: a length, a JSON header, data. Names are those of PEFT:
base_model.model.model.layers.N.PART.lora_A.weight, of shape (rank, columns), and lora_B.weight, (rows, rank).
"""

from __future__ import annotations

import itertools
import json
import math
import mmap
import re
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, Never

import numpy as np

from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_SIZES = {"BF16": 2, "F16": 2, "F32": 4}
_NAME = re.compile(r"(?:base_model\.model\.)?model\.(layers\.\d+\.\w+\.\w+)\.lora_([AB])\.weight")


class _Pair(NamedTuple):
    down: NDArray[np.float32]
    up: NDArray[np.float32]


class Adapter:
    """An adapter in memory, a few megabytes.

    Args:
        path: A .safetensors file. Its alpha is in its metadata, or in adapter_config.json beside it.

    Raises:
        ModelError: It cannot be read, is cut short or damaged, holds what is no LoRA of a layer, or has no alpha.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                self._data = bytes(mapped)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is empty"
            raise ModelError(f"cannot read adapter {path} ({reason}): name a .safetensors file") from error
        self._start, header = self._header()
        halves: dict[str, dict[str, NDArray[np.float32]]] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            if not (found := _NAME.fullmatch(name)):
                self._refuse(f"its tensor {name} is no LoRA of a layer's matrix")
            halves.setdefault(found[1], {})[found[2]] = self._tensor(name, entry)
        self._pairs = {layer: self._pair(layer, both) for layer, both in halves.items()}
        self._alpha = self._find_alpha(header)
        del self._data

    @property
    def layers(self) -> frozenset[str]:
        """What it adds to, as layers.N.PART."""
        return frozenset(self._pairs)

    def shape(self, layer: str) -> tuple[int, int]:
        """(rows, columns) of the matrix that it adds to."""
        pair = self._pairs[layer]
        return len(pair.up), pair.down.shape[1]

    def delta(self, layer: str, first: int, last: int) -> NDArray[np.float32]:
        """What is added to rows first..last-1 of a matrix: alpha / rank * B A, float32."""
        pair = self._pairs[layer]
        scaled: NDArray[np.float32] = pair.up[first:last] * np.float32(self._alpha / len(pair.down))
        # a fixed order of addition: a library's product may depend on the machine's cores
        found = np.zeros((len(scaled), pair.down.shape[1]), np.float32)
        for rank, row in enumerate(pair.down):
            found += scaled[:, rank : rank + 1] * row
        return found

    def _header(self) -> tuple[int, dict[str, Any]]:
        try:
            (size,) = struct.unpack_from("<Q", self._data)
            header = json.loads(self._data[8 : 8 + size])
        except (struct.error, ValueError):
            self._refuse("its header is damaged")
        if not isinstance(header, dict):
            self._refuse("its header is no table")
        return 8 + size, header

    def _tensor(self, name: str, entry: Any) -> NDArray[np.float32]:
        try:
            kind, (rows, columns), (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            wanted = rows * columns * _SIZES[kind]
        except (KeyError, TypeError, ValueError):
            self._refuse(f"its tensor {name} is described as {entry}; known are matrices of {', '.join(_SIZES)}")
        data = self._data[self._start + begin : self._start + end]
        if begin < 0 or min(rows, columns) < 1 or end - begin != wanted or len(data) != wanted:
            self._refuse(f"it ends within {name}")
        if kind == "BF16":
            found = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            found = np.frombuffer(data, "<f2" if kind == "F16" else "<f4").astype(np.float32)
        return found.reshape(rows, columns)

    def _pair(self, layer: str, both: dict[str, NDArray[np.float32]]) -> _Pair:
        if set(both) != {"A", "B"} or len(both["A"]) != both["B"].shape[1]:
            self._refuse(f"its two matrices for {layer} do not fit together")
        return _Pair(both["A"], both["B"])

    def _find_alpha(self, header: dict[str, Any]) -> float:
        beside = self.path.parent / "adapter_config.json"
        try:
            config = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
            if config.get("use_rslora") or config.get("use_dora"):  # weighed in another way
                self._refuse("it is a rank-stabilised or a DoRA adapter")
            said = itertools.chain((header.get("__metadata__", {}).get("alpha"),), (config.get("lora_alpha"),))
            alpha = float(next(one for one in said if one is not None))
        except (OSError, ValueError, AttributeError, TypeError, StopIteration):
            alpha = math.nan
        if not math.isfinite(alpha):
            self._refuse("it has no alpha, neither in its metadata nor in adapter_config.json beside it")
        return alpha

    def _refuse(self, what: str) -> Never:
        raise ModelError(f"adapter {self.path} cannot be used: {what}; use an undamaged LoRA as PEFT saves it")
