"""What a language model's parts are called in a GGUF and in MNN's graph, and which sizes there are graphs for."""

from __future__ import annotations

import lzma
import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models import catalog
from models.llm.graph import MnnGraph
from pipeline.core.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.llm.gguf import Gguf

LM_HEAD = "/lm/lm_head/Linear"
EMBEDDING, OUTPUT, OUTPUT_NORM = "token_embd", "output", "output_norm"
_ARCHITECTURES = ("llama", "qwen2")
_DEFAULT_THETA = 10_000.0
_MATRICES = {
    "self_attn/q_proj": "attn_q",
    "self_attn/k_proj": "attn_k",
    "self_attn/v_proj": "attn_v",
    "self_attn/o_proj": "attn_output",
    "mlp/gate_proj": "ffn_gate",
    "mlp/up_proj": "ffn_up",
    "mlp/down_proj": "ffn_down",
}
_NORMS = {"input": "attn_norm", "post_attention": "ffn_norm"}


class Shape(NamedTuple):
    """What decides which graph a model runs on.

    Attributes:
        architecture: As general.architecture names it.
        layers: Count.
        hidden: Width of the stream between layers.
        feed_forward: Width inside a layer's MLP.
        heads: Of queries.
        kv_heads: Of keys and values.
        vocabulary: Count of tokens.
    """

    architecture: str
    layers: int
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    vocabulary: int

    @property
    def head_size(self) -> int:
        """Width of one head."""
        return self.hidden // self.heads

    def __str__(self) -> str:
        return (
            f"{self.architecture}, {self.layers} layers, {self.hidden} wide ({self.feed_forward} inside), "
            f"{self.heads}/{self.kv_heads} heads, {self.vocabulary} tokens"
        )


TEMPLATES = {
    "graph-smollm2-135m": Shape("llama", 30, 576, 1536, 9, 3, 49152),
    "graph-qwen2.5-0.5b": Shape("qwen2", 24, 896, 4864, 14, 2, 151936),
    "graph-qwen2.5-1.5b": Shape("qwen2", 28, 1536, 8960, 12, 2, 151936),
}
"""Rows of the catalogue, and the shape of each graph. A graph does not depend on the weights."""


def read_shape(model: Gguf) -> Shape:
    """Read the shape of a model.

    Raises:
        ModelError: The architecture is not known, or what the file says of it is absurd.
    """
    architecture = model.value("general.architecture", str)
    if architecture not in _ARCHITECTURES:
        known = " and ".join(_ARCHITECTURES)
        raise ModelError(f"{model.path}: a model of architecture {architecture}; known here are {known}")

    def count(key: str) -> int:
        return model.value(f"{architecture}.{key}", int)

    found = Shape(
        architecture,
        count("block_count"),
        count("embedding_length"),
        count("feed_forward_length"),
        count("attention.head_count"),
        count("attention.head_count_kv"),
        model.tensor(f"{EMBEDDING}.weight").shape[0],
    )
    if min(found[1:]) < 1 or found.hidden % found.heads or found.head_size % 2 or found.heads % found.kv_heads:
        raise ModelError(f"{model.path}: its shape contradicts itself ({found}): use an undamaged copy")
    return found


def graph_name(found: Shape, path: object) -> str:
    """The catalogue's name of the graph for a shape.

    Args:
        found: The shape of a model.
        path: What the model is called in the error.

    Raises:
        ModelError: There is none; the text lists those there are.
    """
    for name, known in TEMPLATES.items():
        if known == found:
            return name
    listed = "; ".join(f"{name.removeprefix('graph-')} ({known})" for name, known in TEMPLATES.items())
    raise ModelError(f"{path}: there is no graph for its size ({found}); use a model of a known size: {listed}")


def load_graph(name: str) -> MnnGraph:
    """Unpack a graph, after its hash was compared. Raises ModelError: it is missing, damaged or no graph."""
    file = catalog.verified_path(name)
    return MnnGraph(lzma.decompress(file.read_bytes()), str(file))


def norm_constants(model: Gguf, found: Shape) -> tuple[float, NDArray[np.float32]]:
    """The epsilon of the norms, and the rotary inverse frequencies theta**(-2i/head) of Su et al. 2021 (RoFormer).

    Raises:
        ModelError: The model scales its positions or has wider heads, which no graph here does.
    """
    prefix = found.architecture
    scaling = model.metadata.get(f"{prefix}.rope.scaling.type", "none")
    width = model.metadata.get(f"{prefix}.attention.key_length", found.head_size)
    if scaling != "none" or width != found.head_size:
        raise ModelError(
            f"{model.path}: its positions are scaled ({scaling}) or its heads {width} wide: not known here"
        )
    base = f"{prefix}.rope.freq_base"
    theta = model.value(base, float) if base in model.metadata else _DEFAULT_THETA
    if not 1 <= theta < math.inf:
        raise ModelError(f"{model.path}: its {base} is {theta}: use an undamaged copy")
    epsilon = model.value(f"{prefix}.attention.layer_norm_rms_epsilon", float)
    exponents = np.arange(0, found.head_size, 2) / found.head_size
    return epsilon, (1.0 / theta**exponents).astype(np.float32)


def tensor_name(op: str, *, tied: bool) -> str:
    """The GGUF's name, without .weight, for what an operation of the graph needs.

    Args:
        op: The operation's name.
        tied: The output's matrix is the embedding.

    Raises:
        ModelError: The graph has an operation that is not known.
    """
    if op == LM_HEAD:
        return EMBEDDING if tied else OUTPUT
    if op == "hidden_states":
        return OUTPUT_NORM
    if found := re.fullmatch(r"/layers\.(\d+)/(\w+/\w+)/Linear", op):
        return f"blk.{found[1]}.{_MATRICES[found[2]]}"
    if found := re.match(r"/blocks\.(\d+)/(input|post_attention)_layernorm/", op):
        return f"blk.{found[1]}.{_NORMS[found[2]]}"
    raise ModelError(f"the graph's operation {op} is not known: reinstall fieldwatch")


def row_order(tensor: str, found: Shape, rows: int) -> NDArray[np.intp] | None:
    """Where each row of a matrix of the graph is in the GGUF; None where all are in place.

    llama.cpp's converter interleaves the two rotary halves of each head of q and k for the architecture llama
    (convert_hf_to_gguf.py, LlamaModel.permute); this is its inverse.
    """
    if found.architecture != "llama" or not tensor.endswith(("attn_q", "attn_k")):
        return None
    heads = found.heads if tensor.endswith("attn_q") else found.kv_heads
    return np.arange(rows).reshape(heads, rows // heads // 2, 2).swapaxes(1, 2).reshape(-1)
