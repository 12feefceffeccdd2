"""A permission for a place by its name is none for another place of the site, however alike their kinds are."""

from __future__ import annotations

import pytest

from pipeline.core.note import words
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.places import Places
from pipeline.resources import config_file
from tests.fakes import settings

LEXICON = words.load(config_file("words.toml"))
SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
SITE = Places(
    settings(
        cameras={
            "gate": {
                "source": "x",
                "place": "main gate",
                "zones": {"bay": {"polygon": SQUARE, "name": "loading bay"}, "ramp": {"polygon": SQUARE}},
            },
            "dock": {"source": "x", "place": "dock 4"},
        }
    )
)


def is_elsewhere(text, camera, zone):
    return SITE.is_elsewhere(compile_note(text, LEXICON).readings, camera, zone)


@pytest.mark.parametrize(
    ("text", "camera", "zone", "expected"),
    [
        ("Trucks may wait in the loading bay.", "dock", "dock 4", True),
        ("Trucks may wait in the loading bay.", "gate", "loading bay", False),
        ("Trucks may wait in the loading bay.", "gate", "ramp", True),
        ("Trucks may wait in the loading bay.", "gate", "main gate", True),
        ("Cars may stand at dock 4.", "gate", "loading bay", True),
        ("Cars may stand at dock 4.", "dock", "dock 4", False),
        ("Cars may stand at the main gate.", "gate", "loading bay", False),
        ("Cars may stand at the Main Gate.", "dock", "dock 4", True),
        ("Cars may stand at the unloading area.", "gate", "loading bay", False),
        ("Cars may stand anywhere.", "gate", "loading bay", False),
        ("Nobody may be at dock 4.", "gate", "loading bay", False),
        ("Cars may stand at dock 4.", "unknown", "yard", False),
    ],
)
def test_a_permission_holds_where_its_place_is(text, camera, zone, expected):
    assert is_elsewhere(text, camera, zone) is expected
