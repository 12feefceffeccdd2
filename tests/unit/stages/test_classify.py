"""When and where the classifier looks; what it sees stands in."""

import pytest

from pipeline.core.device.limits import Limits, Rung
from pipeline.core.messages import MotionMeasured
from stages.classify import Classify
from tests.fakes import context, frame, picture, seen

HERE = (0.4, 0.4, 0.5, 0.8)
FAR = (0.8, 0.1, 0.9, 0.3)


class FakeDetector:
    """Sees what it is told, where it looks."""

    def __init__(self):
        self.there = []
        self.looks = []

    def warm_up(self):
        pass

    def detect(self, _planes, box, _rotation):
        self.looks.append(box)
        return [one for one in self.there if one.box[0] < box[2] and box[0] < one.box[2]]


class Classifier:
    def __init__(self, ring, monkeypatch):
        self.detector = FakeDetector()
        monkeypatch.setattr("stages.classify.NanoDet", lambda *_, **__: self.detector)
        self.ring = ring
        self.stage = Classify(context(ring))
        self.stage.warm_up()

    def move(self, at_s, *boxes, **changes):
        sequence = self.ring.copy(picture(90))
        facts = {"frame": frame(sequence, at_s=at_s), "boxes": boxes, "area_ratio": 0.1, "global_change": False}
        (scene,) = self.stage.handle(MotionMeasured(**(facts | changes)))
        return scene


@pytest.fixture
def classifier(new_ring, monkeypatch):
    return Classifier(new_ring(), monkeypatch)


def test_it_looks_at_most_so_often_in_media_time(classifier):
    for count in range(100):
        classifier.move(count / 10, HERE)
    assert 29 <= len(classifier.detector.looks) <= 31


def test_every_movement_is_passed_on_looked_at_or_not(classifier):
    looked = [classifier.move(count / 10, HERE).looked for count in range(4)]
    assert looked == [True, False, False, False]


def test_a_quiet_picture_is_not_looked_at(classifier):
    assert not classifier.move(0).looked
    assert classifier.detector.looks == []


def test_a_change_of_the_whole_picture_is_not_looked_at(classifier):
    assert not classifier.move(0, HERE, global_change=True).looked


def comes_and_stops(classifier, label="person"):
    """Something that is seen twice, and then moves no more."""
    classifier.detector.there = [seen(label, box=HERE)]
    for count in range(5):
        classifier.move(count / 10, HERE)
    classifier.detector.looks.clear()


def test_who_came_and_stopped_is_looked_for_once_a_second(classifier):
    comes_and_stops(classifier)
    scenes = [classifier.move(2 + count / 2) for count in range(10)]
    assert 4 <= len(classifier.detector.looks) <= 6
    assert sum(scene.things[0].present for scene in scenes) == len(classifier.detector.looks)


def test_he_is_looked_for_where_he_was_seen_whole_and_not_where_his_hand_moves(classifier):
    comes_and_stops(classifier)
    hand = (0.41, 0.5, 0.43, 0.55)
    for count in range(8):
        classifier.move(1 + count / 2, hand)
    assert all(box == HERE for box in classifier.detector.looks)


def test_who_stands_is_looked_for_while_others_move(classifier):
    comes_and_stops(classifier)
    scenes = [classifier.move(2 + count / 2, FAR) for count in range(6)]
    assert any(scene.things[0].detection is not None for scene in scenes)


def test_who_has_left_is_looked_for_a_few_times_and_then_forgotten(classifier):
    comes_and_stops(classifier)
    classifier.detector.there = []
    scenes = [classifier.move(3 + count) for count in range(9)]
    assert [len(scene.things) for scene in scenes] == [1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_what_stood_there_before_is_scenery(classifier):
    classifier.detector.there = [seen("car", box=FAR), seen(box=HERE)]
    scenes = [classifier.move(count / 2, HERE, (0.0, 0.0, 1.0, 0.05)) for count in range(6)]
    assert [thing.votes[0].label for thing in scenes[-1].things] == ["person"]


def test_what_stands_too_long_belongs_to_the_picture(classifier):
    comes_and_stops(classifier)
    there = [classifier.move(float(second)).things for second in range(1, 930)]
    assert there[880][0].present
    assert not any(thing.present for thing in there[-1])


def test_what_lies_in_a_mask_is_not_seen(classifier, new_ring):
    masks = {"flag": ((0.3, 0.3), (0.6, 0.3), (0.6, 0.9), (0.3, 0.9))}
    masked = {"cameras": {"gate": {"source": "synthetic://", "masks": masks}}}
    classifier.stage.context = context(classifier.ring, **masked)
    classifier.detector.there = [seen(box=HERE)]
    scenes = [classifier.move(count / 4, HERE) for count in range(8)]
    assert not any(scene.things for scene in scenes)


def test_where_nothing_is_to_be_recognised_it_does_not_look(classifier):
    classifier.stage.context.limits.set(Limits(rung=Rung.MOTION))
    assert not classifier.move(1.0, HERE).looked
    assert classifier.detector.looks == []
    classifier.stage.context.limits.set(Limits())
    assert classifier.move(2.0, HERE).looked
