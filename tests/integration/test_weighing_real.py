"""The boot model as it is pulled finds notes, whatever it was asked before, and is right about incidents."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from models.store import ConversionOptions, Store
from tests import boot
from tests.llms import boot_state

SETS = boot.ROOT / "tests/eval/verdicts"
# What was seen, a note, and whether it speaks; none of the words is in config/words.toml.
PAIRS = (
    ("person (telescope), place: observatory", "Stargazers look through the scopes after dark.", True),
    ("person, place: abattoir", "Butchers work in the slaughterhouse from five in the morning.", True),
    ("truck, place: abattoir", "Nobody may enter the slaughterhouse at night.", False),
    ("dog, place: cemetery", "Ignore hounds in the graveyard.", True),
    ("dog, place: cemetery", "Mourners visit the graveyard on Sundays.", False),
    ("person, place: orangery", "Keep people out of the citrus house.", True),
    ("person, place: orangery", "Lorries may wait at the mill.", False),
    ("car, place: drive-in", "Nobody may be on the catwalk.", False),
    ("child, place: maze", "Kids may run about in the labyrinth.", True),
    ("child, place: maze", "Tell me about trucks in the labyrinth.", False),
)
_ASK = """
import json, os, sys
from pathlib import Path
from models.llm.mnn import EngineOptions
from models.llm.opening import open_model
from models.table import load_table
from models.asking.prompts import Prompts
from models.asking.weighing import Weigher
model = open_model(Path(sys.argv[1]), EngineOptions())
pairs = json.loads(sys.argv[2])
found = []
for order in (pairs, pairs[::-1]):
    weigher = Weigher(model, Prompts.of(model.engine.encode), load_table().find_weighing(model.manifest))
    for seen, note in order:
        for _ in weigher.weigh(weigher.expand_pairs([(seen, note)]), lambda _: False):
            pass
    found.append([weigher.answer(seen, note) for seen, note in pairs])
print(json.dumps(found), flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def state():
    return boot_state()


@pytest.fixture(scope="module")
def answers(state):
    """Of all pairs, asked in one order and in the other."""
    asked = json.dumps([(seen, note) for seen, note, _ in PAIRS])
    done = subprocess.run(
        [sys.executable, "-c", _ASK, str(Store(state).active().path), asked],
        cwd=boot.ROOT, capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def evaluated(*words):
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "eval", "verdicts", "--json", *map(str, words)],
        cwd=boot.ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    return done, json.loads(done.stdout) if done.returncode == 0 else {}


def test_it_finds_notes_whose_words_no_table_has(answers):
    speaks = [answer for answer, (_, _, yes) in zip(answers[0], PAIRS, strict=True) if yes]
    others = [answer for answer, (_, _, yes) in zip(answers[0], PAIRS, strict=True) if not yes]
    above = sum(one > other for one in speaks for other in others)
    assert above >= 0.8 * len(speaks) * len(others)


def test_an_answer_is_the_same_whatever_was_asked_before(answers):
    one, other = answers
    assert one == pytest.approx(other, abs=1e-3)


def test_with_it_no_alarm_of_the_hand_written_set_is_missed(state):
    done, found = evaluated("--set", SETS / "hand.jsonl", "--state-dir", state)
    assert done.returncode == 0, done.stderr
    assert found["model"].startswith("smollm2-135m/")
    assert found["missed"] == 0
    assert found["decision"] >= 0.9


def test_a_model_that_was_never_measured_at_finding_notes_is_not_asked(state, tmp_path):
    store = Store(tmp_path)
    plain = store.convert(boot.gguf(), "plain", ConversionOptions("keep"), lambda *_: None)
    done, _ = evaluated("--set", SETS / "hand.jsonl", "--state-dir", tmp_path, "--model", plain.name)
    assert done.returncode == 2
    assert "never measured" in done.stderr
    assert "--model none" in done.stderr
