"""A sentence that permits nothing for sure silences nothing, and says why."""

import pytest

from pipeline.core.note import notes, words
from pipeline.core.note.clauses import compile_note
from pipeline.resources import config_file
from tests import fakes

LEXICON = words.load(config_file("words.toml"))

PERMITS_NOTHING = {
    "a question": ["Are people allowed at the hives?", "May visitors enter the yard", "蜂箱那里可以进人吗？"],
    "not sure": [
        "I doubt that people should be at the hives.",
        "Word has it that beekeepers may be at the hives.",
        "Maybe cars can park in the yard.",
        "听说快递员可以进院子。",
    ],
    "over": [
        "Beekeepers no longer come to the hives on Mondays.",
        "Beekeepers used to look after the hives.",
        "Somebody broke into the hives last week.",
        "Bus parking in the yard used to be fine on weekdays.",
        "快递员不再可以进院子。",
    ],
    "unlawful": [
        "Thieves may come to the hives in the morning.",
        "Workers steal honey from the hives every night.",
        "每天晚上有人在仓库偷东西。",
    ],
    "condition": [
        "Beekeepers may come to the hives when it rains.",
        "When it rains the cows may stand in the barn.",
        "Anyone may go into the office if the boss agreed.",
        "Guests are allowed in the hall with a visitor badge.",
        "下雨的时候牛可以进牛棚。",
        "经经理同意，工人可以进机房。",
    ],
    "a state": ["Everything is fine.", "All quiet at the hives.", "一切正常。"],
    "cannot tell who": [
        "A man with a red hat may be at the hives.",
        "Mr. Okafor may be in the archive on Tuesdays from 2 to 5.",
        "老王可以进仓库。",
    ],
    "whom it means": ["Hans may go to the hives."],
    "anybody anywhere": ["Ignore people.", "Everybody is welcome."],
    "summer": ["Beekeepers may be at the hives in summer."],
    "tomorrow": ["Beekeepers may be at the hives tomorrow."],
    "夏天": ["夏天工人可以进仓库。"],
    "first sunday of the month": ["Cleaners may be in the office on the first Sunday of the month."],
    "every other day": ["Cleaners may be in the office every other day."],
}
NOT_UNDERSTOOD = [
    "Cars are blocking the fire lane every afternoon.",
    "Trucks dump rubble behind the kiln before dawn.",
    "Dogs run loose in the rose garden every morning and I am sick of it.",
    "Burglars often try the hives.",
    "People climb over the fence every night.",
    "Trucks at the gate, every night.",
    "电动车天天堵在消防通道。",
]
HABITS = [
    "Forklifts work in hall 2 around the clock.",
    "Guards walk past the main gate every full hour, day and night.",
    "The caretaker does his rounds in the building from 12:00 to 22:00.",
    "The night watch walks through gallery 2 every full hour.",
    "School classes gather in the lobby on weekday mornings.",
    "叉车24小时在分拣车间作业。",
    "养蜂人每天早上照看蜂箱。",
]
PERMISSIONS = [
    "Beekeepers may be at the hives from 8 to 12.",
    "Stray cats sleep under the ramp, do not bother about them.",
    "If you see a fox near the hen house, do not call me.",
    "People on the climbing wall are nothing unusual between 14:00 and 21:00.",
    "Deer are used to the meadow and may stay there.",
    "货车工作日7:00到17:00可以在装卸区停留，最多15分钟。",
]


def read(text):
    return compile_note(text, LEXICON)


@pytest.mark.parametrize(
    ("reason", "text"), [(reason, text) for reason, texts in PERMITS_NOTHING.items() for text in texts]
)
def test_what_permits_nothing_for_sure_says_why_and_stays_so_when_confirmed(reason, text):
    note = read(text)
    permitting = [one for one in notes.confirm_note(note, "allow").readings if one.effect == "allowed"]
    assert not any(one.sure for one in permitting)
    assert all(any(reason in why for why in one.unclear) for one in note.readings if one.effect == "allowed")


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_a_habit_that_was_not_understood_permits_only_when_confirmed(text):
    note = read(text)
    assert not any(one.sure for one in note.readings if one.effect == "allowed")
    assert note.polarity in ("none", "forbid")


