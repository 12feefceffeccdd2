"""Trains an adapter on lessons that are token numbers; needs torch and numpy alone, in an environment of its own.

Reads weights.npz (the model, as its Hugging Face names) and lessons.npz from a folder, writes adapter.npz there. Run by
tools/train_notes.py.

A step is one sequence: what stands before every question, then each incident, and each of its notes as a branch that
sees what is before it and itself, at the places it would have alone. So an answer never depends on the notes beside it,
which is how it is asked later, and what stands before is computed once.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.nn import functional

_MATRICES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_RANK = 8
_RATE = 1e-3
_WARM_UP_STEPS = 20
_CLIP = 1.0
_FIXED_EVERY, _FIXED_FROM = 4, 0.85
"""What stands before every question costs time: it is in every fourth step, and in all of the last ones."""
_CERTAIN = 0.98  # what a label is worth: nobody is always right


Lesson: TypeAlias = "dict[str, list[Any]]"


class Lora(torch.nn.Module):
    """A matrix that stays as it is, plus B A x * alpha / rank (Hu et al. 2021)."""

    def __init__(self, weight: torch.Tensor, rank: int, alpha: float) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.register_buffer("weight", weight)
        self.a = torch.nn.Parameter(torch.empty(rank, columns).uniform_(-1, 1) / columns**0.5)
        self.b = torch.nn.Parameter(torch.zeros(rows, rank))
        self.scale = alpha / rank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., columns) to (..., rows)."""
        return functional.linear(x, self.weight) + functional.linear(functional.linear(x, self.a), self.b) * self.scale


