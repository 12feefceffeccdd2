"""Follow people and cars of drawn scenes, whose truth is known, and compare with a tracker that others use.

Scenes of `tools.draw_scenes` go through background, regions to look at, patches, colours and tracker, as the stages
drive them; only the detector, which does not know drawn people, is replaced: of each looked-at region the truth gives
the boxes that it would find, trembling by 3 %, one in ten missing. norfair (Kalman filter, IoU or distance, whichever
does better at a rate) gets the same detections at the same times.

Scored, in every picture: things from their confirmation on, to their last sign, unless two looks in a row did not show
them or there was no sign for 1.2 s, or 2.5 s of one that stands; against movers that are visible by a third and were
looked at three times. IDF1 is that of E. Ristani et al. 2016, "Performance Measures and a Data Set for Multi-Target,
Multi-Camera Tracking"; identity switches are those of the CLEAR metrics.

usage: python -m tests.bench.tracks [--footage ../shared/footage] [--seeds 3]
"""

from __future__ import annotations

import argparse
import importlib
import logging
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pipeline.core.geometry import area, overlap, rounded, shared
from pipeline.core.settings import ClassifySettings, MotionSettings
from pipeline.core.times import Pace
from pipeline.core.track import pieces
from pipeline.core.track.looking import Looks
from pipeline.core.track.sight import Detection, Sight, TrackRules
from pipeline.core.track.tracker import Tracker, on_their_way, step
from stages.background import Background
from stages.colours import colours
from stages.patches import Patches
from tests.bench.identities import MATCH, VISIBLE, Moment, Score, scored
from tests.bench.report import last_line, table
from tools.draw_scenes import HEIGHT, KINDS, WIDTH, grounds, pictures, scene_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.core.geometry import Box
    from tests.bench.identities import Boxes
    from tools.draw_scenes import Drawn, Scene, Shown

RATES = (15, 5, 2, 1)
"""Looks a second."""
LEAST_RATE = 10
"""Pictures a second of a camera that is looked at more often than twice a second; others send what is looked at."""
HOLD_S, STANDING_HOLD_S = 1.2, 2.5
"""How long what was said last holds; what stands is looked at once a second, and a look may miss it."""
VAIN = 2
"""Looks in a row that did not show a thing, after which it is not there."""
MISSED, TREMBLES = 0.1, 0.03
FULL = 8
"""Things from which on a picture's time counts: of ten some are always hidden."""


class Held:
    """The boxes that a tracker said last, kept until looks at them are in vain."""

    def __init__(self) -> None:
        self._boxes: dict[int, tuple[int, Box]] = {}
        self._rests: dict[int, tuple[int, Box]] = {}
        self._vain: dict[int, int] = {}

    def update(self, at_ns: int, boxes: Boxes, looked_at: Sequence[Box]) -> None:
        """Take in what a tracker says after a look at some regions."""
        for number, (_, box) in self._boxes.items():
            if number not in boxes and any(shared(box, region) > area(box) / 2 for region in looked_at):
                self._vain[number] += 1
        for number, box in boxes.items():
            self._boxes[number], self._vain[number] = (at_ns, box), 0
            rest_ns, rest = self._rests.get(number, (at_ns, box))
            self._rests[number] = (rest_ns, rest) if overlap(rest, box) >= MATCH else (at_ns, box)

    def at(self, at_ns: int) -> Boxes:
        """What is there at a time."""
        return {number: box for number, (_, box) in self._boxes.items() if self._holds(number, at_ns)}

    def _holds(self, number: int, at_ns: int) -> bool:
        said_ns, since_ns = self._boxes[number][0], self._rests[number][0]
        stands = said_ns - since_ns >= TrackRules().rest_s * 1e9
        return self._vain[number] < VAIN and at_ns - said_ns <= hold_ns(stands=stands)


def hold_ns(*, stands: bool) -> float:
    """How long what was seen last is taken to be there."""
    return (STANDING_HOLD_S if stands else HOLD_S) * 1e9


