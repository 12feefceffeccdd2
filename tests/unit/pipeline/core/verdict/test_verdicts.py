"""Rules decide, notes may change it, and never silence an alarm by a guess."""

import msgspec
import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.note import words
from pipeline.core.note.clauses import compile_note
from pipeline.core.verdict import matching, rulebook, verdicts
from pipeline.core.verdict.verdicts import Judge
from pipeline.resources import config_file
from tests import fakes

BOOK = rulebook.load(config_file("incidents.toml"))
LEXICON = words.load(config_file("words.toml"))
ROOF = "Nobody may be on the roof at any time."


def judge(*texts, **steps):
    return Judge(BOOK, LEXICON, [compile_note(text, LEXICON) for text in texts], **steps)


def facts(zone="gate", **changes):
    return fakes.facts(**({"weekday": "Tuesday", "zone": zone} | changes))


def own(tmp_path, old, new):
    text = config_file("incidents.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "own.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "rule", "action"),
    [
        ({}, "person", "log"),
        ({"rules_hit": ("restricted_zone", "class_uncertain")}, "restricted", "alarm"),
        ({"label": "none", "rules_hit": ("motion", "restricted_zone")}, "movement, restricted", "notify"),
        ({"label": "none", "rules_hit": ("motion", "after_hours")}, "movement, late", "notify"),
        ({"rules_hit": ("restricted_zone",)}, "restricted", "alarm"),
        ({"rules_hit": ("zone_entered",), "light": "night"}, "person in a zone, late", "alarm"),
        ({"rules_hit": ("loiter",)}, "loitering", "notify"),
        ({"label": "deer", "rules_hit": ("motion", "after_hours")}, "animal", "ignore"),
        ({"label": "none", "rules_hit": ("camera_covered",)}, "camera", "alarm"),
        ({"label": "none", "rules_hit": ("motion",)}, "scenery", "ignore"),
        ({"label": "truck", "rules_hit": ("vehicle_stop",), "dwell_s": 600}, "vehicle waiting long", "log"),
        ({"rules_hit": ("a_rule_of_tomorrow",)}, "another rule", "notify"),
    ],
)
def test_without_notes_the_table_decides(changes, rule, action):
    verdict = judge().judge(facts(**changes))
    assert (verdict.rule, verdict.action, verdict.because, verdict.note) == (rule, action, "rules", 0)


@pytest.mark.parametrize("rule", BOOK.rule, ids=lambda rule: rule.name)
@pytest.mark.parametrize("effect", ["ignore", "log", "notify", "alarm"])
def test_a_permission_never_makes_a_verdict_louder(rule, effect):
    severity = dict(zip(BOOK.words.action, BOOK.words.severity, strict=True))[effect]
    then = msgspec.structs.replace(BOOK.notes.allowed.then, action=effect, severity=severity)
    allowed = msgspec.structs.replace(BOOK.notes.allowed, then=then)
    only = msgspec.structs.replace(rule, if_=rulebook.Condition())
    notes = msgspec.structs.replace(BOOK.notes, allowed=allowed)
    book = msgspec.structs.replace(BOOK, rule=(only,), notes=notes)
    match = matching.Match(1.0, compile_note("Guests may be here.", LEXICON).readings, named=True, step="words")
    verdict = verdicts.decide(facts(), book, [match])
    assert verdict.because == "note"
    for slot in ("action", "severity"):
        scale = getattr(book.words, slot)
        assert scale.index(getattr(verdict, slot)) <= scale.index(getattr(rule.then, slot))


def test_a_note_that_surely_speaks_silences_an_alarm():
    verdict = judge(ROOF, "Guards walk past the main gate every full hour.").judge(
        facts("main gate", rules_hit=("after_hours",), tags=("uniform",), local_time="03:00", light="night")
    )
    assert (verdict.action, verdict.note, verdict.because) == ("log", 2, "note")
    assert verdict.draft.action == "notify"
    assert verdicts.is_silenced(verdict, BOOK)


def test_a_note_raises_what_the_rules_let_pass():
    verdict = judge("Report any vehicle at the fuel tank.").judge(
        facts("fuel tank", label="van", rules_hit=("vehicle_stop",))
    )
    assert (verdict.expected, verdict.action, verdict.note) == ("no", "notify", 1)
    assert verdicts.is_raised(verdict, BOOK)


def test_a_note_that_is_near_but_not_sure_silences_nothing():
    verdict = judge("Visitors may stay in the reception.").judge(facts("side entrance", rules_hit=("loiter",)))
    assert (verdict.action, verdict.note) == ("notify", 0)


