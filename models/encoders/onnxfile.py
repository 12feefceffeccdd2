"""Read from the bytes of an ONNX file what must be known before a runtime opens it.

An ONNX file is a protobuf message (onnx/onnx.proto); field numbers are named below. Reading the wire format takes less
than the package that reads all of it, which boards do not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.core import files
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = (1 << 31) - 1
"""Of a protobuf message; no ONNX file can be larger."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_MAX_SHIFT = 63  # a number has ten bytes of seven bits at most
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_OP = 1, 2, 3, 4
_TENSOR_NAME = 8
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR, _TENSOR_SHAPE, _SHAPE_DIM = 1, 2, 1
_DIM_VALUE, _DIM_PARAM = 1, 2


class Operation(NamedTuple):
    """One node: its name, its kind, and the tensors that it reads and makes."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Value(NamedTuple):
    """An input or output of a graph; a dimension that is no number is a name, or "?"."""

    name: str
    shape: tuple[int | str, ...]


class OnnxGraph(NamedTuple):
    """The operations, inputs and outputs of a graph, without weights."""

    operations: tuple[Operation, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def dynamic(self) -> tuple[str, ...]:
        """Dimensions that are not fixed, such as `image[0]=batch`."""
        values = (*self.inputs, *self.outputs)
        return tuple(
            f"{value.name}[{axis}]={size}"
            for value in values
            for axis, size in enumerate(value.shape)
            if isinstance(size, str)
        )

    @property
    def quantised(self) -> bool:
        """Whether it has quantisation operations."""
        return any(one.op in {"QuantizeLinear", "DequantizeLinear"} for one in self.operations)

    @property
    def rim(self) -> frozenset[str]:
        """Names of the operations that read the graph's inputs or make its outputs."""
        given, wanted = {value.name for value in self.inputs}, {value.name for value in self.outputs}
        return frozenset(
            one.name for one in self.operations if given.intersection(one.inputs) or wanted.intersection(one.outputs)
        )


def read(path: Path) -> OnnxGraph:
    """Read the graph of an ONNX file.

    Raises:
        ModelError: The file cannot be read, or is no ONNX file.
    """
    try:
        return parse(files.read_bounded(path, MAX_BYTES, follow=True))
    except OSError as error:
        raise ModelError(f"cannot read model file {path} ({error.strerror})") from error
    except ValueError as error:
        raise ModelError(f"{path} is no ONNX file, or is damaged: {error}") from error


def parse(model: bytes) -> OnnxGraph:
    """Parse the graph of a serialised model.

    Raises:
        ValueError: These are not the bytes of a model, or they end too early.
    """
    operations: list[Operation] = []
    inputs: list[Value] = []
    outputs: list[Value] = []
    weights: set[str] = set()
    for graph in _parts(memoryview(model), _MODEL_GRAPH):
        for number, content in _fields(graph):
            if isinstance(content, int):
                continue
            if number == _GRAPH_NODE:
                operations.append(_parse_operation(content))
            elif number == _GRAPH_INPUT:
                inputs.append(_parse_value(content))
            elif number == _GRAPH_OUTPUT:
                outputs.append(_parse_value(content))
            elif number == _GRAPH_INITIALIZER:
                weights.update(_texts(content, _TENSOR_NAME))
    if not operations:
        raise ValueError("there is no graph in it")
    return OnnxGraph(tuple(operations), tuple(one for one in inputs if one.name not in weights), tuple(outputs))


def expose_tensor(model: bytes, tensor: str) -> bytes:
    """Return the model with one inner tensor as an additional last output.

    Protobuf merges messages that follow one another, so a second graph with nothing but an output is all it takes;
    runtimes infer the output's type. Exposing changes what may be fused, so one tensor at a time is exposed.
    """
    value = _encode_field(_VALUE_NAME, tensor.encode())
    return model + _encode_field(_MODEL_GRAPH, _encode_field(_GRAPH_OUTPUT, value))


