"""How well a converted model finds the note, on lessons of places and people that no lesson of its training had.

Prints what config/models.toml wants to know of it: slope and middle, fitted on half of the pairs, and how right the
model is on the other half, with and without taking off what a note gets for nothing in particular.

usage: python -m tools.note_accuracy MODEL [--lessons N] [--seed N] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.asking.prompts import Prompts
from models.asking.weighing import NULL_SIGHTS, Weigher
from models.llm.mnn import EngineOptions
from models.llm.opening import open_model
from models.table import Weighing
from tools.note_pairs import lesson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ROUNDS = 50


def fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and middle of P(y) = logistic(slope * (x - middle)), by Newton's method, with a little ridge."""
    design = np.stack((x, np.ones_like(x)), 1)
    weights = np.zeros(2)
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (y - likely) - 1e-3 * weights
        curvature = (design * (likely * (1 - likely))[:, None]).T @ design + 1e-3 * np.eye(2)
        weights += np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(-weights[1] / weights[0])


def area(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """The share of pairs, one that speaks and one that does not, in which the first scores higher."""
    yes, no = x[y == 1][:, None], x[y == 0][None]
    return float(((yes > no) + 0.5 * (yes == no)).mean())


def top(groups: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> float:
    """Among lessons in which a note speaks, how often the highest score is one that does."""
    hits = [bool(y[int(x.argmax())]) for x, y in groups if y.any()]
    return sum(hits) / len(hits)


def main() -> None:
    """Ask, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a converted model: STATE/models/NAME/VERSION")
    parser.add_argument("--lessons", type=int, default=150)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    model = open_model(options.model, EngineOptions(options.threads))
    prompts = Prompts.of(model.engine.encode)
    weigher = Weigher(model, prompts, Weighing("", "", calibrated=False, slope=1.0, middle=0.0))
    chance = random.Random(options.seed)  # noqa: S311  # no secret is made
    asked = [lesson(chance, "test") for _ in range(options.lessons)]
    pairs = [(seen, note) for one in asked for note in one.notes for seen in (*NULL_SIGHTS, one.incident)]
    for _ in weigher.weigh(weigher.expand_pairs(pairs), lambda _: False):
        pass

    def answer(seen: str, note: str, *, calibrated: bool) -> float:
        nothing = sum(weigher.answer(none, note) for none in NULL_SIGHTS) / len(NULL_SIGHTS)
        return weigher.answer(seen, note) - (nothing if calibrated else 0.0)

    ways = {}
    for way in ("raw", "calibrated"):
        groups = [
            (
                np.array([answer(one.incident, note, calibrated=way == "calibrated") for note in one.notes]),
                np.array(one.speaks),
            )
            for one in asked
        ]
        x, y = (np.concatenate(column).astype(np.float64) for column in zip(*groups, strict=True))
        slope, middle = fit(x[::2], y[::2])
        right = ((x[1::2] > middle) == y[1::2]).mean()
        sure = x[1::2][y[1::2] == 0] > middle + np.log(0.65 / 0.35) / slope
        ways[way] = {
            "area": round(area(x, y), 3), "right": round(float(right), 3), "top": round(top(groups), 3),
            "surely_wrong": round(float(sure.mean()), 3), "slope": round(slope, 3), "middle": round(middle, 3),
        }  # fmt: skip
    print(json.dumps({"model": str(options.model), "pairs": len(y), "speak": int(y.sum())} | ways))


if __name__ == "__main__":
    main()
