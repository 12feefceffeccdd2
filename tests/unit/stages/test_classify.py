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
    looked = [classifier.move(count / 10, HERE).detections is not None for count in range(4)]
    assert looked == [True, False, False, False]


def test_a_quiet_picture_is_not_looked_at(classifier):
    assert classifier.move(0).detections is None
    assert classifier.detector.looks == []


def test_a_change_of_the_whole_picture_is_not_looked_at(classifier):
    assert classifier.move(0, HERE, global_change=True).detections is None


def test_who_came_and_stopped_is_looked_for_once_a_second(classifier):
    classifier.detector.there = [seen(box=HERE)]
    classifier.move(0, HERE)
    classifier.detector.looks.clear()
    scenes = [classifier.move(1 + count / 2) for count in range(10)]
    assert 4 <= len(classifier.detector.looks) <= 6
    assert sum(scene.standing == (HERE,) for scene in scenes) == len(classifier.detector.looks)


def test_who_stands_is_looked_for_while_others_move(classifier):
    classifier.detector.there = [seen(box=HERE)]
    classifier.move(0, HERE)
    standing = [classifier.move(1 + count / 2, FAR).standing for count in range(6)]
    assert (HERE,) in standing


def test_who_has_left_is_not_looked_for_again(classifier):
    classifier.detector.there = [seen(box=HERE)]
    classifier.move(0, HERE)
    classifier.detector.there = []
    for count in range(6):
        classifier.move(2 + count)
    assert len(classifier.detector.looks) == 2


def test_what_stood_there_before_is_scenery(classifier):
    classifier.detector.there = [seen("car", box=FAR), seen(box=HERE)]
    classifier.move(0, HERE, (0.0, 0.0, 1.0, 0.05))
    assert classifier.move(2).standing == (HERE,)


def test_what_stands_too_long_belongs_to_the_picture(classifier):
    classifier.detector.there = [seen("truck", box=HERE)]
    classifier.move(0, HERE)
    standing = [classifier.move(float(second)).standing for second in range(1, 910)]
    assert standing[898] == (HERE,)
    assert standing[-1] == ()


def test_where_nothing_is_to_be_recognised_it_does_not_look(classifier):
    classifier.stage.context.limits.set(Limits(rung=Rung.MOTION))
    assert classifier.move(1.0, HERE).detections is None
    assert classifier.detector.looks == []
    classifier.stage.context.limits.set(Limits())
    assert classifier.move(2.0, HERE).detections is not None
