"""Replay every clip of a folder twice and score the events against the clips' ground truth.

The folder holds clips/, manifest.json, results.py and score.py; the last two turn events into a score.

usage: python -m tests.bench.footage FOLDER
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from pipeline import topology
from tests.bench.report import last_line, table

BAD_INPUTS = ("d_empty.mp4", "d_text.mp4", "d_audio_only.mp4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="keep the first replay's output here")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as name:
        first = parser.parse_args().keep or Path(name) / "first"
        second = Path(name) / "second"
        for out, jobs in ((first, "2"), (second, "1")):
            command = [
                sys.executable,
                "-m",
                "pipeline",
                "replay",
                str(folder / "clips"),
                "--out",
                str(out),
                "--jobs",
                jobs,
                "--quiet",
            ]
            subprocess.run(command, check=False)
        identical = (first / "events.jsonl").read_bytes() == (second / "events.jsonl").read_bytes()
        total = _scored(folder, first / "events.jsonl", Path(name) / "results.json")
        summary = json.loads((first / "summary.json").read_text())
    inputs = {one["name"]: one for one in summary["inputs"]}
    unwhole = [
        (one["name"], one["status"], f"{one['frames']}/{one['declared']}", one["reason"])
        for one in inputs.values()
        if one["status"] != "whole"
    ]
    table("Inputs that were not whole", ("input", "state", "frames", "reason"), unwhole)
    over = _over_budget(summary["inputs"])
    last_line(
        {
            "identical": identical,
            "hit": total["hit"],
            "true": total["true"],
            "false": total["false"],
            "label_right": round(total["label_right"] / max(total["labelled"], 1), 3),
            "labelled": total["labelled"],
            "reported": total["reported"],
            "merged": total["merged"],
            "split": total["split"],
            "bad_inputs_named": sum(
                inputs[name]["status"] == "unreadable" and bool(inputs[name]["reason"]) for name in BAD_INPUTS
            ),
            "truncated": sorted(one["name"] for one in inputs.values() if one["status"] == "truncated"),
            "stages_over_time_budget": len(over),
        },
        f"python -m tests.bench.footage {folder}",
    )


def _over_budget(inputs: list[dict]) -> list[str]:
    """Print how long messages took beside the budgets of the stage table; return the stages that took longer."""
    rows, over = [], []
    for stage, row in topology.STAGES.items():
        times_ms = [one["latency_ms"][stage][1] for one in inputs if stage in one.get("latency_ms", {})]
        if not times_ms:
            continue
        p95_ms = statistics.median(times_ms)
        rows.append((stage, f"{p95_ms:.1f}", f"{row.message_ms:.0f}"))
        over += [stage] if p95_ms > row.message_ms else []
    table("A message, 19 of 20, median of all inputs", ("stage", "ms", "budget ms"), rows)
    return over


def _scored(folder: Path, events: Path, results: Path) -> dict[str, float]:
    names = [clip["file"] for clip in json.loads((folder / "manifest.json").read_text())["clips"]]
    subprocess.run([sys.executable, str(folder / "results.py"), str(events), str(results), *names], check=True)
    scored = subprocess.run(
        [sys.executable, str(folder / "score.py"), str(results)], check=True, capture_output=True, text=True
    )
    print(scored.stdout)
    found = re.search(r"^TOTAL (.*)$", scored.stdout, re.MULTILINE)
    assert found is not None
    return dict(ast.literal_eval(found[1]))


if __name__ == "__main__":
    main()
