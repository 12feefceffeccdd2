"""Converts a model of an architecture for which no graph is bundled, by way of torch, to a folder as of a GGUF's.

    python -m tools.export_llm HF_FOLDER STATE/models/NAME/VERSION --recipe mixed --python torch-env/bin/python

Our recipe is spelled out for llmexport, which does all the work; tools/torch_route.py says what is wrong with it, and
how it is run. config.json becomes the one that our engine is run with, and a manifest is written, so that `pipeline
models verify` and `use` take the folder. The folder appears whole or not at all. `keep` has nothing to keep here: its
matrices become what it quantises anew. Scales are float32, whatever the recipe says.

Wanted is the folder of a model that transformers loads (config.json, weights, tokenizer). Tried with a small model of
SmolLM2's architecture and random weights: with 8 bits everywhere, each position is within a KL of .01 of torch.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from models.llm import convert, folder, layout, repack
from models.llm.graph import MnnGraph, OpKind
from models.table import load_table
from pipeline.core.errors import ConfigError, ModelError
from tools import torch_route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from models.llm.recipes import Recipe

_PARTS = (*(f"self_attn/{part}_proj" for part in "qkvo"), *(f"mlp/{part}_proj" for part in ("gate", "up", "down")))
_WANTED = ("llm.mnn", "llm.mnn.weight", "llm_config.json", "tokenizer.mtok")
_EMBEDDING = "embeddings_bf16.bin"
"""There where it is not the output's matrix."""


