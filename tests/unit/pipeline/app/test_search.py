"""Incidents are found by words, and those that look alike are linked."""

import base64
import json

import numpy as np
import pytest
from click.testing import CliRunner

from models import catalog
from models.search import TextSearch
from models.tags import TagTable
from pipeline.app import search
from pipeline.cli import main
from pipeline.core.incident.eventfiles import Reader
from pipeline.core.incident.likeness import Look, alike
from pipeline.core.note import words
from pipeline.resources import config_file

TABLE = TagTable.load(catalog.verified_path("conse-minilm"))
FINDER = TextSearch(TABLE, words.load(config_file("words.toml")), None)
NAMES, VECTORS = TABLE.texts()


def picture(name):
    """What a picture of nothing else would be."""
    return VECTORS[NAMES.index(name)]


def row(incident, name, **data):
    vector = base64.b64encode(picture(name).astype("<f2").tobytes()).decode()
    return {
        "type": "fieldwatch.incident.end.v1",
        "time": "2026-11-29T22:00:00.000Z",
        "subject": incident,
        "source": "/site/a/device/b/camera/gate",
        "data": {"features": {"model": "x", "vector": vector}, "scene": {"label": name}} | data,
    }


@pytest.fixture
def found(tmp_path):
    def run(*arguments, rows):
        path = tmp_path / "events.jsonl"
        path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in rows))
        return CliRunner().invoke(main, ["events", "search", str(path), *arguments])

    return run


@pytest.mark.parametrize(
    ("query", "taken_for", "untold"),
    [
        ("white van", ["van"], ("white",)),
        ("vans", ["van"], ()),
        ("白色面包车", ["van"], ("白色",)),
        ("monkey by the water", ["monkey", "water"], ()),
        ("lorries", ["lorry"], ()),
        ("garbage truck", ["garbage truck"], ()),
    ],
)
def test_a_query_is_taken_for_the_things_it_names(query, taken_for, untold):
    meant = FINDER.understand(query)
    assert [name for name, _ in meant.shares] == taken_for
    assert meant.ignored == untold


def test_what_is_named_ranks_first():
    pictures = [picture(name) for name in ("monkey", "minibus", "bottle")]
    scores = FINDER.rank("white van", pictures)
    assert max(range(3), key=scores.__getitem__) == 1
    assert FINDER.rank("bottle", pictures)[2] == pytest.approx(1.0, abs=1e-3)


def test_incidents_are_ranked_for_people_and_for_programs(found):
    rows = [row("inc-1", "cat"), row("inc-2", "minibus"), row("inc-3", "bottle")]
    told = found("white", "van", rows=rows)
    assert told.exit_code == 0
    assert "taken for: van 100%; not told by pictures: white" in told.output
    lines = [json.loads(line) for line in found("van", "--json", "--most", "2", rows=rows).stdout.splitlines()]
    assert lines[0]["incident"] == "inc-2"
    assert len(lines) == 2


@pytest.mark.parametrize("vector", ["", "x", "AAAA", base64.b64encode(b"\xff\x7f" * 384).decode()])
def test_features_that_cannot_be_read_are_passed_over(found, vector):
    damaged = row("inc-1", "cat") | {"data": {"features": {"model": "x", "vector": vector}}}
    told = found("cat", "--json", rows=[damaged, row("inc-2", "cat"), "{torn\n"])
    assert [json.loads(line)["incident"] for line in told.stdout.splitlines()] == ["inc-2"]
    assert "1 lines are no events" in told.stderr


@pytest.mark.parametrize(
    ("query", "rows", "problem"),
    [
        (" ", [row("inc-1", "cat")], "say what to look for"),
        ("white", [row("inc-1", "cat")], "no kind of thing or scene"),
        ("cat", [row("inc-1", "cat") | {"data": {}}], "no incident in it has features"),
    ],
)
def test_a_search_that_can_find_nothing_says_why(found, query, rows, problem):
    told = found(query, rows=rows)
    assert told.exit_code == 2
    assert problem in told.stderr


def test_a_search_that_can_find_nothing_says_how_many_lines_are_no_events(found):
    told = found("cat", rows=["no event\n", "none\n"])
    assert told.exit_code == 2
    assert "2 lines are no events, the first is line 1" in told.stderr


def test_the_timeline_is_still_shown_without_a_word_for_it(tmp_path):
    path = tmp_path / "search.jsonl"
    path.write_text(json.dumps(row("inc-1", "cat")) + "\n")
    shown = CliRunner().invoke(main, ["events", str(path)])
    assert shown.exit_code == 0
    assert "gate" in shown.output


def look(number, vector, camera="gate", group="vehicle"):
    return Look(f"inc-{number}", camera, group, np.asarray(vector, "<f2").tobytes())


def test_the_likest_earlier_incidents_of_the_same_kind_and_camera_are_named():
    new = look(9, [1, 0])
    earlier = [look(1, [0.6, 0.8]), look(2, [1, 0]), look(3, [0.98, 0.2]), look(4, [1, 0], "yard")]
    earlier += [look(5, [1, 0], group="person"), look(6, []), look(7, [1, 0])]
    assert alike(new, earlier, 0.9) == ("inc-7", "inc-2", "inc-3")
    assert alike(new, [], 0.9) == ()
    assert alike(look(9, []), earlier, 0.9) == ()


def test_a_vector_of_letters_that_are_in_no_base_64_is_none(tmp_path):
    path = tmp_path / "events.jsonl"
    data = {"features": {"vector": "é" * 1024}}
    event = {"type": "x", "time": "2026-12-01T00:00:00Z", "subject": "a", "source": "b", "data": data}
    path.write_text(json.dumps(event) + "\n", encoding="utf-8")
    reader = Reader(path)
    assert list(search.read_features(reader)) == []
    assert not reader.damaged