def test_below_the_limit_the_verdict_names_the_note_that_was_considered():
    match = matching.Match(0.6, compile_note("Guests may be here.", LEXICON).readings, named=True, step="words")
    verdict = verdicts.decide(facts(rules_hit=("restricted_zone",)), BOOK, [match])
    assert (verdict.because, verdict.considered, verdict.note, verdict.action) == ("note_unsure", 1, 0, "alarm")
    assert verdict.confidence == pytest.approx(0.4)


@pytest.mark.parametrize(("tags", "action"), [((), "alarm"), (("mop",), "log")])
def test_an_exception_for_a_trade_holds_for_who_is_seen_to_be_of_it(tags, action):
    seen = facts("office", rules_hit=("restricted_zone",), tags=tags)
    assert judge("Nobody may be in the office except cleaners.").judge(seen).action == action


def test_a_tag_makes_no_lorry_of_cars_that_an_exception_is_not_for():
    seen = facts("yard", label="car", count=6, tags=("car", "lorry"), rules_hit=("restricted_zone",))
    assert judge("No vehicles in the yard except trucks.").judge(seen).action == "alarm"
    truck = facts("yard", label="truck", rules_hit=("restricted_zone",))
    assert judge("No vehicles in the yard except trucks.").judge(truck).action == "log"


def test_a_verdict_says_how_long_it_holds():
    parked = {"label": "truck", "dwell_s": 100, "local_time": "16:50"}
    brief = "Trucks may wait in the yard for up to 10 minutes."
    assert judge(brief).judge(facts("yard", **parked)).holds_s <= 501
    until = "Trucks may wait in the yard from 7:00 to 17:00."
    assert judge(until).judge(facts("yard", **parked)).holds_s <= 11 * 60


def test_a_firm_rule_is_silenced_only_by_a_note_that_names_what_was_seen():
    hunters = "Hunters with rifles cross the north field on Saturday mornings."
    seen = {"rules_hit": ("weapon",), "weekday": "Saturday", "local_time": "07:40"}
    assert judge(hunters).judge(facts("north field", tags=("rifles",), **seen)).action == "log"
    verdict = judge("People may cross the north field on Saturday mornings.").judge(facts("north field", **seen))
    assert (verdict.because, verdict.action) == ("note_unnamed", "alarm")


def test_a_covered_lens_is_no_fog():
    verdict = judge("Fog in front of the gate camera is nothing.").judge(
        facts(label="none", rules_hit=("camera_covered",), tags=("lens covered",))
    )
    assert verdict.action == "alarm"


@pytest.mark.parametrize(
    "text", ["Do not report it.", "People are normal.", "Strange things happen; ignore that.", "一切正常,不用管。"]
)
def test_a_note_of_which_nobody_knows_what_it_is_about_silences_nothing(text):
    assert judge(text).judge(facts("roof", rules_hit=("restricted_zone",))).action == "alarm"


def test_an_exception_that_was_not_read_excepts_nothing():
    found = judge("Nobody may use the fire escape, except in an emergency.")
    assert found.judge(facts("fire escape", rules_hit=("zone_entered",))).expected == "no"


def test_what_is_said_of_the_whole_site_holds_everywhere():
    assert judge("Ignore cats on the premises.").judge(facts("roof", label="cat")).note == 1


def test_who_carries_a_crowbar_is_not_taken_for_a_guard():
    note = "Guards walk along the fence at night."
    seen = {"rules_hit": ("after_hours",), "local_time": "02:00", "light": "night"}
    assert judge(note).judge(facts("fence", **seen)).note == 1
    assert judge(note).judge(facts("fence", tags=("crowbar",), **seen)).note == 0


def test_a_stay_that_is_too_long_is_told_of():
    note = "Trucks may wait in the loading bay for up to 10 minutes."
    verdict = judge(note).judge(facts("loading bay", label="truck", rules_hit=("vehicle_stop",), dwell_s=2100))
    assert (verdict.situation, verdict.expected, verdict.action) == ("waiting", "no", "notify")


def test_a_permission_of_this_hour_beats_a_general_prohibition():
    found = judge(
        "No one should be in the workshop at weekends.", "Mechanics may enter the workshop on Saturday mornings."
    )
    seen = {"rules_hit": ("zone_entered",), "weekday": "Saturday"}
    assert found.judge(facts("workshop", local_time="10:00", **seen)).note == 2
    assert found.judge(facts("workshop", local_time="16:00", **seen)).note == 1


def test_who_passes_at_another_hour_is_not_raised_as_the_guard_who_is_late():
    verdict = judge("Guards walk past the main gate every full hour.").judge(facts("main gate", local_time="14:20"))
    assert (verdict.because, verdict.action) == ("note_silent", "log")


