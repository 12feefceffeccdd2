"""The passes themselves: each reads one ONNX file, writes another, and says how many places it changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize,
    quantize_static,
    shape_inference,
)
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config, qnn_preprocess_model
from onnxscript import ir

from models.deriving import gelu
from models.deriving.qdq import QuantisedGraph, is_quantised
from models.encoders import backends, onnxfile
from models.encoders.bound import FAULTS, make_options
from models.encoders.plugin_ep import load_provider, open_plugin_session
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ERRORS = 3
_LEAST_FUSED, _MOST_RKNN = 17, 19  # versions of ONNX's operators
_RKNN_IR = 9  # of the file format, that goes with them
_LOWEST = float(np.finfo(np.float32).min)
_BOTH = 2  # inputs of a Min


class PassTools(NamedTuple):
    """What passes need besides the model.

    Attributes:
        pictures: Makes a reader of pictures that ranges are measured on.
        keep: Layers that are not quantised.
        soc: The chip.
    """

    pictures: Callable[[], CalibrationDataReader]
    keep: tuple[str, ...]
    soc: str


class PassChange(NamedTuple):
    """The result of a pass: number of changed places in the graph, and a remark."""

    matched: int
    note: str = ""


def prepare(source: Path, into: Path, _: PassTools) -> PassChange:
    """Compute constants, merge batch normalisation into convolutions, and infer the shape of every tensor.

    Layer normalisation that is spelt out becomes one operation here, if there is one in the version of operators; so
    that version is raised first.
    """
    model = onnx.load(source)
    if is_quantised(model):
        onnx.save(model, into)
        return PassChange(0, "quantised before: nothing is changed")
    if _opset_version(model) < _LEAST_FUSED:
        newer = into.with_suffix(".newer.onnx")
        onnx.save(onnx.version_converter.convert_version(model, _LEAST_FUSED), newer)
        source = newer
    shape_inference.quant_pre_process(str(source), str(into), skip_symbolic_shape=True)
    made = onnx.load(into)
    fused = _count_operations(made) - _count_operations(model)
    return PassChange(
        max(0, len(model.graph.node) - len(made.graph.node)), ", ".join(f"{op} x{n}" for op, n in sorted(fused.items()))
    )


def fuse(source: Path, into: Path, _: PassTools) -> PassChange:
    """Replace GELU and layer normalisation by one operation each."""
    model = onnx.load(source)
    if is_quantised(model):
        onnx.save(model, into)
        return PassChange(0, "quantised before: nothing can be fused in it")
    before = _count_operations(model)
    del model.metadata_props[:]  # on which the next one falls over
    onnx.save(model, into)
    qnn_preprocess_model(str(into), str(into), fuse_layernorm=True)  # writes what it changed
    left = ir.load(into)
    if gelu.to_operation(left):  # spellings that it does not know
        _save(left, into)
    after = _count_operations(onnx.load(into))
    fused = before["Erf"] - after["Erf"]
    fused += max(0, after["LayerNormalization"] - before["LayerNormalization"])
    return PassChange(fused)


def gelu_sigmoid(source: Path, into: Path, _: PassTools) -> PassChange:
    """Write GELU in a form that every accelerator runs."""
    return _rewrite(source, into, gelu.to_sigmoid)


def gelu_erf(source: Path, into: Path, _: PassTools) -> PassChange:
    """Replace the operation Gelu by an expression that RKNN fuses."""
    return _rewrite(source, into, gelu.to_erf)


def min_clip(source: Path, into: Path, _: PassTools) -> PassChange:
    """Replace Min with a number by Clip, Min of two tensors by a - Relu(a - b)."""
    model = onnx.load(source)
    numbers = {tensor.name: tensor for tensor in model.graph.initializer if _is_single(tensor)}
    nodes: list[onnx.NodeProto] = []
    matched = 0
    for node in model.graph.node:
        if node.op_type != "Min" or len(node.input) != _BOTH:
            nodes.append(node)
            continue
        matched += 1
        name, out = f"{node.name or node.output[0]}_clip", node.output[0]
        limit = next((one for one in node.input if one in numbers), None)
        if limit is None:
            first, second = node.input
            nodes += [
                helper.make_node("Sub", [first, second], [f"{name}_d"], f"{name}_d"),
                helper.make_node("Relu", [f"{name}_d"], [f"{name}_r"], f"{name}_r"),
                helper.make_node("Sub", [first, f"{name}_r"], [out], name),
            ]
            continue
        value = numpy_helper.to_array(numbers[limit]).reshape(())
        model.graph.initializer.extend(
            [
                numpy_helper.from_array(value, f"{name}_most"),
                numpy_helper.from_array(np.array(np.finfo(value.dtype).min, value.dtype), f"{name}_least"),
            ]
        )
        other = next(one for one in node.input if one != limit)
        nodes.append(helper.make_node("Clip", [other, f"{name}_least", f"{name}_most"], [out], name))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, into)
    return PassChange(matched)


def opset_19(source: Path, into: Path, _: PassTools) -> PassChange:
    """Convert operators to version 19. Raises ModelError if one has no older form."""
    model = onnx.load(source)
    was = _opset_version(model)
    if was > _MOST_RKNN:
        try:
            model = onnx.version_converter.convert_version(model, _MOST_RKNN)
        except (RuntimeError, onnx.version_converter.ConvertError) as error:
            raise ModelError(f"{source.name}: cannot be written with operators of version 19: {error}") from error
    model.ir_version = min(model.ir_version, _RKNN_IR)
    onnx.save(model, into)
    return PassChange(int(was > _MOST_RKNN), f"operators of version {_opset_version(model)}, were {was}")


def lift(source: Path, into: Path, _: PassTools) -> PassChange:
    """Turn constants into initializers."""
    model = ir.load(source)
    before = sum(node.op_type == "Constant" for node in model.graph)
    ir.passes.common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    ir.passes.common.RemoveUnusedNodesPass()(model)
    _save(model, into)
    return PassChange(before - sum(node.op_type == "Constant" for node in model.graph))


def quantise_qnn(source: Path, into: Path, tools: PassTools) -> PassChange:
    """Quantise to 8 bit for QNN."""

    def done() -> None:
        kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8}
        made = get_qnn_qdq_config(str(source), tools.pictures(), nodes_to_exclude=list(tools.keep) or None, **kinds)
        quantize(str(source), str(into), made)

    return _quantise(source, into, tools, done)


def quantise(source: Path, into: Path, tools: PassTools) -> PassChange:
    """Quantise to 8 bit, with weights by channel."""

    def done() -> None:
        kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": True}
        how = {"quant_format": QuantFormat.QDQ, "nodes_to_exclude": list(tools.keep)}
        quantize_static(str(source), str(into), tools.pictures(), **how, **kinds)

    return _quantise(source, into, tools, done)


def compile_qnn(source: Path, into: Path, tools: PassTools) -> PassChange:
    """Compile a context binary for one chip, in an ONNX file. Raises ModelError if the provider refuses the model."""
    row = backends.BACKENDS["qnn"]
    chosen = load_provider(row.module)
    if chosen.best is None:
        raise ModelError(f"{chosen.name} offers no device on this machine, so nothing can be compiled for it here")
    made = make_options()
    made.log_severity_level = _ERRORS
    made.add_provider_for_devices([chosen.best.handle], {**row.options, "soc_model": tools.soc})
    try:
        ort.ModelCompiler(made, str(source), embed_compiled_data_into_model=True).compile_to_file(str(into))
    except FAULTS as error:
        raise ModelError(f"{chosen.name} cannot compile the model for soc_model {tools.soc}: {error}") from error
    if not into.exists():
        raise ModelError(f"{chosen.name} compiled nothing of the model for soc_model {tools.soc}")
    return PassChange(
        sum(node.op == "EPContext" for node in onnxfile.read(into).operations), f"for soc_model {tools.soc}"
    )


PASSES: dict[str, Callable[[Path, Path, PassTools], PassChange]] = {
    made.__name__: made
    for made in (
        prepare,
        fuse,
        gelu_sigmoid,
        gelu_erf,
        min_clip,
        opset_19,
        lift,
        quantise_qnn,
        quantise,
        compile_qnn,
    )
}
"""The passes by their names in the table."""


def _quantise(source: Path, into: Path, tools: PassTools, done: Callable[[], None]) -> PassChange:
    """Quantise; of a model that is quantised already, only leave out the layers to keep."""
    model = onnx.load(source)
    _check_names(model, tools.keep)
    if is_quantised(model):
        opened = QuantisedGraph(model, {})
        onnx.save(opened.leave_out(tools.keep) if tools.keep else model, into)
        return PassChange(
            len(tools.keep), f"quantised before, {len(opened.layers) - len(tools.keep)} layers as they were"
        )
    done()
    return PassChange(len(QuantisedGraph(onnx.load(into), {}).layers))


def _check_names(model: onnx.ModelProto, names: tuple[str, ...]) -> None:
    known = {node.name for node in model.graph.node}
    if missing := [name for name in names if name not in known]:
        raise ModelError(f"no layer {', '.join(missing)}: `--scan` lists the layers as they are called then")


def _rewrite(source: Path, into: Path, how: Callable[[ir.Model], int]) -> PassChange:
    model = onnx.load(source)
    inferred = ir.from_proto(onnx.shape_inference.infer_shapes(model))  # constants take the type of what they meet
    matched = how(inferred)
    ir.passes.common.RemoveUnusedNodesPass()(inferred)
    _save(inferred, into)
    return PassChange(matched)


def _save(model: ir.Model, into: Path) -> None:
    proto = ir.to_proto(model)
    known = {one.domain for one in proto.opset_import}
    if gelu.MICROSOFT not in known:
        proto.opset_import.append(helper.make_opsetid(gelu.MICROSOFT, 1))
    onnx.save(proto, into)


def _count_operations(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def _opset_version(model: onnx.ModelProto) -> int:
    return next((int(one.version) for one in model.opset_import if one.domain in {"", "ai.onnx"}), 1)


def _is_single(tensor: onnx.TensorProto) -> bool:
    return int(np.prod(tensor.dims)) == 1 and tensor.data_type in {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16}


def open_on_qnn(model: Path, soc: str) -> Any:
    """Open a session of a compiled model, on the device or its emulator. Raises ModelError if it fails."""
    row = backends.BACKENDS["qnn"]
    return open_plugin_session(load_provider(row.module), model, {**row.options, "soc_model": soc})
