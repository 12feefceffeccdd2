"""Standing notes: what is read of them, and what they say of an incident."""

import pytest

from pipeline.core.errors import NoteError
from pipeline.core.note import notes, words
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.notes import Note, Reading
from pipeline.core.note.when import When
from pipeline.resources import config_file
from tests import fakes

LEXICON = words.load(config_file("words.toml"))


def read(text):
    return compile_note(text, LEXICON)


def effect(text, **changes):
    return notes.apply_note(read(text).readings, fakes.facts(**changes))


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("Guards walk past the main gate every full hour.", "allow"),
        ("Nobody may be on the roof at any time.", "forbid"),
        ("Nothing may ever stand in front of the gate for longer than 5 minutes.", "forbid"),
        ("Report any vehicle at the fuel tank.", "forbid"),
        ("Tell me about anything on wheels next to the diesel storage.", "forbid"),
        ("Deer are common at the fence: ignore animals there.", "allow"),
        ("Stray cats sleep under the ramp; do not bother about them.", "allow"),
        ("You do not have to report hikers on the trail.", "allow"),
        ("Pigeons in the courtyard are no reason for an alarm.", "allow"),
        ("Never mind the seals on the slipway.", "allow"),
        ("If you see a fox near the hen house, do not call me.", "allow"),
        ("If you see a fox near the hen house, call me.", "forbid"),
        ("Cyclists have to dismount in the zone: report any bike there.", "forbid"),
        ("Keep the fire exit free at all times.", "forbid"),
        ("Access to the roof is denied to everyone.", "forbid"),
        ("The storage rooms have to be empty from 8 pm to 7 am.", "forbid"),
        ("Guests must leave the garden by 21:00.", "allow"),
        ("No one may go on the roof, except on Saturday from 08:00 to 12:00.", "except"),
        ("Nobody but the technicians, or unless it is a guard, may enter the hall.", "except"),
        ("The server room is for technicians only.", "except"),
        ("Only staff may enter the warehouse.", "except"),
        ("Workers pick in the orchard by day; nobody should be there after dark.", "dual"),
        ("Customers may use the car park until 20:00; later nobody may be there.", "dual"),
        ("厂区里经常有野猫,动物不用管。", "allow"),
        ("任何时候都不允许有人进入配电室。", "forbid"),
        ("看到狐狸不要打电话给我。", "allow"),
        ("除电工外,任何人不得进入变电所。", "except"),
        ("变电所禁止入内,维修电工除外。", "except"),
        ("只有电工可以进配电房。", "except"),
        ("白天可以在河边钓鱼,晚上不可以。", "dual"),
    ],
)
def test_a_note_is_read_as_allowing_or_forbidding(text, polarity):
    assert notes.read_polarity(read(text).readings) == polarity


def test_a_reading_says_who_where_and_when():
    note = read("Trucks may wait in the loading bay for up to 10 minutes, 07:00-17:00 on weekdays.")
    assert note.readings == (
        Reading(
            "allowed",
            who=("truck",),
            where=("loading bay",),
            when=When(weekdays=(0, 1, 2, 3, 4), hours=((420, 1020),), most_s=600),
        ),
    )


def test_two_halves_become_two_readings_of_one_place():
    allowed, forbidden = read("Workers pick in the orchard by day; nobody should be there after dark.").readings
    assert (allowed.effect, allowed.where, allowed.when.dark) == ("allowed", ("orchard",), False)
    assert (forbidden.effect, forbidden.where, forbidden.when.dark) == ("forbidden", ("orchard",), True)


def test_whom_to_tell_is_not_whom_a_note_is_about():
    assert read("Call the harbour master if a boat lies at the jetty.").readings[0].who == ("boat",)


def test_a_word_that_ends_like_people_is_taken_for_people():
    assert read("Beekeeping instructors come to the meadow on Sundays.").readings[0].who == ("instructor",)


def test_what_was_not_read_is_told():
    assert "in winter" in read("Nobody may be at the lake in winter.").unread
    assert any("neither who nor where" in text for text in read("All is well.").unread)


@pytest.mark.parametrize("text", ["", "   \n", "...", "word " * 2000, "x" * 501, "禁止" * 400])
def test_an_empty_or_endless_note_is_refused(text):
    with pytest.raises(NoteError, match=r"the note (is empty|has)"):
        read(text)


def test_a_hostile_note_is_read_in_no_time():
    for text in ("a " * 80, "no " * 80, "the gate and " * 26, "不" * 300, "between 1 and " * 26):
        assert read(text).text


