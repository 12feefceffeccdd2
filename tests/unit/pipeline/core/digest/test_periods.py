"""How people name a period, and what is read of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.digest.periods import name_time, parse_time, utc_offset
from pipeline.core.errors import ConfigError

VIENNA = ZoneInfo("Europe/Vienna")
MORNING = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8h", "2026-11-29T22:00"),
        ("90min", "2026-11-30T04:30"),
        ("1.5h", "2026-11-30T04:30"),
        ("2d", "2026-11-28T06:00"),
        ("1w", "2026-11-23T06:00"),
        ("22:00", "2026-11-29T21:00"),
        ("06:30", "2026-11-30T05:30"),
        ("07:00", "2026-11-29T06:00"),
        ("2026-11-29T22:00:00Z", "2026-11-29T22:00"),
        ("2026-11-29T22:00", "2026-11-29T21:00"),
        ("2026-11-29", "2026-11-28T23:00"),
    ],
)
def test_a_period_begins_when_people_say_so_by_the_clock_of_the_site(text, expected):
    assert parse_time("--since", text, MORNING, VIENNA) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["yesterday", "", "25:00", "8", "-3h", "99999d", "2026-13-01", "0001-01-01T00:00", "9999-12-31T23:59", "9999w"],
)
def test_what_names_no_moment_is_refused_with_what_would(text):
    with pytest.raises(ConfigError, match=r"--since .*write it as 2026-11-29T22:00, 22:00, or a span"):
        parse_time("--since", text, MORNING, timezone(timedelta(hours=14)))


@given(
    st.datetimes(datetime(2020, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.integers(-48, 56).map(lambda quarters: timedelta(minutes=15 * quarters)),
)
def test_how_far_a_site_is_ahead_follows_from_one_moment_told_in_both(utc, ahead):
    day, clock = name_time(utc + ahead, dated=False)
    assert utc_offset(utc, clock, day) == ahead


def test_without_a_local_time_nobody_knows_how_far_a_site_is_ahead():
    assert utc_offset(MORNING, "", "") is None
    assert utc_offset(MORNING, "12:00", "Wednesday") is None
