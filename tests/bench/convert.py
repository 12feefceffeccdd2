"""Converting the boot model: time, memory, and how close each recipe stays to the file's own weights in float32.

The conversion runs in a process of its own. Memory is what it holds itself (anonymous); the mapped file and the page
cache, which the system takes back at need, are not in it. Closeness is the KL divergence of the next token's
distribution, in nats, of what MNN computes from what float32 computes with the file's weights (tests/reference.py); a
part of it is MNN's rounding of activations to 8 bits, which no recipe changes.

usage: python -m tests.bench.convert [--rounds N] [--positions N] [--recipes NAME,...] [--gguf FILE] [--lora FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from models.llm import convert, folder
from models.llm.lora import Adapter
from models.table import load_table
from tests import boot
from tests.bench.report import last_line
from tests.bench.report import table as rows_of
from tests.reference import Reference, divergence

TEXT = boot.ROOT / "README.md"


def _converts(source: Path, target: Path, recipe: str, adapter: Path | None) -> dict[str, object]:
    """Convert in a child, and return what it measured of itself."""
    words = [str(source), str(target), recipe, *([str(adapter)] if adapter else [])]
    command = [sys.executable, "-m", "tests.bench.convert", "--child", *words]
    return json.loads(subprocess.run(command, cwd=boot.ROOT, stdout=subprocess.PIPE, check=True).stdout)


def _child(source: str, target: str, recipe: str, *adapter: str) -> None:
    peak, done = [_anonymous_mb()], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak.append(_anonymous_mb())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    job = convert.ModelJob(Path(source), load_table().recipe(recipe), recipe, Path(adapter[0]) if adapter else None)
    manifest = convert.run(convert.plan(job), Path(target))
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    answer = {"seconds": seconds, "peak_mb": max(peak), "own_mb": max(peak) - peak[0]}
    sys.stdout.write(json.dumps(answer | {"mb": manifest.size / 1e6}))


def _anonymous_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


def _closeness(model: Path, numbers: list[int], wanted: np.ndarray, scratch: Path) -> dict[str, float]:
    boot.ask(model, numbers=numbers, logits=str(scratch / "logits.npy"))
    divergences, same = divergence(wanted, np.load(scratch / "logits.npy"))
    return {"mean": divergences.mean(), "median": float(np.median(divergences)), "same": same}


def _measure(source: Path, options: argparse.Namespace, scratch: Path) -> dict[str, dict[str, float]]:
    """Every recipe in turns, then how close each is."""
    adapters = dict.fromkeys(options.recipes.split(","))
    if options.lora:
        adapters |= {f"{name} + adapter": options.lora for name in adapters}
    seconds: dict[str, list[float]] = {name: [] for name in adapters}
    found: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for name, adapter in adapters.items():
            found[name] = _converts(source, scratch / name, name.partition(" ")[0], adapter)
            seconds[name].append(found[name]["seconds"])
    first = next(iter(adapters))
    numbers = boot.ask(scratch / first, texts=[TEXT.read_text(encoding="utf-8")])["ids"][0][: options.positions]
    wanted = {None: Reference(source).logits(numbers)}
    if options.lora:
        wanted[options.lora] = Reference(source, Adapter(options.lora)).logits(numbers)
    for name, adapter in adapters.items():
        found[name] |= _closeness(scratch / name, numbers, wanted[adapter], scratch)
        found[name]["seconds"] = statistics.median(seconds[name])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--positions", type=int, default=400)
    parser.add_argument("--recipes", default="keep,keep-b128,mixed")
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--lora", type=Path)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _child(*options.child)
        return
    source = options.gguf or boot.gguf()
    start = time.perf_counter()
    folder.describe(source)
    hashing_s = time.perf_counter() - start
    with tempfile.TemporaryDirectory(prefix="convert") as scratch:
        found = _measure(source, options, Path(scratch))
    rows = [
        (
            name, f"{row['mb']:.1f}", f"{row['seconds']:.2f}", f"{row['peak_mb']:.0f}", f"{row['own_mb']:.0f}",
            f"{row['mean']:.4f}", f"{row['median']:.4f}", f"{row['same']:.3f}",
        )
        for name, row in found.items()
    ]  # fmt: skip
    head = ("recipe", "MB", "seconds", "peak MB", "of it its own", "KL mean", "KL median", "same token")
    rows_of(f"{source.name}, {options.positions} positions", head, rows)
    first = next(iter(found.values()))
    last_line(
        {
            "seconds": round(first["seconds"], 2),
            "vs_hashing": round(first["seconds"] / hashing_s, 1),
            "peak_mb": round(first["peak_mb"]),
            "kl": {name: round(row["mean"], 4) for name, row in found.items()},
            "same_token": {name: round(row["same"], 3) for name, row in found.items()},
        },
        "python -m tests.bench.convert",
    )


if __name__ == "__main__":
    main()
