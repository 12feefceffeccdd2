"""Measure the cost of quantising each layer: every layer alone, and the worst ones left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import onnx

from models.deriving.progress import LayerCost, Scan
from models.deriving.qdq import QuantisedGraph, is_quantised
from models.encoders import gate
from models.encoders.bound import BoundEncoder
from models.encoders.cpu import open_cpu_session
from models.encoders.placement import CPU

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

FREED = 12
"""Number of worst layers that are also left out of the quantised model, one trial each."""


def scan(
    quantised: Path,
    source: Path,
    pictures: Sequence[NDArray],  # type: ignore[type-arg]  # float32, as the model reads them
    report: Callable[[int, int], None],
) -> Scan:
    """Measure the cost of every layer.

    Every node is computed as the graph says: optimisers fuse around a quantised layer otherwise than around others.

    Args:
        quantised: The model with pairs of QuantizeLinear and DequantizeLinear.
        source: The model before it; if that was quantised too, the original weights are unknown.
        pictures: Inputs of the model.
        report: Called with the number of finished trials and of all trials.
    """
    before = onnx.load(source)
    known = not is_quantised(before)
    weights = {tensor.name: tensor for tensor in before.graph.initializer} if known else {}
    opened = QuantisedGraph(onnx.load(quantised), weights)
    trials = len(opened.layers) + min(FREED, len(opened.layers))
    truth = _collect_answers(opened.quantise_only(()), pictures)

    def cost(model: onnx.ModelProto) -> float:
        return 1 - gate.min_cosine(_collect_answers(model, pictures), truth)

    whole = cost(opened.leave_out(()))
    rows = []
    for done, layer in enumerate(opened.layers):
        report(done, trials)
        rows.append(LayerCost(layer.name, layer.op, cost(opened.quantise_only({layer.name}))))
    rows.sort(key=lambda row: -row.alone)
    for at, row in enumerate(rows[:FREED]):
        report(len(rows) + at, trials)
        near = opened.layers_to_leave_out(row.name)
        rows[at] = msgspec.structs.replace(row, regained=whole - cost(opened.leave_out(near)), near=near[1:])
    report(trials, trials)
    return Scan(tuple(rows), whole, known, len(pictures))


def _collect_answers(model: onnx.ModelProto, pictures: Sequence[NDArray]) -> list[NDArray]:  # type: ignore[type-arg]  # as above
    return gate.collect_answers(
        BoundEncoder(open_cpu_session(model.SerializeToString(), optimised=False), CPU), pictures
    )