class Layer(torch.nn.Module):
    """One layer of Llama (Touvron et al. 2023): attention with rotary places and shared keys, then SwiGLU."""

    def __init__(self, weights: dict[str, torch.Tensor], shape: dict[str, float], rank: int, alpha: float) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleDict({name: Lora(weights[name], rank, alpha) for name in _MATRICES})
        self.register_buffer("before", weights["input_layernorm"])
        self.register_buffer("between", weights["post_attention_layernorm"])
        self.heads, self.kv_heads = int(shape["heads"]), int(shape["kv_heads"])
        self.epsilon = shape["epsilon"]

    def forward(self, x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
        """(batch, tokens, hidden) to the same."""
        batch, tokens, _ = x.shape
        inner = norm(x, self.before, self.epsilon)

        def heads(name: str, count: int) -> torch.Tensor:
            return self.parts[name](inner).view(batch, tokens, count, -1).transpose(1, 2)

        q, k = (rotate(heads(f"{name}_proj", n), turn) for name, n in (("q", self.heads), ("k", self.kv_heads)))
        v = heads("v_proj", self.kv_heads)
        times = self.heads // self.kv_heads
        k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.parts["o_proj"](seen.transpose(1, 2).reshape(batch, tokens, -1))
        inner = norm(x, self.between, self.epsilon)
        gate = functional.silu(self.parts["gate_proj"](inner))
        return x + self.parts["down_proj"](gate * self.parts["up_proj"](inner))


class Model(torch.nn.Module):
    """A language model that answers " yes" or " no"."""

    def __init__(self, weights: dict[str, torch.Tensor], shape: dict[str, float], rank: int, alpha: float) -> None:
        super().__init__()
        self.register_buffer("embedding", weights["embed_tokens"])
        self.register_buffer("last", weights["norm"])
        self.register_buffer("frequencies", weights["frequencies"])
        own = [{n.split(".", 2)[2]: w for n, w in weights.items() if n.startswith(f"layers.{at}.")}
               for at in range(int(shape["layers"]))]  # fmt: skip
        self.layers = torch.nn.ModuleList(Layer(one, shape, rank, alpha) for one in own)
        self.epsilon = shape["epsilon"]

    def forward(
        self,
        numbers: torch.Tensor,
        places: torch.Tensor,
        mask: torch.Tensor,
        ends: torch.Tensor,
        answers: tuple[int, int],
    ) -> torch.Tensor:
        """Log odds of yes against no at the ends: (ends,)."""
        x = self.embedding[numbers]
        angles = places[..., None].float() * self.frequencies
        turn = angles.cos()[:, None], angles.sin()[:, None]
        for layer in self.layers:
            x = layer(x, turn, mask)
        last = norm(x[0, ends], self.last, self.epsilon)
        yes, no = answers
        return last @ (self.embedding[yes] - self.embedding[no])


def norm(x: torch.Tensor, gains: torch.Tensor, epsilon: float) -> torch.Tensor:
    """RMS norm (Zhang and Sennrich 2019)."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * gains


def rotate(x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotary places (Su et al. 2021), halves apart."""
    cos, sin = turn
    one, other = x.chunk(2, -1)
    return torch.cat((one * cos - other * sin, other * cos + one * sin), -1)


def sequence(fixed: list[int], lessons: list[Lesson]) -> tuple[torch.Tensor, ...]:
    """Lay lessons behind what is the same for all of them.

    Returns:
        Token numbers, places and who sees whom, of (1, tokens), (1, tokens) and (1, 1, tokens, tokens); the ends of all
        notes, and the answers there.
    """
    parts = [(fixed, 0, ())]  # token numbers, place of the first, spans that are seen
    size = len(fixed)
    before = (0, size)
    ends, answers = [], []
    for lesson in lessons:
        incident = (size, size + len(lesson["incident"]))
        parts.append((lesson["incident"], before[1], (before,)))
        size = incident[1]
        for note in lesson["notes"]:
            parts.append((note, before[1] + len(lesson["incident"]), (before, incident)))
            size += len(note)
            ends.append(size - 1)
        answers += [float(answer) for answer in lesson["speaks"]]
    numbers = torch.tensor([number for part, _, _ in parts for number in part])
    places = torch.cat([torch.arange(first, first + len(part)) for part, first, _ in parts])
    mask = torch.zeros(size, size, dtype=torch.bool)
    begin = 0
    for part, _, seen in parts:
        end = begin + len(part)
        mask[begin:end, begin:end] = torch.ones(len(part), len(part), dtype=torch.bool).tril()
        for low, high in seen:
            mask[begin:end, low:high] = True
        begin = end
    return numbers[None], places[None], mask[None, None], torch.tensor(ends), torch.tensor(answers)


def main() -> None:
    """Train; prints a line of JSON every ten steps."""
    folder, size, seed, threads = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(mode=True)
    shape = json.loads((folder / "shape.json").read_text(encoding="utf-8"))
    weights = {name: torch.from_numpy(value) for name, value in np.load(folder / "weights.npz").items()}
    model = Model(weights, shape, _RANK, shape["alpha"])
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=_RATE, weight_decay=0.01)
    taught = json.loads((folder / "lessons.json").read_text(encoding="utf-8"))
    fixed, lessons = taught["fixed"], taught["lessons"]
    steps = len(lessons) // size
    began, recent = time.time(), []
    for step in range(steps):
        share = step / steps
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(1, (step + 1) / _WARM_UP_STEPS) * max(0.02, 1 - share)
        asked_as_later = step % _FIXED_EVERY == 0 or share > _FIXED_FROM
        numbers, places, mask, ends, wanted = sequence(
            fixed if asked_as_later else [], lessons[step * size : (step + 1) * size]
        )
        odds = model(numbers, places, mask, ends, (int(shape["yes"]), int(shape["no"])))
        soft = wanted * (2 * _CERTAIN - 1) + 1 - _CERTAIN
        loss = functional.binary_cross_entropy_with_logits(odds, soft)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learnt, _CLIP)
        optimiser.step()
        recent.append((loss.item(), ((odds > 0).float() == wanted).float().mean().item()))
        if (step + 1) % 10 == 0:
            mean = np.mean(recent[-50:], axis=0)
            took = time.time() - began
            told = {"step": step + 1, "s": round(took), "loss": round(mean[0], 3), "right": round(mean[1], 3)}
            print(json.dumps(told), flush=True)
            if (step + 1) % 100 == 0:
                save(model, folder)
    save(model, folder)


def save(model: Model, folder: Path) -> None:
    """Write the adapter as it is now, whole or not at all."""
    found = {}
    for at, layer in enumerate(model.layers):
        for name, part in layer.parts.items():
            group = "self_attn" if name[0] in "qkvo" else "mlp"
            found[f"layers.{at}.{group}.{name}.A"] = part.a.detach().numpy()
            found[f"layers.{at}.{group}.{name}.B"] = part.b.detach().numpy()
    with (folder / "adapter.part.npz").open("wb") as file:
        np.savez(file, **found)
    (folder / "adapter.part.npz").replace(folder / "adapter.npz")


if __name__ == "__main__":
    main()
