"""What trigger remembers beside its incidents: questions, room in the log, cameras, areas, joules."""

from __future__ import annotations

import pytest

from pipeline.core.device import energy
from pipeline.core.incident import cameras, desk, incidents, log_space, pending, spots
from pipeline.core.incident.cameras import Camera
from pipeline.core.incident.desk import Desk
from pipeline.core.incident.flapping import MAX_TOLD
from pipeline.core.incident.log_space import LogSpace
from pipeline.core.incident.pending import PendingDescriptions
from pipeline.core.incident.presence import Presence
from pipeline.core.incident.spots import Spot
from pipeline.core.messages import DescriptionWanted, Priority
from tests.fakes import NS, course, facts, frame


def wanted(incident="inc-1", revision=1):
    return DescriptionWanted(
        incident=incident, revision=revision, priority=Priority.ROUTINE, facts=facts(), final=False
    )


def test_a_question_is_open_until_it_is_answered_at_its_revision():
    asked = pending.asked(PendingDescriptions(), wanted(revision=2))
    assert pending.answered(asked, "inc-1", 1) == asked
    assert pending.answered(asked, "inc-2") == asked
    assert pending.answered(asked, "inc-1", 2) == pending.answered(asked, "inc-1") == PendingDescriptions()


def test_what_was_lost_is_asked_again_once():
    asked = pending.asked(pending.asked(PendingDescriptions(), wanted()), wanted("inc-2"))
    once, again = pending.after_restart(asked)
    assert [one.incident for one in again] == ["inc-1", "inc-2"]
    assert pending.after_restart(once) == (PendingDescriptions(), ())


def test_trouble_is_told_once_and_the_end_of_it_after_a_while():
    known, tell = log_space.report_due(LogSpace(), NS, trouble=True)
    assert tell
    known = log_space.after_report(NS, trouble=True)
    assert log_space.report_due(known, 2 * NS, trouble=True) == (LogSpace(2 * NS), False)
    assert log_space.report_due(known, 10 * NS, trouble=False)[1] is False
    assert log_space.report_due(known, 11 * NS, trouble=False)[1] is True
    assert log_space.report_due(LogSpace(), NS, trouble=False) == (LogSpace(), False)


def test_what_found_no_room_is_counted_by_kind_and_never_less_than_none():
    known = log_space.count_unlogged(log_space.count_unlogged(LogSpace(), "updates"), "starts", 2)
    assert (known.total, known.as_details) == (3, {"starts_given_up": 2, "updates_given_up": 1})
    assert log_space.count_unlogged(LogSpace(), "starts", -1) == LogSpace()


def test_a_camera_of_which_nothing_came_is_waited_for_by_nobody():
    known = {"gate": Camera(), "yard": Camera(NS), "dock": Camera(NS), "hall": Camera(8 * NS)}
    assert cameras.silent(known, {"dock": "lost"}, 11 * NS, 9.0) == ("yard",)


def test_a_message_of_a_camera_does_not_put_its_last_picture_back():
    assert cameras.heard_of(Camera(5 * NS), 3 * NS).seen_ns == 5 * NS
    assert cameras.heard_of(Camera(), 3 * NS).seen_ns == 3 * NS


@pytest.mark.parametrize(("how", "became"), [("lost", None), ("", ("found", "it stays")), ("ended", None)])
def test_in_the_end_it_is_told_what_became_of_a_camera_that_came_and_went(how, became):
    camera, told = Camera(), []
    for number in range(MAX_TOLD + 1):
        for lost in (True, False):
            camera, alone = cameras.changed(camera, (2 * number + lost) * NS, lost=lost, reason="x")
            told.append(alone)
    camera = camera._replace(told_lost=True)
    assert told == [True] * 2 * MAX_TOLD + [False] * 2
    assert cameras.step(camera, 20 * NS, how)[1] is None
    camera, summary = cameras.step(camera, 100 * NS, how)
    assert (summary.details["over"], summary.became) == (True, became)
    assert cameras.step(camera, 101 * NS, how)[1] is None


