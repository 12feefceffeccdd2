"""Trials of a language model: one converted folder, of which a few matrices at a time are stored in another way.

A graph says of each matrix where in the weight file it begins, so nothing has to be moved: the matrices of a trial are
written behind the converted file's end, the graph is pointed at them, and the next trial cuts them off again. So a
trial costs what it changes, and not a conversion.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from models.llm import convert, layout, weights
from models.llm.graph import MnnGraph
from pipeline.core.errors import ConfigError, ModelError
from tests import boot
from tests.reference import Reference, divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from models.llm.recipes import Recipe

WINDOW, UNCOUNTED = 128, 16
"""Positions that are computed together from an empty context, as many as an incident's facts and notes take; and how
many at their beginning are not counted. One of the first is where all attention goes that has no other place; its huge
activations are rounded this way or that, and its KL of 4 would hide the .002 of all others. In use, the first positions
are a prompt's."""
_ROWS_AT_ONCE = 32
"""Of logits whose likelihoods are computed in float64: 300 MB for 150,000 tokens."""


class Closeness(NamedTuple):
    """How far a model is from another.

    Attributes:
        kl: KL divergence of the next token's distribution from the other's, mean over positions, in nats.
        same: Share of positions at which both name the same next token.
    """

    kl: float
    same: float


class Change(NamedTuple):
    """What a trial changed.

    Attributes:
        matrices: How many are stored in another way.
        saved: Bytes by which the weight file would be smaller; negative where it would be larger.
    """

    matrices: int
    saved: int


class Trials:
    """A model converted with one recipe, on which others are tried.

    Args:
        source: The GGUF file.
        recipe: What the trials are compared with.
        scratch: An empty folder, for twice the converted model.

    Attributes:
        base: The converted folder.
        trial: The folder that `write` changes.
        size: Bytes of all files of `base` but its manifest.
        matrices: Names of the graph's matrices, in its order.

    Raises:
        ModelError: The file cannot be converted, or there is no room.
    """

    def __init__(self, source: Path, recipe: Recipe, scratch: Path) -> None:
        self.base, self.trial = scratch / "base", scratch / "trial"
        self._recipe = recipe
        self._ready = convert.plan(convert.ModelJob(source, recipe, "base"))
        self.size = convert.run(self._ready, self.base).size
        planned = self._ready.planned
        self._graph = planned.graph.data
        self._parts = {part.op.name: part for part in planned.parts if isinstance(part, weights.Linear)}
        self.matrices = tuple(self._parts)
        shutil.copytree(self.base, self.trial)

    def write(self, recipe: Recipe) -> Change:
        """Make `trial` what a conversion with a recipe gives, but for the order within the weight file.

        Raises:
            ModelError: Weights do not fit the type of their scales.
            ConfigError: The recipe stores scales in another way than the base.
        """
        if recipe.scales != self._recipe.scales:
            raise ConfigError(f"a trial's scales are {self._recipe.scales}, as its base's, and not {recipe.scales}")
        model, end = self._ready.model, self._ready.planned.size
        shape = layout.read_shape(model)
        planned = weights.plan(model, layout.load_graph(layout.graph_name(shape, model.path)), shape, recipe, None)
        graph = MnnGraph(self._graph, "the trial's graph")
        config = json.loads((self.base / "llm_config.json").read_text(encoding="utf-8"))
        changed = [part for part in planned.parts if isinstance(part, weights.Linear) and self._differs(part)]
        with (self.trial / "llm.mnn.weight").open("r+b") as file:
            place = file.truncate(end)
            file.seek(place)
            for part in changed:
                matrix = part.matrix(place, planned.scale_type)
                graph.set_matrix(part.op, matrix)
                if part.op.name == layout.LM_HEAD and planned.tied:
                    config["tie_embeddings"] = weights.embedding_location(part, matrix)
                place = weights.write_matrix(part, planned, file, place=place)
        (self.trial / "llm.mnn").write_bytes(graph.data)
        (self.trial / "llm_config.json").write_text(json.dumps(config), encoding="utf-8")
        return Change(len(changed), end - planned.size)

    def convert(self, recipe: Recipe, target: Path) -> int:
        """Convert with a recipe from the start. Returns the bytes of all files but the manifest."""
        job = self._ready.job._replace(recipe=msgspec.structs.replace(recipe, what=""), recipe_name="chosen")
        return convert.run(convert.plan(job), target).size

    def _differs(self, part: weights.Linear) -> bool:
        old = self._parts[part.op.name]
        return (part.form, part.kept) != (old.form, old.kept)