def observable_operations(graph: OnnxGraph) -> tuple[tuple[Operation, str], ...]:
    """Return every operation that computes, with the tensor that shows its result, in the graph's order.

    If the result is quantised and dequantised, this is the dequantised tensor, so that nodes which an accelerator runs
    together stay together.
    """
    readers: dict[str, list[Operation]] = {}
    for one in graph.operations:
        for name in one.inputs:
            readers.setdefault(name, []).append(one)
    known = {value.name for value in graph.outputs}
    found = []
    for one in graph.operations:
        if one.op not in {"QuantizeLinear", "DequantizeLinear", "Constant"} and one.outputs:
            tensor = _result_of(_result_of(one.outputs[0], readers, "QuantizeLinear"), readers, "DequantizeLinear")
            if tensor not in known:
                found.append((one, tensor))
    return tuple(found)


def _result_of(tensor: str, readers: dict[str, list[Operation]], op: str) -> str:
    """Return the result of an operation of this kind that reads a tensor; the tensor itself if none does."""
    behind = (one for one in readers.get(tensor, ()) if one.op == op and one.inputs[0] == tensor and one.outputs)
    return next((one.outputs[0] for one in behind), tensor)


def _parse_operation(content: memoryview) -> Operation:
    name, op = "", ""
    inputs, outputs = [], []
    for number, part in _fields(content):
        if isinstance(part, int):
            continue
        if number == _NODE_INPUT:
            inputs.append(_text(part))
        elif number == _NODE_OUTPUT:
            outputs.append(_text(part))
        elif number == _NODE_NAME:
            name = _text(part)
        elif number == _NODE_OP:
            op = _text(part)
    return Operation(name, op, tuple(inputs), tuple(outputs))


def _parse_value(content: memoryview) -> Value:
    name = next(_texts(content, _VALUE_NAME), "")
    dims: list[int | str] = []
    for kind in _parts(content, _VALUE_TYPE):
        for tensor in _parts(kind, _TYPE_TENSOR):
            for shape in _parts(tensor, _TENSOR_SHAPE):
                dims.extend(_parse_dimension(dim) for dim in _parts(shape, _SHAPE_DIM))
    return Value(name, tuple(dims))


def _parse_dimension(content: memoryview) -> int | str:
    size: int | str = "?"
    for number, part in _fields(content):
        if number == _DIM_VALUE and isinstance(part, int):
            size = part
        elif number == _DIM_PARAM and not isinstance(part, int):
            size = _text(part) or "?"
    return size


def _parts(content: memoryview, wanted: int) -> Iterator[memoryview]:
    return (part for number, part in _fields(content) if number == wanted and not isinstance(part, int))


def _texts(content: memoryview, wanted: int) -> Iterator[str]:
    return (_text(part) for part in _parts(content, wanted))


def _text(content: memoryview) -> str:
    return str(content, "utf-8", "replace")


def _fields(content: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Yield every field of a message: its field number, and its bytes (borrowed) or its integer."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _varint(content, at)
            yield key >> 3, number
            continue
        if kind == _BYTES:
            size, at = _varint(content, at)
        elif kind in {_FIXED64, _FIXED32}:
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind} at byte {at}")
        if at + size > len(content):
            raise ValueError(f"it ends within a field, at byte {at}")
        yield key >> 3, content[at : at + size]
        at += size


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        if at >= len(content) or shift > _MAX_SHIFT:
            raise ValueError(f"it ends within a number, at byte {at}")
        byte = content[at]
        number |= (byte & 127) << shift
        at += 1
        if byte < 128:  # noqa: PLR2004 - the top bit says that more follows
            return number, at
        shift += 7


def _encode_field(number: int, content: bytes) -> bytes:
    size, head = len(content), bytearray([number << 3 | _BYTES])
    while size >= 128:  # noqa: PLR2004 - the same
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + content
