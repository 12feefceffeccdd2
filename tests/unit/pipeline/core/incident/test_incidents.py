from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.incident import incidents
from pipeline.core.incident.incidents import Visit
from pipeline.core.track.votes import Vote
from tests.fakes import NOON, NS, area, course, frame, member, seen, stayed, with_members, with_seen

NIGHT = NOON.replace(hour=23)
BOX = (0.4, 0.4, 0.5, 0.8)


def test_the_verdict_abstains_without_any_sighting():
    assert incidents.recognition(course()) == ("none", None, 0.0, 0)


def test_the_verdict_abstains_where_the_evidence_names_no_group():
    made = course(members=(member(), member("dog", number=2)))
    assert incidents.recognition(made).label == "none"
    assert incidents.candidates(made) == (("dog", 0.9), ("person", 0.9))


@pytest.mark.parametrize(
    ("likelihoods", "name"),
    [((0.6, 0.1), "person"), ((0.4, 0.0), None), ((0.6, 0.5), None), ((2.5, 2.2), "person"), ((0.3, 0.6), "animal")],
)
def test_an_incident_is_named_where_the_evidence_is_strong_and_leads(likelihoods, name):
    person, animal = likelihoods
    members = (member("person", person, confirmed=False), member("dog", animal, number=2, confirmed=False))
    assert incidents.named(course(members=members)) == name


def test_a_thing_that_is_certain_names_its_incident_however_weakly_it_was_seen():
    assert incidents.named(course(members=(member("car", 0.4),))) == "vehicle"


def test_an_incident_keeps_its_name_until_another_leads_clearly():
    def named(dog):
        return incidents.named(course(group="person", members=(member(likelihood=1.0), member("dog", dog, number=2))))

    assert (named(1.2), named(1.4)) == ("person", "animal")


def test_the_label_is_that_with_most_evidence_not_that_of_the_likeliest_glance():
    votes = (Vote("car", "vehicle", 0.95, 0.95), Vote("truck", "vehicle", 1.8, 0.6))
    assert incidents.recognition(with_members(member("car", votes=votes))) == ("truck", "vehicle", 0.95, 1)


def test_things_of_other_groups_do_not_count():
    made = with_seen(seen(), seen("dog"), seen("dog"))
    assert incidents.recognition(made) == ("person", "person", 0.9, 1)


@given(st.permutations([("car", 0.5), ("dog", 0.5), ("person", 0.5), ("truck", 0.5)]))
def test_the_verdict_does_not_depend_on_the_order_of_what_is_seen(order):
    assert incidents.recognition(with_seen(*(seen(*one) for one in order), group="vehicle")).label == "car"


def test_candidates_come_likeliest_first_and_rounded():
    made = with_seen(seen("dog", 0.123), seen("car", 0.456))
    assert incidents.candidates(made) == (("car", 0.46), ("dog", 0.12))


def test_it_lasts_as_long_as_that_of_its_things_that_stays_longest():
    made = with_members(member(last_s=4), member(number=2, first_s=3, last_s=12), frame=frame(at_s=30))
    assert incidents.dwell_s(made) == 9
    assert incidents.dwell_s(course(frame=frame(at_s=30))) == 30


@pytest.mark.parametrize(
    ("told", "expected"),
    [((1,), False), ((), True), ((1, 2), True), ((2,), True)],
    ids=["as it was", "one came", "one went", "one came as another went"],
)
def test_it_is_news_when_one_comes_or_goes(told, expected):
    made = with_members(member(last_s=9), frame=frame(at_s=10), told=told)
    assert incidents.has_news(made, 10 * NS, 2.0) is expected


def test_who_was_not_seen_for_two_seconds_is_gone():
    made = with_members(member(last_s=8.1), member(number=2, last_s=8), frame=frame(at_s=10))
    assert incidents.now_there(made) == (1,)


def test_who_is_not_certain_is_no_news():
    made = with_members(member(last_s=10, confirmed=False), frame=frame(at_s=10))
    assert not incidents.has_news(made, 10 * NS, 2.0)


def test_news_wait_until_the_last_event_is_so_long_ago():
    made = with_members(member(last_s=10), frame=frame(at_s=10), told_ns=9 * NS)
    assert not incidents.has_news(made, 10 * NS, 2.0)
    assert incidents.has_news(made, 11 * NS, 2.0)


def test_visits_are_those_of_the_same_kind_in_the_hour_before():
    hour = 3600 * NS
    now = with_seen(seen(), began_ns=2 * hour)
    earlier = (
        Visit(hour, "person", 7),
        Visit(hour + 1, "person", 8),
        Visit(hour + 2, "person", 1),
        Visit(hour + 3, "animal", 9),
        Visit(hour + 4, None, 0),
    )
    assert incidents.visits(earlier, now) == 2
    assert incidents.visits((), now) == 1
    assert len(incidents.within_hour(earlier, 2 * hour)) == 4


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
        "objects": [{"group": "person", "class": "person", "count": 1, "total": 1, "stay_s": 36.0}],
    }


def test_an_incident_survives_the_journal():
    made = stayed(36, seen(), best=frame(7), described_as=("person", ("loiter",)))
    assert msgspec.json.decode(msgspec.json.encode(made), type=incidents.Course) == made
