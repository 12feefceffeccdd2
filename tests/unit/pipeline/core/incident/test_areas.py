from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from pipeline.core.incident.areas import OUTSIDE, area_of, areas, unmasked
from pipeline.core.times import local, utc, within
from tests.fakes import NS, settings

LEFT = ((0, 0), (0.5, 0), (0.5, 1), (0, 1))
TOP = ((0, 0), (1, 0), (1, 0.5), (0, 0.5))


def of(zones, trigger=None, **camera):
    row = {"source": "x", "zones": {key: {"polygon": LEFT} | zone for key, zone in zones.items()}} | camera
    return areas(settings(cameras={"gate": row}, trigger=trigger or {}), "gate")


def standing_at(x, y):
    return (x - 0.05, y - 0.3, x + 0.05, y)


def test_a_camera_without_zones_is_one_area_called_by_its_place():
    found = of({}, place="main gate")
    assert list(found) == [OUTSIDE]
    assert found[OUTSIDE].name == "main gate"
    assert not found[OUTSIDE].zone


def test_without_a_place_the_rest_is_called_by_the_camera():
    assert of({})[OUTSIDE].name == "gate"


def test_zones_come_in_the_order_of_the_file_and_the_rest_last():
    assert list(of({"yard": {}, "dock": {}})) == ["yard", "dock", OUTSIDE]


def test_the_rest_can_be_ignored_only_where_there_are_zones():
    assert list(of({"yard": {}}, outside_zones="ignore")) == ["yard"]
    assert list(of({}, outside_zones="ignore")) == [OUTSIDE]


def test_a_zone_has_rules_of_its_own():
    zone = {"name": "the yard", "restricted": True, "loiter_s": 5, "crowd": 3, "priority": "alarm"}
    yard = of({"yard": zone})["yard"]
    assert (yard.name, yard.restricted, yard.loiter_s, yard.crowd, yard.priority) == (
        "the yard",
        True,
        5,
        3,
        "alarm",
    )
    assert yard.zone


def test_a_zone_takes_the_priority_of_its_camera_where_it_has_none():
    assert of({"yard": {}}, priority="alarm")["yard"].priority == "alarm"


@pytest.mark.parametrize(
    ("zone", "camera", "site", "expected"),
    [("1", "2", "3", "1"), ("", "2", "3", "2"), ("", "", "3", "3"), ("", "", "", "")],
)
def test_hours_come_from_the_zone_then_the_camera_then_the_site(zone, camera, site, expected):
    found = of({"yard": {"open_hours": zone}}, {"open_hours": site}, open_hours=camera)
    assert found["yard"].open_hours == expected


def test_a_thing_is_where_its_foot_is():
    found = of({"left": {}, "top": {"polygon": TOP}})
    assert area_of(standing_at(0.3, 0.9), found) == "left"
    assert area_of(standing_at(0.8, 0.6), found) == OUTSIDE
    assert area_of(standing_at(0.8, 0.4), found) == "top"


def test_where_zones_overlap_the_first_holds():
    assert area_of(standing_at(0.2, 0.4), of({"top": {"polygon": TOP}, "left": {}})) == "top"


def test_what_stands_in_no_zone_is_nowhere_when_the_rest_is_ignored():
    assert area_of(standing_at(0.8, 0.9), of({"left": {}}, outside_zones="ignore")) is None


def test_what_moves_in_a_mask_does_not_count():
    camera = settings(cameras={"gate": {"source": "x", "masks": {"tree": LEFT}}}).cameras["gate"]
    inside, beside = (0.1, 0.1, 0.3, 0.3), (0.4, 0.1, 0.8, 0.3)
    assert unmasked((inside, beside), camera) == (beside,)


@pytest.mark.parametrize(
    ("hours", "clock", "expected"),
    [
        ("07:00-18:00", "06:59", False),
        ("07:00-18:00", "07:00", True),
        ("07:00-18:00", "18:00", True),
        ("07:00-18:00", "18:01", False),
        ("22:00-06:00", "23:30", True),
        ("22:00-06:00", "05:59", True),
        ("22:00-06:00", "12:00", False),
    ],
)
def test_hours_hold_over_midnight_and_to_their_ends(hours, clock, expected):
    assert within(hours, datetime.fromisoformat(f"2026-11-29T{clock}+00:00")) is expected


def test_a_moment_is_told_in_the_time_of_the_site_and_of_the_world():
    moment = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    at_ns = int(moment.timestamp()) * NS
    assert f"{local(at_ns, ZoneInfo('Europe/Vienna')):%H:%M}" == "14:00"
    assert utc(at_ns) == moment


def test_the_hour_that_comes_twice_is_told_twice():
    before = int(datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()) * NS
    clocks = [f"{local(at_ns, ZoneInfo('Europe/Vienna')):%H:%M}" for at_ns in (before, before + 3600 * NS)]
    assert clocks == ["02:30", "02:30"]
