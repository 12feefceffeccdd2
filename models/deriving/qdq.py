"""Make variants of a quantised graph in which only some layers are quantised.

Inputs and outputs of a quantised layer are rounded to 8 bit. If neither layer at a tensor is quantised, its pair of
QuantizeLinear and DequantizeLinear becomes a Clip to its range, since that range may replace a ReLU that the quantiser
removed. Weights get their original values, if these are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

_QUANTISE, _DEQUANTISE = "QuantizeLinear", "DequantizeLinear"
_MOVES = frozenset(
    {"Concat", "Expand", "Flatten", "Gather", "Identity", "Pad", "Reshape", "Slice", "Split", "Squeeze", "Transpose"}
    | {"Unsqueeze", "Constant", _QUANTISE, _DEQUANTISE}
)
"""Operations that compute nothing; their cost is that of their neighbours."""


class Layer(NamedTuple):
    """An operation with quantised inputs: its node's name, and its kind."""

    name: str
    op: str


def is_quantised(model: onnx.ModelProto) -> bool:
    """Tell whether a graph has quantisation operations."""
    return any(node.op_type in {_QUANTISE, _DEQUANTISE} for node in model.graph.node)


class QuantisedGraph:
    """A quantised graph of which variants can be made.

    Args:
        model: The graph, with pairs of QuantizeLinear and DequantizeLinear.
        weights: Original weights by name; empty if unknown.
    """

    def __init__(self, model: onnx.ModelProto, weights: Mapping[str, onnx.TensorProto]) -> None:
        self._model = model
        self._before = weights
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer} | _constant_nodes(model)
        self._makers = {name: node for node in model.graph.node for name in node.output}
        self.layers = tuple(
            Layer(node.name, node.op_type)
            for node in model.graph.node
            if node.op_type not in _MOVES and any(self._is(name, _DEQUANTISE) for name in node.input)
        )
        """In the graph's order."""
        names = {layer.name for layer in self.layers}
        self._ends = {name: node.name for node in model.graph.node if node.name in names for name in node.output}
        self._reads = [(name, node.name) for node in model.graph.node if node.name in names for name in node.input]

    def quantise_only(self, names: Collection[str]) -> onnx.ModelProto:
        """Return the model with only these layers quantised."""
        return _Dequantiser(self._model, self._before, self._constants, self._makers, frozenset(names)).build()

    def leave_out(self, names: Collection[str]) -> onnx.ModelProto:
        """Return the model with all layers quantised but these."""
        return self.quantise_only({layer.name for layer in self.layers}.difference(names))

    def layers_to_leave_out(self, name: str) -> tuple[str, ...]:
        """Return the layers that must be left out so that one of them is not quantised.

        That is the layer alone where its own weights are then what they were. Of any other, all that is rounded lies
        between it and its neighbours, which round it as long as they are quantised: they are left out with it.
        """
        layer = next(node for node in self._model.graph.node if node.name == name)
        if any(self._is_known_weight(tensor) for tensor in layer.input):
            return (name,)
        near = {self._ends.get(self._unrounded(tensor), "") for tensor in layer.input}
        near |= {reader for tensor, reader in self._reads if self._ends.get(self._unrounded(tensor)) == name}
        return (name, *(one.name for one in self.layers if one.name in near and one.name != name))

    def _is_known_weight(self, tensor: str) -> bool:
        """Tell whether a dequantised tensor is a weight with known original values."""
        maker = self._makers.get(tensor)
        return maker is not None and maker.input[0].removesuffix("_quantized") in self._before

    def _unrounded(self, tensor: str) -> str:
        """Return the name of a dequantised tensor before it was rounded; other names unchanged."""
        if not self._is(tensor, _DEQUANTISE) or not self._is(self._makers[tensor].input[0], _QUANTISE):
            return tensor
        return str(self._makers[self._makers[tensor].input[0]].input[0])

    def _is(self, tensor: str, op: str) -> bool:
        return tensor in self._makers and self._makers[tensor].op_type == op


