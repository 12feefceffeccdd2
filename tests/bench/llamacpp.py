"""llama.cpp as a peer of our engine, by way of xllamacpp, which is no dependency: pip install xllamacpp."""

from __future__ import annotations

import importlib
import importlib.util
import json
import statistics
import time

from models.asking import prompts
from pipeline.core.text import grounding
from tests.bench import asking

SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string", "maxLength": 200}},
    "required": ["summary"],
    "additionalProperties": False,
}


def needed() -> None:
    """End the program where it is missing."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise SystemExit("llama.cpp is missing: pip install xllamacpp")


class Peer:
    """A GGUF file loaded with as many threads; everything else as llama.cpp comes."""

    def __init__(self, gguf: str, threads: int) -> None:
        engine = importlib.import_module("xllamacpp")
        settings = engine.CommonParams()
        settings.model.path = gguf
        settings.n_ctx, settings.n_parallel, settings.n_gpu_layers = 1024, 1, 0
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
        settings.cache_ram_mib = 0  # a copy of what it holds, beside what it holds
        settings.verbosity = 0
        began = time.perf_counter()
        self._server = engine.Server(settings)
        self.load_s = time.perf_counter() - began

    def complete(self, prompt: object, most: int, **more: object) -> list[dict]:
        """All pieces of an answer, the likeliest tokens."""
        found: list[dict] = []
        asked = {
            "prompt": prompt, "n_predict": most, "temperature": 0, "stream": True, "timings_per_token": True, **more,
        }  # fmt: skip
        self._server.handle_completions(asked, found.append)
        if problem := next((piece["error"] for piece in found if "error" in piece), None):
            raise SystemExit(f"llama.cpp: {problem}")
        return found

    def speeds(self, numbers: list[int], most: int) -> tuple[float, float]:
        """Tokens a second of reading a prompt, and of writing in the middle of an answer."""
        pieces = self.complete(numbers, most, cache_prompt=False, ignore_eos=True)
        at = {piece["timings"]["predicted_n"]: piece["timings"]["predicted_ms"] for piece in pieces}
        steps = [(at[n] - at[n - 1]) / 1e3 for n in range(2, most + 1) if n in at and n - 1 in at]
        return pieces[-1]["timings"]["prompt_per_second"], 1 / asking.middle(steps)

    def sentence(self, facts) -> dict:
        """What the JSON answer about an incident takes, and whether it says nothing but the facts."""
        began = time.perf_counter()
        pieces = self.complete(_prompt(facts), 96, cache_prompt=True, json_schema=SCHEMA)
        seconds = time.perf_counter() - began
        text = "".join(piece["choices"][0]["text"] for piece in pieces)
        try:
            summary = json.loads(text)["summary"]
        except (ValueError, KeyError):
            summary = ""
        timings = pieces[-1]["timings"]
        return {
            "s": seconds, "tokens": timings["predicted_n"], "cached": timings["cache_n"], "text": summary,
            "grounded": bool(summary) and not grounding.find_fault(summary, facts),
        }  # fmt: skip


def _prompt(facts) -> str:
    """The same prompt as ours, but with answers in JSON."""
    lines = (
        f"{listed}{prompts._ASKS} {json.dumps({'summary': answer})}{prompts._NEXT}"
        for listed, answer in prompts._EXAMPLES
    )
    return prompts._TASK + "".join(lines) + prompts.format_facts(facts) + prompts._ASKS


def measure(gguf: str, threads: int, numbers: list[int], most: int, incidents) -> dict:
    """Everything that is measured of llama.cpp in one life of a process."""
    peer = Peer(gguf, threads)
    peer.speeds(numbers, most)
    found: dict[str, object] = {"load_s": peer.load_s, "memory": asking.memory()}
    watch = asking.Stopwatch()
    speeds = [peer.speeds(numbers, most) for _ in range(2)]
    found |= {"prefill": [one for one, _ in speeds], "decode": [one for _, one in speeds]}
    peer.sentence(incidents[0])  # so that the examples are held
    found["sentences"] = [peer.sentence(facts) for facts in incidents]
    return found | {"others": watch.read().others}


def medians(rounds: list[dict]) -> dict[str, float]:
    """Of all sentences of all rounds."""
    every = [one for found in rounds for one in found["sentences"]]
    return {
        "s": statistics.median(one["s"] for one in every),
        "tokens": statistics.median(one["tokens"] for one in every),
        "grounded": statistics.mean(one["grounded"] for one in every),
    }
