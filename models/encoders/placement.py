"""Which provider runs which node of a graph, and the verdict about it; pure values, no runtime."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Extent = Literal["full", "partial", "none", "untold", "cpu_baseline"]
"""How much of a graph the requested provider took. `untold`: its runtime keeps no record; the baseline takes all."""

CPU = "CPUExecutionProvider"
"""onnxruntime's name of the processor, which runs what an accelerator does not take."""

CASTS = frozenset({"QuantizeLinear", "DequantizeLinear"})
"""Operations that only change the number format."""


class Node(NamedTuple):
    """One operation of a graph: its name, which may be empty, and its kind."""

    name: str
    op: str


class Part(NamedTuple):
    """Nodes that one provider runs together; a compiling provider makes one kernel of them."""

    provider: str
    nodes: tuple[Node, ...]


class Placement(NamedTuple):
    """Which provider runs which part of a graph, as recorded by the runtime.

    Attributes:
        requested: Name of the requested provider.
        parts: The parts of all providers.
        rim: Names of the nodes that read the graph's inputs or make its outputs.
        recorded: Whether the runtime records placements at all.
    """

    requested: str
    parts: tuple[Part, ...] = ()
    rim: frozenset[str] = frozenset()
    recorded: bool = True

    @property
    def nodes(self) -> dict[str, int]:
        """Number of nodes of each provider."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts[part.provider] += len(part.nodes)
        return dict(counts)

    @property
    def partitions(self) -> int:
        """Number of parts of the requested provider."""
        return sum(part.provider == self.requested for part in self.parts)

    @property
    def elsewhere(self) -> tuple[Node, ...]:
        """Nodes that the requested provider did not take, in the runtime's order."""
        return tuple(node for part in self.parts if part.provider != self.requested for node in part.nodes)

    @property
    def casts(self) -> tuple[Node, ...]:
        """Those of `elsewhere` that quantise the graph's inputs or dequantise its outputs, which is expected."""
        return tuple(node for node in self.elsewhere if self._is_cast(node))

    @property
    def left(self) -> tuple[Node, ...]:
        """Those of `elsewhere` that were meant for the accelerator."""
        return tuple(node for node in self.elsewhere if not self._is_cast(node))

    @property
    def verdict(self) -> Extent:
        """How much of the graph the requested provider took."""
        if not self.recorded:
            return "untold"
        if self.requested == CPU:
            return "cpu_baseline"
        if not self.partitions:
            return "none"
        return "partial" if self.left else "full"

    def _is_cast(self, node: Node) -> bool:
        return node.op in CASTS and node.name in self.rim


def count_kinds(nodes: Iterable[Node]) -> str:
    """Return the kinds of nodes with their numbers, sorted: `Erf x2, LayerNormalization x4`."""
    counts = Counter(node.op for node in nodes)
    return ", ".join(f"{op} x{count}" for op, count in sorted(counts.items()))
