"""Who goes out of sight inside the picture is known again where he comes out."""

from __future__ import annotations

from pipeline.core.track.sight import NS_PER_S, Detection, Sight, TrackRules
from pipeline.core.track.tracker import Tracker, step

RULES = TrackRules()
SHIRT, OTHER_SHIRT = (90, 110, 140, 60, 128, 128), (190, 140, 110, 160, 100, 150)


def box(left):
    return (left, 0.4, left + 0.06, 0.7)


def walked(tracker, places, colours=SHIRT, looked_at=()):
    """A look each fifth of a second, where somebody is; None: nobody is to be seen."""
    for at_s, left in places:
        here = () if left is None else (box(left),)
        found = [Detection("person", "person", 0.7, one, colours) for one in here]
        sight = Sight(int(at_s * NS_PER_S), here, detections=found, looked_at=(*here, *looked_at))
        tracker = step(tracker, sight, RULES)
    return tracker


def steps(first_s, last_s, left, speed=0.12):
    count = round((last_s - first_s) * 5)
    return [(first_s + place / 5, left + speed * place / 5) for place in range(count)]


def nobody(first_s, last_s):
    return [(first_s + place / 5, None) for place in range(round((last_s - first_s) * 5))]


def certain(tracker):
    return [thing.number for thing in tracker.things if thing.confirmed]


def hidden():
    came = walked(Tracker(), steps(1, 3, 0.2))
    assert certain(came) == [1]
    gone = walked(came, nobody(3, 5), looked_at=(box(0.43),))
    assert certain(gone) == []
    return gone


def test_who_comes_out_on_his_way_in_the_same_clothes_is_the_same():
    assert certain(walked(hidden(), steps(5, 7, 0.66))) == [1]


def test_who_comes_out_in_other_clothes_is_another_one():
    (number,) = certain(walked(hidden(), steps(5, 7, 0.66), OTHER_SHIRT))
    assert number != 1


def test_who_appears_far_from_the_way_is_another_one():
    (number,) = certain(walked(hidden(), steps(5, 7, 0.05)))
    assert number != 1


def test_nobody_is_waited_for_for_long():
    late = walked(hidden(), nobody(5, 9))
    assert late.hidden == ()


def test_who_left_over_the_border_is_not_waited_for():
    came = walked(Tracker(), steps(1, 3.6, 0.65))
    gone = walked(came, nobody(3.6, 5), looked_at=((0.9, 0.4, 1.0, 0.7),))
    assert gone.things == gone.hidden == ()


def test_who_comes_out_where_another_one_goes_in_is_told_from_him_by_his_clothes():
    near_shirt = tuple(code + 14 for code in SHIRT)
    met = walked(hidden(), [(at_s, 0.98 - 0.2 * (at_s - 4)) for at_s, _ in steps(4, 5.4, 0)], near_shirt)
    (other,) = certain(met)
    assert other != 1
    after = walked(met, [(5.4, 0.69), (5.6, 0.71), (5.8, 0.73)])
    assert 1 in certain(after)
