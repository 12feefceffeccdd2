from __future__ import annotations

import msgspec
import pytest

from pipeline.core.incident import incidents, telling
from pipeline.core.incident import rules as rule_table
from pipeline.core.messages import Priority
from pipeline.core.settings import CameraSettings, PrioritySettings, ZoneSettings
from pipeline.core.text import grounding, sentences, templates
from tests.fakes import NOON, area, course, facts, member, seen, stayed, with_members, with_seen

NIGHT = NOON.replace(hour=23)
BOX = (0.4, 0.4, 0.5, 0.8)
NAMES = tuple(rule.name for rule in rule_table.TABLE)


def rules(made, place=None, moment=NOON):
    return rule_table.rules_hit(made, place or area(), moment)


@pytest.mark.parametrize(
    ("made", "place", "moment", "rule"),
    [
        (course(), area(), NOON, "motion"),
        (with_seen(seen()), area(zone=True), NOON, "zone_entered"),
        (with_seen(seen("car")), area(restricted=True), NOON, "restricted_zone"),
        (with_seen(seen()), area(open_hours="07:00-18:00"), NIGHT, "after_hours"),
        (stayed(60, seen()), area(loiter_s=60), NOON, "loiter"),
        (with_seen(seen(), seen(box=(0, 0, 0.1, 0.1))), area(crowd=2), NOON, "crowd"),
        (with_seen(seen(likelihood=0.4)), area(), NOON, "class_uncertain"),
        (with_members(member("car", rested_s=10.0)), area(), NOON, "vehicle_stop"),
    ],
    ids=(*NAMES[:4], "loiter", "crowd", "class_uncertain", "vehicle_stop"),
)
def test_a_rule_is_hit(made, place, moment, rule):
    assert rules(made, place, moment) == (rule,)


@pytest.mark.parametrize(
    ("place", "rule"), [(area(restricted=True), "restricted_zone"), (area(open_hours="07:00-18:00"), "after_hours")]
)
def test_movement_that_nobody_could_name_may_be_somebody(place, rule):
    assert rules(course(), place, NIGHT) == ("motion", rule)


@pytest.mark.parametrize(
    ("made", "place", "moment"),
    [
        (with_seen(seen()), area(), NOON),
        (with_seen(seen("dog")), area(zone=True, restricted=True, open_hours="07:00-18:00"), NIGHT),
        (with_seen(seen()), area(open_hours="07:00-18:00"), NOON),
        (with_seen(seen()), area(open_hours="07:00-18:00"), None),
        (stayed(59, seen()), area(loiter_s=60), NOON),
        (stayed(600, seen("dog")), area(), NOON),
        (with_seen(seen()), area(crowd=2), NOON),
        (with_members(member("car", rested_s=9.9)), area(), NOON),
    ],
    ids=[
        "by day",
        "an animal",
        "in hours",
        "without a clock",
        "short",
        "a dog stays",
        "alone",
        "a short stop",
    ],
)
def test_no_rule_is_hit(made, place, moment):
    assert rules(made, place, moment) == ()


def test_rules_come_in_the_order_of_the_table():
    made = stayed(99, seen(likelihood=0.4))
    hit = rules(made, area(zone=True, restricted=True, open_hours="07:00-18:00", crowd=1), NIGHT)
    assert hit == ("zone_entered", "restricted_zone", "after_hours", "loiter", "crowd", "class_uncertain")


def test_a_rule_once_hit_stays_hit_except_those_about_what_is_known_now():
    sure = with_seen(seen(), rules=NAMES)
    assert set(NAMES) - set(rules(sure)) == {"motion", "class_uncertain"}


@pytest.mark.parametrize(
    ("label", "place", "expected"),
    [
        (None, area(), Priority.ROUTINE),
        ("person", area(), Priority.WARNING),
        ("car", area(), Priority.ROUTINE),
        ("person", area(restricted=True), Priority.ALARM),
        ("car", area(restricted=True), Priority.ALARM),
        ("dog", area(restricted=True), Priority.ROUTINE),
        (None, area(restricted=True), Priority.ROUTINE),
        ("person", area(restricted=True, priority="routine"), Priority.ROUTINE),
        ("dog", area(priority="alarm"), Priority.ALARM),
    ],
)
def test_the_priority_comes_from_the_area_then_its_restriction_then_the_class(label, place, expected):
    made = with_seen(seen(label)) if label else course()
    assert incidents.priority(made, place, PrioritySettings()) is expected


def test_priorities_of_classes_are_settings():
    assert incidents.priority(with_seen(seen("dog")), area(), PrioritySettings(animal="alarm")) is Priority.ALARM


@pytest.mark.parametrize("rule", rule_table.TABLE, ids=lambda rule: rule.name)
def test_every_row_of_the_table_is_complete(rule):
    keys = {setting.name for setting in msgspec.structs.fields(CameraSettings)}
    of_zones = {setting.name for setting in msgspec.structs.fields(ZoneSettings)} | {"zones"}
    assert rule.name.replace("_", "").isalpha()
    assert rule.parameter == "" or rule.parameter in keys & of_zones
    assert rule.topic == "" or rule.topic.startswith("tns1:RuleEngine/")
    assert NAMES.count(rule.name) == 1


def test_a_rule_that_is_added_to_the_table_is_hit_told_and_said(monkeypatch):
    row = rule_table.IncidentRule(
        "tail_gating", lambda *_: True, True, True, "", "close behind another", "tns1:RuleEngine/Mine"
    )
    monkeypatch.setattr(rule_table, "TABLE", (*rule_table.TABLE, row))
    made = with_seen(seen(), rules=rules(with_seen(seen())))
    told = telling.incident_event(made, "start", facts(rules_hit=made.rules), Priority.ROUTINE, "")[1]
    known = facts(rules_hit=made.rules, visits=1, dwell_s=0)
    assert made.rules == ("tail_gating",)
    assert told.data.topic == row.topic
    assert "close behind another" in sentences.build_grammar(known)
    assert grounding.find_fault("A person stands at the gate, close behind another.", known) == ""
    assert "tail gating" in templates.describe(known, "").summary
