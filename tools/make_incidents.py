"""Makes config/eval/incidents.jsonl: the facts of incidents on which sentences are judged.

Six sites, their places and what happens there are written by hand; which of it comes together is drawn with a fixed
seed. Lines have the form of the events' facts; `pipeline eval summaries --set FILE` takes a file of your own.

usage: python -m tools.make_incidents > config/eval/incidents.jsonl
"""

from __future__ import annotations

import json
import random
import sys

from pipeline.core.text import sentences

# site        places                                                           what is seen there
SITES = {
    "harbour": (("quay 3", "crane track", "customs gate", "container yard"), ("truck", "person", "forklift", "boat")),
    "school": (("bicycle shed", "main entrance", "sports hall", "playground"), ("person", "child", "bicycle", "dog")),
    "farm": (("grain store", "lower field", "milking parlour", "lane"), ("tractor", "person", "fox", "cow", "van")),
    "depot": (("ramp 2", "east fence", "parts store", "wash bay"), ("van", "person", "truck", "car")),
    "reserve": (("water hole", "ridge path", "ranger hut", "salt lick"), ("deer", "person", "bear", "bird")),
    "clinic": (("ambulance bay", "rear door", "pharmacy", "car park"), ("person", "car", "ambulance", "cat")),
}  # fmt: skip
TAGS = {
    "person": ("backpack", "umbrella", "suitcase", "tools", "bottle", "ladder", "bicycle"),
    "child": ("backpack", "ball"),
    "truck": ("container", "lorry"),
    "van": ("carton", "minibus"),
    "none": ("fog", "moving branches", "snow"),
}
RULES = {
    "person": ("zone_entered", "after_hours", "restricted_zone", "loiter", "class_uncertain"),
    "vehicle": ("zone_entered", "after_hours", "restricted_zone", "vehicle_stop", "class_uncertain"),
    "animal": ("class_uncertain",),
}
COUNT = 90


def incidents(seed: int = 1) -> list[dict[str, object]]:
    """Draw them."""
    choice = random.Random(seed)  # noqa: S311  # no secret
    return [_incident(number, choice) for number in range(1, COUNT + 1)]


def _incident(number: int, choice: random.Random) -> dict[str, object]:
    site = choice.choice(sorted(SITES))
    places, things = SITES[site]
    label = "none" if choice.random() < 0.07 else choice.choice(things)  # noqa: PLR2004  # a few that nobody recognised
    kind = sentences.verb_group(label)
    still = label == "none" or choice.random() < 0.4  # noqa: PLR2004  # as many as in footage
    hour = choice.randrange(24)
    light = "night" if hour < 6 or hour > 20 else "day"  # noqa: PLR2004  # when it is dark most of the year
    speeds = ("slow", "walk", "run") if kind == "person" else ("slow", "medium", "fast")
    count = 0 if label == "none" else choice.choice((1, 1, 1, 1, 2, 2, 3, 5, 12))
    tags = TAGS.get(label, ())
    facts = {
        "camera": f"{site}-{choice.randrange(1, 4)}",
        "zone": choice.choice(places),
        "local_time": f"{hour:02}:{choice.randrange(60):02}",
        "weekday": choice.choice(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")),
        "light": "lit" if light == "night" and choice.random() < 0.3 else light,  # noqa: PLR2004  # some have lamps
        "object": {"class": label, "likelihood": round(choice.uniform(0.4, 0.98), 2) if count else 0.0, "count": count},
        "tags": choice.sample(tags, choice.randrange(min(3, len(tags) + 1))) if tags else [],
        "track": {
            "dwell_s": choice.choice((0, 2, 7, 19, 36, 75, 90, 240, 900, 4000, 7200)),
            "direction": "none"
            if still or label == "none"
            else choice.choice(("along", "in", "out", "toward", "away")),
            "speed": "still" if still or label == "none" else choice.choice(speeds),
            "visits_last_hour": choice.choice((1, 1, 1, 2, 3, 7)),
        },
        "rules_hit": _rules(label, kind, count, choice),
    }
    return {"id": f"own-{number:03}", "facts": facts}


def _rules(label: str, kind: str, count: int, choice: random.Random) -> list[str]:
    if label == "none":
        return ["motion"]
    found = choice.sample(RULES[kind], min(len(RULES[kind]), choice.choice((0, 0, 1, 1, 2))))
    crowd = kind == "person" and count >= 8  # noqa: PLR2004  # the default of the rule
    return [*found, "crowd"] if crowd else found


if __name__ == "__main__":
    sys.stdout.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in incidents())