@pytest.mark.parametrize(
    ("text", "changes", "outcome"),
    [
        ("Trucks may wait in the bay, 07:00-17:00.", {"local_time": "12:00"}, "allowed"),
        ("Trucks may wait in the bay, 07:00-17:00.", {"local_time": "18:00"}, "outside"),
        ("Trucks may wait in the bay for up to 10 minutes.", {"dwell_s": 900}, "over"),
        ("Nobody may be inside between 22:00 and 06:00.", {"local_time": "23:00"}, "forbidden"),
        ("Nobody may be inside between 22:00 and 06:00.", {"local_time": "12:00"}, "silent"),
        ("Report anybody who stays at the door for more than 5 minutes.", {"dwell_s": 60}, "silent"),
        ("Report anybody who stays at the door for more than 5 minutes.", {"dwell_s": 600}, "over"),
        ("No one may be on the roof, except on Sunday.", {"weekday": "Sunday"}, "allowed"),
        ("No one may be on the roof, except on Sunday.", {"weekday": "Monday"}, "forbidden"),
        ("Trucks may wait in the bay, 07:00-17:00.", {"local_time": "", "weekday": ""}, "silent"),
        ("Nobody may be inside at night.", {"local_time": "", "weekday": ""}, "forbidden"),
    ],
)
def test_what_a_note_says_follows_from_times_and_stays(text, changes, outcome):
    assert effect(text, **changes) == outcome


@pytest.mark.parametrize("wanted", ["allow", "forbid", "except", "dual"])
def test_the_polarity_that_was_confirmed_holds(wanted):
    for text in ("Trucks wait in the bay until 17:00.", "Nobody may be on the roof at night."):
        assert notes.confirm_note(read(text), wanted).polarity == wanted


def test_notes_that_say_the_opposite_are_found():
    found = notes.find_contradictions([read("Dogs may run in the yard."), read("Dogs are not allowed in the yard.")])
    assert [(one.one, one.other) for one in found] == [(0, 1)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Dogs may run in the yard.", "Dogs are not allowed in the garden."),
        ("Dogs may run in the yard.", "Cats are not allowed in the yard."),
        ("Dogs may run in the yard on Sundays.", "Dogs are not allowed in the yard on Mondays."),
        ("Dogs may run in the yard until 12:00.", "Dogs are not allowed in the yard between 14:00 and 20:00."),
    ],
)
def test_notes_about_others_elsewhere_or_at_other_times_do_not_contradict(one, other):
    assert notes.find_contradictions([read(one), read(other)]) == []


def test_a_note_sums_up_its_halves():
    allowed, forbidden = Reading("allowed"), Reading("forbidden")
    assert Note("", (allowed, forbidden)).polarity == "dual"
    assert Note("", (forbidden, Reading("allowed", exception=True))).polarity == "except"


@pytest.mark.parametrize(
    ("text", "who", "where", "hours"),
    [
        ("Trucks may wait at dock 4 until 17:00.", ("truck",), ("dock 4",), ((300, 1020),)),
        ("Staff may be in the shop 8-12 and 13-17", ("worker",), ("shop",), ((480, 720), (780, 1020))),
        ("call me if anyone is in the yard before 6", ("person",), ("yard",), ((0, 360),)),
        ("no vehicles after 20h", ("vehicle",), (), ((1200, 299),)),
        ("叉车旁边不许站人", ("person",), (), ()),
    ],
)
def test_places_and_hours_are_told_apart(text, who, where, hours):
    reading = read(text).readings[0]
    assert (reading.who, reading.where, reading.when.hours) == (who, where, hours)


def test_but_not_on_a_day_leaves_the_other_days():
    (half,) = read("Visitors may be in the garden, but not on Mondays.").readings
    assert (half.effect, half.when.weekdays) == ("allowed", (1, 2, 3, 4, 5, 6))


def test_an_exception_in_chinese_is_for_whom_it_names():
    forbidden, allowed = read("机房除了管理员谁都不能进").readings
    assert (forbidden.effect, forbidden.who) == ("forbidden", ())
    assert (allowed.effect, allowed.who, allowed.exception) == ("allowed", ("caretaker",), True)


def test_a_second_prohibition_is_about_whom_it_names():
    found = read("Boats at pier 9 are locked, no people. Ever.").readings
    assert [(one.effect, one.who, one.where) for one in found] == [
        ("forbidden", ("boat",), ("pier 9",)),
        ("forbidden", ("person",), ("pier 9",)),
    ]
