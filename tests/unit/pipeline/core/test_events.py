from __future__ import annotations

import json
from itertools import pairwise

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.events import Analysis, Event, EventData, Media, Scene, milliseconds, rfc3339, schema, ulid
from tests.fakes import NOON_NS, NS, facts
from tests.paths import SHARED

EXAMPLE = SHARED / "design" / "example_event.jsonl"
MILLISECOND = 1_000_000
CROCKFORD = set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

moments = st.integers(0, 2**47 * MILLISECOND)


def sample(**changes):
    data = EventData(
        operation="end",
        ended_by="quiet",
        media=Media(pts_ms=40.0, frame=1, width=64, height=48, rotation=90),
        scene=Scene(class_="person", label="person", likelihood=0.9),
        facts=facts(),
        priority="warning",
        analysis=Analysis(status="skipped", reason="no_model", title="A person at gate"),
    )
    event = Event(
        specversion="1.0",
        id=ulid(NOON_NS, "inc-1/1"),
        source="/site/a/device/b/camera/gate",
        type="fieldwatch.incident.end.v1",
        subject="inc-1",
        time=rfc3339(NOON_NS),
        sequence="000000000001",
        recordedtime=rfc3339(NOON_NS),
        severitytext="WARN",
        severitynumber=13,
        monotime="123",
        bootid="6f1c9f0e",
        data=data,
    )
    return msgspec.json.decode(msgspec.json.encode(event)) | changes


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


@given(moments, st.text(max_size=9))
def test_an_id_has_26_characters_of_crockfords_base_32_and_is_stable(at_ns, key):
    made = ulid(at_ns, key)
    assert len(made) == 26
    assert set(made) <= CROCKFORD
    assert ulid(at_ns, key) == made


@given(st.lists(moments, min_size=2, max_size=9))
def test_ids_sort_by_time(times):
    for earlier, later in pairwise(sorted(times)):
        if later // MILLISECOND > earlier // MILLISECOND:
            assert ulid(earlier, "b") < ulid(later, "a")


def test_ids_differ_by_what_they_name_and_by_where_its_parts_end():
    assert len({ulid(NOON_NS, *parts) for parts in (("a", "b"), ("ab",), ("a", "", "b"), ("b", "a"), ())}) == 5


def test_the_first_ten_characters_are_the_time():
    assert ulid(1_469_918_176_385 * MILLISECOND, "x")[:10] == "01ARYZ6S41"  # the example of github.com/ulid/spec


def test_a_time_before_1970_has_an_id_too():
    assert ulid(-1, "x").startswith("0000000000")


@pytest.mark.parametrize(
    ("at_ns", "expected"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (999_999, "1970-01-01T00:00:00.000Z"),
        (NOON_NS + 1_999_999, "2026-11-29T12:00:00.001Z"),
        (951_827_696_789 * MILLISECOND, "2000-02-29T12:34:56.789Z"),
    ],
)
def test_a_time_is_told_in_utc_to_the_millisecond_cut_not_rounded(at_ns, expected):
    assert rfc3339(at_ns) == expected


@given(st.lists(st.integers(0, 4 * 10**9 * NS), min_size=2, max_size=9))
def test_told_times_sort_as_the_times_do(times):
    assert [rfc3339(at_ns) for at_ns in sorted(times)] == sorted(rfc3339(at_ns) for at_ns in times)


def test_milliseconds_have_three_decimals():
    assert milliseconds(1_234_567) == 1.235


def test_the_schema_accepts_a_sample(validator):
    validator.validate(sample())


def test_what_is_not_known_is_left_out_of_the_line():
    assert not {"traceparent", "datacontenttype"} & sample().keys()
    assert not {"thermal", "evidence", "drops"} & sample()["data"].keys()


def test_a_line_is_read_back_as_it_was(validator):
    event = msgspec.convert(sample(), Event)
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


@pytest.mark.parametrize(
    "change",
    [
        {"specversion": "0.3"},
        {"id": "01JD3Q8Z4N6V7K2M5R9T1W3X5U"},
        {"id": "short"},
        {"type": "incident.end"},
        {"sequence": "1"},
        {"severitytext": "LOUD"},
        {"severitynumber": 0},
        {"monotime": 123},
        {"source": ""},
        {"data": {"operation": "began", "media": {"pts_ms": 1, "frame": 1}, "ended_by": "quiet"}},
        {"data": {"operation": "end", "media": {"pts_ms": 1, "frame": 1}}},
        {"data": {"operation": "end", "ended_by": "quiet"}},
        {"data": {"operation": "end", "media": {"pts_ms": 1, "frame": 1}, "ended_by": "boredom"}},
        {"data": sample()["data"] | {"media": {"pts_ms": 1, "frame": 1, "rotation": 45}}},
        {"data": sample()["data"] | {"analysis": {"status": "ok", "title": "x" * 81}}},
        {"data": sample()["data"] | {"scene": {"likelihood": 1.5}}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_is_wrong(validator, change):
    assert not validator.is_valid(sample(**change))


@pytest.mark.parametrize("key", [key for key in sample() if key != "dataschema"])
def test_the_schema_refuses_a_line_in_which_something_is_missing(validator, key):
    line = sample()
    del line[key]
    assert not validator.is_valid(line)


def test_an_event_about_the_device_needs_no_media(validator):
    validator.validate(sample(type="fieldwatch.system.started.v1", data={"operation": "point"}))


@pytest.mark.shared
def test_the_agreed_example_fits_the_schema(validator):
    if not EXAMPLE.exists():
        pytest.skip(f"{EXAMPLE} is not there")
    for line in EXAMPLE.read_text().splitlines():
        validator.validate(json.loads(line))
        msgspec.json.decode(line, type=Event)
