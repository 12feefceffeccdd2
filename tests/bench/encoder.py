"""The encoder: how like the CPU's its answers are on each accelerator, and what its contract costs beside a bare run.

Ratios come from alternating rounds in one process. An emulator's speed says nothing and is not told.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc

import numpy as np
import psutil

from models import catalog
from models.encoders import fill, gate
from models.encoders.cpu import CpuEncoder, open_cpu_session
from models.planes import CropReader
from pipeline.core.frames import Planes
from pipeline.core.settings import EncodeSettings
from tests.bench import report

MODEL = "efficientnet-lite0-224-int8"
OPTIONS = {"qnn": {"soc_model": "43"}, "openvino": {}}
SIZE = (1920, 1080)
A_ROUND = 10


def picture():
    """Planes of a 1080p picture of noise."""
    random = np.random.default_rng(1)
    width, height = SIZE
    half = (height // 2, width // 2)
    return Planes(*(random.integers(16, 236, shape, np.uint8) for shape in ((height, width), half, half)))


def similar(backend):
    """The verdict and the least cosine with the CPU's answers; None where the back end cannot be used here."""
    settings = EncodeSettings(backend=backend, options=OPTIONS[backend], on_fallback="refuse")
    admission = gate.admit(catalog.verified_path(MODEL), MODEL, settings)
    found = admission.evidence
    return found.placement.verdict if found.placement else found.failure, found.cosine


class Encoding:
    """What the stage does with a keyframe: crop, fill in place, run."""

    def __init__(self):
        self.encoder = CpuEncoder(catalog.verified_path(MODEL))
        self.crops = CropReader(self.encoder.input.shape[2])
        self.planes = picture()

    def __call__(self):
        fill(self.encoder.input, self.crops.bgr(self.planes, 400, 100, 1000, 700, rotation=0))
        self.encoder.run()
        return self.encoder.logits


def grows():
    """Bytes of pictures asked for in one crop and fill: what a side of 224 asks for more than one of 32 does."""
    planes, asked = picture(), {}
    for side in (32, 224):
        crops, target = CropReader(side), np.zeros((1, 3, side, side), np.float32)
        asked[side] = allocated(lambda crops=crops, target=target: fill(target, crops.bgr(planes, 400, 100, 1000, 700)))
    return asked[224] - asked[32]


def took(work):
    """Seconds of one call, the median of a round."""
    found = []
    for _ in range(A_ROUND):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def allocated(work):
    """Bytes that Python and numpy ask for in one call, at its peak, once it is warm."""
    work()
    tracemalloc.start()
    work()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


def slope_kb(work, runs):
    """Growth of resident memory in kB for 1000 runs, by least squares over twenty samples."""
    process, samples = psutil.Process(), []
    for _ in range(runs // 4):  # the allocator finds its size
        work()
    for number in range(runs):
        work()
        if number % max(1, runs // 20) == 0:
            samples.append((number, process.memory_info().rss / 1024))
    numbers, sizes = zip(*samples, strict=True)
    return float(np.polyfit(numbers, sizes, 1)[0] * 1000) if len(samples) > 1 else 0.0


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench.encoder", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runs", type=int, default=2000, help="for the growth of memory")
    given = parser.parse_args()

    verdicts = {backend: similar(backend) for backend in OPTIONS}
    encoding, session = Encoding(), open_cpu_session(catalog.model_path(MODEL))
    feed = {session.get_inputs()[0].name: encoding.encoder.input}
    ratios = []
    for work in (encoding, lambda: session.run(None, feed)):
        took(work)
    for _ in range(given.rounds):
        whole = took(encoding)
        ratios.append(whole / took(lambda: session.run(None, feed)))
    keys = {
        **{f"cosine_{backend}": cosine for backend, (_, cosine) in verdicts.items()},
        "encode_vs_bare_run": round(statistics.median(ratios), 3),
        "alloc_per_frame": grows(),
        "objects_per_frame": allocated(encoding),
        "rss_slope_kb_per_1000": round(slope_kb(encoding, given.runs), 1),
    }
    report.table(
        "Accelerators, against the CPU's answers on drawn pictures",
        ("back end", "verdict", "cosine"),
        [(backend, verdict, "-" if like is None else f"{like:.5f}") for backend, (verdict, like) in verdicts.items()],
    )
    report.table(
        "A keyframe's crop from 1080p, on the CPU",
        ("what", "value"),
        [
            ("crop, fill and run, times a bare run", keys["encode_vs_bare_run"]),
            ("bytes of pictures asked for in one", keys["alloc_per_frame"]),
            ("bytes of Python's own objects in one, at the peak", keys["objects_per_frame"]),
            ("kB that memory grows by in 1000", keys["rss_slope_kb_per_1000"]),
        ],
    )
    report.last_line(keys, f"tests.bench.encoder --rounds {given.rounds} --runs {given.runs}")
    os._exit(0)  # what a runtime's native code has printed and not yet written would come behind the last line


if __name__ == "__main__":
    main()
