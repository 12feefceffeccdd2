"""Look for known things by words in the incidents of clips whose content is known.

Each clip is replayed; what its incidents show is in the table below, by people who looked. A query is right as far as
the incidents that it ranks first show that. Beside each query in people's words stands the same by the exact names of
classes, the most that the method can do with these pictures.

usage: python -m tests.bench.search FOLDER     (with clips/)
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from pipeline.app.search import search
from tests.bench.report import last_line, table

AT = 5
SHOWN = {  # what the incidents of a clip show
    "chimps_water.mp4": "ape", "trap_baboons_1fps.avi": "ape", "iot_bottle.mp4": "bottle",
    "iot_car_detection.mp4": "car", "road_cars.h264": "car", "suburb_traffic.mp4": "car", "street_dusk.flv": "car",
    "dvr_traffic_vfr.mp4": "car", "intersection.mp4": "car",
    "hallway.mpg": "person", "pets_walkers.avi": "person", "plaza_crowd.mp4": "person", "trap_night_1fps.avi": "animal",
}  # fmt: skip
QUERIES = (  # in people's words; what is shown; exact names
    ("monkeys by the water", "ape", "chimpanzee baboon"),
    ("apes", "ape", "chimpanzee baboon"),
    ("猴子", "ape", "chimpanzee baboon"),
    ("primate", "ape", "chimpanzee baboon"),
    ("a bottle", "bottle", "water bottle"),
    ("瓶子", "bottle", "water bottle"),
    ("Flasche", "bottle", "water bottle"),
    ("something to drink from", "bottle", "water bottle"),
    ("red car", "car", "sports car minivan pickup truck"),
    ("automobile", "car", "sports car minivan pickup truck"),
    ("小汽车", "car", "sports car minivan pickup truck"),
    ("vehicle on the road", "car", "sports car minivan pickup truck"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    clips = [folder / "clips" / name for name in SHOWN if (folder / "clips" / name).exists()]
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pipeline", "replay", *map(str, clips), "--out", name, "--quiet"]
        subprocess.run([*command, "--state-dir", f"{name}/state"], check=True)
        rows, words, exact, chance = [], [], [], []
        for query, shown, names in QUERIES:
            found = [_recalls(Path(name) / "events.jsonl", text, shown) for text in (query, names)]
            if None in found:
                continue
            (one, many, among), (ceiling, _, _) = found  # type: ignore[misc]  # None was left out
            rows.append((query, shown, many, f"{one:.2f}", f"{ceiling:.2f}"))
            words.append(one)
            exact.append(ceiling)
            chance.append(many / among)
    table(f"Recall at {AT}", ("query", "shown", "incidents", "words", "exact names"), rows)
    last_line(
        {
            "queries": len(rows),
            "recall_at_5": round(statistics.fmean(words), 3) if words else None,
            "ceiling_at_5": round(statistics.fmean(exact), 3) if exact else None,
            "chance": round(statistics.fmean(chance), 3) if chance else None,
        },
        f"python -m tests.bench.search {folder}",
    )


def _recalls(events: Path, text: str, shown: str) -> tuple[float, int, int] | None:
    """The share of those that show it among the first five, of five at most; how many show it; of how many."""
    found = search(events, text).found
    right = [SHOWN[one.camera] == shown for one in found]
    many = sum(right)
    return (sum(right[:AT]) / min(AT, many), many, len(found)) if many else None


if __name__ == "__main__":
    main()
