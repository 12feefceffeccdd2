"""Small graphs of one operation or a few, spelt as exporters spell them."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = [4, 8]
OUTER = ("(x*e)*h", "(x*h)*e", "x*(e*h)", "x*(h*erf+h)", "(x/2)*e")
INNER = ("x/root", "x*inverse")


def numbers(**values):
    """What a graph reads, by name: tensors of one number each, or of many."""
    return [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in values.items()]


def graph(nodes, weights=(), opset=17, inputs=("x",), output="y", **domains):
    """A model of nodes (operation, inputs, output)."""
    made = helper.make_graph(
        [helper.make_node(op, list(read), [name], name=name, **more) for op, read, name, more in map(_node, nodes)],
        "made",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, SHAPE)],
        weights,
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, at) for name, at in domains.items())]
    model = helper.make_model(made, opset_imports=imports)
    model.ir_version = 9
    return model


def _node(node):
    return node if len(node) == 4 else (*node, {})


def gelu(outer, inner, shape=(), *, swapped=False, inside=False, scale=2**0.5):
    """GELU by way of Erf in one of its spellings.

    Args:
        outer: How the product is bracketed.
        inner: What Erf is taken of.
        shape: Of its constants.
        swapped: Factors and terms stand the other way round.
        inside: Constants are nodes, not initializers.
        scale: What x is divided by; another is no GELU.
    """
    nodes, weights = [], []

    def number(name, value):
        tensor = numpy_helper.from_array(np.full(shape, value, np.float32), name)
        if inside:
            nodes.append(("Constant", (), name, {"value": tensor}))
        else:
            weights.append(tensor)
        return name

    def add(op, *read, out=None):
        name = out or f"t{len(nodes)}"
        nodes.append((op, read[::-1] if swapped and op in {"Add", "Mul"} else read, name))
        return name

    taken = add("Div", "x", number("r", scale)) if inner == "x/root" else add("Mul", "x", number("r", 1 / scale))
    erf = add("Erf", taken, out="erf")
    if outer == "x*(h*erf+h)":
        add("Mul", "x", add("Add", add("Mul", erf, number("h", 0.5)), number("h2", 0.5)), out="y")
        return graph(nodes, weights)
    e = add("Add", erf, number("o", 1.0))
    if outer == "(x*e)*h":
        add("Mul", add("Mul", "x", e), number("h", 0.5), out="y")
    elif outer == "(x*h)*e":
        add("Mul", add("Mul", "x", number("h", 0.5)), e, out="y")
    elif outer == "x*(e*h)":
        add("Mul", "x", add("Mul", e, number("h", 0.5)), out="y")
    else:
        add("Mul", add("Div", "x", number("h", 2.0)), e, out="y")
    return graph(nodes, weights)


SPELLINGS = list(itertools.product(OUTER, INNER, ((), (1,), (1, 1))))


def kinds(model):
    """The operations of a model, in their order."""
    return [node.op_type for node in model.graph.node]


def saved(model, path):
    """Write a model and return where it is."""
    onnx.save(model, path)
    return path
