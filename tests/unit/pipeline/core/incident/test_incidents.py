from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.incident import incidents
from pipeline.core.incident.incidents import Visit
from tests.fakes import NOON, NS, area, course, frame, seen, stayed, with_seen

NIGHT = NOON.replace(hour=23)
BOX = (0.4, 0.4, 0.5, 0.8)


def test_the_verdict_abstains_without_any_sighting():
    assert incidents.recognition(course()) == ("none", None, 0.0, 0)


def test_the_verdict_abstains_where_the_evidence_names_no_group():
    made = incidents.recognised(course(), [seen(), seen("dog")], None, 0)
    assert incidents.recognition(made).label == "none"
    assert incidents.candidates(made) == (("dog", 0.9), ("person", 0.9))


def test_what_nobody_asks_about_is_not_counted():
    assert with_seen(seen("kite"), group="person").tallies == {}


def test_the_verdict_is_the_label_with_most_evidence_not_the_likeliest_glance():
    made = with_seen(seen("car", 0.95))
    for at_s in range(1, 4):
        made = incidents.recognised(made, [seen("truck", 0.6)], "vehicle", at_s * NS)
    assert incidents.recognition(made) == ("truck", "vehicle", 0.6, 1)


def test_the_likelihood_is_the_best_glance():
    made = incidents.recognised(with_seen(seen(likelihood=0.7)), [seen(likelihood=0.45)], "person", NS)
    assert incidents.recognition(made).likelihood == 0.7


def test_things_of_other_groups_do_not_count():
    made = with_seen(seen(), seen("dog"), seen("dog", box=(0.7, 0.4, 0.8, 0.8)))
    assert incidents.recognition(made) == ("person", "person", 0.9, 1)


def test_what_an_incident_is_about_may_change():
    made = incidents.recognised(with_seen(seen("dog")), [seen()], "person", NS)
    assert incidents.recognition(made).group == "person"


def test_the_count_is_the_most_seen_at_once():
    made = with_seen(seen(box=BOX), seen(box=(0.7, 0.4, 0.8, 0.8)))
    made = incidents.recognised(made, [seen()], "person", NS)
    assert incidents.recognition(made).most == 2


def test_the_track_follows_what_the_incident_is_about():
    made = with_seen(seen("dog", box=(0.6, 0.6, 0.9, 0.9)), seen(box=BOX), group="person")
    assert made.track.first == BOX


@given(st.permutations([("car", 0.5), ("dog", 0.5), ("person", 0.5), ("truck", 0.5)]))
def test_the_verdict_does_not_depend_on_the_order_of_what_is_seen(order):
    assert incidents.recognition(with_seen(*(seen(*one) for one in order), group="vehicle")).label == "car"


def test_candidates_come_likeliest_first_and_rounded():
    made = with_seen(seen("dog", 0.123), seen("car", 0.456))
    assert incidents.candidates(made) == (("car", 0.46), ("dog", 0.12))


def test_the_last_place_stays_known_when_nothing_moves():
    made = incidents.seen(course(), frame(2, at_s=1), (BOX,), 0.2)
    made = incidents.seen(made, frame(3, at_s=2), (), 0.1)
    assert (made.boxes, made.area_ratio, incidents.dwell_s(made)) == ((BOX,), 0.2, 2)


@pytest.mark.parametrize(
    ("box", "expected"),
    [(BOX, True), ((0.4, 0.4, 0.5, 0.55), True), ((0.4, 0.4, 0.5, 0.5), False), ((0, 0, 0.1, 0.1), False)],
)
def test_what_is_recognised_must_move_itself(box, expected):
    assert incidents.moving(seen(box=BOX), (box,)) is expected


def test_visits_are_those_of_the_same_kind_in_the_hour_before():
    hour = 3600 * NS
    now = with_seen(seen(), began_ns=2 * hour)
    earlier = (
        Visit(hour, "person"),
        Visit(hour + 1, "person"),
        Visit(hour + 2, "animal"),
        Visit(hour + 3, None),
    )
    assert incidents.visits(earlier, now) == 2
    assert incidents.visits((), now) == 1
    assert len(incidents.within_hour(earlier, 2 * hour)) == 3


@pytest.mark.parametrize(
    ("luma", "chroma", "hour", "expected"),
    [
        (120, 5, 12, "day"),
        (120, 0.5, 12, "night"),
        (20, 5, 12, "night"),
        (120, 5, 23, "lit"),
        (120, 5, None, "day"),
    ],
)
def test_the_light_is_judged_from_the_picture(luma, chroma, hour, expected):
    moment = None if hour is None else NOON.replace(hour=hour)
    assert incidents.light_of(luma, chroma, moment) == expected


def test_a_surer_and_larger_view_is_better():
    small, large = seen(box=(0, 0, 0.1, 0.1)), seen(box=(0, 0, 0.4, 0.4))
    assert incidents.view(large) == pytest.approx(4 * incidents.view(small))
    assert incidents.view(seen(likelihood=0.9)) > incidents.view(seen(likelihood=0.5))


def test_the_facts_say_what_is_known():
    made = stayed(36, seen(likelihood=0.914), visits=3, tags=("visitor",), rules=("loiter",), light="lit")
    told = incidents.facts(made, area(), NIGHT)
    assert msgspec.json.decode(msgspec.json.encode(told)) == {
        "camera": "gate",
        "zone": "the yard",
        "local_time": "23:00",
        "weekday": "Sunday",
        "light": "lit",
        "object": {"class": "person", "likelihood": 0.91, "count": 1},
        "tags": ["visitor"],
        "track": {"dwell_s": 36, "direction": "none", "speed": "still", "visits_last_hour": 3},
        "rules_hit": ["loiter"],
        "scene_text": [],
    }


def test_an_incident_survives_the_journal():
    made = stayed(36, seen(), best=frame(7), described_as=("person", ("loiter",)))
    assert msgspec.json.decode(msgspec.json.encode(made), type=incidents.Course) == made
