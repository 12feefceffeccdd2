"""What the table of rules makes of who and what may come, and that every rule of it can decide."""

import itertools
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from models import catalog
from models.detectors import COCO_LABELS, GROUPS
from pipeline.core.incident import incidents, rules
from pipeline.core.verdict import outcomes, rulebook
from pipeline.resources import config_file
from tests import fakes

BOOK = rulebook.load(config_file("incidents.toml"))
OPEN, SHUT = datetime(2026, 12, 1, 12, tzinfo=UTC), datetime(2026, 12, 1, 3, tzinfo=UTC)
HOURS = "07:00-18:00"
YARD = [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0]]
BOX = (0.4, 0.4, 0.5, 0.8)


def found(**camera):
    settings = fakes.settings(cameras={"gate": {"source": "synthetic://"} | camera})
    return list(outcomes.find_outcomes(settings, BOOK))


def actions(kind, time, place="gate", **camera):
    rows = [one for one in found(**camera) if (one.kind, one.time, one.place) == (kind, time, place)]
    return [step.action for step in rows[0].steps]


def test_a_person_where_nothing_is_set_is_logged_and_told_of_when_it_loiters():
    assert actions("a person", "by day") == ["log", "notify"]


@pytest.mark.parametrize("camera", [{"restricted": True}, {"open_hours": HOURS}])
def test_movement_that_nobody_could_name_is_told_of_where_nobody_may_be(camera):
    time = "after hours" if "open_hours" in camera else "by day"
    assert set(actions("unnamed movement", time, **camera)) == {"notify"}


def test_movement_that_nobody_could_name_is_nothing_elsewhere():
    assert actions("unnamed movement", "by day") == ["ignore"]


def test_a_zone_is_told_of_beside_the_rest_of_the_picture():
    camera = {"zones": {"yard": {"polygon": YARD, "restricted": True}}}
    assert actions("a person", "by day", "yard", **camera) == ["alarm"]
    assert actions("a person", "by day", **camera) == ["log", "notify"]


def test_hours_round_the_clock_have_no_after_hours():
    assert {one.time for one in found(open_hours="00:00-23:59")} == {"by day"}


def test_hours_over_midnight_are_shut_by_day():
    assert set(actions("unnamed movement", "after hours", open_hours="20:00-06:00")) == {"notify"}


def test_what_nobody_is_ever_told_of_is_named():
    silent = outcomes.find_quiet_kinds(found())
    assert silent == {("gate", "gate"): ("a vehicle", "an animal", "unnamed movement")}


def test_stays_are_tried_up_to_the_limits_of_the_rules():
    row = next(one for one in found() if one.kind == "a vehicle")
    assert [step.rule for step in row.steps] == ["vehicle", "vehicle waiting", "vehicle waiting long"]


# Every rule of the table, the detector's classes and the rules that incidents hit belong together.


def possible():
    """Yield facts of every shape that an incident can have: as incidents make them, of what the detector knows."""
    kinds = [("none", None), *dict(zip(COCO_LABELS, GROUPS, strict=True)).items()]
    likelihoods, dwells, counts = (0.4, 0.5, 0.9), (5, 70, 400), (1, 9)
    for (label, group), likelihood, dwell_s, count in itertools.product(kinds, likelihoods, dwells, counts):
        if group != "other":
            yield from placed(made(label, group, likelihood, dwell_s, count))


def made(label, group, likelihood, dwell_s, count):
    if group is None:
        return fakes.course(frame=fakes.frame(at_s=dwell_s))
    members = (
        fakes.member(label, likelihood, number=number, group=group, last_s=dwell_s, rested_s=float(dwell_s))
        for number in range(1, count + 1)
    )
    return fakes.with_members(*members, group=group, frame=fakes.frame(at_s=dwell_s))


def placed(course):
    for zone, restricted, hours, moment in itertools.product((False, True), (False, True), ("", HOURS), (OPEN, SHUT)):
        area = fakes.area(zone=zone, restricted=restricted, open_hours=hours)
        light = "day" if moment is OPEN else "night"
        lit = msgspec.structs.replace(course, light=light)
        judged = msgspec.structs.replace(lit, rules=rules.rules_hit(lit, area, moment))
        yield incidents.facts(judged, area, moment)


def tags():
    with np.load(catalog.model_path("conse-minilm"), allow_pickle=False) as table:
        return tuple(map(str, table["tags"]))


def test_every_rule_of_the_table_is_reached_by_facts_of_ours_or_marked_for_other_detectors():
    ours = tags()
    every = [msgspec.structs.replace(facts, tags=more) for facts in possible() for more in ((), ours)]
    reached = {BOOK.decide(facts).name for facts in every}
    assert reached == {rule.name for rule in BOOK.rule if not rule.other_detectors}


def test_a_hit_that_the_table_asks_for_is_one_of_ours_or_the_rule_is_marked():
    asked = {hit for rule in BOOK.rule if not rule.other_detectors for hit in rule.if_.hits or ()}
    assert asked <= {rule.name for rule in rules.TABLE}


def test_every_class_of_a_vehicle_or_animal_that_the_detector_knows_is_in_the_table_of_classes():
    known = {name for members in BOOK.classes.values() for name in members}
    ridden = {"bicycle"}  # what happens with it is about who rides it
    groups = dict(zip(COCO_LABELS, GROUPS, strict=True))
    assert {label for label, group in groups.items() if group in {"vehicle", "animal"}} - ridden <= known
