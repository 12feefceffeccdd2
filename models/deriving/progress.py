"""Progress and results of a conversion, as values that need no native code."""

from __future__ import annotations

import msgspec

from models.encoders.artefact import ArtefactManifest  # msgspec reads it


class LayerCost(msgspec.Struct, frozen=True):
    """The cost of quantising one layer.

    Attributes:
        name: Name of its node, for `--keep`.
        op: Kind of its operation.
        alone: Cost of quantising only this layer: 1 - cosine with the answers of the model without quantisation.
        regained: How much the cost of the quantised model falls if this layer is left out; None if not tried, as it is
            not among the worst.
        near: Layers that must be left out with it, as it has no weights of its own.
    """

    name: str
    op: str
    alone: float
    regained: float | None = None
    near: tuple[str, ...] = ()


class Scan(msgspec.Struct, frozen=True):
    """The costs of all layers.

    Attributes:
        rows: The layers, the worst first.
        whole: 1 - cosine with every layer quantised.
        weights: Whether rounding of weights is counted; it is unknown for a model that was quantised before.
        pictures: Number of pictures that it was measured on.
    """

    rows: tuple[LayerCost, ...]
    whole: float
    weights: bool
    pictures: int

    def choose(self, count: int) -> tuple[str, ...]:
        """Return the names of `count` layers to leave out, and of those that must go with them.

        First the layers that regain most, then those that cost most.
        """
        order = sorted(self.rows, key=lambda row: (-max(row.regained or 0.0, 0.0), -row.alone))
        return tuple(dict.fromkeys(name for row in order[:count] for name in (row.name, *row.near)))


class ConversionProgress(msgspec.Struct, frozen=True):
    """Progress or result of a conversion.

    Attributes:
        what: The running pass; empty at the end.
        done: Number of finished steps of the pass.
        all: Number of all its steps; 0: unknown.
        scan: The costs of layers, after they were measured.
        manifest: The manifest of the artefact, at the end; None if none was made.
    """

    what: str = ""
    done: int = 0
    all: int = 0
    scan: Scan | None = None
    manifest: ArtefactManifest | None = None
