"""Visits, labels, counts and stays are compared as people would."""

from __future__ import annotations

import pytest

from pipeline.core.eval.figures import figures_of, figures_of_clip, figures_of_tags
from pipeline.core.eval.found import FoundIncident, FoundThing
from pipeline.core.eval.scoring import Score, Span, add_up, find_worst, join_visits, score_clip
from pipeline.core.eval.truth import ClipTruth, TrueCounts, TrueThing


def there(from_s, to_s, group="person"):
    return TrueThing(group, from_s, to_s)


def told(from_s, to_s, group="person", *, things=(), counts=(), name="inc-1"):
    members = tuple(FoundThing(number, *one) for number, one in enumerate(things))
    return FoundIncident(name, from_s, to_s, group, members, dict(counts))


def compare(things=(), incidents=(), seconds=100.0, **truth):
    return score_clip("a.mp4", ClipTruth(tuple(things), **truth), list(incidents), seconds)


def score(*given, **options):
    return compare(*given, **options).score


def judged(things, incident):
    (one,) = compare(things, [incident]).incidents
    return one.judgement, one.group_is


def test_things_that_overlap_or_nearly_do_are_one_visit():
    assert join_visits([there(6.9, 8), there(0, 3), there(2, 6)]) == [Span(0, 8)]


def test_things_a_second_apart_are_two_visits():
    assert join_visits([there(0, 3), there(4, 6)]) == [Span(0, 3), Span(4, 6)]