def widths(config: Mapping[str, Any]) -> dict[str, int]:
    """Columns of each matrix of a layer, by its name there, and of the output's matrix, by its whole name.

    Raises:
        ConfigError: The configuration lacks a number that these follow from.
    """
    try:
        hidden, inner, heads = (int(config[key]) for key in ("hidden_size", "intermediate_size", "num_attention_heads"))
        mixed = heads * int(config.get("head_dim") or hidden // heads)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ConfigError(f"config.json: {error!r}; known are models whose layers are all alike") from error
    if min(hidden, inner, mixed) < 1:
        raise ConfigError(f"config.json: matrices of {hidden}, {inner} and {mixed} columns: use an undamaged copy")
    odd = {"self_attn/o_proj": mixed, "mlp/down_proj": inner}
    return {layout.LM_HEAD: hidden} | {part: odd.get(part, hidden) for part in _PARTS}


def forms(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, repack.Format]:
    """How each matrix is stored, by its name in the graph.

    As in a conversion, a block is halved until it divides the columns; llmexport would not.

    Raises:
        ConfigError: The configuration lacks a number.
        ModelError: The recipe has no rule for a matrix.
    """
    found = {}
    for part, columns in widths(config).items():
        layers = range(config["num_hidden_layers"])
        names = [part] if part == layout.LM_HEAD else [f"/layers.{layer}/{part}/Linear" for layer in layers]
        for name in names:
            rule = recipe.rule(name)
            found[name] = repack.fit_block(repack.Format(rule.bits, rule.block), columns)
    return found


def words(wanted: Mapping[str, repack.Format], path: Path) -> list[str]:
    """Formats as llmexport's command line and, at `path`, its --quant_config.

    Nothing is symmetric: where that differs between a matrix and the command line, llmexport 0.0.5 writes it wrongly.

    Args:
        wanted: From `forms`.
        path: Where to write the JSON; llmexport runs in its folder.
    """
    each = {name: {"bits": one.bits, "block_size": one.block, "symmetric": False} for name, one in wanted.items()}
    path.write_text(json.dumps(each, indent=1), encoding="utf-8")
    head = wanted[layout.LM_HEAD]
    return [
        *("--quant_bit", str(head.bits), "--quant_block", str(head.block)),  # of matrices that have other names
        *("--lm_quant_bit", str(head.bits), "--lm_quant_block", str(head.block)),
        *("--quant_config", path.name),
    ]


def read_config(model: Path) -> dict[str, Any]:
    """The config.json of a model.

    Raises:
        ConfigError: The folder is no model of transformers, or names no count of layers.
    """
    try:
        found = json.loads((model / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{model} is no folder of a language model ({error}): name one with config.json, weights and tokenizer"
        ) from error
    layers = found.get("num_hidden_layers") if isinstance(found, dict) else None
    if not isinstance(layers, int) or layers < 1:
        raise ConfigError(
            f"{model}/config.json: num_hidden_layers is {layers}: name the folder of a model of text alone"
        )
    return dict(found)


def check(out: Path) -> None:
    """Look at what was exported.

    Raises:
        ModelError: A file is missing or empty, or the graph is none of a language model.
    """
    if missing := [name for name in _WANTED if not (out / name).is_file() or not (out / name).stat().st_size]:
        raise ModelError(f"llmexport left out {', '.join(missing)}: use the versions of tools/torch_route.py")
    graph = MnnGraph((out / "llm.mnn").read_bytes(), "what llmexport wrote")
    if not any(op.name == layout.LM_HEAD and op.kind is OpKind.CONVOLUTION for op in graph.ops):
        raise ModelError(f"what llmexport wrote has no {layout.LM_HEAD}: is it a language model that writes text?")


def finish(out: Path, part: Path, manifest: folder.ModelManifest) -> folder.ModelManifest:
    """Move what an engine needs into a folder, and write configuration and manifest.

    Args:
        out: What llmexport wrote.
        part: The folder to be.
        manifest: As it will be, but for the files.

    Raises:
        ModelError: What llmexport wrote is not whole.
    """
    check(out)
    for name in (*_WANTED, _EMBEDDING):
        if (out / name).exists():
            (out / name).rename(part / name)
    engine = json.dumps(convert.ENGINE, indent=1)
    (part / "config.json").write_text(engine, encoding="utf-8")
    files = {path.name: folder.describe(path) for path in sorted(part.iterdir()) if path.is_file()}
    done = msgspec.structs.replace(manifest, files=files)
    folder.write(part, done)
    return done


def export(model: Path, target: Path, name: str, exporter: torch_route.Exporter) -> folder.ModelManifest:
    """Export a model into a folder, whole or not at all.

    Args:
        model: A folder of transformers.
        target: Replaced if it exists.
        name: Of a recipe.
        exporter: The environment with torch.

    Raises:
        ConfigError: The folder is no model, or there is no such recipe.
        ModelError: The export failed, or the disk is full.
    """
    config, recipe = read_config(model), load_table().recipe(name)
    wanted = forms(recipe, config)
    counts = Counter(f"int{one.bits}, blocks of {one.block}, quantised" for one in wanted.values())
    manifest = folder.ModelManifest(
        format=folder.FORMAT,
        title=str(config.get("_name_or_path") or model.absolute().name),
        files={},
        recipe=name,
        rules=msgspec.structs.replace(recipe, what="", scales="float32"),
        layers=dict(sorted(counts.items())),
        tools=exporter.versions,
    )
    needed = 2 * sum(path.stat().st_size for path in model.iterdir() if path.is_file())  # the exporter writes twice
    with folder.build_folder(target, needed) as part:
        work = part / "work"
        work.mkdir()
        out = exporter.run(model, words(wanted, work / "quantisation.json"), work)
        done = finish(out, part, manifest)
        shutil.rmtree(work)
    return done


def main() -> None:
    """Export, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a folder of transformers")
    parser.add_argument("out", type=Path, help="the folder to write, e.g. STATE/models/NAME/VERSION")
    parser.add_argument("--recipe", default="mixed", help="of config/models.toml")
    parser.add_argument("--python", type=Path, help=f"of the environment with torch; else {torch_route.ENVIRONMENT}")
    options = parser.parse_args()
    try:
        forms(load_table().recipe(options.recipe), read_config(options.model))  # before torch is looked for
        exporter = torch_route.find(options.python)
        done = export(options.model, options.out, options.recipe, exporter)
    except (ConfigError, ModelError) as error:
        sys.stderr.write(f"export_llm: {error}\n")
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    print(f"{options.out}: {done.size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