@pytest.mark.parametrize("text", [*HABITS, *PERMISSIONS])
def test_a_habit_in_ordinary_words_and_a_permission_are_relied_on(text):
    assert read(text).polarity == "allow"


HOURS_THAT_MAY_BE_OTHERS = {
    "by day or by night": [
        "Trucks may stand in the yard until 5.",
        "Trucks may stand in the yard before 6.",
        "Staff may be in the yard after 6.",
        "Staff may be in the yard from seven.",
        "Staff may be in the yard between 8 and 12 and 1 and 5.",
        "Vans may stop at the gate from 2 to 5.",
    ],
    "goes over midnight": [
        "Guests may use the terrace 10 to half past 4.",
        "Guards may be in the hall from 22:00 to 06:00.",
        "Sailors may be at the pier until 3 at night.",
        "Staff may be in the yard after 8 pm.",
        "工人晚上十点到早上六点可以进仓库。",
    ],
    "more than twelve hours": [
        "The caretaker does his rounds in the building until 22:00.",
        "Staff may be in the yard from 6:00 to 22:00.",
        "货车早上六点到晚上十点可以停在卸货口。",
    ],
    "outside of hours": ["Guards may be in the hall outside 08:00-17:00."],
    "the number of a place, or an hour": [
        "Trucks may wait at dock 4 until 17:00.",
        "Trucks may wait at bay 11 to 18:30.",
        "Painters may use the lift 9 to 17.45.",
    ],
}


@pytest.mark.parametrize(
    ("reason", "text"), [(reason, text) for reason, texts in HOURS_THAT_MAY_BE_OTHERS.items() for text in texts]
)
def test_hours_that_may_be_others_silence_nothing_until_they_are_confirmed(reason, text):
    (half,) = read(text).readings
    assert any(reason in why for why in half.assumed)
    assert read(text).polarity == "none"
    assert notes.confirm_note(read(text), "allow").polarity == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "Guards walk along the fence at night.",
        "Staff may be in the yard from 8 to 12.",
        "Vans may stop at the gate each afternoon from 2 to 5.",
        "Bakers are in the kitchen from 2 to 7 every night.",
        "Staff may be in the yard until 5 pm.",
        "Forklifts work in hall 2 on weekdays.",
        "Trucks may wait at dock 4, until 17:00.",
    ],
)
def test_hours_that_are_clear_are_relied_on(text):
    assert read(text).polarity == "allow"


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("a number was not understood", "工人早9晚6在院子可以"),
        ("anybody anywhere", "people may be everywhere, also at night"),
        ("nobody checks: `unless`", "Workers may be in the yard unless it rains"),
        ("nobody checks: `unless`", "Workers may be in the yard unless guards are there."),
        ("nobody checks: `except if`", "Trucks may be in the yard except if it snows."),
        ("a language that is not read", "Autos sind im yard verboten."),
        ("a language that is not read", "Les cars sont autorisés dans la yard."),
        ("a language that is not read", "Машины могут стоять во дворе."),
    ],
)
def test_what_nobody_can_rely_on_stays_doubtful_when_confirmed(reason, text):
    note = notes.confirm_note(read(text), "allow")
    permitting = [one for one in note.readings if one.effect == "allowed"]
    assert any(reason in why for one in permitting for why in one.unclear)
    assert not any(one.sure for one in permitting)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("dont call me about people in the yard", True),
        ("You dont need to report dogs on the lawn.", True),
        ("People cant be in the yard.", False),
        ("People arent allowed in the yard.", False),
        ("Guests mustnt be in the yard.", False),
    ],
)
def test_negations_without_an_apostrophe_are_negations(text, allowed):
    assert ([one.effect for one in read(text).readings if one.sure] == ["allowed"]) == allowed


