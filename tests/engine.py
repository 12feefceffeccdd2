"""A child that loads a converted model in MNN and answers; MNN may crash, holds the GIL, and prints to standard output.

usage: python -m tests.engine FOLDER < {"texts": [...], "prompt": "...", "most": 8} > answer

With {"numbers": [...], "logits": "FILE.npy"} the logits of every position are saved; with {"windows": [[...], ...]} in
place of the numbers, those of every window, each from an empty context.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np

from models.llm.tokenizer import TokenDecoder, read


def main(folder: Path) -> None:
    asked = json.load(sys.stdin)
    answer = os.dup(1)
    os.dup2(2, 1)  # what the engine prints is no answer
    llm = importlib.import_module("MNN.llm")  # it prints; and `from MNN import llm` is another, bare module

    model = llm.create(str(folder / "config.json"))
    model.set_config({"thread_num": 1, "reuse_kv": True, "attention_mode": 8, "all_logits": "logits" in asked})
    found = {"loaded": model._c_obj.load()}
    if found["loaded"]:
        found["ids"] = [list(model._c_obj.tokenizer_encode(text)) for text in asked.get("texts", [])]
        if "prompt" in asked:
            found["said"] = _greedy(model, folder, asked)
        if "logits" in asked:
            windows = asked.get("windows") or [asked["numbers"]]
            np.save(asked["logits"], np.concatenate([_logits(model, window) for window in windows]))
    os.write(answer, json.dumps(found).encode())
    os._exit(0)  # the engine crashes at a regular exit while results of it live


def _greedy(model: object, folder: Path, asked: dict) -> str:
    words = read(folder / "tokenizer.mtok")
    numbers, said = list(model._c_obj.tokenizer_encode(asked["prompt"])), []
    for _ in range(asked["most"]):
        numbers = [int(_forward(model, numbers)[-1].argmax())]
        if numbers[0] in words.stops:
            break
        said += numbers
    return TokenDecoder(words).text(said)


def _logits(model: object, numbers: list[int]) -> np.ndarray:
    step = 128
    model.reset()
    return np.concatenate([_forward(model, numbers[at : at + step]) for at in range(0, len(numbers), step)])


def _forward(model: object, numbers: list[int]) -> np.ndarray:
    """Logits, (positions or 1, tokens); copied, as the engine's own are gone with the next call."""
    result = model.forward(numbers)
    found = np.array(result.read())
    del result
    return found.reshape(-1, found.shape[-1]).copy()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