class Detector:
    """Finds what the truth says, as well as a detector does."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng((seed, 31))

    def detect(self, truth: Iterable[Shown], region: Box) -> list[Detection]:
        return [self._found(one) for one in truth if in_view(one, region) and self._chance.random() >= MISSED]

    def _found(self, one: Shown) -> Detection:
        left, top, right, bottom = one.seen
        across, down = right - left, bottom - top
        tremor = self._chance.normal(0, TREMBLES, 4) * (across, down, across, down)
        box = tuple(float(edge + by) for edge, by in zip(one.seen, tremor, strict=True))
        label = "car" if one.group == "vehicle" else one.group
        likelihood = round(float(self._chance.uniform(0.45, 0.8)), 4)
        return Detection(label, one.group, likelihood, rounded(box))  # type: ignore[arg-type]  # four, and a group


class Follower:
    """Background, looks and tracker of a camera, driven as `stages.motion` and `stages.classify` drive them."""

    def __init__(self, looks_per_s: float, seed: int) -> None:
        row = ClassifySettings()
        self._rules = TrackRules(max_still_s=row.max_still_s).for_height(HEIGHT)
        self._background, self._quiet = Background(), Pace(1 / MotionSettings().quiet_report_s)
        self._looks = Looks(looks_per_s, row.still_looks_per_s, row.max_crops)
        self._patches, self._detector = Patches(), Detector(seed)
        self.tracker = Tracker()
        self.last_ns: dict[int, int] = {}
        self.full_ms: list[float] = []

    def handle(self, drawn: Drawn) -> tuple[tuple[Box, ...], Sequence[Detection] | None]:
        """Take a picture in; return where was looked, and what was found there."""
        planes, at_ns = drawn.planes, drawn.at_ns
        movement = self._background.measure(planes.y, at_ns)
        due = self._quiet.due(at_ns)
        if not (movement.boxes or movement.global_change or due):
            return (), None
        boxes, blurred = tuple(map(rounded, movement.boxes)), tuple(map(rounded, movement.blurred))
        moving = () if movement.global_change else boxes
        looked_at = self._looks.regions(self.tracker, moving, at_ns, self._rules)
        sight = Sight(at_ns, boxes, movement.global_change, blurred=blurred, looked_at=looked_at)
        found = None
        if looked_at or self.tracker.things:
            found = self._look(drawn, looked_at) if looked_at else None
            sight = sight._replace(detections=found, carried=self._patches.find(planes, 0))
        self._step(sight)
        self._patches.keep(planes, 0, on_their_way(self.tracker))
        return looked_at, found

    def _step(self, sight: Sight) -> None:
        began = time.perf_counter()
        self.tracker = step(self.tracker, sight, self._rules)
        if len(self.tracker.things) >= FULL:
            self.full_ms.append((time.perf_counter() - began) * 1e3)
        for thing in self.tracker.things:
            if thing.confirmed:
                self.last_ns[thing.number] = thing.seen_ns

    def said(self, at_ns: int) -> Boxes:
        """The things that are certain and were seen of late."""
        return {
            one.number: one.box for one in self.tracker.things if one.confirmed and at_ns - one.seen_ns <= HOLD_S * 1e9
        }

    def _look(self, drawn: Drawn, regions: tuple[Box, ...]) -> list[Detection]:
        known = [thing.box for thing in self.tracker.things if thing.confirmed]
        found = pieces.join((one for box in regions for one in self._detector.detect(drawn.things, box)), known)
        return [msgspec.structs.replace(one, colours=colours(drawn.planes, one.box, 0)) for one in found]


class Peer:
    """norfair's tracker, one for each group, as its documents set it up."""

    def __init__(self, distance: str, looks_per_s: float) -> None:
        self._norfair = importlib.import_module("norfair")
        options = {"iou": ("iou", 0.7), "distance": (_sized_distance, 1.2)}[distance]
        logging.disable(logging.WARNING)  # that distances by pairs are slower
        patience = max(3, round(3 * looks_per_s))
        self._trackers = {
            group: self._norfair.Tracker(*options, hit_counter_max=patience, initialization_delay=min(2, patience - 1))
            for group in ("person", "vehicle")
        }
        logging.disable(logging.NOTSET)
        self.held = Held()
        self.last_ns: dict[int, int] = {}

    def handle(self, at_ns: int, found: Sequence[Detection], looked_at: Sequence[Box]) -> None:
        """Take the detections of a look in."""
        said: Boxes = {}
        for place, (group, tracker) in enumerate(self._trackers.items()):
            own = [self._detection(one.box) for one in found if one.group == group]
            for thing in tracker.update(own):
                detected = any(thing.last_detection is one for one in own)
                if detected or thing.hit_counter >= thing.hit_counter_max - 1:  # the filter's own estimate lags
                    corners = thing.last_detection.points if detected else thing.estimate
                    said[2 * thing.id + place] = tuple(corners.ravel().tolist())  # type: ignore[assignment]
        self.held.update(at_ns, said, looked_at)
        self.last_ns |= dict.fromkeys(said, at_ns)

    def _detection(self, box: Box) -> Any:
        return self._norfair.Detection(points=np.asarray(box).reshape(2, 2))


def _sized_distance(detection: Any, thing: Any) -> float:
    """Distance of the centres in sizes, in which the picture is as wide as it is high."""
    one, other = (points * (WIDTH / HEIGHT, 1) for points in (detection.points, thing.estimate))
    way = float(np.linalg.norm(one.mean(axis=0) - other.mean(axis=0)))
    return way / max(float(np.ptp(one, axis=0).max()), 1e-6)


def in_view(one: Shown, region: Box) -> bool:
    """Whether a look at a region shows a mover."""
    return one.visible >= VISIBLE and shared(one.seen, region) >= area(one.seen) / 2


