"""Makes the bundled graph of another size of language model, from the size alone; no weights are needed or looked at.

    python -m tools.make_graph qwen2.5-3b --config config.json --python torch-env/bin/python

The size is that of a config.json of transformers, or of a GGUF file's metadata (--gguf). A folder is made of that size
and a vocabulary of two tokens; llmexport builds the model without weights (--skip_weight) and exports it; the graph is
stripped of what that export alone has, and packed. Printed are the row for models/catalog.py and the entry for
layout.TEMPLATES. With --check nothing is written: the graph is compared with the bundled one of that name.

Made with llmexport 0.0.5, torch 2.14.1, transformers 5.24.0, accelerate 1.15.0, onnx 1.23.2, MNN 3.6.1 (Python 3.11).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import math
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from models import catalog
from models.llm import layout
from models.llm.gguf import Gguf
from models.llm.graph import MnnGraph, OpKind
from pipeline.core.errors import ConfigError, ModelError
from tools import torch_route

_NAME = "[a-z0-9][a-z0-9._-]{0,47}"
_LINEARS = 7
"""Of a layer: q, k, v, o, gate, up, down."""
_BLOCK = "32"
"""Any would do that divides every width: how weights are stored is stripped, and written as a model is converted."""
_LONGEST_CONTEXT = 8192
_MADE_NAME = re.compile(rb"[\x04-\x1f]\0\0\0([A-Z][A-Za-z]+)(\d+)(?=\0)")
"""A text of a FlatBuffer, its length before it: what the converter calls an operation of its own making."""
_EPSILON_TOLERANCE = 1e-3
_COUNTS = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "feed_forward": "intermediate_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "vocabulary": "vocab_size",
}
_TOKEN = "<|end|>"  # noqa: S105  # of text
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_TOKENIZER = {
    "version": "1.0",
    "added_tokens": [
        {"id": 0, "content": _TOKEN, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    ],
    "pre_tokenizer": _BYTES,
    "decoder": _BYTES,
    "model": {"type": "BPE", "vocab": {_TOKEN: 0, "a": 1}, "merges": []},
}
"""The exporter wants one; a graph knows of the vocabulary only its size."""


class Size(NamedTuple):
    """What a graph depends on.

    Attributes:
        shape: Counts and widths.
        epsilon: Of the norms.
        theta: Base of the rotary frequencies.
    """

    shape: layout.Shape
    epsilon: float
    theta: float

    @property
    def config(self) -> dict[str, object]:
        """As transformers wants it."""
        counts = {key: getattr(self.shape, field) for field, key in _COUNTS.items()}
        return {
            "architectures": [{"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}[self.shape.architecture]],
            "model_type": self.shape.architecture,
            **counts,
            "hidden_act": "silu",
            "rms_norm_eps": self.epsilon,
            "rope_theta": self.theta,
            "max_position_embeddings": _LONGEST_CONTEXT,
            "tie_word_embeddings": True,
            "bos_token_id": 0,
            "eos_token_id": 0,
        }


def of_config(path: Path) -> Size:
    """Read the size out of a config.json.

    Raises:
        ConfigError: It cannot be read, or tells of what no graph here can do.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--config {path} cannot be read ({error}): name a config.json of transformers") from error
    if not isinstance(found, dict) or found.get("model_type") not in {"llama", "qwen2"}:
        kind = found.get("model_type") if isinstance(found, dict) else None
        raise ConfigError(f"--config {path}: its model_type is {kind}; known are llama and qwen2")
    rotary = found.get("rope_parameters") or found.get("rope_scaling") or {}
    shape = layout.Shape(found["model_type"], **{field: _count(found, key, path) for field, key in _COUNTS.items()})
    _refuse_strange(found, rotary, shape, path)
    theta = rotary.get("rope_theta") or found.get("rope_theta") or 10_000.0
    return _checked(Size(shape, float(found.get("rms_norm_eps", 1e-6)), float(theta)), path)