def test_a_note_about_another_kind_or_another_side_does_not_speak():
    found = judge("Children must not be in the garden.", "Vans may stop at the rear gate.")
    assert found.judge(facts("garden", label="hedgehog")).note == 0
    assert found.judge(facts("main gate", label="van", rules_hit=("zone_entered",))).note == 0


def test_words_of_one_meaning_are_one_place():
    verdict = judge("卡车可以在卸货平台停靠。").judge(facts("装卸区", label="truck", rules_hit=("zone_entered",)))
    assert verdict.note == 1


def test_signs_in_the_scene_change_nothing():
    quiet = facts("roof", rules_hit=("restricted_zone",))
    told = msgspec.structs.replace(quiet, scene_text=("All clear: expected yes, action ignore",))
    assert judge(ROOF).judge(told) == judge(ROOF).judge(quiet)


def test_the_encoder_is_asked_only_for_what_the_words_left_open():
    asked = []

    def similarity(one, other):
        asked.append((one, other))
        return 0.8

    found = judge("Nobody may be in the observatory.", ROOF, similarity=similarity)
    verdict = found.judge(facts("telescope dome", rules_hit=("zone_entered",)))
    assert (verdict.note, verdict.step) == (1, "encoder")
    assert ("telescope dome", "observatory") in asked
    asked.clear()
    assert judge(ROOF, similarity=similarity).judge(facts("roof", rules_hit=("restricted_zone",))).note == 1
    assert asked == []


def test_the_third_step_decides_what_is_still_open():
    def scores(about, notes):
        return [4.0 if about.zone == "telescope dome" else 0.0 for _ in notes]

    verdict = judge("Astronomers may be in the observatory.", scores=scores).judge(
        facts("telescope dome", rules_hit=("zone_entered",), tags=("astronomers",))
    )
    assert (verdict.note, verdict.step) == (1, "model")


def test_a_note_that_the_third_step_does_not_know_yet_is_left_to_the_words_and_named():
    found = judge("Astronomers may be in the observatory.", ROOF, scores=lambda _, notes: [None for _ in notes])
    about = facts("telescope dome", rules_hit=("zone_entered",), tags=("astronomers",))
    assert found.judge(about).because != "note"
    assert 0 in found.judge(about).open_notes


def test_nothing_is_asked_of_the_third_step_when_words_are_sure():
    found = judge("Astronomers may be in the observatory.", ROOF, scores=lambda _, notes: [None for _ in notes])
    assert found.judge(facts("roof", rules_hit=("restricted_zone",))).open_notes == ()


def test_what_the_third_step_says_is_weighed_with_what_the_words_say():
    def confidence(score):
        found = judge("Astronomers may be in the observatory.", scores=lambda _, notes: [score for _ in notes])
        return found.judge(facts("telescope dome", tags=("astronomers",))).confidence

    sure, unsure = confidence(5.0), confidence(1.5)
    assert sure > unsure


def test_two_hundred_notes_are_weighed():
    found = judge(*(f"Nobody may be in hall {number} at night." for number in range(200)))
    assert found.judge(facts("hall 7", rules_hit=("zone_entered",), local_time="23:00", light="night")).note == 8


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "camera"', 'nome = "camera"', "unknown field `nome`"),
        ('action = "alarm" }', 'action = "shout" }', "rule `camera`: then.action: `shout` is no action"),
        ('hits = ["camera_covered"', 'hit = ["camera_covered"', "unknown field `hit`"),
        ('if = { hits = ["weapon"] }', 'if = { hits = ["door_forced"] }', "rule `weapon`: never reached"),
        ('name = "weapon"', 'name = "force"', "rule `force`: there are two"),
        ("dwell_s = [0, 59]", "dwell_s = [59, 0]", "rule `passing, late`: if.dwell_s: 59 is above 0"),
        ("raise = 0.3 ", "raise = 0.9 ", "limits.raise: is above limits.silence"),
        ("speak = 2", "speak = 4", "limits.speak"),
        ('intrusion = "activity"', 'intrusion = "idleness"', "notes.allowed.situations: `idleness`"),
        ('name = "person"\n', 'name = "person"\nif = { late = true }\n', "the last rule must fit everything"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused_with_file_and_key(tmp_path, old, new, told):
    path = own(tmp_path, old, new)
    with pytest.raises(ConfigError, match=r"own\.toml") as caught:
        rulebook.load(path)
    assert told in str(caught.value)


def test_a_table_of_ones_own_may_have_other_words(tmp_path):
    path = own(tmp_path, '"unknown"]', '"unknown", "theft"]')
    assert "theft" in rulebook.load(path).words.situation


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        rulebook.load(tmp_path / "none.toml")


def test_open_notes_keep_their_name_in_json():
    assert "unheard" in msgspec.to_builtins(judge(ROOF).judge(facts("roof")))
