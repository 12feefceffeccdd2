"""Writes small GGUF files, by the format's definition."""

from __future__ import annotations

import json
import struct

import numpy as np

from models.llm import layout, repack
from models.llm.gguf import BLOCKS, Kind
from models.llm.graph import MnnGraph, OpKind
from models.llm.tokenizer import _byte_characters

CODES = {int: (4, "<I"), float: (6, "<f"), bool: (7, "<?")}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list):
        kind = 8 if isinstance(value[0], str) else 5
        members = b"".join(text(one) if kind == 8 else struct.pack("<i", one) for one in value)
        return text(key) + struct.pack("<IIQ", 9, kind, len(value)) + members
    kind, code = CODES[type(value)]
    return text(key) + struct.pack("<I", kind) + struct.pack(code, value)


def gguf(metadata, tensors, *, version=3):
    """The bytes of a file.

    `tensors` maps a name to (kind, rows, columns, data); a vector has rows None.
    """
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata))
    head += b"".join(pair(key, value) for key, value in metadata.items())
    offset, body = 0, b""
    for name, (kind, rows, columns, data) in tensors.items():
        sides = [columns] if rows is None else [columns, rows]
        head += text(name) + struct.pack(f"<I{len(sides)}QIQ", len(sides), *sides, int(kind), offset)
        body += data + bytes(-len(data) % 32)
        offset = len(body)
    return head + bytes(-len(head) % 32) + body


def blocks(kind, rows, columns, seed=1):
    """(rows, bytes) of random blocks whose scales are of the size of a real model's."""
    random = np.random.default_rng(seed)
    per, size = BLOCKS[kind]
    if per == 1:
        weights = random.normal(0, 0.02, (rows, columns)).astype(np.float32)
        if kind is Kind.BF16:
            return (weights.view(np.uint32) >> 16).astype("<u2").view(np.uint8)
        return weights.astype("<f4" if kind is Kind.F32 else "<f2").view(np.uint8)
    data = random.integers(0, 256, (rows * columns // per, size), dtype=np.uint8)
    scales = np.abs(random.normal(0.01, 0.003, (len(data), 2))).astype("<f2").view(np.uint8)
    if kind is Kind.Q6_K:
        data[:, 208:210] = scales[:, :2]
    elif kind in {Kind.Q4_0, Kind.Q5_0, Kind.Q8_0}:
        data[:, :2] = scales[:, :2]
    else:
        data[:, :4] = scales
    return data.reshape(rows, -1)


def vocabulary(size=256):
    """Metadata of a vocabulary: every byte, one merge, one token matched as a whole, and a control token."""
    characters = list(_byte_characters().values())
    merged = characters[ord("a")] + characters[ord("b")]
    tokens = [*characters, merged, "<fim>", "<|im_end|>"]
    types = [1] * 257 + [4, 3]
    tokens += [f"[PAD{number}]" for number in range(len(tokens), size)]
    types += [5] * (len(tokens) - len(types))
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": 258,
        "tokenizer.chat_template": "{{ messages }}",
    }


# A model of the real graph's operations, with sides so small that it is written in no time.
TINY = layout.Shape("llama", 30, 128, 256, 2, 1, 320)
EPSILON = 1e-5


def tiny_template():
    """The graph of SmolLM2-135M with the sides of TINY."""
    graph = layout.load_graph("graph-smollm2-135m")
    for op in graph.ops:
        if op.kind is OpKind.CONVOLUTION:
            common = graph._read_required(op.table, 0, op.name)
            for number, side in zip((10, 11), sides(op.name), strict=True):
                struct.pack_into("<i", graph._bytes, graph._place(common, number), side)
    return graph


def sides(op):
    """Rows and columns of a matrix of TINY, by the name of its operation or of its tensor."""
    for part, shape in {
        "k_proj": (64, 128), "v_proj": (64, 128), "down_proj": (128, 256), "gate_proj": (256, 128),
        "up_proj": (256, 128), "lm_head": (320, 128),
    }.items():  # fmt: skip
        if part in op:
            return shape
    return 128, 128


def tiny_tensors(kinds):
    """Tensors of TINY; `kinds` maps the end of a tensor's name to how it is stored, all others are Q4_1."""
    tensors = {}
    plain = np.linspace(0.5, 1.5, 128, dtype="<f4").tobytes()
    for number, op in enumerate(layout.load_graph("graph-smollm2-135m").ops):
        if (op.kind is OpKind.LAYER_NORM and "layernorm" in op.name) or op.name == "hidden_states":
            tensors[layout.tensor_name(op.name, tied=True) + ".weight"] = (Kind.F32, None, 128, plain)
        elif op.kind is OpKind.CONVOLUTION:
            name = layout.tensor_name(op.name, tied=True)
            rows, columns = sides(op.name)
            kind = next((kind for end, kind in kinds.items() if name.endswith(end)), Kind.Q4_1)
            tensors[f"{name}.weight"] = (kind, rows, columns, blocks(kind, rows, columns, seed=number).tobytes())
    return tensors


def tiny_metadata():
    """Metadata of TINY."""
    return vocabulary(TINY.vocabulary) | {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.block_count": TINY.layers,
        "llama.embedding_length": TINY.hidden,
        "llama.feed_forward_length": TINY.feed_forward,
        "llama.attention.head_count": TINY.heads,
        "llama.attention.head_count_kv": TINY.kv_heads,
        "llama.attention.layer_norm_rms_epsilon": EPSILON,
        "llama.rope.freq_base": 100000.0,
    }


def read_back(folder):
    """Every matrix of a converted model by its operation's name, as the engine would read it."""
    graph = MnnGraph((folder / "llm.mnn").read_bytes(), "converted")
    data = (folder / "llm.mnn.weight").read_bytes()
    found = {}
    for op in graph.ops:
        if op.kind is not OpKind.CONVOLUTION:
            continue
        rows, columns = graph.shape(op)
        vector = graph._read_required(op.table, 6, op.name)
        offset, weight, scale, bias, _ = struct.unpack_from("<5q", graph._bytes, vector + 4)
        table = graph._read_required(op.table, 3, op.name)
        bits, blocks_in_all = graph._integer(table, 7), graph._integer(table, 9)
        half = graph._bytes[graph._place(table, 15)]
        block = rows * columns // blocks_in_all
        levels = np.frombuffer(data, np.uint8, rows * columns * bits // 8, offset + weight - rows * columns * bits // 8)
        if bits == 4:
            levels = np.stack([levels >> 4, levels & 15], axis=-1)
        scales = np.frombuffer(data, "<f2" if half else "<f4", 2 * blocks_in_all, offset + weight)
        assert scales.nbytes == scale
        assert bias == 0
        form = repack.Format(bits, block)
        parts = repack.Quantised(levels.reshape(rows, columns), scales.astype("<f4").reshape(rows, -1, 2))
        found[op.name] = (form, repack.dequantise(parts, form))
    return found


def safetensors(path, tensors, metadata=None):
    """Write matrices as bfloat16."""
    head, body = {"__metadata__": metadata or {}}, b""
    for name, values in tensors.items():
        data = (np.ascontiguousarray(values, "<f4").view(np.uint32) >> 16).astype("<u2").tobytes()
        head[name] = {"dtype": "BF16", "shape": list(values.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text_ = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text_)) + text_ + body)
    return path
