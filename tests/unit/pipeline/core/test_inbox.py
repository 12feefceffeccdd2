from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.inbox import Inbox, Keep
from pipeline.core.messages import DescriptionWanted, FrameCaptured, Hop, Priority, Ticked
from tests.fakes import facts, frame

FACTS = facts()


def wanted(number, priority):
    return DescriptionWanted(incident=f"inc-{number}", revision=1, priority=priority, facts=FACTS, final=False)


def captured(camera, number):
    return FrameCaptured(frame=frame(number, camera=camera))


def drained(inbox):
    return [inbox.take() for _ in range(len(inbox))]


priorities = st.lists(st.sampled_from(Priority), max_size=40)
arrivals = st.lists(st.sampled_from(["gate", "yard", "dock"]), max_size=40)


@given(priorities, st.integers(1, 8))
def test_a_bounded_inbox_holds_its_depth_and_counts_what_it_drops(order, depth):
    inbox, dropped = Inbox(Keep.MOST_URGENT, depth), 0
    for number, priority in enumerate(order):
        dropped += inbox.offer(wanted(number, priority))
        assert len(inbox) <= depth
    assert len(inbox) + dropped == len(order)


@given(priorities, st.integers(1, 8))
def test_no_alarm_is_dropped_while_something_less_urgent_waits(order, depth):
    inbox = Inbox(Keep.MOST_URGENT, depth)
    for number, priority in enumerate(order):
        inbox.offer(wanted(number, priority))
    kept = Counter(message.priority for message in drained(inbox))
    assert kept[Priority.ALARM] == min(depth, order.count(Priority.ALARM))


@given(priorities, st.integers(1, 8))
def test_the_most_urgent_comes_first_and_of_equals_the_oldest(order, depth):
    inbox = Inbox(Keep.MOST_URGENT, depth)
    for number, priority in enumerate(order):
        inbox.offer(wanted(number, priority))
    taken = [(message.priority, int(message.incident.removeprefix("inc-"))) for message in drained(inbox)]
    assert taken == sorted(taken)


def test_what_has_waited_long_enough_goes_before_what_is_more_urgent_and_new():
    inbox, second = Inbox(Keep.MOST_URGENT, 8, ageing_s=10), 1_000_000_000
    sent = lambda message, at: msgspec.structs.replace(message, hops=(Hop("trigger", at * second, at * second),))  # noqa: E731  # a name for what follows
    inbox.offer(sent(wanted(1, Priority.ROUTINE), 100))
    inbox.offer(sent(wanted(2, Priority.ALARM), 120))
    inbox.offer(sent(wanted(3, Priority.ALARM), 121))
    assert inbox.since_ns == 100 * second
    taken = [inbox.take(121 * second).incident for _ in range(3)]
    assert taken == ["inc-1", "inc-2", "inc-3"]


@given(st.integers(1, 30))
def test_the_lowest_class_is_served_within_its_age_whatever_comes(ageing_s):
    inbox, second = Inbox(Keep.MOST_URGENT, 100, ageing_s=ageing_s), 1_000_000_000
    inbox.offer(msgspec.structs.replace(wanted(0, Priority.ROUTINE), hops=(Hop("trigger", second, second),)))
    for at in range(1, 200):
        inbox.offer(
            msgspec.structs.replace(wanted(at, Priority.ALARM), hops=(Hop("trigger", at * second, at * second),))
        )
        if inbox.take(at * second).incident == "inc-0":
            break
    assert at - 1 <= 2 * ageing_s + 1


@given(priorities, st.integers(1, 8))
def test_of_equally_urgent_messages_the_oldest_is_dropped(order, depth):
    inbox = Inbox(Keep.MOST_URGENT, depth)
    for number, _ in enumerate(order):
        inbox.offer(wanted(number, Priority.WARNING))
    assert [message.incident for message in drained(inbox)] == [
        f"inc-{number}" for number in range(max(0, len(order) - depth), len(order))
    ]


@given(arrivals)
def test_of_each_camera_exactly_the_latest_frame_waits(order):
    inbox, dropped = Inbox(Keep.LATEST, 1), 0
    latest = {}
    for number, camera in enumerate(order, 1):
        dropped += inbox.offer(captured(camera, number))
        latest[camera] = number
    assert {message.frame.camera: message.frame.sequence for message in drained(inbox)} == latest
    assert dropped == len(order) - len(latest)


def test_a_busy_camera_does_not_starve_another():
    inbox = Inbox(Keep.LATEST, 1)
    inbox.offer(captured("busy", 1))
    inbox.offer(captured("calm", 1))
    for number in range(2, 50):
        inbox.offer(captured("busy", number))
    assert inbox.take() == captured("busy", 49)
    inbox.offer(captured("busy", 50))
    assert inbox.take() == captured("calm", 1)


@given(st.integers(0, 300), st.integers(1, 4))
def test_events_are_never_dropped_and_stay_in_order(count, depth):
    inbox = Inbox(Keep.ALL, depth)
    ticks = [Ticked(pts_ns=number, utc_ns=number) for number in range(count)]
    assert sum(inbox.offer(tick) for tick in ticks) == 0
    assert drained(inbox) == ticks


@pytest.mark.parametrize("keep", Keep)
def test_an_empty_inbox_gives_nothing(keep):
    with pytest.raises(IndexError):
        Inbox(keep, 4).take()