def of_gguf(path: Path) -> Size:
    """Read the size out of a GGUF file's metadata.

    Raises:
        ModelError: It cannot be read, is of another architecture, or its positions are scaled.
    """
    model = Gguf(path)
    shape = layout.read_shape(model)
    epsilon, _ = layout.norm_constants(model, shape)
    theta = model.metadata.get(f"{shape.architecture}.rope.freq_base", 10_000.0)
    # the file holds float32: 1e-5 comes as 9.99999974e-06
    return _checked(Size(shape, float(f"{epsilon:.6g}"), float(f"{theta:.6g}")), path)


def make(size: Size, exporter: torch_route.Exporter, work: Path) -> bytes:
    """Export a graph and strip it.

    Args:
        size: Of the model.
        exporter: The environment with torch.
        work: An empty folder.

    Raises:
        ModelError: The export failed, or what came out does not fit the size.
    """
    write_source(size, work / "source")
    out = exporter.run(work / "source", ["--quant_block", _BLOCK, "--skip_weight"], work)
    return stripped((out / "llm.mnn").read_bytes(), size)


def write_source(size: Size, target: Path) -> None:
    """Make a folder of transformers: a configuration and a tokenizer, no weights."""
    target.mkdir()
    for name, content in {
        "config.json": size.config,
        "tokenizer.json": _TOKENIZER,
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": _TOKEN},
    }.items():
        (target / name).write_text(json.dumps(content), encoding="utf-8")


def stripped(data: bytes, size: Size) -> bytes:
    """A graph without what one export alone has, after a look at whether it is the one that was meant.

    Raises:
        ModelError: It is no graph, or does not fit the size.
    """
    graph = MnnGraph(data, "what llmexport wrote")
    shape = size.shape
    matrices = {op.name: graph.shape(op) for op in graph.ops if op.kind is OpKind.CONVOLUTION}
    epsilons = [one for op in graph.ops if op.kind is OpKind.LAYER_NORM and (one := graph.epsilon(op)) is not None]
    rotary = {len(numbers) for op in graph.ops if op.kind is OpKind.BLOB and (numbers := graph.floats(op))}
    for name in matrices:
        layout.tensor_name(name, tied=True)
    fits = (
        len(matrices) == _LINEARS * shape.layers + 1
        and matrices.get(layout.LM_HEAD) == (shape.vocabulary, shape.hidden)
        and matrices.get("/layers.0/mlp/up_proj/Linear") == (shape.feed_forward, shape.hidden)
        and matrices.get("/layers.0/self_attn/k_proj/Linear") == (shape.kv_heads * shape.head_size, shape.hidden)
        and len(epsilons) == 2 * shape.layers + 1
        and all(math.isclose(one, size.epsilon, rel_tol=_EPSILON_TOLERANCE) for one in epsilons)
        and rotary == {shape.head_size // 2}
    )
    if not fits:
        raise ModelError(f"the exported graph does not fit {shape}: use the versions that {__name__} names")
    graph.strip()
    return graph.data


def difference(one: bytes, other: bytes) -> str:
    """In what two stripped graphs differ, for people; empty where they compute the same.

    The converter numbers the operations that it makes itself (BinaryOp3170), in one run in six or so otherwise than in
    the rest. Nothing refers to them by name.
    """
    one, other = (_MADE_NAME.sub(lambda name: bytes(4) + name[1] + bytes(len(name[2])), data) for data in (one, other))
    if len(one) != len(other):
        return f"they are {len(one)} and {len(other)} bytes long"
    places = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    return f"{len(places)} bytes differ, the first at {places[0]}" if places else ""


def row(name: str, sha256: str, shape: layout.Shape) -> str:
    """The row for models/catalog.py."""
    return f"""    Model(
        name="graph-{name}",
        file="llm/{name}.mnn.xz",
        sha256="{sha256}",
        licence="Apache-2.0",
        source="exported by llmexport {torch_route.PINNED["llmexport"]} from the shape of {name}, without weights",
        what="graph of a language model: {shape.architecture}, {shape.layers} layers, {shape.hidden} wide",
    ),"""


def entry(name: str, shape: layout.Shape) -> str:
    """The entry for layout.TEMPLATES."""
    architecture, *counts = shape
    return f'    "graph-{name}": Shape("{architecture}", {", ".join(map(str, counts))}),'


def main() -> None:
    """Make a graph and print what is to be written where."""
    options = _parser().parse_args()
    try:
        _run(options)
    except (ConfigError, ModelError) as error:
        sys.stderr.write(f"make_graph: {error}\n")
        sys.exit(2 if isinstance(error, ConfigError) else 1)


def _run(options: argparse.Namespace) -> None:
    name = options.name
    if not re.fullmatch(_NAME, name):
        raise ConfigError(f"{name!r} is no name: use small letters, digits, dots, dashes, underscores")
    size = of_config(options.config) if options.config else of_gguf(options.gguf)
    bundled = lzma.decompress(catalog.verified_path(f"graph-{name}").read_bytes()) if options.check else b""
    target = options.out / f"{name}.mnn.xz"
    if target.exists() and not options.check:
        raise ConfigError(f"{target} exists: choose another name, another --out, or --check")
    exporter = torch_route.find(options.python)
    with tempfile.TemporaryDirectory(prefix="graph") as work:
        data = make(size, exporter, Path(work))
    if options.check:
        if found := difference(data, stripped(bundled, size)):
            raise ModelError(f"the graph made anew is not that of graph-{name}: {found}")
        print(f"graph-{name} made anew is the same")
        return
    packed = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    try:
        target.write_bytes(packed)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written ({error.strerror}): name another folder by --out") from error
    print(f"{target}: {len(packed)} bytes; for models/catalog.py and models/llm/layout.py:\n")
    print(f"{row(name, hashlib.sha256(packed).hexdigest(), size.shape)}\n\n{entry(name, size.shape)}")


def _count(found: dict[str, Any], key: str, path: Path) -> int:
    value = found.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"--config {path}: its {key} is {value}: use the config.json of a whole model")
    return value


