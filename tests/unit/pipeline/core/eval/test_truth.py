"""What people saw is read with all its faults named, and written so that people can correct it."""

from __future__ import annotations

import json

import pytest

from pipeline.core.errors import ConfigError, DamagedError
from pipeline.core.eval.truth import ClipTruth, TrueThing, parse_truth, write_truth


def read(clips):
    return parse_truth(json.dumps({"clips": clips}).encode(), "truth.json")


def test_things_nuisance_and_boxes_of_a_clip_are_read():
    boxes = [[4.5, 0.1, 0.2, 0.3, 0.4]]
    thing = {"group": "person", "from_s": 4, "to_s": 8.5, "what": "with a dog", "boxes": boxes}
    found = read({"a.mp4": {"things": [thing], "nuisance": ["rain"]}})["a.mp4"]
    assert found.things == (TrueThing("person", 4.0, 8.5, "with a dog", ((4.5, 0.1, 0.2, 0.3, 0.4),)),)
    assert found.nuisance == ("rain",)


def test_fields_that_are_not_ours_are_passed_over():
    data = b'{"about": "a walk", "clips": {"a.mp4": {"by": "me", "things": []}}}'
    assert parse_truth(data, "truth.json") == {"a.mp4": ClipTruth()}


def test_every_clip_that_cannot_be_read_is_named_with_the_place():
    with pytest.raises(ConfigError) as raised:
        read({
            "a.mp4": {"things": [{"group": "cat", "from_s": 1, "to_s": 2}]},
            "b.mp4": {"things": [{"group": "animal", "from_s": 1, "to_s": 2}]},
            "c.mp4": {"things": [{"group": "animal", "from_s": 1}]},
        })  # fmt: skip
    first, second = str(raised.value).splitlines()
    assert first == "truth.json: clip a.mp4: Invalid enum value 'cat' - at `things[0].group`"
    assert second == "truth.json: clip c.mp4: Object missing required field `to_s` - at `things[0]`"


@pytest.mark.parametrize(
    ("clip", "says"),
    [
        ({"things": [{"group": "person", "from_s": 3, "to_s": 2}]}, "to_s 2 is before from_s 3"),
        ({"things": [{"group": "person", "from_s": -1, "to_s": 2}]}, ">= 0"),
        ({"counts_only": {"person": {"at_once": [3, 2], "total": [3, 3]}}}, "the least before the most"),
        ({"counts_only": {"person": {"at_once": 3, "total": 3}}}, "Expected `array`"),
        (
            {
                "things": [{"group": "person", "from_s": 1, "to_s": 2}],
                "counts_only": {"person": {"at_once": [1, 1], "total": [1, 1]}},
            },
            "both things and counts_only",
        ),
    ],
)
def test_what_cannot_be_is_refused(clip, says):
    with pytest.raises(ConfigError, match=says):
        read({"a.mp4": clip})


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"clips": []}', b"\xff", b'{"clips"' + b"[" * 5000])
def test_what_is_no_truth_is_told_with_what_one_is(data):
    with pytest.raises(DamagedError, match=r'truth.json: no truth, which is \{"clips"'):
        parse_truth(data, "truth.json")


def test_a_truth_without_clips_is_none():
    with pytest.raises(ConfigError, match="holds no clip"):
        read({})


def test_what_is_written_is_read_as_it_was_with_a_line_a_thing():
    clips = {
        'a "b".mp4': ClipTruth((TrueThing("person", 1.25, 2.0, "man"), TrueThing("animal", 0.0, 9.0)), ("rain",)),
        "c.mp4": ClipTruth(),
    }
    data = write_truth(clips)
    assert parse_truth(data, "truth.json") == clips
    assert data.splitlines()[2].strip() == b'{"group": "person", "from_s": 1.25, "to_s": 2.0, "what": "man"},'
