"""Facts of a few incidents as they happen in yards and car parks: what a language model is measured with."""

from __future__ import annotations

import msgspec

from pipeline.core.facts import Facts

# fmt: off
_ROWS = (
    # when and light        count thing %  place        s way pace visits    seen, perhaps        rules
    ("Monday 07:58 day",    "1 person 91", "main gate", "14 in walk 1",      "backpack",          ""),
    ("Friday 23:41 night",  "2 car 84",    "dock",      "312 none still 3",  "van, trailer",      "after_hours loiter"),
    ("Sunday 05:10 dawn",   "1 dog 66",    "yard",      "42 along run 2",    "fox",               ""),
    ("Wednesday 02:17 lit", "1 none 0",    "fence",     "8 none medium 1",   "",                  "motion after_hours"),
    ("Saturday 16:30 day",  "5 person 95", "car park",  "780 none slow 4",   "bicycle, umbrella", "crowd"),
    ("Tuesday 12:03 day",   "1 truck 72",  "side road", "27 away medium 1",  "fire engine",       "zone_entered"),
)
# fmt: on


def _facts(row: tuple[str, ...]) -> Facts:
    when, thing, zone, track, tags, rules = row
    weekday, local_time, light = when.split()
    count, label, percent = thing.split()
    dwell_s, direction, speed, visits = track.split()
    found = {
        "camera": "gate",
        "zone": zone,
        "local_time": local_time,
        "weekday": weekday,
        "light": light,
        "object": {"class": label, "likelihood": int(percent) / 100, "count": int(count)},
        "tags": [tag for tag in tags.split(", ") if tag],
        "track": {
            "dwell_s": int(dwell_s),
            "direction": direction,
            "speed": speed,
            "visits_last_hour": int(visits),
        },
        "rules_hit": rules.split(),
    }
    return msgspec.convert(found, Facts)


INCIDENTS = tuple(_facts(row) for row in _ROWS)
"""Few, and each of another kind."""
