"""Train the adapter that lets the boot model find the note: `python -m tools.train_notes --help`.

Lessons come from tools/note_pairs.py, the weights from the very GGUF file that is shipped, so the adapter learns on top
of what quantisation left of them. Token numbers are the engine's own. Training itself is tools/lora_training.py in an
environment with torch, about an hour and a half on two cores. The same seed and threads give the same adapter on the
same machine; kernels of another processor round differently.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.asking.prompts import ANSWERS, Prompts
from models.llm import layout, repack
from models.llm.gguf import Gguf
from models.llm.mnn import EngineOptions, MnnEngine
from tools.note_pairs import lesson

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20261130
STEPS, LESSONS_A_STEP = 900, 4
ALPHA = 16.0
_PARTS = {
    "attn_q": "q_proj", "attn_k": "k_proj", "attn_v": "v_proj", "attn_output": "o_proj",
    "ffn_gate": "gate_proj", "ffn_up": "up_proj", "ffn_down": "down_proj",
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}  # fmt: skip


def weights(model: Gguf) -> tuple[dict[str, NDArray[np.float32]], dict[str, float]]:
    """All weights as float32 in Hugging Face's order of rows, and the shape."""
    shape = layout.read_shape(model)
    epsilon, frequencies = layout.norm_constants(model, shape)
    found = {"frequencies": frequencies}
    for name, tensor in model.tensors.items():
        values = repack.decode_values(tensor.data, tensor.kind)
        bare = name.removesuffix(".weight")
        if bare == layout.EMBEDDING:
            found["embed_tokens"] = values
        elif bare == layout.OUTPUT_NORM:
            found["norm"] = values[0]
        elif bare.startswith("blk."):
            _, layer, part = bare.split(".")
            order = layout.row_order(bare, shape, tensor.shape[0])
            rows = values if order is None else values[order]
            found[f"layers.{layer}.{_PARTS[part]}"] = rows[0] if part.endswith("norm") else rows
    return found, {"layers": shape.layers, "heads": shape.heads, "kv_heads": shape.kv_heads, "epsilon": epsilon}


def lessons(prompts: Prompts, count: int, seed: int) -> list[dict[str, object]]:
    """Lessons of the training half as token numbers."""
    chance = random.Random(seed)  # noqa: S311  # no secret is made
    found: list[dict[str, object]] = []
    for _ in range(count):
        one = lesson(chance, "train")
        asked = [prompts.note(one.incident, note) for note in one.notes]
        found.append({"incident": asked[0][1], "notes": [note for _, _, note in asked], "speaks": one.speaks})
    return found


def write_adapter(arrays: dict[str, NDArray[np.float32]], path: Path, about: dict[str, str]) -> None:
    """Write safetensors in bfloat16, rounded to nearest even, as models/llm/lora.py reads it."""
    header: dict[str, object] = {"__metadata__": about}
    data = bytearray()
    for name in sorted(arrays):
        layer, half = name.rsplit(".", 1)
        raw = repack.bfloat16(arrays[name]).tobytes()
        place = [len(data), len(data) + len(raw)]
        key = f"base_model.model.model.{layer}.lora_{half}.weight"
        header[key] = {"dtype": "BF16", "shape": list(arrays[name].shape), "data_offsets": place}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def main() -> None:
    """Make lessons, train, write the adapter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=Path, help="the model's file")
    parser.add_argument("model", type=Path, help="the same model, converted: its tokenizer is used")
    parser.add_argument("out", type=Path, help="the .safetensors file to write")
    parser.add_argument("--python", type=Path, required=True, help="of an environment with torch and numpy")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, help="keep what is made on the way here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(exist_ok=True)
        arrays, shape = weights(Gguf(options.gguf))
        np.savez(work / "weights.npz", **arrays)  # type: ignore[arg-type]  # numpy's stub names one keyword
        engine = MnnEngine(options.model, EngineOptions())
        yes, no = (engine.encode(word)[0] for word in ANSWERS)
        about = {"yes": yes, "no": no, "alpha": ALPHA}
        (work / "shape.json").write_text(json.dumps(shape | about), encoding="utf-8")
        prompts = Prompts.of(engine.encode)
        told = {"fixed": prompts.fixed, "lessons": lessons(prompts, options.steps * LESSONS_A_STEP, options.seed)}
        (work / "lessons.json").write_text(json.dumps(told), encoding="utf-8")
        script = Path(__file__).with_name("lora_training.py")
        words = [str(LESSONS_A_STEP), str(options.seed), str(options.threads)]
        subprocess.run([options.python, script, work, *words], check=True)  # noqa: S603  # our own words
        metadata = {"alpha": str(ALPHA), "seed": str(options.seed), "steps": str(options.steps)}
        with np.load(work / "adapter.npz") as learnt:
            write_adapter(dict(learnt), options.out, metadata)


if __name__ == "__main__":
    main()
