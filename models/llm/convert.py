"""Convert a GGUF file into a language model for MNN: a folder with graph, weights, tokenizer, configurations, manifest.

It needs neither torch nor tools of MNN, only numpy, and takes about two seconds and 100 MB for 135 million parameters.
The same input gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from models import catalog
from models.llm import folder, layout, tokenizer, weights
from models.llm.gguf import Gguf
from models.llm.lora import Adapter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from models.llm.recipes import Recipe

CONVERTER = "1"
"""Counted up whenever the same input gives other bytes."""

ENGINE = {
    "llm_model": "llm.mnn",
    "llm_weight": folder.WEIGHTS,
    "backend_type": "cpu",
    "thread_num": 1,
    "precision": "low",
    "memory": "low",
    "dynamic_option": 2,
    "sampler_type": "greedy",
    "tokenizer_file": "tokenizer.mtok",
}
"""config.json. Two threads of MNN spin against whatever else is busy (46 to 1.6 tokens/s); memory low keeps weights
quantised; without dynamic_option 2 activations lose so much that answers turn to nonsense."""

_EMBEDDING_FILE = "embeddings_bf16.bin"
_SMALL_FILES = 16_000_000
"""Room for what is not weights: tokenizer, graph and texts, about 5 MB for 150,000 tokens."""


class ModelJob(NamedTuple):
    """A request for a conversion.

    Attributes:
        source: The GGUF file.
        recipe: The recipe for storing matrices.
        recipe_name: Name of the recipe.
        adapter: A LoRA to merge, or None.
        licence: Licence of the weights, for the manifest.
    """

    source: Path
    recipe: Recipe
    recipe_name: str
    adapter: Path | None = None
    licence: str = ""


class PlannedModel(NamedTuple):
    """A planned conversion; everything that can be refused was refused.

    Attributes:
        job: The request.
        model: The opened file.
        planned: The plan of the weights.
        version: Version of the result: the recipe, and eight digits that change with anything that changes the bytes.
        manifest: The manifest, still without files.
    """

    job: ModelJob
    model: Gguf
    planned: weights.WeightPlan
    version: str
    manifest: folder.ModelManifest

    @property
    def size(self) -> int:
        """Approximate number of bytes that will be written."""
        rows, columns = self.model.tensor(f"{layout.EMBEDDING}.weight").shape
        return self.planned.size + _SMALL_FILES + (0 if self.planned.tied else 2 * rows * columns)


def plan(job: ModelJob) -> PlannedModel:
    """Open and check a file, and plan its conversion; about half a second for 100 MB, mostly for the source's hash.

    Raises:
        ModelError: The file cannot be converted; the text says why and what to use instead.
    """
    model = Gguf(job.source)
    shape = layout.read_shape(model)
    name = layout.graph_name(shape, job.source)
    tokenizer.read_vocabulary(model)
    adapter = Adapter(job.adapter) if job.adapter else None
    planned = weights.plan(model, layout.load_graph(name), shape, job.recipe, adapter)
    manifest = folder.ModelManifest(
        format=folder.FORMAT,
        title=str(model.metadata.get("general.name", job.source.stem)),
        files={},
        licence=job.licence or str(model.metadata.get("general.license", "")),
        source=_read_origin(job.source),
        template=_read_origin(catalog.model_path(name)),
        recipe=job.recipe_name,
        rules=msgspec.structs.replace(job.recipe, what=""),
        adapter=_read_origin(job.adapter) if job.adapter else None,
        layers=planned.layers,
        tools={"converter": CONVERTER, "numpy": np.__version__},
    )
    return PlannedModel(job, model, planned, _make_version(manifest), manifest)


def run(
    ready: PlannedModel, target: Path, report: Callable[[int, int], None] = lambda _done, _all: None
) -> folder.ModelManifest:
    """Write the folder atomically.

    Args:
        ready: From `plan`; used once.
        target: The folder; replaced if it exists.
        report: Called with the bytes written and those to write.

    Raises:
        ModelError: The disk is full or cannot be written to, or weights do not fit; nothing is left behind.
    """
    size = ready.planned.size
    with folder.build_folder(target, ready.size) as part:
        with (part / folder.WEIGHTS).open("wb") as file:
            tied = weights.write(ready.planned, file, lambda done: report(done, size))
        if not tied:
            with (part / _EMBEDDING_FILE).open("wb") as file:
                weights.write_embedding(ready.model, file)
        words = tokenizer.read_vocabulary(ready.model)
        (part / "llm.mnn").write_bytes(ready.planned.graph.data)
        (part / "tokenizer.mtok").write_bytes(tokenizer.encode_mtok(words))
        _write_json(part / "llm_config.json", _make_model_config(ready, words, tied))
        _write_json(part / "config.json", ENGINE)
        files = {path.name: folder.describe(path) for path in sorted(part.iterdir())}
        manifest = msgspec.structs.replace(ready.manifest, files=files)
        folder.write(part, manifest)
    return manifest


def _make_model_config(ready: PlannedModel, words: tokenizer.TokenVocabulary, tied: list[int]) -> dict[str, object]:
    """Return what the engine must know of the model beyond its graph."""
    shape = layout.read_shape(ready.model)
    found: dict[str, object] = {
        "model_type": shape.architecture,
        "hidden_size": shape.hidden,
        "layer_nums": shape.layers,
        "attention_mask": "float",
        "attention_type": "full",
        "is_mrope": False,
    }
    if words.template:
        jinja = {"chat_template": words.template, "eos": words.tokens[words.end]}
        found["jinja"] = jinja | ({} if words.begin is None else {"bos": words.tokens[words.begin]})
    return found | ({"tie_embeddings": tied} if tied else {})


def _make_version(manifest: folder.ModelManifest) -> str:
    """Return a version that two conversions share exactly if they give the same bytes."""
    parts = [manifest.source, manifest.template, manifest.adapter]
    hashes = [part.sha256 if part else "" for part in parts]
    digest = hashlib.sha256(msgspec.json.encode([*hashes, manifest.rules, CONVERTER])).hexdigest()
    return f"{manifest.recipe}-{digest[:8]}"


def _read_origin(path: Path) -> folder.Origin:
    found = folder.describe(path, follow=True)
    return folder.Origin(path.name, found.sha256, found.bytes)


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
