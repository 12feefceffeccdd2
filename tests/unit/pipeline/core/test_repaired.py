"""What once went wrong, and must not again."""

from __future__ import annotations

from itertools import pairwise

import jsonschema
import pytest

from pipeline.core import events
from pipeline.core.configuration import parse
from pipeline.core.errors import FrameOverwrittenError, SourceError
from pipeline.core.geometry import foot, inside
from pipeline.core.incident.areas import Area, area_of
from pipeline.core.secrets import redact
from pipeline.core.times import Pace
from stages.sources.footage import Footage
from tests.fakes import NS, frame, picture, values

CAMERA = '[cameras.gate]\nsource = "synthetic://"\n'
ZONE = CAMERA + "[cameras.gate.zones.yard]\npolygon = {}\n"


def test_a_smaller_picture_leaves_the_larger_ones_before_it_whole(new_ring):
    ring = new_ring(slots=4, largest=(640, 480))
    large = frame(ring.copy(picture(7, (640, 480))), size=(640, 480))
    ring.copy(picture(9, (64, 48)))
    with ring.reading(large) as planes:
        assert values(planes) == {7}


def test_a_frame_of_a_ring_before_this_one_is_refused(ring):
    with pytest.raises(FrameOverwrittenError), ring.reading(frame(5)):
        pytest.fail("it was never written")


def test_who_is_cut_off_by_the_lower_edge_stands_in_the_zone_that_ends_there():
    whole = Area("yard", "yard", True, ((0, 0), (1, 0), (1, 1), (0, 1)), False, "", 60, 8, None)
    assert area_of((0.4, 0.5, 0.6, 1.0), {"yard": whole}) == "yard"
    assert inside(foot((0.4, 0.5, 0.6, 1.0)), whole.polygon)


@pytest.mark.parametrize("password", ["se#cret", "se/cret", "se?cret", "se[cret", "se]cret", "se@cret", "secret"])
def test_no_password_survives_whatever_is_in_it(password):
    named = redact(f"rtsp://admin:{password}@gate:554/sub?token=secret")
    assert named == "rtsp://gate:554"


@pytest.mark.parametrize("url", ["rtsp:user:secret@gate/x", "rtsp//user:secret@gate/x", "rtsp:/u:sec@ret@gate/x"])
def test_no_password_survives_an_address_that_is_mistyped(url):
    assert redact(url) == "gate"


@pytest.mark.parametrize("path", ["/clips/yard:2@night.mp4", "clips/me@home.mp4", "./a:b@c.mp4"])
def test_a_file_keeps_its_name(path):
    assert redact(path) == path


def test_a_folder_is_no_recording(tmp_path):
    with pytest.raises(SourceError, match="folder"):
        Footage(tmp_path)


def test_after_a_gap_what_is_taken_lies_at_even_distances():
    pace = Pace(10)
    times = [0, *(NS + number * NS // 30 for number in range(60))]
    kept = [at_ns for at_ns in times if pace.due(at_ns)]
    assert min(later - earlier for earlier, later in pairwise(kept)) >= NS // 10


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (CAMERA + "[cameras.yard]\nsource = 5\n", 4, "`cameras.yard.source`: Expected `str`"),
        (CAMERA + '[cameras.yard]\nplace = "x"\n', 3, "`cameras.yard`: missing required field `source`"),
        (ZONE.format('[[0, 0], [0.5, "x"], [1, 1]]'), 4, "`cameras.gate.zones.yard.polygon[1][1]`: Expected"),
        (ZONE.format("[\n  [0, 0],\n  [1, 0],\n  [1, 1],\n]") + "restrict = true\n", 9, "did you mean"),
        (ZONE.format("[\n  [0, 0],\n  [1, 0],\n  [1, 1]\n]") + "restrict = true\n", 9, "did you mean"),
        (CAMERA + "[cameras.gate.zone.yard]\n", 3, "did you mean `zones`?"),
        ("[site]\nname = [\n", 2, "not valid TOML"),
        ('[emit]\nsinks = ["jsonl", "mqtt"]\n', 2, "`emit.sinks[1]`: 'mqtt': use one of"),
    ],
    ids=[
        "second camera",
        "missing key",
        "in an array",
        "after rows",
        "after a last row",
        "implied table",
        "end",
        "item",
    ],
)
def test_the_line_is_right(text, line, said):
    settings, (problem,) = parse(text)
    assert settings is None
    assert problem.line == line
    assert said in problem.text


def test_all_wrong_values_are_told_at_once():
    _, problems = parse('[capture]\nframes_per_s = 0\n[frames]\nslots = "x"\n')
    assert [problem.line for problem in problems] == [2, 4]


@pytest.mark.parametrize("key", ["time", "recordedtime"])
def test_a_time_that_is_none_is_refused(key):
    kind = events.schema()["properties"][key]
    assert not jsonschema.Draft202012Validator(kind).is_valid("yesterday")
