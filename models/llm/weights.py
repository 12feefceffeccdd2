"""The weight file and the graph that points into it.

All is planned, and refused, before a byte is written. The file is, in the order of the graph: for a norm its gains and
as many zeros (float32); for a matrix its header and levels, its scales, its bias (float32). Nothing is aligned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.llm import layout, repack
from models.llm.gguf import Kind
from models.llm.graph import Matrix, MnnGraph, OpKind
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

    from models.llm.gguf import Gguf, Tensor
    from models.llm.graph import Op
    from models.llm.lora import Adapter
    from models.llm.recipes import Recipe

_WEIGHTS_AT_ONCE = 1 << 22
"""16 MB of float32; with the copies on the way, the conversion's memory."""
_TIED_ROWS, _TIED_DISTANCE = 256, 0.2
_EPSILON_TOLERANCE = 1e-3
_ROTARY_TOLERANCE = 6e-7
"""The exporter keeps six decimals of the frequencies."""
_ROTARY = "/rotary/"


class Norm(NamedTuple):
    """A norm to be written."""

    op: Op
    gains: NDArray[np.float32]

    @property
    def size(self) -> int:
        """Bytes of gains and zeros."""
        return 2 * self.gains.nbytes


class Linear(NamedTuple):
    """A matrix to be written.

    Attributes:
        op: The graph's operation.
        tensor: The file's weights.
        form: How they will be stored.
        kept: The file's blocks are taken over, not quantised anew.
        bias: (rows,) float32 in the graph's order, or empty.
        order: Where each row is in the file; None where all are in place.
        layer: What an adapter calls it, where one adds to it; else empty.
    """

    op: Op
    tensor: Tensor
    form: repack.Format
    kept: bool
    bias: NDArray[np.float32]
    order: NDArray[np.intp] | None
    layer: str

    @property
    def header(self) -> bytes:
        """What stands before the levels."""
        return repack.make_header(*self.tensor.shape, self.form.bits)

    @property
    def blocks(self) -> int:
        """Count of blocks that have scales."""
        rows, columns = self.tensor.shape
        return rows * (columns // self.form.block)

    @property
    def how(self) -> str:
        """For people: from what to what."""
        done = "kept" if self.kept else "quantised"
        added = " + adapter" if self.layer else ""
        return f"{self.tensor.kind.name}{added} -> int{self.form.bits}, blocks of {self.form.block}, {done}"

    def matrix(self, offset: int, scale_type: np.dtype[np.floating]) -> Matrix:
        """Where and how its weights are when they begin at `offset`."""
        rows, columns = self.tensor.shape
        return Matrix(
            offset=offset,
            weight_bytes=len(self.header) + rows * columns * self.form.bits // 8,
            scale_bytes=2 * self.blocks * scale_type.itemsize,
            bias_bytes=self.bias.nbytes,
            bits=self.form.bits,
            blocks=self.blocks,
            wide=repack.is_wide(rows, columns),
            half_scales=scale_type.itemsize == 2,  # noqa: PLR2004  # bytes of a float16
        )


class WeightPlan(NamedTuple):
    """What will be written, in the order of the graph.

    Attributes:
        graph: Not yet patched.
        parts: Norms and matrices.
        tied: The embedding is read from the output's matrix.
        scale_type: Of every matrix.
        adapter: Added to the matrices that name a layer.
    """

    graph: MnnGraph
    parts: tuple[Norm | Linear, ...]
    tied: bool
    scale_type: np.dtype[np.floating]
    adapter: Adapter | None

    @property
    def size(self) -> int:
        """Bytes of the weight file."""
        total = 0
        for part in self.parts:
            if isinstance(part, Norm):
                total += part.size
            else:
                matrix = part.matrix(0, self.scale_type)
                total += matrix.weight_bytes + matrix.scale_bytes + matrix.bias_bytes
        return total

    @property
    def layers(self) -> dict[str, int]:
        """How many matrices are stored how."""
        found: dict[str, int] = {}
        for part in self.parts:
            if isinstance(part, Linear):
                found[part.how] = found.get(part.how, 0) + 1
        return dict(sorted(found.items()))


def plan(model: Gguf, graph: MnnGraph, shape: layout.Shape, recipe: Recipe, adapter: Adapter | None) -> WeightPlan:
    """Fit a model to a graph.

    The graph's constants (rotary frequencies) are set to the model's own.

    Raises:
        ModelError: A tensor is missing or does not fit the graph, or the adapter does not fit the model.
    """
    epsilon, frequencies = layout.norm_constants(model, shape)
    doubled = f"{layout.OUTPUT}.weight" in model.tensors
    planner = _Planner(model, graph, shape, recipe, adapter, tied=not doubled)
    parts: list[Norm | Linear] = []
    for op in graph.ops:
        if op.kind is OpKind.CONVOLUTION:
            parts.append(planner.linear(op))
        elif op.kind is OpKind.LAYER_NORM and (wanted := graph.epsilon(op)) is not None:
            parts.append(planner.norm(op, wanted, epsilon))
        elif op.kind is OpKind.BLOB and (old := graph.floats(op)):
            _set_frequencies(graph, op, old, frequencies)
    planner.check_all_added()
    tied = not doubled or _is_tied(model)
    return WeightPlan(graph, tuple(parts), tied, recipe.scale_type, adapter)


def write(planned: WeightPlan, file: BinaryIO, report: Callable[[int], None]) -> list[int]:
    """Write the weight file, and patch the graph to point into it.

    Args:
        planned: What to write.
        file: Empty.
        report: Called with the bytes written so far.

    Returns:
        Where embeddings are found in the output's matrix, as llm_config.json's tie_embeddings names it; empty where
        they are not tied.

    Raises:
        ModelError: Weights do not fit the type of their scales.
        OSError: The disk is full.
    """
    place, tied = 0, []
    for part in planned.parts:
        if isinstance(part, Norm):
            planned.graph.set_norm(part.op, place, part.gains.nbytes)
            file.write(part.gains.tobytes() + bytes(part.gains.nbytes))
            place += part.size
            continue
        matrix = part.matrix(place, planned.scale_type)
        planned.graph.set_matrix(part.op, matrix)
        place = write_matrix(part, planned, file, report, place)
        if part.op.name == layout.LM_HEAD and planned.tied:
            tied = embedding_location(part, matrix)
        report(place)
    return tied


def write_matrix(
    part: Linear, planned: WeightPlan, file: BinaryIO, report: Callable[[int], None] = lambda _: None, place: int = 0
) -> int:
    """Write one matrix where the file stands; the graph is not patched.

    Args:
        part: One of the plan's.
        planned: How it is stored.
        file: Open for writing.
        report: Called with the place reached.
        place: Where the file stands.

    Returns:
        Where the next thing begins.

    Raises:
        ModelError: Its weights do not fit the type of their scales.
        OSError: The disk is full.
    """
    place += file.write(part.header)
    scales = []
    for first, last in _row_slices(*part.tensor.shape):
        found = _quantise_rows(part, planned, first, last)
        place += file.write(np.ascontiguousarray(repack.pack(found.levels, part.form.bits)).data)
        scales.append(found.scales.astype(planned.scale_type))
        report(place)
    place += file.write(np.concatenate(scales).data)
    return place + file.write(part.bias.data)


def embedding_location(head: Linear, matrix: Matrix) -> list[int]:
    """Where embeddings are found in the output's matrix, as llm_config.json's tie_embeddings names it."""
    levels, scales = matrix.offset + len(head.header), matrix.offset + matrix.weight_bytes
    found = [levels, scales, matrix.scale_bytes, matrix.bits, head.form.block]
    return found + ([1] if matrix.half_scales else [])


def write_embedding(model: Gguf, file: BinaryIO) -> None:
    """Write the embedding as bfloat16, rounded to nearest even, (tokens, hidden), for a model that is not tied."""
    tensor = model.tensor(f"{layout.EMBEDDING}.weight")
    file.writelines(
        repack.bfloat16(repack.decode_values(tensor.data[first:last], tensor.kind)).tobytes()
        for first, last in _row_slices(*tensor.shape)
    )


class _Planner:
    """Finds and checks what each operation of the graph needs."""

    def __init__(
        self,
        model: Gguf,
        graph: MnnGraph,
        shape: layout.Shape,
        recipe: Recipe,
        adapter: Adapter | None,
        *,
        tied: bool,
    ) -> None:
        self._model = model
        self._graph = graph
        self._shape = shape
        self._recipe = recipe
        self._adapter = adapter
        self._tied = tied
        self._added: set[str] = set()

    def norm(self, op: Op, wanted: float, epsilon: float) -> Norm:
        """Plan a norm whose epsilon in the graph is `wanted`."""
        gains = self._vector(layout.tensor_name(op.name, tied=self._tied) + ".weight", self._shape.hidden)
        if not abs(wanted - epsilon) <= _EPSILON_TOLERANCE * epsilon:  # nor is it no number
            raise self._unfit(f"its norms have epsilon {epsilon:g}, the graph's {wanted:g}")
        return Norm(op, gains)

    def linear(self, op: Op) -> Linear:
        """Plan a matrix."""
        name = layout.tensor_name(op.name, tied=self._tied)
        tensor, shape = self._model.tensor(f"{name}.weight"), self._graph.shape(op)
        if tensor.shape != shape:
            raise self._unfit(f"its {name} is {tensor.shape[0]}x{tensor.shape[1]}, the graph's {shape[0]}x{shape[1]}")
        order = layout.row_order(name, self._shape, shape[0])
        layer = self._layer(op, shape)
        form, kept = self._recipe.rule(op.name).form(tensor.kind, shape[1], merged=bool(layer))
        return Linear(op, tensor, form, kept, self._bias(op, name, shape[0], order), order, layer)

    def check_all_added(self) -> None:
        """Raise ModelError where an adapter adds to what the model has not."""
        if self._adapter and (left := sorted(self._adapter.layers - self._added)):
            raise ModelError(f"adapter {self._adapter.path} adds to {left[0]}, which {self._model.path} has not")

    def _bias(self, op: Op, name: str, rows: int, order: NDArray[np.intp] | None) -> NDArray[np.float32]:
        has = f"{name}.bias" in self._model.tensors
        if has != self._graph.has_bias(op):
            raise self._unfit(f"its {name} has {'a' if has else 'no'} bias, the graph's has {'none' if has else 'one'}")
        if not has:
            return np.empty(0, np.float32)
        bias = self._vector(f"{name}.bias", rows)
        return bias if order is None else bias[order]

    def _layer(self, op: Op, shape: tuple[int, int]) -> str:
        layer = op.name.removesuffix("/Linear").lstrip("/").replace("/", ".")
        if self._adapter is None or layer not in self._adapter.layers:
            return ""
        if self._adapter.shape(layer) != shape:
            raise ModelError(
                f"adapter {self._adapter.path} is for another model: its {layer} is {self._adapter.shape(layer)}, "
                f"the model's {shape}"
            )
        self._added.add(layer)
        return layer

    def _vector(self, name: str, size: int) -> NDArray[np.float32]:
        tensor = self._model.tensor(name)
        if tensor.shape != (1, size) or tensor.kind not in {Kind.F32, Kind.F16, Kind.BF16}:
            raise self._unfit(f"its {name} is {tensor.shape} of {tensor.kind.name}, not {size} plain numbers")
        found: NDArray[np.float32] = repack.decode_values(tensor.data, tensor.kind)[0]
        return found

    def _unfit(self, what: str) -> ModelError:
        return ModelError(f"model file {self._model.path} does not fit its graph: {what}; use a model of a known size")


def _set_frequencies(graph: MnnGraph, op: Op, old: tuple[float, ...], frequencies: NDArray[np.float32]) -> None:
    """Set the rotary frequencies exactly, after checking that they are about those of the graph."""
    fits = op.name.startswith(_ROTARY) and len(old) == len(frequencies)
    if not fits or np.abs(np.array(old) - frequencies).max() > _ROTARY_TOLERANCE:
        raise ModelError(f"the model's rotary frequencies are not those of the graph's {op.name}: use a known model")
    graph.set_floats(op, frequencies.tolist())


def _quantise_rows(part: Linear, planned: WeightPlan, first: int, last: int) -> repack.Quantised:
    """Some rows of a matrix, as they will be stored."""
    source = part.tensor.data[first:last] if part.order is None else part.tensor.data[part.order[first:last]]
    if part.kept:
        return repack.repack(source, part.tensor.kind)
    weights = repack.decode_values(source, part.tensor.kind)
    if part.layer and planned.adapter:
        weights += planned.adapter.delta(part.layer, first, last)
    return repack.quantise(weights, part.form, planned.scale_type)


def _row_slices(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    step = max(1, _WEIGHTS_AT_ONCE // columns)
    for first in range(0, rows, step):
        yield first, min(rows, first + step)


def _is_tied(model: Gguf) -> bool:
    """Whether the output's matrix is the embedding, stored a second time with more bits, as some files have it."""
    embedding, output = (model.tensor(f"{name}.weight") for name in (layout.EMBEDDING, layout.OUTPUT))
    if embedding.shape != output.shape:
        return False
    rows = np.linspace(0, embedding.shape[0] - 1, _TIED_ROWS).astype(int)
    one, other = (repack.decode_values(tensor.data[rows], tensor.kind) for tensor in (embedding, output))
    return bool(np.linalg.norm(one - other) < _TIED_DISTANCE * np.linalg.norm(other))
