"""The verdict that an event carries, and the notes that it follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.note import notebook, words
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.notebook import Notebook
from pipeline.resources import config_file
from stages.judging import Judging
from tests.fakes import context, facts

LEXICON = words.load(config_file("words.toml"))
TRUCK = facts(zone="loading bay", label="truck", dwell_s=300, rules_hit=("vehicle_stop",))


@pytest.fixture
def judging(ring, tmp_path):
    def made(**describe):
        stage_context = context(ring, describe={"sentence_encoder": False} | describe)
        object.__setattr__(stage_context, "models_dir", tmp_path)
        return Judging(stage_context)

    return made


@pytest.fixture
def write(tmp_path):
    """Keep notes as `pipeline notes add` does."""

    def written(*texts, camera=""):
        book = Notebook()
        for text in texts:
            book = book.with_note(compile_note(text, LEXICON), camera)
        (tmp_path / notebook.FILE).write_bytes(notebook.encode(book))

    return written


def test_without_notes_the_rules_decide_and_say_which(judging):
    told = judging().judged(facts(rules_hit=("fence_climb",))).fields
    assert (told["situation"], told["action"], told["because"], told["rule"]) == (
        "intrusion",
        "alarm",
        "rules",
        "climbing",
    )
    assert told["rule_says"] == "intrusion, no, high, alarm"
    assert "note" not in told


def test_a_note_that_decided_is_named_with_what_the_rules_alone_say(judging, write):
    write("Nobody may be in the vault.", "Trucks may wait in the loading bay for up to 10 minutes.")
    told = judging().judged(TRUCK).fields
    assert (told["because"], told["note"], told["found_by"]) == ("note", "n2", "words")
    assert told["note_text"] == "Trucks may wait in the loading bay for up to 10 minutes."
    assert told["confidence"] > 0.65
    assert told["rule_says"] == "waiting, yes, none, log"


def test_notes_that_change_hold_from_the_next_incident_on(judging, write):
    stage = judging()
    assert stage.judged(TRUCK).fields["because"] == "rules"
    write("Trucks may wait in the loading bay.")
    assert stage.judged(TRUCK).fields["because"] == "note"


def test_a_recording_of_a_camera_is_judged_with_its_notes(ring, tmp_path, write):
    write("Trucks may wait in the loading bay.", camera="yard")
    recorded = replace(context(ring, describe={"sentence_encoder": False}), models_dir=tmp_path, stands_for="yard")
    assert Judging(recorded).judged(TRUCK).fields["because"] == "note"


def test_a_note_of_another_camera_does_not_hold(judging, write):
    write("Trucks may wait in the loading bay.", camera="yard")
    assert judging().judged(TRUCK).fields["because"] == "rules"


def test_notes_that_cannot_be_read_are_told_of_and_the_rules_stand(judging, write, tmp_path):
    stage = judging()
    write("Trucks may wait in the loading bay.")
    (tmp_path / notebook.FILE).write_bytes(b"{")
    told = stage.judged(TRUCK).fields
    assert told["because"] == "rules"
    assert "notes.json: cannot be read" in told["notes_unreadable"]
    write("Trucks may wait in the loading bay.")
    assert "notes_unreadable" not in stage.judged(TRUCK).fields


def test_a_rule_table_that_cannot_be_used_is_refused_at_the_start(judging, tmp_path):
    (tmp_path / "own.toml").write_text("[words]\n")
    with pytest.raises(ConfigError, match=r"own\.toml"):
        judging(incidents=str(tmp_path / "own.toml"))


def test_who_rides_is_met_by_a_note_about_cyclists(judging, write):
    write("Cyclists may ride along the street from 11:00 to 22:00.")
    told = judging().judged(facts(zone="street", count=3, tags=("bicycle",), direction="along", speed="walk")).fields
    assert (told["because"], told["note"]) == ("note", "n1")


def test_a_permission_for_another_place_by_its_name_silences_nothing(ring, tmp_path, write):
    square = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    cameras = {
        "gate": {"source": "x", "zones": {"bay": {"polygon": square, "name": "loading bay", "restricted": True}}},
        "dock": {"source": "x", "place": "dock 4"},
    }
    made = context(ring, describe={"sentence_encoder": False}, cameras=cameras)
    stage = Judging(replace(made, models_dir=tmp_path))
    write("Trucks may wait at dock 4.")
    told = stage.judged(facts(zone="loading bay", label="truck", rules_hit=("restricted_zone",))).fields
    assert (told["action"], told["because"]) == ("alarm", "rules")
