"""Times in plain words: what is read of them, and whether they hold."""

import pytest

from pipeline.core.note import when
from pipeline.core.note.time_words.numbers import read_number
from pipeline.core.note.time_words.reading import read_times
from pipeline.core.note.when import When
from tests import fakes

WEEK = tuple(range(5))


def hours(*spans):
    return tuple(tuple(when.parse_clock(end) for end in span.split("-")) for span in spans)


def at(weekday, clock, **changes):
    return fakes.facts(weekday=weekday, local_time=clock, **changes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("07:00-17:00 on weekdays", When(weekdays=WEEK, hours=hours("07:00-17:00"))),
        ("between 20:00 and 22:00, Monday to Friday", When(weekdays=WEEK, hours=hours("20:00-22:00"))),
        ("from 9 am to 8 pm", When(hours=hours("09:00-20:00"))),
        ("between ten at night and six in the morning", When(hours=hours("22:00-06:00"))),
        ("0700-1900 Mon-Fri", When(weekdays=WEEK, hours=hours("07:00-19:00"))),
        ("half past six in the evening until midnight", When(hours=hours("18:30-24:00"))),
        ("before noon", When(hours=hours("05:00-12:00"))),
        ("after 10 pm on weekends", When(weekdays=(5, 6), hours=hours("22:00-04:59"))),
        ("on Tuesday and Thursday evenings until 21:30", When(weekdays=(1, 3), hours=hours("17:00-21:30"))),
        ("every morning between 04:30 and 05:30", When(hours=hours("04:30-05:30"))),
        ("every day except Sunday", When(weekdays=(0, 1, 2, 3, 4, 5))),
        ("outside 07:00-18:00", When(hours=hours("07:00-18:00"), outside=True)),
        ("after the last tour at six p.m.", When(hours=hours("18:00-04:59"))),
        ("every full hour", When(every_min=60)),
        ("from sunrise to sunset", When(dark=False)),
        ("after dark", When(dark=True)),
        ("for up to half an hour", When(most_s=1800)),
        ("five minutes at most", When(most_s=300)),
        ("more than three people", When(least=4)),
        ("at most 2 people", When(most=2)),
        ("at any time, day and night", When()),
        ("周一到周五晚上八点到十点", When(weekdays=WEEK, hours=hours("20:00-22:00"))),
        ("工作日7:00到17:00,最多15分钟", When(weekdays=WEEK, hours=hours("07:00-17:00"), most_s=900)),
        ("周一、周三下午两点到四点", When(weekdays=(0, 2), hours=hours("14:00-16:00"))),
        ("早上六点半以前", When(hours=hours("05:00-06:30"))),
        ("晚上十点到早上六点", When(hours=hours("22:00-06:00"))),
        ("每个整点", When(every_min=60)),
        ("超过一个半小时", When(most_s=5400)),
        ("三人以上", When(least=3)),
        ("任何时候", When()),
        ("from ten to five", When(hours=hours("10:00-17:00"))),
        ("six till two, Monday to Friday", When(weekdays=(0, 1, 2, 3, 4), hours=hours("06:00-14:00"))),
        ("from 3 to 5 in the morning", When(hours=hours("03:00-05:00"))),
        ("from 10 to 6 at night", When(hours=hours("22:00-06:00"))),
        ("in the evening between 7 and 9", When(hours=hours("19:00-21:00"))),
        ("each evening from eight until ten", When(hours=hours("20:00-22:00"))),
        ("between 9 and noon", When(hours=hours("09:00-12:00"))),
        ("start at 6:30 and leave at 15:30", When(hours=hours("06:30-15:30"))),
        ("at 9 on weekdays", When(weekdays=(0, 1, 2, 3, 4), hours=hours("08:30-09:30"))),
        ("十二点到一点", When(hours=hours("12:00-13:00"))),
        ("晚上十点到六点", When(hours=hours("22:00-06:00"))),
        ("after dusk", When(dark=True)),
        ("until dawn", When(dark=True)),
        ("from dawn to dusk", When(dark=False)),
        ("day and night, 24 hours a day", When()),
        ("24小时", When()),
        ("up to 1.5 hours", When(most_s=5400)),
        ("half a minute", When(most_s=30)),
        ("a quarter hour", When(most_s=900)),
        ("1.5小时", When(most_s=5400)),
        ("半分钟", When(most_s=30)),
        ("8h30 to 17h", When(hours=hours("08:30-17:00"))),
        ("from 0800 hrs to 1700 hrs", When(hours=hours("08:00-17:00"))),
        ("from 8am to 5", When(hours=hours("08:00-17:00"))),
        ("from 10 pm to 12", When(hours=hours("22:00-24:00"))),
        ("8.30 to 18.00", When(hours=hours("08:30-18:00"))),
        ("07.00-16.30", When(hours=hours("07:00-16:30"))),
        ("9 to 17.45 tu-th", When(weekdays=(1, 2, 3), hours=hours("09:00-17:45"))),
        ("tuesday 9.15-10", When(weekdays=(1,), hours=hours("09:15-10:00"))),
        ("8:30-18", When(hours=hours("08:30-18:00"))),
        ("8-12 and 13-17", When(hours=hours("08:00-12:00", "13:00-17:00"))),
        ("from 2 to 2:30", When(hours=hours("02:00-02:30"))),
        ("saturdays am", When(weekdays=(5,), hours=hours("00:00-11:59"))),
        ("after 20h", When(hours=hours("20:00-04:59"))),
        ("before 6h30", When(hours=hours("05:00-06:30"))),
        ("until 3 at night", When(hours=hours("12:00-03:00"))),
        ("all afternoon", When(hours=hours("12:00-17:59"))),
        ("each afternoon from 2 to 5", When(hours=hours("14:00-17:00"))),
    ],
)
def test_a_time_is_read(text, expected):
    assert read_times(text).when == expected


