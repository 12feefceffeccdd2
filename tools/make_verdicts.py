"""Make tests/eval/verdicts/{train,test}.jsonl of tools/verdict_sites.py: `python -m tools.make_verdicts`.

The same seed gives the same bytes. What each note means was written by hand beside it; nothing here reads a note, so
nothing here can agree with the compiler by construction.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.verdict_sites import COPIES, INJECTIONS, SITES, Plain, Sight, Site, Standing

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20261130
FOLDER = Path(__file__).parents[1] / "tests/eval/verdicts"
_DAYS = dict(
    zip(
        ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        strict=True,
    )
)
_DAYS |= dict(zip(("周一", "周二", "周三", "周四", "周五", "周六", "周日"), tuple(_DAYS.values()), strict=True))
_INDOORS = (
    "pharm",
    "foyer",
    "lobby",
    "gal",
    "work",
    "depot",
    "stair",
    "分拣",
    "冷库",
    "变电",
    "展厅",
    "泵房",
    "楼道",
    "车库",
    "仓库",
)
_LABELS = {"report": "forbid"}

Row = dict[str, Any]


def main() -> None:
    """Write both halves."""
    chance = random.Random(SEED)  # noqa: S311  # no secret is made
    rows = [row for site in SITES for row in _site(site, chance)]
    for half in ("train", "test"):
        own = [row for row in rows if row["_half"] == half]
        text = "".join(
            json.dumps({k: v for k, v in row.items() if k != "_half"}, ensure_ascii=False) + "\n" for row in own
        )
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{half}.jsonl").write_text(text, encoding="utf-8")
        print(half, len(own))


def _site(site: Site, chance: random.Random) -> Iterator[Row]:
    rows: list[Row] = []
    for wording in (0, 1):
        notes = [note.wordings[wording] for note in site.notes]
        readings = [_LABELS.get(note.label, note.label) for note in site.notes]
        about = {
            "language": site.language,
            "note_set": f"{site.key}-{wording + 1}",
            "notes": notes,
            "readings": readings,
            "_half": site.half,
        }
        for number, note in enumerate(site.notes, 1):
            rows += [about | row for row in _incidents(note, number, chance)]
        rows += [about | _plain(one, chance) for one in site.plain]
    rows += [
        _plain(one, chance)
        | {"language": site.language, "note_set": "-", "notes": [], "readings": [], "_half": site.half}
        for one in site.plain
    ]
    for at, row in enumerate(rows, 1):
        row["id"] = f"{site.key}-{at:03d}"
        row["provenance"] = "made: tools/make_verdicts.py from the hand-written table tools/verdict_sites.py"
    yield from rows
    yield from _twins(site, rows, chance)


def _incidents(note: Standing, number: int, chance: random.Random) -> Iterator[Row]:
    sight = note.sight
    good = {
        "situation": list(sight.good),
        "expected": ["yes"],
        "severity": ["none"],
        "action": ["ignore", "log"],
        "note": [number],
    }
    bad = {
        "situation": list(sight.bad),
        "expected": ["no"],
        "severity": ["low", "medium", "high"],
        "action": ["notify", "alarm"],
        "note": [number],
    }
    allowed = note.label in ("allow", "except", "dual")
    for moment in note.holds:
        yield {
            "group": "notes",
            "facts": _facts(sight, moment, chance),
            "expect": good if allowed else bad,
            "why": "the note holds",
        }
    for moment in note.else_:
        outside = bad | (
            {"expected": ["no", "unsure"], "action": ["log", "notify", "alarm"], "note": [number, 0]}
            if note.label == "allow"
            else {}
        )
        yield {
            "group": "tricky",
            "facts": _facts(sight, moment, chance),
            "expect": outside,
            "why": "outside the note's time",
        }
    if note.over_s:
        over = bad | {"action": ["log", "notify"]}
        yield {
            "group": "tricky",
            "facts": _facts(sight._replace(dwell_s=note.over_s), note.holds[0], chance),
            "expect": over,
            "why": "too long",
        }


def _plain(one: Plain, chance: random.Random) -> Row:
    expect = {
        "situation": list(one.situation),
        "expected": list(one.expected),
        "severity": list(one.severity),
        "action": list(one.action),
        "note": [0],
    }
    return {"group": "facts_only", "facts": _facts(one.sight, one.moment, chance), "expect": expect, "why": one.why}


def _twins(site: Site, rows: list[Row], chance: random.Random) -> Iterator[Row]:
    loud = [row for row in rows if row["expect"]["action"][-1] == "alarm"]
    calm = [row for row in rows if row["expect"]["expected"] == ["yes"]]
    for group, chosen, texts in (("injection", loud, INJECTIONS), ("copy", calm, COPIES)):
        for at, row in enumerate(chance.sample(chosen, min(3, len(chosen))), 1):
            signs = [chance.choice(texts[site.language])]
            yield row | {
                "id": f"{site.key}-{group[0]}{at}", "group": group, "pair": row["id"],
                "facts": row["facts"] | {"scene_text": signs}, "why": "the same with a sign in the scene",
            }  # fmt: skip


def _facts(sight: Sight, moment: str, chance: random.Random) -> Row:
    day, clock = moment.split()
    hour = int(clock[:2])
    dark = not 6 <= hour < 21  # noqa: PLR2004  # hours that are dark most of the year
    likelihood = 0.0 if sight.thing == "none" else round(chance.uniform(0.8, 0.96), 2)
    inside = sight.camera.startswith(_INDOORS)
    return {
        "camera": sight.camera, "zone": sight.zone, "local_time": clock, "weekday": _DAYS[day],
        "light": "lit" if inside and dark else "night" if dark else "day",
        "object": {"class": sight.thing, "likelihood": likelihood, "count": sight.count},
        "tags": list(sight.tags),
        "track": {
            "dwell_s": sight.dwell_s, "direction": sight.direction, "speed": sight.speed,
            "visits_last_hour": int(sight.thing != "none"),
        },
        "rules_hit": list(sight.rules), "scene_text": [],
    }  # fmt: skip


if __name__ == "__main__":
    main()
