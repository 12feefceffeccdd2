"""What a conversion tells while it goes on, and what it found out: values, which no native code is needed to read."""

from __future__ import annotations

import msgspec

from models.encoders.artefact import ArtefactManifest  # msgspec reads it


class LayerCost(msgspec.Struct, frozen=True):
    """One layer.

    Attributes:
        name: Of its node, as `--keep` takes it.
        op: Its kind.
        alone: What quantising nothing else costs: 1 - cosine with the answers of the model without any quantisation.
        regained: How much nearer the quantised model comes to these answers when this layer is left out of it; None:
            it was not among the worst, and not tried.
        near: Layers that were left out with it, as it has no weights of its own that would be spared.
    """

    name: str
    op: str
    alone: float
    regained: float | None = None
    near: tuple[str, ...] = ()


class Scan(msgspec.Struct, frozen=True):
    """All of it.

    Attributes:
        rows: The worst first.
        whole: 1 - cosine where every layer is quantised.
        weights: Whether rounding of weights is counted: of a model that came quantised, it is not known.
        pictures: How many it was measured on.
    """

    rows: tuple[LayerCost, ...]
    whole: float
    weights: bool
    pictures: int

    def choose(self, count: int) -> tuple[str, ...]:
        """Names of so many layers that are worth leaving out, and of those that go with them.

        First those that bring back most, then those that cost most.
        """
        order = sorted(self.rows, key=lambda row: (-max(row.regained or 0.0, 0.0), -row.alone))
        return tuple(dict.fromkeys(name for row in order[:count] for name in (row.name, *row.near)))


class ConversionProgress(msgspec.Struct, frozen=True):
    """How far a conversion is, or what came of it.

    Attributes:
        what: The pass that is under way; empty: it is over.
        done: Of `all` steps within it.
        all: 0: that is not known.
        scan: What quantising each layer costs, once that was measured.
        manifest: Of what was made, at the end; None where nothing was to be made.
    """

    what: str = ""
    done: int = 0
    all: int = 0
    scan: Scan | None = None
    manifest: ArtefactManifest | None = None