def test_what_cannot_be_checked_is_told():
    assert read_times("not in summer, and never on 24 December").unread == ("in summer", "on 24 december")


def test_what_was_read_is_blanked_out():
    assert read_times("Trucks from 07:00 to 17:00 here").rest.split() == ["trucks", "from", "here"]


@pytest.mark.parametrize(
    ("text", "weekday", "clock", "state"),
    [
        ("07:00-17:00 on weekdays", "Monday", "17:00", "open"),
        ("07:00-17:00 on weekdays", "Saturday", "10:00", "closed"),
        ("until 08:15", "Monday", "08:16", "closed"),
        ("every full hour", "Monday", "02:57", "open"),
        ("every full hour", "Monday", "02:27", "closed"),
        ("Friday 22:00-06:00", "Friday", "23:00", "open"),
        ("Friday 22:00-06:00", "Saturday", "05:00", "open"),
        ("Friday 22:00-06:00", "Friday", "05:00", "closed"),
        ("outside 07:00-18:00", "Friday", "19:00", "open"),
    ],
)
def test_a_time_holds_or_not(text, weekday, clock, state):
    assert when.time_state(read_times(text).when, at(weekday, clock)) == state


def test_a_prohibition_of_one_night_holds_on_both_its_days():
    night = read_times("Friday 22:00-06:00").when
    assert when.time_state(night, at("Friday", "05:00"), lenient=True) == "open"


def test_a_stay_is_over_its_limit_when_it_is_longer():
    limit = When(most_s=600)
    assert when.time_state(limit, at("Monday", "10:00", dwell_s=600)) == "open"
    assert when.time_state(limit, at("Monday", "10:00", dwell_s=601)) == "over"


def test_a_limit_says_when_it_will_be_passed():
    assert list(when.next_changes(When(most_s=600), at("Monday", "10:00", dwell_s=590))) == [11]
    assert list(when.next_changes(When(most_s=600), at("Monday", "10:00", dwell_s=700))) == []


def test_hours_say_when_they_begin_and_end():
    hours = When(hours=((480, 1020),))
    assert sorted(when.next_changes(hours, at("Monday", "16:50"))) == [11 * 60, 15 * 3600 + 600]
    assert list(when.next_changes(hours, at("", ""))) == []
    for left, told in ((660, "closed"), (600, "open")):
        clock = when.format_clock(16 * 60 + 50 + left // 60)
        assert when.time_state(hours, at("Monday", clock)) == told


def test_too_many_at_once_are_over_the_limit():
    assert when.time_state(When(most=2), at("Monday", "10:00", count=3)) == "over"


def test_without_a_clock_nothing_is_known_of_hours():
    assert when.time_state(When(weekdays=(0,)), at("", "")) == "unknown"
    assert when.time_state(When(), at("", "")) == "open"


def test_lamps_by_day_do_not_mean_that_it_is_dark():
    dark = When(dark=True)
    assert when.time_state(dark, at("Monday", "12:00", light="lit")) == "closed"
    assert when.time_state(dark, at("Monday", "22:00", light="lit")) == "open"


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("fifteen", 15), ("二十三", 23), ("十", 10), ("两", 2), ("一百二十", 120), ("x", 0)]
)
def test_numbers_are_read_in_words(text, value):
    assert read_number(text) == value


def test_the_share_of_a_week_is_known():
    assert when.week_share(When()) == 1
    assert when.week_share(When(weekdays=(5, 6))) == pytest.approx(2 / 7)
    assert when.week_share(When(hours=hours("00:00-06:00"))) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("Trucks may wait until 99:99.", "99:99"),
        ("Trucks may wait from 8:00 to 26:30.", "26:30"),
        ("Trucks may wait until 7:75.", "07:75"),
        ("Trucks may wait until 24:01.", "24:01"),
        ("At most 0 people may be on the roof.", "at most 0"),
        ("At most -5 people may be on the roof.", "at most -5"),
        ("At most ½ people may be on the roof.", "at most ½"),
        ("Trucks may wait for 0 minutes.", "for 0 minutes"),
    ],
)
def test_what_is_written_like_a_time_or_a_limit_and_is_none_is_told_of(text, unread):
    found = read_times(text)
    assert found.unread == (unread,)
    assert all(end <= 24 * 60 for span in found.when.hours for end in span)


@pytest.mark.parametrize("text", ["until 24:00", "at most 3 people", "people may walk up to the gate", "up to 10 min"])
def test_a_time_or_a_limit_that_is_one_is_not_told_of(text):
    assert read_times(text).unread == ()