def test_confirming_a_habit_makes_it_a_permission():
    note = read("Plumbers solder in the cellar on Mondays.")
    assert note.polarity == "none"
    assert notes.confirm_note(note, "allow").polarity == "allow"


def test_what_forbids_is_followed_in_doubt():
    assert read("Nobody may be at the hives in summer.").readings[0].sure


def test_during_breaks_says_nothing_beside_the_hours_of_the_breaks():
    assert read("Pupils fill the yard during breaks, 09:45-10:15, Monday to Friday.").polarity == "allow"
    assert read("Pupils fill the yard during breaks.").polarity == "none"


# Each was once read as letting people through; a new user tried them.
DENIALS_WISHES_AND_CONDITIONS = [
    "走廊里有人不正常。",
    "走廊里有人不太正常。",
    "走廊里有人很不正常。",
    "People are normally not in the corridor.",
    "The corridor is usually free of people.",
    "It is normal for the corridor to be without people.",
    "People are usually absent from the corridor.",
    "People normally avoid the corridor.",
    "People are not yet allowed in the corridor.",
    "People in the corridor are anything but normal.",
    "Not everybody may be in the corridor.",
    "Not all people are allowed in the corridor.",
    "不是所有人都可以走过走廊。",
    "不见得人们可以走过走廊。",
    "People normally use the stairs instead of the corridor.",
    "People are usually only in the lobby, not in the corridor.",
    "人们可以走过走廊，但不能停留。",
    "People may use the corridor, but not walk.",
    "People may walk through the corridor unless they carry weapons.",
    "People are fine in the corridor unless they are armed.",
    "Do not alarm me about people in the corridor unless they look suspicious.",
    "People may walk through the corridor unless it is urgent.",
    "People may walk through the corridor, except thieves.",
    "人们可以走过走廊，带武器的除外。",
    "人们可以走过走廊，今天除外。",
    "If the door is open people may walk through the corridor.",
    "People may walk through the corridor with a guard.",
    "People may walk through the corridor under supervision.",
    "People may be in the corridor pending approval.",
    "People may be in the corridor for deliveries only.",
    "People must be allowed in the corridor by the guard.",
    "People should be allowed in the corridor.",
    "People are supposed to be allowed in the corridor.",
    "People can be allowed in the corridor.",
    "People may be in the corridor, as if.",
    "People may be in the corridor over my dead body.",
    "人们可以走过走廊，开玩笑的。",
    "人们可以走过走廊才怪。",
    "人们可以走过走廊的说法是错的。",
    "People may shoot in the corridor.",
    "People may set fire to the corridor.",
    "People may bleed in the corridor.",
    "People may hide in the corridor.",
    "People may climb over the fence into the corridor.",
    "People with guns are normal in the corridor.",
    "Masked people may use the corridor.",
    "Strangers are usually in the corridor.",
    "走廊里有陌生人是正常的。",
    "People are usually loitering in the corridor.",
    "Someone may be in the corridor.",
    "There may be people in the corridor.",
    "Red cars may park in the lane.",
    "The boss's car may park in the lane.",
    "Police cars may park in the lane.",
    "Parked cars in the lane are normal.",
    "Cars may drive in the lane at 10 km/h.",
    "People may walk quickly through the corridor.",
    "People may be in the corridor from the left only.",
    "People may stay in the corridor for a few seconds.",
    "People may stay in the corridor for at least 10 seconds.",
    "人们可以在走廊停留一小会儿。",
]


