"""Writes small GGUF files, by the format's definition."""

from __future__ import annotations

import struct

import numpy as np

from models.llm.gguf import BLOCKS, Kind
from models.llm.tokenizer import _spelling

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
    characters = list(_spelling().values())
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