class _Dequantiser:
    """Builds one variant of a graph."""

    def __init__(
        self,
        model: onnx.ModelProto,
        before: Mapping[str, onnx.TensorProto],
        constants: Mapping[str, onnx.TensorProto],
        makers: Mapping[str, onnx.NodeProto],
        chosen: frozenset[str],
    ) -> None:
        self._model, self._before, self._constants, self._makers = model, before, constants, makers
        self._chosen = chosen
        self._tensors: dict[str, onnx.TensorProto] = {}
        self._clips: dict[str, list[onnx.NodeProto]] = {}  # by the QuantizeLinear that they replace

    def build(self) -> onnx.ModelProto:
        results = {value.name for value in self._model.graph.output}
        nodes: list[onnx.NodeProto] = []
        for node in self._model.graph.node:
            if node.output[0] in self._constants:
                continue
            if node.op_type == _QUANTISE and node.input[0] not in self._constants:
                nodes += [node, *self._clip_nodes(node)]
            elif (
                node.op_type == _DEQUANTISE
                and node.output[0] in results
                and not self._is_unchanged(node.output[0], node)
            ):
                nodes.append(
                    helper.make_node("Identity", [self._float_name(node.output[0])], list(node.output), node.name)
                )
            elif node.op_type in {_QUANTISE, _DEQUANTISE}:
                nodes.append(node)
            else:
                nodes.append(self._rewire(node))
        return self._assemble(_needed_nodes(nodes, results))

    def _rewire(self, node: onnx.NodeProto) -> onnx.NodeProto:
        """Return a node with new inputs: rounded ones if it or their maker is quantised, else original ones."""
        inputs = [name if self._is_unchanged(name, node) else self._float_name(name) for name in node.input]
        if inputs == list(node.input):
            return node
        build = onnx.NodeProto()
        build.CopyFrom(node)
        build.ClearField("input")
        build.input.extend(inputs)
        return build

    def _is_unchanged(self, tensor: str, reader: onnx.NodeProto) -> bool:
        """Tell whether a reader gets a tensor unchanged: it was never quantised, or one of its ends is quantised."""
        maker = self._makers.get(tensor)
        if maker is None or maker.op_type != _DEQUANTISE:
            return True
        source = self._makers.get(maker.input[0])
        made_by = self._makers.get(source.input[0]) if source is not None else None
        return reader.name in self._chosen or (made_by is not None and made_by.name in self._chosen)

    def _float_name(self, tensor: str) -> str:
        """Return the name of the float tensor that replaces a dequantised one; other names unchanged."""
        maker = self._makers.get(tensor)
        if maker is None or maker.op_type != _DEQUANTISE:
            return tensor
        source = self._makers.get(maker.input[0])
        if source is not None and source.op_type == _QUANTISE and source.input[0] not in self._constants:
            return str(self._clip_nodes(source)[-1].output[0])
        return self._float_weight(tensor, maker, source)

    def _clip_nodes(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Return the Clip to the 8 bit range that replaces a pair, made once."""
        if node.output[0] not in self._clips:
            name, source = f"{node.name or node.output[0]}_open", self._float_name(node.input[0])
            scale, zero = self._scale_and_zero(node)
            if scale.size != 1:
                build = helper.make_node("Identity", [source], [name], name)
            else:
                kind = np.iinfo(zero.dtype)
                least, most = ((limit - int(zero.item())) * scale.item() for limit in (kind.min, kind.max))
                bounds = [
                    self._kept_tensor(f"{name}_{end}", np.float32(value))
                    for end, value in (("least", least), ("most", most))
                ]
                build = helper.make_node("Clip", [source, *bounds], [name], name)
            self._clips[node.output[0]] = [build]
        return self._clips[node.output[0]]

    def _float_weight(self, tensor: str, maker: onnx.NodeProto, source: onnx.NodeProto | None) -> str:
        """Return a weight in float32: its original values, else the dequantised ones."""
        if source is not None:  # a pair around a constant
            return str(source.input[0])
        name = f"{tensor}_open"
        known = self._before.get(maker.input[0].removesuffix("_quantized"))
        if known is not None:
            self._tensors[name] = numpy_helper.from_array(numpy_helper.to_array(known), name)
            return name
        codes = numpy_helper.to_array(self._constants[maker.input[0]])
        scale, zero = self._scale_and_zero(maker)
        if scale.size > 1:
            axis = next((one.i for one in maker.attribute if one.name == "axis"), 1)
            shape = [-1 if at == axis % codes.ndim else 1 for at in range(codes.ndim)]
            scale, zero = scale.reshape(shape), zero.reshape(shape)
        return self._kept_tensor(name, (codes.astype(np.float32) - zero.astype(np.float32)) * scale)

    def _scale_and_zero(self, node: onnx.NodeProto) -> tuple[NDArray[np.float32], NDArray[np.integer[Any]]]:
        """Return scale and zero point of a node."""
        scale = numpy_helper.to_array(self._constants[node.input[1]])
        named = node.input[2] if len(node.input) > 2 else ""  # noqa: PLR2004  # the third input may be left out
        zero = numpy_helper.to_array(self._constants[named]) if named else np.zeros_like(scale, np.uint8)
        return scale, zero

    def _kept_tensor(self, name: str, value: NDArray[np.float32] | np.float32) -> str:
        self._tensors[name] = numpy_helper.from_array(np.asarray(value, np.float32), name)
        return name

    def _assemble(self, nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
        read = {name for node in nodes for name in node.input}
        build = onnx.ModelProto()
        build.CopyFrom(_empty_copy(self._model))
        build.graph.node.extend(nodes)
        build.graph.initializer.extend(
            tensor for tensor in (*self._constants.values(), *self._tensors.values()) if tensor.name in read
        )
        return build


def _constant_nodes(model: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    """Return the constants of Constant nodes, by output name."""
    found = {}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = onnx.TensorProto()
            found[node.output[0]].CopyFrom(node.attribute[0].t)
            found[node.output[0]].name = node.output[0]
    return found


def _empty_copy(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model without nodes and weights."""
    build = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    build.graph.name = model.graph.name
    build.graph.input.extend(model.graph.input)
    build.graph.output.extend(model.graph.output)
    return build


def _needed_nodes(nodes: list[onnx.NodeProto], results: Collection[str]) -> list[onnx.NodeProto]:
    """Return the nodes whose results are needed."""
    wanted, kept = set(results), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(node.input)
    return kept[::-1]
