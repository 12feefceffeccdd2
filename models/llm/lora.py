"""Read adapters (LoRA, Hu et al. 2021), which are added to a model's weights before quantisation.

The file is safetensors: a length, a JSON header, data. Names are those of PEFT:
base_model.model.model.layers.N.PART.lora_A.weight, of shape (rank, columns), and lora_B.weight, (rows, rank).
"""

from __future__ import annotations

import itertools
import math
import re
import struct
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Never, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta

from pipeline.core import files
from pipeline.core.decoding import convert, decode
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_SIZES = {"BF16": 2, "F16": 2, "F32": 4}
_MOST_BYTES = 1 << 30  # hundreds of times what an adapter of a known size has
_Size: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST_BYTES)]
_NAME = re.compile(r"(?:base_model\.model\.)?model\.(layers\.\d+\.\w+\.\w+)\.lora_([AB])\.weight")


class _Entry(msgspec.Struct, frozen=True):
    """A tensor, as the header describes it."""

    dtype: Literal["BF16", "F16", "F32"]
    shape: tuple[_Size, _Size]
    data_offsets: tuple[_Size, _Size]


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
            self._data = files.read_bounded(path, _MOST_BYTES, follow=True)
        except OSError as error:
            raise ModelError(f"cannot read adapter {path} ({error.strerror}): name a .safetensors file") from error
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
        """The layers that it changes, as layers.N.PART."""
        return frozenset(self._pairs)

    def shape(self, layer: str) -> tuple[int, int]:
        """Return (rows, columns) of the matrix of a layer."""
        pair = self._pairs[layer]
        return len(pair.up), pair.down.shape[1]

    def delta(self, layer: str, first: int, last: int) -> NDArray[np.float32]:
        """Return the change of rows first..last-1 of a matrix: alpha / rank * B A, float32."""
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
            return 8 + size, decode(self._data[8 : 8 + size], dict[str, Any])
        except (struct.error, msgspec.DecodeError):
            self._refuse("its header is damaged" if self._data else "it is empty")

    def _tensor(self, name: str, entry: Any) -> NDArray[np.float32]:
        try:
            found = convert(entry, _Entry)
        except msgspec.DecodeError:
            self._refuse(f"its tensor {name} is described as {entry!r:.80}; known are matrices of {', '.join(_SIZES)}")
        kind, (rows, columns), (begin, end) = found.dtype, found.shape, found.data_offsets
        wanted = rows * columns * _SIZES[kind]
        data = self._data[self._start + begin : self._start + end]
        if min(rows, columns) < 1 or end - begin != wanted or len(data) != wanted:
            self._refuse(f"it ends within {name}")
        if kind == "BF16":
            values = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(data, "<f2" if kind == "F16" else "<f4").astype(np.float32)
        return values.reshape(rows, columns)

    def _pair(self, layer: str, both: dict[str, NDArray[np.float32]]) -> _Pair:
        if set(both) != {"A", "B"} or len(both["A"]) != both["B"].shape[1]:
            self._refuse(f"its two matrices for {layer} do not fit together")
        return _Pair(both["A"], both["B"])

    def _find_alpha(self, header: dict[str, Any]) -> float:
        beside = self.path.parent / "adapter_config.json"
        try:
            config = decode(files.read_bounded(beside, follow=True), dict[str, Any]) if beside.exists() else {}
            if config.get("use_rslora") or config.get("use_dora"):  # weighed in another way
                self._refuse("it is a rank-stabilised or a DoRA adapter")
            said = itertools.chain((header.get("__metadata__", {}).get("alpha"),), (config.get("lora_alpha"),))
            alpha = float(next(one for one in said if one is not None))
        except (OSError, msgspec.DecodeError, ValueError, AttributeError, TypeError, OverflowError, StopIteration):
            alpha = math.nan
        if not math.isfinite(alpha):
            self._refuse("it has no alpha, neither in its metadata nor in adapter_config.json beside it")
        return alpha

    def _refuse(self, what: str) -> Never:
        raise ModelError(f"adapter {self.path} cannot be used: {what:.300}; use an undamaged LoRA as PEFT saves it")