# The same, by somebody who set out to be misread.
NASTY = [
    "Workers may enter the warehouse, on Sundays not.",
    "People may walk in the yard, not at night.",
    "Cars but not trucks may park in the yard.",
    "Vehicles may park in the yard, trucks excluded.",
    "卡车以外的车辆可以停在院子里。",
    "It is false that people may be in the yard.",
    "\u201cPeople may be in the yard\u201d is wrong.",
    "The old rule: people may be in the yard.",
    "谁说工人可以进仓库。",
    "Some trucks may park in the yard.",
    "部分工人可以进仓库。",
    "Trucks may wait in the yard for up to fifty minutes.",
    "卡车可以在院子停一会儿。",
    "Trucks may wait in the yard up to 10 minutes, in rain 2 hours.",
    "People may be in the yard in groups of two.",
    "Trucks may wait in the yard at 20 to 8.",
    "卡车下午两三点可以在院子。",
    "Trucks may wait in the yard at 8:00, 12:00 and 18:00.",
    "Trucks may wait in the yard Monday 8-12, Sunday 10-11.",
    "Trucks may wait in the yard on Dec 24.",
    "Trucks may wait in the yard on the 24th.",
    "Trucks may wait in the yard in May.",
    "As of 2027 trucks may wait in the yard.",
    "Trucks may wait in the yard on market day.",
    "Trucks may wait in the yard for three days.",
    "Trucks may wait in the yard just this time.",
    "卡车可以在院子停，就这一次。",
    "Trucks may wait in the yard until Friday.",
    "卡车可以在院子停到周五为止。",
    "Children may be in the yard with their parents.",
    "值班时工人可以进仓库。",
    "下雨时工人可以进仓库。",
    "Every day from 8 to 10, and never otherwise, people may be in the loading bay.",
    "People may walk behind the loading bay.",
    "People may stand to the left of the loading bay.",
    "People may walk next to the loading bay.",
    "允许人员在装卸区外走动。",
    "员工可以进入装卸区，其他人一律报警。",
    "Staff may be in the loading bay, report strangers.",
    "Visitors may enter the loading bay, intruders must be reported.",
    "People may pass the loading bay only on the left side.",
    "People with dogs may be in the loading bay.",
    "People may only leave the loading bay.",
    "People may be in the loading bay Mon-Fri 9am to 1pm and Sat 9am to noon.",
    "Cats may be in the y\u202eard.",
    "Trucks may wait in the load\u200bing bay.",
]


@pytest.mark.parametrize("text", [*DENIALS_WISHES_AND_CONDITIONS, *NASTY])
def test_what_denies_wishes_jokes_or_asks_for_more_than_a_camera_sees_is_not_relied_on(text):
    assert read(text).polarity in ("none", "forbid")


def effect(text, **changes):
    return notes.apply_note(read(text).readings, fakes.facts(**changes))


@pytest.mark.parametrize(
    ("text", "changes", "outcome"),
    [
        ("People may walk through the gate except between 9 and 11.", {"local_time": "10:00"}, "forbidden"),
        ("People may walk through the gate except between 9 and 11.", {"local_time": "12:00"}, "allowed"),
        ("除了上午，人们可以走过大门。", {"local_time": "10:00"}, "forbidden"),
        (
            "People may walk through the gate, but report if they stay longer than 10 seconds.",
            {"dwell_s": 9},
            "allowed",
        ),
        ("People may walk through the gate, but report if they stay longer than 10 seconds.", {"dwell_s": 11}, "over"),
        ("人们可以在大门停留，超过10秒请报告。", {"dwell_s": 11}, "over"),
        ("All people but children may use the gate.", {"label": "child"}, "forbidden"),
        ("Nobody may use the gate except guards.", {}, "allowed"),
        ("Cars may come in at the gate but not go out.", {"label": "car"}, "forbidden"),
        ("Two people may be at the gate.", {"count": 3}, "over"),
        ("People may stay at the gate up to half a minute.", {"dwell_s": 31}, "over"),
        ("晚上八点到十二点人们可以在大门。", {"local_time": "10:00"}, "outside"),
    ],
)
def test_what_one_half_allows_another_may_take_back(text, changes, outcome):
    assert effect(text, **changes) == outcome