def test_an_incident_that_is_refused_again_at_once_is_the_same():
    spot, fresh = spots.refused(Spot(), 10 * NS, 3.0)
    assert fresh
    assert spots.refused(spot, 12 * NS, 3.0)[1] is False
    assert spots.refused(spot, 14 * NS, 3.0)[1] is True
    assert spots.started(spot, Presence()).refused_ns is None


def test_a_stay_that_was_cut_goes_on_in_the_next_incident_of_its_kind():
    cut = course(frame=frame(at_s=10), group="person")
    spot = Spot(cut=cut)
    soon, late = course(began_ns=12 * NS, id="inc-2"), course(began_ns=20 * NS)
    assert spots.continued(spot, soon, 3.0).continues == cut.id
    assert spots.continued(spot, soon, 3.0).came_ns == incidents.came_ns(cut)
    assert spots.continued(spot, late, 3.0) == late
    other = course(began_ns=12 * NS, group="vehicle")
    assert spots.continued(spot, other, 3.0) == other


def test_a_visit_is_over_with_its_incident_unless_that_was_cut():
    spot = Spot(presence=Presence(at_ns=5 * NS))
    assert len(spots.over(spot, course(), "quiet", 2.0).visits) == 1
    assert spots.over(spot, course(), "quiet", 2.0).blind_ns == 7 * NS
    assert spots.over(spot, course(), "max_duration", 0.0).visits == ()
    assert spots.over(spot, course(), "max_duration", 0.0).presence == Presence(last_ns=5 * NS, at_ns=5 * NS)


def test_what_the_device_took_is_shared_out_among_the_incidents_that_are_open():
    shares = energy.share_energy(energy.Shares(), 10.0, ["inc-1"])
    shares = energy.share_energy(shares, 16.0, ["inc-1", "inc-2"])
    shares = energy.share_energy(shares, 20.0, ["inc-2"])
    assert dict(shares.of) == {"inc-1": 3.0, "inc-2": 7.0}
    assert dict(energy.forget(shares, "inc-1").of) == {"inc-2": 7.0}
    assert energy.share_energy(shares, 1.0, ["inc-2"]) == energy.Shares(1.0, shares.of)
    assert energy.share_energy(shares, 30.0, []) == energy.Shares(30.0, shares.of)


def question(incident="inc-1", priority=Priority.ROUTINE, since_s=0, within_s=30):
    asked = DescriptionWanted(incident=incident, revision=1, priority=priority, facts=facts(), final=False)
    return desk.SentenceJob(asked, since_s * NS, (since_s + within_s) * NS)


def test_the_most_urgent_question_is_written_first_and_age_makes_urgent():
    waiting = Desk()
    for one in (question(), question("inc-2", Priority.ALARM, 5), question("inc-3", since_s=1)):
        waiting = desk.asked(waiting, one)
    assert desk.most_urgent(waiting, 6 * NS, 10.0).wanted.incident == "inc-2"
    assert desk.most_urgent(desk.answered(waiting, "inc-2"), 6 * NS, 10.0).wanted.incident == "inc-1"
    assert waiting.since_ns == 0
    assert waiting.spent(15 * NS) == pytest.approx(0.5)


def test_where_too_many_questions_wait_the_oldest_of_the_least_severe_gives_way():
    waiting = desk.asked(Desk(), question("inc-0", Priority.ALARM))
    for number in range(1, 33):
        assert desk.crowded(waiting) == (waiting, None)
        waiting = desk.asked(waiting, question(f"inc-{number}", since_s=number))
    waiting, gives_way = desk.crowded(waiting)
    assert (gives_way.wanted.incident, waiting.crowded_out) == ("inc-1", 1)


def test_what_is_begun_may_take_until_its_time_is_up_and_what_is_not_has_to_fit():
    waiting = desk.took(desk.asked(Desk(), question()), 4 * NS)
    assert desk.late(waiting, 27 * NS, {"inc-1"}) == ()
    assert [one.wanted.incident for one in desk.late(waiting, 27 * NS, ())] == ["inc-1"]
    assert len(desk.late(waiting, 30 * NS, {"inc-1"})) == 1
