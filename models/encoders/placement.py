"""Which provider runs which node of a graph, and what follows from it: values and decisions, no runtime."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Extent = Literal["full", "partial", "none", "untold", "cpu_baseline"]
"""How much of a graph the requested provider took. Of `untold` its runtime keeps no record; the baseline takes all."""

CPU = "CPUExecutionProvider"
"""What onnxruntime calls the processor; whatever an accelerator does not take ends here."""

CASTS = frozenset({"QuantizeLinear", "DequantizeLinear"})
"""Operations that only change how numbers are written."""


class Node(NamedTuple):
    """One operation of a graph: its name, which may be empty, and its kind."""

    name: str
    op: str


class Part(NamedTuple):
    """Nodes that one provider was given together; a compiling provider makes one kernel of them."""

    provider: str
    nodes: tuple[Node, ...]


class Placement(NamedTuple):
    """Which provider runs which part of a graph, as the runtime itself recorded it.

    Attributes:
        requested: The provider that was asked for, by its own name.
        parts: What each provider was given.
        rim: Names of nodes at the graph's rim: those that read its inputs or make its outputs.
        recorded: Whether the runtime records placements at all.
    """

    requested: str
    parts: tuple[Part, ...] = ()
    rim: frozenset[str] = frozenset()
    recorded: bool = True

    @property
    def nodes(self) -> dict[str, int]:
        """Count of nodes for each provider that took any."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts[part.provider] += len(part.nodes)
        return dict(counts)

    @property
    def partitions(self) -> int:
        """Into how many pieces the requested provider's share is cut."""
        return sum(part.provider == self.requested for part in self.parts)

    @property
    def elsewhere(self) -> tuple[Node, ...]:
        """Nodes that the requested provider did not take, in the runtime's order."""
        return tuple(node for part in self.parts if part.provider != self.requested for node in part.nodes)

    @property
    def casts(self) -> tuple[Node, ...]:
        """Of these, quantisation of the graph's inputs and dequantisation of its outputs: expected there."""
        return tuple(node for node in self.elsewhere if self._is_cast(node))

    @property
    def left(self) -> tuple[Node, ...]:
        """Of these, the others: work that was meant for the accelerator."""
        return tuple(node for node in self.elsewhere if not self._is_cast(node))

    @property
    def verdict(self) -> Extent:
        """The judgement that follows."""
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
    """Nodes in words: `Erf x2, LayerNormalization x4`, in the order of the alphabet."""
    counts = Counter(node.op for node in nodes)
    return ", ".join(f"{op} x{count}" for op, count in sorted(counts.items()))