def _refuse_strange(found: dict[str, Any], rotary: dict[str, Any], shape: layout.Shape, path: Path) -> None:
    """Raise ConfigError where a key changes what is computed."""
    strange = {
        "hidden_act": found.get("hidden_act", "silu") != "silu",
        "head_dim": found.get("head_dim") not in {None, shape.head_size},
        "rope_scaling": rotary.get("rope_type", rotary.get("type", "default")) != "default",
        "use_sliding_window": bool(found.get("use_sliding_window")),
        "attention_bias": bool(found.get("attention_bias")),
        "mlp_bias": bool(found.get("mlp_bias")),
    }
    if names := [name for name, is_so in strange.items() if is_so]:
        raise ConfigError(f"--config {path}: its {' and '.join(names)} are not known here: use tools.export_llm")


def _checked(size: Size, path: Path) -> Size:
    shape = size.shape
    odd = shape.hidden % shape.heads or shape.head_size % 2 or shape.heads % shape.kv_heads
    if odd or not 0 < size.epsilon < 1 or not 1 <= size.theta < math.inf:
        raise ConfigError(f"{path}: its size contradicts itself ({shape}): use an undamaged copy")
    return size


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the size, e.g. qwen2.5-3b")
    sources = parser.add_mutually_exclusive_group(required=True)
    sources.add_argument("--config", type=Path, help="a config.json of transformers")
    sources.add_argument("--gguf", type=Path, help="a model of that size")
    parser.add_argument("--python", type=Path, help=f"of the environment with torch; else {torch_route.ENVIRONMENT}")
    parser.add_argument("--out", type=Path, default=catalog.BUNDLED / "llm", help="the folder for the graph")
    parser.add_argument("--check", action="store_true", help="compare with the bundled graph, write nothing")
    return parser


if __name__ == "__main__":
    main()