def test_a_visit_that_an_incident_overlaps_is_a_hit_and_another_is_missed():
    row = figures_of(score([there(10, 20), there(50, 60)], [told(19, 25)]))
    assert (row["visits"], row["hits"], row["missed"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("from_s", "to_s", "judgement"),
    [(0, 9.4, "false"), (0, 9.6, "near"), (22.4, 30, "near"), (22.6, 30, "false"), (19, 30, "right")],
)
def test_an_incident_is_false_if_it_is_beside_a_visit_and_not_near_it(from_s, to_s, judgement):
    assert judged([there(10, 20)], told(from_s, to_s))[0] == judgement


def test_false_incidents_are_counted_by_the_hours_in_which_nobody_was_there():
    found = score([there(0, 50)], [told(0, 50), told(60, 61), told(70, 71)], seconds=1850.0)
    row = figures_of(found)
    assert (row["empty_s"], row["false"], row["false_per_hour"]) == (1800.0, 2, 4.0)


def test_where_somebody_always_was_there_is_no_rate():
    assert figures_of(score([there(0, 100)], [told(0, 100)]))["false_per_hour"] is None


def test_further_visits_in_one_incident_are_merged():
    assert score([there(0, 5), there(10, 15), there(20, 25)], [told(0, 25)]).merged == 2


def test_further_incidents_of_one_visit_are_split():
    assert score([there(0, 50)], [told(0, 10), told(20, 30), told(40, 50)]).split == 2


def test_start_and_end_are_off_by_medians():
    row = figures_of(score([there(10, 20), there(50, 60)], [told(10.5, 23), told(51.5, 61)]))
    assert (row["start_error_s"], row["end_error_s"]) == (1.0, 2.0)


def test_of_an_incident_with_two_visits_only_the_outer_ends_count():
    found = score([there(10, 20), there(50, 60)], [told(11, 62)])
    assert (found.start_errors_s, found.end_errors_s) == ((1.0,), (2.0,))


def test_of_a_visit_with_two_incidents_only_the_outer_ends_count():
    found = score([there(10, 60)], [told(11, 20), told(50, 62)])
    assert (found.start_errors_s, found.end_errors_s) == ((1.0,), (2.0,))


def test_a_label_is_right_if_it_is_the_group_with_most_seconds_meanwhile():
    things = [there(0, 4, "vehicle"), there(0, 3), there(2, 5), there(20, 90, "vehicle")]
    assert judged(things, told(0, 5, "person")) == ("right", "person")
    assert judged(things, told(0, 5, "vehicle")) == ("mislabelled", "person")


def test_an_incident_that_names_nothing_is_neither_right_nor_wrong():
    found = score([there(0, 5)], [told(0, 5, "")])
    assert (found.unnamed, figures_of(found)["label_accuracy"]) == (1, None)


def test_the_share_of_right_labels_is_of_those_that_name_something():
    incidents = [told(0, 5), told(10, 15, "animal"), told(20, 25, "")]
    assert figures_of(score([there(0, 5), there(10, 15), there(20, 25)], incidents))["label_accuracy"] == 0.5


def test_counts_are_right_if_as_many_are_told_at_once_and_in_all():
    things = [there(0, 10), there(5, 15), there(30, 40)]
    right = told(0, 40, things=[("person", "person", 0, 10)] * 3, counts={"person": (2, 3)})
    (row,) = score(things, [right]).counts
    assert (row.at_once_right, row.total_right) == (True, True)
    (row,) = score(things, [told(0, 40, counts={"person": (3, 2)})]).counts
    assert (row.at_once, row.at_once_is, row.total, row.total_is) == (3, (2, 2), 2, (3, 3))
    assert (row.at_once_right, row.total_right) == (False, False)


def test_who_comes_as_another_goes_is_not_there_at_once_with_it():
    (row,) = score([there(0, 10), there(9.8, 20)], []).counts
    assert row.at_once_is == (1, 1)


def test_a_group_that_was_not_there_is_a_row_that_is_wrong():
    rows = score([there(0, 5)], [told(0, 5, counts={"person": (1, 1), "animal": (1, 1)})]).counts
    assert [(row.group, row.total_right) for row in rows] == [("person", True), ("animal", False)]


def test_a_thing_that_is_in_two_incidents_is_counted_once():
    own = {"things": [("person", "person", 0, 9)], "counts": {"person": (1, 1)}}
    (row,) = score([there(0, 9)], [told(0, 5, **own), told(5, 9, **own, name="inc-2")]).counts
    assert row.total == 1


def test_of_a_crowd_only_counts_are_compared():
    crowd = {"person": TrueCounts((40, 50), (100, 120))}
    found = compare([], [told(0, 90, counts={"person": (45, 90)})], counts_only=crowd)
    assert [one.judgement for one in found.incidents] == ["not judged"]
    assert (found.score.visits, found.score.false, found.score.empty_s) == (0, 0, 0.0)
    (row,) = found.score.counts
    assert (row.at_once_right, row.total_right) == (True, False)


def test_a_stay_is_right_if_both_ends_are_near_and_each_has_a_thing_of_its_own():
    things = [there(0, 10), there(0.5, 10), there(20, 30)]
    seen = [("person", "person", 1.0, 9.0), ("person", "person", 20, 32), ("vehicle", "car", 20, 30)]
    person, vehicle = score(things, [told(0, 32, things=seen)]).counts
    assert (person.stays, person.stays_right) == (3, 1)
    assert (vehicle.stays, vehicle.stays_right) == (0, 0)


def test_the_numbers_of_clips_are_added_and_medians_are_of_all():
    clips = [score([there(10, 20)], [told(11, 20)]), score([there(10, 20)], [told(13, 20)]), score([], [told(1, 2)])]
    row = figures_of(add_up(clips))
    assert (row["visits"], row["hits"], row["false"], row["start_error_s"]) == (2, 2, 1, 2.0)
    assert row["groups"]["person"]["clips"] == 2


def test_no_clips_come_to_nothing():
    assert add_up([]) == Score()
    assert figures_of(Score())["false_per_hour"] is None


def test_false_incidents_are_counted_by_what_else_moves():
    clips = [
        compare([], [told(1, 2), told(5, 6)], seconds=3600.0, nuisance=("rain", "foliage")),
        compare([], [], seconds=3600.0, nuisance=("rain",)),
        compare([], [told(1, 2)], seconds=3600.0),
    ]
    rows = figures_of_tags(clips)
    assert {tag: (row["clips"], row["false_per_hour"]) for tag, row in rows.items()} == {
        "foliage": (1, 2.0),
        "rain": (2, 1.0),
    }


def test_a_clip_tells_what_each_of_its_incidents_is_worth():
    row = figures_of_clip(compare([there(0, 5)], [told(0, 5, "animal")]))
    assert row["told"] == [
        {"id": "inc-1", "from_s": 0, "to_s": 5, "group": "animal", "group_is": "person", "judgement": "mislabelled"}
    ]
    assert row["counts"][0]["at_once_is"] == (1, 1)


def test_the_worst_are_false_then_mislabelled_and_long_ones_first():
    incidents = [told(0, 5), told(10, 19, "animal"), told(40, 41, name="short"), told(50, 90, name="long")]
    found = find_worst([compare([there(0, 5), there(10, 19)], incidents)], 3)
    assert [(clip, one.incident.id, one.judgement) for clip, one in found] == [
        ("a.mp4", "long", "false"),
        ("a.mp4", "short", "false"),
        ("a.mp4", "inc-1", "mislabelled"),
    ]
    assert len(find_worst([compare([there(0, 5), there(10, 19)], incidents)], 1)) == 1
