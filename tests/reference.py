"""A language model in float32, by its papers and nothing else: what a conversion is compared with.

RMSNorm, rotary positions (neighbours turn together in llama files, halves in qwen2 files, as llama.cpp has them),
grouped heads, SwiGLU. It reads the GGUF's own tensors in their own order, so that it shares no permutation with the
converter.
"""

from __future__ import annotations

import numpy as np

from models.llm import layout, repack
from models.llm.gguf import Gguf


class Reference:
    """A model; weights are made float32 as they are needed.

    `adapter` is a LoRA that is added to them.
    """

    def __init__(self, path, adapter=None):
        self.model = Gguf(path)
        self.shape = layout.read_shape(self.model)
        self.epsilon, self.frequencies = layout.norm_constants(self.model, self.shape)
        self.adapter = adapter

    def logits(self, numbers):
        """(positions, tokens) float32."""
        stream = self.matrix("token_embd")[numbers]
        for layer in range(self.shape.layers):
            stream = self.layer(f"blk.{layer}", stream)
        head = "output" if "output.weight" in self.model.tensors else "token_embd"
        return self.norm("output_norm", stream) @ self.matrix(head).T

    def layer(self, name, stream):
        normed = self.norm(f"{name}.attn_norm", stream)
        stream = stream + self.linear(f"{name}.attn_output", self.attention(name, normed))
        normed = self.norm(f"{name}.ffn_norm", stream)
        gate = self.linear(f"{name}.ffn_gate", normed)
        return stream + self.linear(
            f"{name}.ffn_down", gate / (1 + np.exp(-gate)) * self.linear(f"{name}.ffn_up", normed)
        )

    def attention(self, name, normed):
        count, size = len(normed), self.shape.head_size
        query, key, value = (
            self.linear(f"{name}.attn_{part}", normed).reshape(count, -1, size).swapaxes(0, 1) for part in "qkv"
        )
        query, key = self.turned(query), self.turned(key)
        shared = self.shape.heads // self.shape.kv_heads
        key, value = np.repeat(key, shared, axis=0), np.repeat(value, shared, axis=0)
        scores = query @ key.swapaxes(1, 2) / np.float32(np.sqrt(size))
        scores += np.triu(np.full((count, count), -np.inf, np.float32), 1)
        likelihoods = np.exp(scores - scores.max(-1, keepdims=True))
        likelihoods /= likelihoods.sum(-1, keepdims=True)
        return (likelihoods @ value).swapaxes(0, 1).reshape(count, -1)

    def turned(self, heads):
        """Rotary positions of (heads, positions, size)."""
        angles = np.arange(heads.shape[1], dtype=np.float32)[:, None] * self.frequencies
        cos, sin = np.cos(angles), np.sin(angles)
        if self.shape.architecture == "llama":
            even, odd = heads[..., 0::2], heads[..., 1::2]
            return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(heads.shape)
        first, second = np.split(heads, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)

    def norm(self, name, stream):
        mean = np.square(stream).mean(-1, keepdims=True)
        return stream / np.sqrt(mean + np.float32(self.epsilon)) * self.matrix(name)

    def linear(self, name, stream):
        found = stream @ self.matrix(name).T
        return found + self.matrix(name, "bias") if f"{name}.bias" in self.model.tensors else found

    def matrix(self, name, part="weight"):
        tensor = self.model.tensor(f"{name}.{part}")
        found = repack.decode_values(tensor.data, tensor.kind)
        layer = self.adapted(name)
        if layer and part == "weight":
            order = layout.row_order(name, self.shape, len(found))
            found[slice(None) if order is None else order] += self.adapter.delta(layer, 0, len(found))
        return found if len(found) > 1 else found[0]

    def adapted(self, name):
        """What the adapter calls a matrix, if it adds to it."""
        for part, tensor in layout._MATRICES.items():
            if self.adapter and name.endswith("." + tensor):
                layer = f"layers.{name.split('.')[1]}.{part.replace('/', '.')}"
                return layer if layer in self.adapter.layers else ""
        return ""


def divergence(wanted, got):
    """KL divergence of each position, in nats, and the share of positions that name the same next token."""
    one, other = log_likelihoods(wanted), log_likelihoods(got[:, : wanted.shape[1]])
    return (np.exp(one) * (one - other)).sum(-1), float((one.argmax(-1) == other.argmax(-1)).mean())


def log_likelihoods(logits):
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
