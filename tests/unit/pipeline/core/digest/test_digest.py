"""What a period amounts to, and that nothing of it is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.llm.grammar import Grammars
from models.llm.tokenizer import TokenDecoder
from pipeline.core.digest import group_words, groups, history, wording
from pipeline.core.digest.grounding import find_fault
from pipeline.core.digest.groups import Group, Loudness
from pipeline.core.digest.history import Incident
from pipeline.core.digest.periods import name_time
from pipeline.core.digest.sentences import build_grammar
from pipeline.core.incident.eventlines import EventLine
from pipeline.core.text import filters
from pipeline.resources import config_file
from tests.llms import FakeEngine, byte_words

LISTS = filters.load(config_file("filters.toml"))
LOUDNESS = Loudness(("ignore", "log", "notify", "alarm"), ("none", "low", "medium", "high"), 2)
TEN = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
SIX = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
ZONES = ["kerb", "loading bay", "\u88c5\u5378\u533a", 'the "old" gate', "clip_1.mp4", "in 2 incidents", "21:30", "once"]
TEXTS = st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1, max_size=12).filter(lambda text: text.strip())
MINUTES = st.integers(0, 3 * 1440)


def line(what="incident.end", at=TEN, subject="inc-1", camera="gate", **data):
    """An event, by default of an incident about which there is an alarm."""
    facts = {"camera": camera, "zone": "kerb", "object": {"class": "person", "count": 1}, "track": {"dwell_s": 10}}
    fields = {"situation": "intrusion", "severity": "high", "action": "alarm"}
    told = {"facts": facts, "analysis": {"status": "ok", "fields": fields}} if what.startswith("incident") else {}
    row = {
        "type": f"fieldwatch.{what}.v1",
        "time": at.isoformat(),
        "subject": subject,
        "source": "/site/s/device/d" + (f"/camera/{camera}" if camera else ""),
        "data": told | data,
    }
    return msgspec.convert(row | {"severitytext": data.get("severity", "INFO")}, EventLine)


def judged(action, number=1, zone="kerb", **changes):
    """The end of an incident with a verdict."""
    facts = {"camera": "gate", "zone": zone, "object": {"class": "person", "count": 1}, "track": {"dwell_s": 10}}
    analysis = {"status": "ok", "fields": {"situation": "activity", "action": action} | changes}
    at = TEN + timedelta(minutes=number)
    return line(subject=f"inc-{number}", at=at, facts=facts, analysis=analysis)


def told(*lines, since=TEN, until=SIX):
    """The sentences of a period, by templates."""
    period = history.select_period(history.read_history(lines), since, until)
    made = groups.group_incidents(period, LOUDNESS, UTC)
    own = made[: wording.count_own_sentences(period, made)]
    worded = [wording.Sentence(group_words.write_template(group), group.ids) for group in own]
    return wording.compose_digest(period, made, worded, LOUDNESS)


def texts(*lines, **period):
    return [one.text for one in told(*lines, **period)]


def incident(number=0, *, zone="kerb", label="person", seen=1, dwell_s=10, note="", camera="gate", taken="intrusion"):
    at = TEN + timedelta(minutes=number)
    return Incident(
        f"inc-{number}", camera, zone, label, seen, dwell_s, at, at, None, True,
        taken, "high", "alarm", note, "", "ok",
    )  # fmt: skip


def group(*members, dated=False):
    first, last = (name_time(one.began_utc, dated=dated) for one in (members[0], members[-1]))
    return Group(members, first, last)


@st.composite
def any_group(draw):
    """Same camera, zone and thing; anything else differs."""
    zone, camera = draw(st.one_of(st.sampled_from(ZONES), TEXTS)), draw(st.sampled_from(["gate", "kerb", "a.mp4"]))
    label = draw(st.sampled_from(["none", "person", "truck", "umbrella", "bus", "pickup truck"]))
    members = draw(
        st.lists(
            st.builds(
                lambda at, **more: incident(at, zone=zone, label=label, camera=camera, **more),
                MINUTES,
                seen=st.integers(0, 30),
                dwell_s=st.integers(0, 90_000),
                note=st.sampled_from(["", "n1", "n2", "n12"]),
                taken=st.sampled_from(["", "intrusion", "crowd"]),
            ),
            min_size=1,
            max_size=20,
        )
    )
    return group(*sorted(members, key=lambda one: one.began_utc), dated=draw(st.booleans()))


@pytest.fixture(scope="module")
def write():
    """Write a sentence, choosing blindly among what a grammar allows."""
    words = byte_words()
    grammars = Grammars(words, FakeEngine().encode)

    def written(counted, seed=0):
        choice = np.random.default_rng(seed)
        matcher, said = grammars.matcher(build_grammar(counted)), []
        while not matcher.is_finished:
            said += matcher.take_forced() or [matcher.take_best(choice.standard_normal(258).astype(np.float32))]
        return TokenDecoder(words).text(number for number in said if number not in words.stops).strip()

    return written


@settings(max_examples=200)
@given(any_group())
def test_whatever_the_template_says_is_grounded(counted):
    assert not find_fault(group_words.write_template(counted), counted), group_words.write_template(counted)


@settings(max_examples=200)
@given(any_group(), st.integers(0, 1000))
def test_whatever_the_grammar_allows_is_grounded_and_may_be_said(write, counted, seed):
    text = write(counted, seed)
    assert not find_fault(text, counted), text
    assert not LISTS.match_output(text, counted.names), text


@settings(max_examples=100)
@given(any_group(), any_group())
def test_the_sentence_of_one_group_is_not_that_of_another(one, other):
    if group_words.write_template(one) != group_words.write_template(other):
        assert find_fault(group_words.write_template(one), other)


THREE = group(incident(0, seen=2, note="n3"), incident(5, dwell_s=40, note="n3"), incident(9, note="n3"))
SAID = (
    "Alarm (intrusion): people were seen three times at the kerb (camera gate) on Sunday between 22:00 and 22:09, "
    "up to two at once, the longest for 40 seconds; note n3 decided."
)


def test_a_sentence_that_says_every_fact_once_is_grounded():
    assert find_fault(SAID, THREE) == ""


@pytest.mark.parametrize(
    ("was", "becomes", "reason"),
    [
        ("Alarm", "Notify", "it does not begin with the action"),
        ("(intrusion)", "(crowd)", "it does not say what it was taken for"),
        ("people", "vehicles", "it does not begin with what was seen"),
        ("people", "masked people", "it does not begin with what was seen"),
        ("three times", "four times", "four times is no fact"),
        ("three times ", "", "it does not say how often"),
        ("the kerb", "the yard", "it does not say where it was: kerb"),
        ("(camera gate)", "(camera yard)", "it does not say where it was: kerb"),
        ("22:09", "23:09", "on Sunday between 22:00 and 23:09 is no fact"),
        ("Sunday", "Monday", "on Monday between 22:00 and 22:09 is no fact"),
        (" on Sunday between 22:00 and 22:09", "", "it does not say when"),
        ("two at once", "five at once", "up to five at once is no fact"),
        ("40 seconds", "4 hours", "the longest for 4 hours is no fact"),
        (", the longest for 40 seconds", "", "it does not say how long"),
        ("n3", "n4", "it does not say once that note n3 decided"),
        ("; note n3 decided", "", "it does not say once that note n3 decided"),
        ("were seen", "were seen again", "again is no fact"),
        ("were seen", "were not seen", "not is no fact"),
        ("were seen", "were seen!", "! is no fact"),
        (".", ", all clear.", "it does not say once that note n3 decided"),
        (".", "", "it is no sentence"),
    ],
)
def test_a_sentence_that_says_less_more_or_something_else_is_not(was, becomes, reason):
    assert find_fault(SAID.replace(was, becomes), THREE) == reason


def test_the_loudest_is_told_first_and_incidents_of_a_kind_together():
    found = told(judged("log", 1), judged("alarm", 2), judged("notify", 3), judged("alarm", 4))
    assert [one.incidents for one in found[1:]] == [("inc-2", "inc-4"), ("inc-3",), ("inc-1",)]
    assert found[0].text == "4 incidents: 2 alarm, 1 notify, 1 log; 1 is quiet."


def test_a_group_is_told_with_how_many_where_when_how_long_and_which_note_decided():
    noted = {"because": "note", "note": "n3", "note_text": "Nobody may be at the kerb."}
    assert texts(judged("alarm", 1, **noted), judged("alarm", 70))[1] == (
        "Alarm (activity): a person in 2 incidents at kerb (camera gate), on Sunday between 22:01 and 23:10, "
        "the longest for 10 s; note n3 decided 1 of them."
    )


def test_a_note_that_did_not_decide_is_not_named():
    noted = {"because": "note_unsure", "note": "n3", "note_text": "Nobody may be at the kerb."}
    assert "n3" not in texts(judged("alarm", 1, **noted))[1]


def test_an_incident_is_told_as_its_last_event_tells_it_from_when_it_began():
    start = line("incident.start", analysis={"fields": {"action": "notify", "situation": "passing"}})
    end = line("incident.end", TEN + timedelta(hours=2))
    assert texts(start, end)[1].startswith("Alarm (intrusion): a person at kerb (camera gate), on Sunday at 22:00")


def test_an_incident_whose_last_event_lacks_a_verdict_keeps_the_last_there_was():
    late = line("incident.end", TEN + timedelta(minutes=1), analysis={"status": "timeout"})
    found = texts(line("incident.start"), late)
    assert found[0] == "1 incident: 1 alarm; none is quiet."
    assert "The sentences of 1 incident are templates: 1 timeout." in found


def test_an_incident_that_nobody_judged_is_told_before_all_others():
    unjudged = line(subject="inc-9", analysis={"status": "ok"})
    assert told(judged("alarm"), unjudged)[1].incidents == ("inc-9",)


def test_an_incident_that_lasted_into_the_period_is_told_and_one_that_was_over_before_is_not():
    hour = timedelta(hours=1)
    into = [line("incident.start", TEN - hour), line("incident.end", TEN + hour)]
    before = [line("incident.start", TEN - hour, "inc-2"), line("incident.end", TEN - hour / 2, "inc-2")]
    after = [line("incident.start", SIX + hour, "inc-3")]
    assert told(*into, *before, *after)[0].incidents == ("inc-1",)


def test_incidents_that_no_clock_places_are_counted_with_what_was_decided():
    long_ago = datetime(1970, 1, 1, 0, 3, tzinfo=UTC)
    found = told(line(at=long_ago, subject="inc-7"))
    assert [one.text for one in found] == [
        "Nothing that could be placed in time happened.",
        "1 incident cannot be placed in time, as no clock was set, and may be of this period or not: 1 alarm.",
    ]
    assert found[1].incidents == ("inc-7",)


def test_a_clock_that_was_set_while_an_incident_lasted_places_it():
    found = told(line("incident.start", datetime(1970, 1, 1, tzinfo=UTC)), line("incident.end", TEN))
    assert found[0].incidents == ("inc-1",)


def test_incidents_with_signs_that_talk_to_machines_are_counted():
    flagged = line("incident.start", analysis={"flags": ["injection_suspected"], "status": "ok"})
    found = told(flagged, line(), judged("log", 2))
    assert found[-1].text == "In 1 incident text in the scene seems to talk to machines; no verdict depends on it."
    assert found[-1].incidents == ("inc-1",)


def test_of_a_period_in_which_nothing_happened_that_is_said():
    assert texts() == ["Nothing happened."]


def test_many_groups_are_eight_sentences_and_the_rest_is_summed_up_with_all_its_ids():
    lines = [judged("log", number, zone=f"bay {number}") for number in range(1, 30)]
    found = told(*lines)
    assert len(found) == wording.MAX_SENTENCES
    behind = [name for one in found[1:] for name in one.incidents]
    assert sorted(behind) == sorted(row.subject for row in lines)
    assert found[-1].text == "Besides, 23 incidents at 23 places: 23 log."


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["alarm", "log", "odd"]), st.sampled_from("abcdefghijkl")), max_size=40))
def test_every_incident_is_behind_exactly_one_sentence_besides_the_first(chosen):
    lines = [judged(action, number, zone=zone) for number, (action, zone) in enumerate(chosen)]
    behind = [name for one in told(*lines)[1:] for name in one.incidents]
    assert sorted(behind) == sorted(row.subject for row in lines)


def test_incidents_that_have_not_ended_are_counted():
    assert texts(line("incident.start"))[0] == "1 incident: 1 alarm; none is quiet; 1 has not ended."


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [line("camera.lost"), line("camera.found"), line("camera.lost")],
            "camera gate was lost twice and is not back",
        ),
        ([line("camera.lost"), line("camera.found")], "camera gate was lost once"),
        ([line("camera.lost", TEN - timedelta(days=1))], "camera gate was lost before and is not back"),
        (
            [line("system.stage_restarted", camera="", details={"stage": "describe"})] * 3,
            "stage describe was replaced three times",
        ),
        ([line("system.started", camera="")], "the daemon was started once"),
        ([line("thermal.hot", camera="", severity="WARN")], "thermal.hot was told once"),
        (
            [line("replay.summary", datetime(1970, 1, 1, tzinfo=UTC), camera="", details={"input:a": "damaged: torn"})]
            * 2,
            "recording a is damaged: torn",
        ),
    ],
)
def test_what_an_operator_must_know_of_cameras_and_the_device_is_told(lines, said):
    assert texts(*lines)[-1] == f"To know: {said}."


def test_what_was_dropped_in_the_period_is_counted_across_restarts():
    counts = [(TEN - timedelta(hours=1), 5), (TEN, 8), (TEN + timedelta(hours=1), 2)]
    lines = [line(at=at, drops={"classify": count}) for at, count in counts]
    assert texts(*lines)[-1] == "To know: messages dropped: classify 5."


def test_times_are_those_of_the_site_as_its_events_tell_them():
    facts = {"zone": "kerb", "camera": "gate", "local_time": "23:00", "weekday": "Sunday"}
    lines = [line("incident.start", facts=facts), line("camera.lost")]
    assert history.read_history(lines).zone.utcoffset(None) == timedelta(hours=1)
    assert "on Sunday at 23:00" in texts(*lines)[1]


def test_in_a_long_period_days_are_dates():
    assert "on 2026-11-29 at 22:00" in texts(line(), since=TEN - timedelta(days=30))[1]
