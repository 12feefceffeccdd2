"""Small models that accelerators take whole, in part, or not at all, made from a seed; and whether one is here."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize,
    quantize_static,
    shape_inference,
)
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config, qnn_preprocess_model

from models.encoders import backends
from models.encoders.gate import make_probes
from models.encoders.plugin_ep import load_provider
from pipeline.core.errors import ModelError

EMULATED = {"soc_model": "43"}  # SM8550, which the emulator of x86-64 knows
SIDE, PATCH, WIDTH, HEADS, BLOCKS, CLASSES = 64, 8, 48, 2, 2, 32


def needs(name):
    """Skip, with the reason printed, where a back end cannot be used."""
    row = backends.BACKENDS[name]
    try:
        offered = load_provider(row.module)
    except ModelError as error:
        pytest.skip(f"{name}: {error}")
    if not offered.devices:
        pytest.skip(f"{name}: {offered.name} offers no device on this machine")


class _Builder:
    """Collects nodes and weights of a graph."""

    def __init__(self):
        self.random = np.random.default_rng(7)
        self.nodes, self.weights = [], []

    def weight(self, name, *shape, scale=None, value=None):
        made = value if value is not None else self.random.normal(0, scale or shape[0] ** -0.5, shape)
        self.weights.append(numpy_helper.from_array(np.asarray(made, np.float32), name))
        return name

    def numbers(self, name, *values):
        self.weights.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def add(self, op, name, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, name, x, a, b):
        product = self.add("MatMul", f"{name}_mm", x, self.weight(f"{name}_w", a, b))
        return self.add("Add", name, product, self.weight(f"{name}_b", b, scale=0.02))

    def norm(self, name, x):
        gain = self.weight(f"{name}_g", value=1 + self.random.normal(0, 0.1, WIDTH))
        return self.add("LayerNormalization", name, x, gain, self.weight(f"{name}_b", WIDTH, scale=0.1), axis=-1)

    def gelu(self, name, x):
        root, one, half = (
            self.weight(f"{name}_{key}", value=value) for key, value in (("r", 2**0.5), ("o", 1.0), ("h", 0.5))
        )
        erf = self.add("Erf", f"{name}_erf", self.add("Div", f"{name}_div", x, root))
        product = self.add("Mul", f"{name}_mul", x, self.add("Add", f"{name}_add", erf, one))
        return self.add("Mul", name, product, half)

    def model(self, output, width, batch=1):
        picture = helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 3, SIDE, SIDE])
        vector = helper.make_tensor_value_info(output, TensorProto.FLOAT, [batch, width])
        graph = helper.make_graph(self.nodes, "made", [picture], [vector], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        onnx.checker.check_model(made)
        return made


def vit():
    """A vision transformer: patches of 8, two blocks, GELU by way of Erf."""
    g, count = _Builder(), (SIDE // PATCH) ** 2
    kernel = g.weight("patch_w", WIDTH, 3, PATCH, PATCH, scale=(3 * PATCH * PATCH) ** -0.5)
    x = g.add("Conv", "patch", "image", kernel, strides=[PATCH, PATCH], kernel_shape=[PATCH, PATCH])
    x = g.add("Reshape", "flat", x, g.numbers("flat_s", 1, WIDTH, count))
    x = g.add("Transpose", "tokens", x, perm=[0, 2, 1])
    x = g.add("Add", "placed", x, g.weight("position", 1, count, WIDTH, scale=0.1))
    for index in range(BLOCKS):
        x = _block(g, f"b{index}", x, count)
    pooled = g.add("ReduceMean", "pooled", g.norm("last", x), axes=[1], keepdims=0)
    g.linear("features", pooled, WIDTH, CLASSES)
    return g.model("features", CLASSES)


def _block(g, name, x, count):
    depth = WIDTH // HEADS
    split, joined = g.numbers(f"{name}_s", 1, count, HEADS, depth), g.numbers(f"{name}_j", 1, count, WIDTH)
    y = g.norm(f"{name}_n1", x)
    q, k, v = (
        g.add(
            "Transpose",
            f"{name}_{key}t",
            g.add("Reshape", f"{name}_{key}r", g.linear(f"{name}_{key}", y, WIDTH, WIDTH), split),
            perm=[0, 2, 3, 1] if key == "k" else [0, 2, 1, 3],
        )
        for key in "qkv"
    )
    scores = g.add("MatMul", f"{name}_qk", q, k)
    scaled = g.add("Mul", f"{name}_scaled", scores, g.weight(f"{name}_scale", value=depth**-0.5))
    mixed = g.add("MatMul", f"{name}_mix", g.add("Softmax", f"{name}_soft", scaled, axis=-1), v)
    back = g.add("Reshape", f"{name}_o", g.add("Transpose", f"{name}_ot", mixed, perm=[0, 2, 1, 3]), joined)
    x = g.add("Add", f"{name}_x1", x, g.linear(f"{name}_out", back, WIDTH, WIDTH))
    inner = g.gelu(f"{name}_gelu", g.linear(f"{name}_fc1", g.norm(f"{name}_n2", x), WIDTH, 4 * WIDTH))
    return g.add("Add", f"{name}_x2", x, g.linear(f"{name}_fc2", inner, 4 * WIDTH, WIDTH))


def cnn(batch=1):
    """Two convolutions and a layer; the batch may be a name, which makes it dynamic."""
    g = _Builder()
    x = g.add("Conv", "c1", "image", g.weight("c1_w", 16, 3, 3, 3, scale=0.2), strides=[2, 2], pads=[1, 1, 1, 1])
    x = g.add("Relu", "r1", x)
    x = g.add("Conv", "c2", x, g.weight("c2_w", 24, 16, 3, 3, scale=0.1), strides=[2, 2], pads=[1, 1, 1, 1])
    x = g.add("Flatten", "flat", g.add("GlobalAveragePool", "pooled", g.add("Relu", "r2", x)))
    g.add("Gemm", "features", x, g.weight("fc_w", 24, CLASSES), g.weight("fc_b", CLASSES, scale=0.1))
    return g.model("features", CLASSES, batch)


class _Pictures(CalibrationDataReader):
    def __init__(self):
        self._left = iter(make_probes((1, 3, SIDE, SIDE), 8))

    def get_next(self):
        picture = next(self._left, None)
        return None if picture is None else {"image": picture}


def by_default(made, folder):
    """Quantised as onnxruntime does it unless told otherwise."""
    source, ready, out = saved(made, folder, "source.onnx"), folder / "ready.onnx", folder / "model.onnx"
    shape_inference.quant_pre_process(str(source), str(ready))
    kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    quantize_static(str(ready), str(out), _Pictures(), quant_format=QuantFormat.QDQ, **kinds)
    return out


def for_qnn(made, folder):
    """Quantised as QNN wants it: GELU and normalisation fused before."""
    source, fused, out = saved(made, folder, "source.onnx"), folder / "fused.onnx", folder / "model.onnx"
    ready = fused if qnn_preprocess_model(str(source), str(fused), fuse_layernorm=True) else source
    kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8}
    quantize(str(ready), str(out), get_qnn_qdq_config(str(ready), _Pictures(), **kinds))
    return out


def saved(made, folder, name="model.onnx"):
    """As it is, in float32."""
    path = folder / name
    onnx.save(made, path)
    return path