def peers() -> tuple[str, ...]:
    """The ways in which the peer can be run here: none where it is not there."""
    try:
        importlib.import_module("norfair")
    except ImportError:
        return ()
    return ("iou", "distance")


def follow(scene: Scene, looks_per_s: int, seed: int, ground: Any) -> tuple[dict[str, Score], list[float]]:
    """Follow a scene; return the scores by tracker, and the times of pictures with many things."""
    fps = looks_per_s if looks_per_s <= 2 else max(looks_per_s, LEAST_RATE)  # slow cameras
    own, others = Follower(looks_per_s, seed), {name: Peer(name, looks_per_s) for name in peers()}
    looks: dict[int, int] = defaultdict(int)
    moments = []
    for drawn in pictures(scene, fps, seed, ground):
        regions, found = own.handle(drawn)
        for peer in others.values():
            if found is not None:
                peer.handle(drawn.at_ns, found, regions)
        for one in drawn.things:
            looks[one.number] += any(in_view(one, region) for region in regions)
        said = {name: peer.held.at(drawn.at_ns) for name, peer in others.items()}
        moments.append(Moment(drawn.at_ns, drawn.things, dict(looks), {"own": own.said(drawn.at_ns), **said}))
    trackers = {"own": own, **others}
    return {
        name: scored(moments, name, tracker.last_ns, len(scene.movers), 1 / fps) for name, tracker in trackers.items()
    }, own.full_ms


class Results:
    """Scores by tracker, kind, rate and seed."""

    def __init__(self) -> None:
        self.by: dict[tuple[str, str, int, int], Score] = {}
        self.full_ms: list[float] = []

    def pooled(self, name: str, seed: int, kinds: Iterable[str], rates: Iterable[int]) -> Score:
        total = Score()
        for kind in kinds:
            for rate in rates:
                total = total.plus(self.by.get((name, kind, rate, seed), Score()))
        return total

    def median(self, what: str, name: str, kinds: Sequence[str], rates: Sequence[int]) -> float | None:
        """The median of the seeds; None where nothing was run."""
        seeds = sorted({seed for *_, seed in self.by})
        totals = [self.pooled(name, seed, kinds, rates) for seed in seeds]
        if not any(total.true_count for total in totals):
            return None
        return round(statistics.median(getattr(total, what) for total in totals), 3)

    def peer(self, what: str, kinds: Sequence[str], rate: int) -> float | None:
        """The same of the peer, set up as it does better."""
        values = [self.median(what, name, kinds, (rate,)) for name in peers()]
        return max((value for value in values if value is not None), default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--footage", type=Path, help="the folder of clips whose still pictures things walk through")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rates", nargs="+", type=int, choices=RATES, default=RATES, help="looks a second")
    options = parser.parse_args()
    results, still = Results(), grounds(options.footage)
    for seed in range(options.seeds):
        for place, kind in enumerate(options.kinds):
            for rate in options.rates:
                found, full_ms = follow(scene_of(kind, seed), rate, seed, still[(place + seed) % len(still)])
                results.by |= {(name, kind, rate, seed): score for name, score in found.items()}
                results.full_ms += full_ms
    table(
        "Things by kind and looks a second, medians of the seeds",
        ("kind", "looks/s", "IDF1", "norfair", "switches/min", "count error"),
        [_row(results, kind, rate) for kind in options.kinds for rate in options.rates],
    )
    last_line(_keys(results, options.kinds, options.rates), " ".join(("python -m tests.bench.tracks", *sys.argv[1:])))


def _row(results: Results, kind: str, rate: int) -> tuple[object, ...]:
    peer = results.peer("idf1", (kind,), rate)
    own = [results.median(what, "own", (kind,), (rate,)) for what in ("idf1", "switches_a_minute", "count_error")]
    return (kind, rate, own[0], "not installed" if peer is None else peer, own[1], own[2])


def _keys(results: Results, kinds: Sequence[str], rates: Sequence[int]) -> dict[str, object]:
    switches = [results.median("switches_a_minute", "own", kinds, (rate,)) for rate in rates]
    alone = [kind for kind in kinds if kind != "group"]
    return {
        "idf1_5": results.median("idf1", "own", kinds, (5,)),
        "idf1_1": results.median("idf1", "own", kinds, (1,)),
        "switches_per_object_minute": max(one for one in switches if one is not None),
        "count_error": results.median("count_error", "own", alone, rates),
        "count_error_groups": results.median("count_error", "own", ("group",), rates),
        "peer_idf1_5": results.peer("idf1", kinds, 5),
        "peer_idf1_1": results.peer("idf1", kinds, 1),
        "tracker_ms": round(statistics.median(results.full_ms), 3) if results.full_ms else None,
    }


if __name__ == "__main__":
    main()