class Yardstick:
    """Measures how close a folder's model is to the reference.

    Args:
        source: The GGUF file.
        base: The folder converted from it that is the reference, unless `exact`.
        windows: Token numbers, a list a window.
        exact: The reference is the file's own weights in float32 and no engine; else it is the base in the engine.
        scratch: A folder for logits, float32, (positions, tokens).

    Raises:
        ModelError: The engine failed.
    """

    def __init__(self, source: Path, base: Path, windows: list[list[int]], scratch: Path, *, exact: bool) -> None:
        self._windows = windows
        self._wanted, self._got = scratch / "wanted.npy", scratch / "got.npy"
        if exact:
            reference = Reference(source)  # type: ignore[no-untyped-call]  # tests are not typed
            logits = [reference.logits(window) for window in windows]  # type: ignore[no-untyped-call]
            np.save(self._wanted, np.concatenate(logits))
        else:
            ask(base, windows=windows, logits=str(self._wanted))

    def __call__(self, folder: Path) -> Closeness:
        """Measure a folder. Raises ModelError: the engine failed."""
        ask(folder, windows=self._windows, logits=str(self._got))
        counted = [place >= UNCOUNTED for window in self._windows for place in range(len(window))]
        return closeness(*(np.load(path, mmap_mode="r")[counted] for path in (self._wanted, self._got)))


def closeness(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> Closeness:
    """Compare logits, (positions, tokens) each; slice by slice, as float64 takes room."""
    kl, same = 0.0, 0.0
    for at in range(0, len(wanted), _ROWS_AT_ONCE):
        one, other = wanted[at : at + _ROWS_AT_ONCE], got[at : at + _ROWS_AT_ONCE]
        divergences, share = divergence(one, other)  # type: ignore[no-untyped-call]  # tests are not typed
        kl += float(divergences.sum())
        same += share * len(one)
    return Closeness(kl / len(wanted), same / len(wanted))


def windows_of(base: Path, text: str, positions: int) -> list[list[int]]:
    """Cut a text's tokens into windows that lie evenly over it.

    Args:
        base: A converted folder, for its tokenizer.
        text: What the model shall read.
        positions: Tokens that are counted, in all windows together.

    Raises:
        ConfigError: The text has too few tokens.
        ModelError: The engine failed.
    """
    numbers: list[int] = ask(base, texts=[text])["ids"][0]
    whole, rest = divmod(positions, WINDOW - UNCOUNTED)
    sizes = [WINDOW] * whole + ([UNCOUNTED + rest] if rest else [])
    if len(numbers) < sum(sizes):
        raise ConfigError(
            f"the prompts have {len(numbers)} tokens, --positions {positions} needs {sum(sizes)}: add lines or lower it"
        )
    starts = np.linspace(0, len(numbers) - sizes[-1], len(sizes)).astype(int)
    return [numbers[start : start + size] for start, size in zip(starts, sizes, strict=True)]


def ask(folder: Path, run: Callable[..., dict[str, Any]] = boot.ask, **asked: object) -> dict[str, Any]:
    """Let a child load a folder in the engine and answer.

    Raises:
        ModelError: It cannot load it, crashed, or took too long.
    """
    try:
        found = run(folder, **asked)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"the engine failed on {folder}: {error}; try fewer positions, or another model") from error
    if not found["loaded"]:
        raise ModelError(f"the engine cannot load {folder}: is there enough memory?")
    return found
