"""How well verdicts are made, on incidents with known answers.

The format of the sets is described in tests/eval/verdicts/README.md.
"""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from pipeline.app import cases, judging
from pipeline.core.errors import ConfigError
from pipeline.core.facts import Facts
from pipeline.core.note.clauses import compile_note
from pipeline.core.note.notes import Polarity, confirmed, polarity_of
from pipeline.core.text import templates
from pipeline.core.verdict.verdicts import Judge, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.app.judging import JudgingTools
    from pipeline.core.verdict.speaking import Scores

_SLOTS = ("situation", "expected", "severity", "action")
_BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_PRECISION = 0.95


_Site: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Its notes and how they are read."""


class Expect(msgspec.Struct, frozen=True):
    """Every acceptable value of each slot; note 0: none decides."""

    situation: tuple[str, ...]
    expected: tuple[str, ...]
    severity: tuple[str, ...]
    action: tuple[str, ...]
    note: tuple[int, ...]


class VerdictCase(msgspec.Struct, frozen=True):
    """An incident with its answer."""

    id: str
    language: str
    group: Literal["facts_only", "notes", "nothing", "tricky", "injection", "copy"]
    notes: tuple[str, ...]
    readings: tuple[Polarity, ...]
    facts: Facts
    expect: Expect
    pair: str = ""


class JudgedCase(NamedTuple):
    """An incident and what was made of it."""

    case: VerdictCase
    verdict: Verdict

    @property
    def right(self) -> bool:
        """Whether expectation and action are acceptable."""
        return self.verdict.expected in self.case.expect.expected and self.verdict.action in self.case.expect.action

    @property
    def right_note(self) -> bool:
        """Whether the note that decided, or none, is."""
        return self.verdict.note in self.case.expect.note


class Evaluation(NamedTuple):
    """What came of a set.

    Attributes:
        judged: Its incidents, with what was made of them.
        figures: By name, as programs read them: what was judged with, counts and shares, by group and language, too.
    """

    judged: list[JudgedCase]
    figures: dict[str, object]


def read(path: Path) -> list[VerdictCase]:
    """Read a set. Raises ConfigError: a line is none of it; DamagedError: it is no JSON object."""
    found = []
    for number, row in cases.rows(path):
        try:
            found.append(msgspec.convert(row | {"facts": cases.facts(row["facts"])}, VerdictCase))
        except (msgspec.MsgspecError, TypeError, KeyError) as error:
            raise ConfigError(f"{path}, line {number}: no incident with a verdict ({error})") from error
    if not found:
        raise ConfigError(f"{path}: holds no incident")
    known = {case.id for case in found}
    for case in found:
        if case.pair and case.pair not in known:
            raise ConfigError(f"{path}: {case.id}: its pair `{case.pair}` is not in the file")
        if len(case.notes) != len(case.readings):
            raise ConfigError(f"{path}: {case.id}: {len(case.notes)} notes, but {len(case.readings)} readings")
    return found


def evaluate(
    path: Path | None, means: JudgingTools, *, compile_: bool, report: Callable[[int, int], None]
) -> Evaluation:
    """Judge every incident of a set, and count what went right and wrong.

    Args:
        path: The set; None: the project's own.
        means: What verdicts are made with.
        compile_: Read the notes anew, instead of taking the confirmed readings.
        report: Called with how many incidents a model was asked about, and of how many.

    Raises:
        ConfigError: There is no set, it is none, or nobody has measured what the model's answers are worth.
        DamagedError: A line is no JSON object.
        ModelError: The model cannot be used.
    """
    path = path or _own_set()
    chosen = read(path)
    judged = judge(chosen, means, report, compile_=compile_)
    figures: dict[str, object] = {
        "set": str(path),
        "incidents": len(chosen),
        "compiled": compile_,
        "encoder": means.similarity is not None,
        "model": f"{means.model.name}/{means.model.version}" if means.model else "none",
        "found_by": dict(sorted(Counter(one.verdict.step or "nobody" for one in judged).items())),
    }
    figures |= measured(judged, means.book.loud)
    if compile_:
        figures |= _readings(chosen, judged, judge(chosen, means, report, compile_=False), means)
    return Evaluation(judged, figures)


def judge(
    chosen: Sequence[VerdictCase], means: JudgingTools, report: Callable[[int, int], None], *, compile_: bool
) -> list[JudgedCase]:
    """Judge incidents, with the readings that were confirmed, or with those that the compiler makes of the notes."""

    def open_notes(one: JudgedCase) -> tuple[Facts, list[str]]:
        return one.case.facts, [one.case.notes[at] for at in one.verdict.unheard]

    return judging.judge_in_two_passes(
        means.model, lambda scores: _judge(chosen, means, scores, compile_=compile_), open_notes, report
    )


def _judge(
    chosen: Sequence[VerdictCase], means: JudgingTools, scores: Scores | None, *, compile_: bool
) -> list[JudgedCase]:
    judges = _judges(chosen, means, scores, compile_=compile_)
    return [JudgedCase(case, judges[_site(case)].verdict(case.facts)) for case in chosen]


def _judges(
    chosen: Sequence[VerdictCase], means: JudgingTools, scores: Scores | None, *, compile_: bool
) -> dict[_Site, Judge]:
    """A judge for each set of notes."""
    found: dict[_Site, Judge] = {}
    for case in chosen:
        if _site(case) not in found:
            compiled = [compile_note(text, means.lexicon) for text in case.notes]
            if not compile_:
                compiled = [confirmed(note, want) for note, want in zip(compiled, case.readings, strict=True)]
            found[_site(case)] = Judge(means.book, means.lexicon, compiled, means.similarity, scores)
    return found


def _site(case: VerdictCase) -> _Site:
    return case.notes, case.readings


def measured(judged: Sequence[JudgedCase], loud: Callable[[str], bool]) -> dict[str, object]:
    """Count what went right and wrong; shares are of 1."""
    groups = sorted({one.case.group for one in judged})
    languages = sorted({one.case.language for one in judged})
    return {
        **_counts(judged, loud),
        "groups": {name: _counts([one for one in judged if one.case.group == name], loud) for name in groups},
        "languages": {name: _counts([one for one in judged if one.case.language == name], loud) for name in languages},
        **_twins(judged),
        **_confidence([one for one in judged if one.case.notes and not one.case.pair]),
    }


def _counts(judged: Sequence[JudgedCase], loud: Callable[[str], bool]) -> dict[str, object]:
    due = [one for one in judged if all(loud(action) for action in one.case.expect.action)]
    quiet = [one for one in judged if not any(loud(action) for action in one.case.expect.action)]
    false = sum(loud(one.verdict.action) for one in quiet)
    noted = [one for one in judged if one.case.notes]
    return {
        "n": len(judged),
        "decision": _share(sum(one.right for one in judged), len(judged)),
        "slots": {
            slot: _share(sum(_slot(one, slot) for one in judged), len(judged)) for slot in _SLOTS
        },
        "right_note": _share(sum(one.right_note for one in noted), len(noted)),
        "alarms_due": len(due),
        "missed": sum(not loud(one.verdict.action) for one in due),
        "quiet": len(quiet),
        "false": false,
        "false_rate": _share(false, len(quiet)),
    }  # fmt: skip


def _slot(one: JudgedCase, slot: str) -> bool:
    return getattr(one.verdict, slot) in getattr(one.case.expect, slot)


def _twins(judged: Sequence[JudgedCase]) -> dict[str, object]:
    """Signs in the scene change no verdict, and are copied to the letter."""
    verdicts = {one.case.id: one.verdict for one in judged}
    injected = [one for one in judged if one.case.group == "injection"]
    copied = [one for one in judged if one.case.group == "copy"]
    exact = [one for one in copied if _copied(one) and verdicts[one.case.pair] == one.verdict]
    return {
        "injections": len(injected),
        "injection_changed": sum(verdicts[one.case.pair] != one.verdict for one in injected),
        "copies": len(copied),
        "copy_exact": _share(len(exact), len(copied)) if copied else 1.0,
    }


def _copied(one: JudgedCase) -> bool:
    return templates.describe(one.case.facts, "").scene_text == one.case.facts.scene_text


def _confidence(judged: Sequence[JudgedCase]) -> dict[str, object]:
    """Whether confidences are what they say: bins, their calibration error, and how many are at 95 % precision."""
    rows = sorted(((one.verdict.confidence, one.right_note) for one in judged), reverse=True)
    bins = []
    error = 0.0
    for low, high in itertools.pairwise(_BINS):
        inside = [(told, right) for told, right in rows if low <= told < high or (high == 1.0 and told == 1.0)]
        if not inside:
            continue
        told = sum(one for one, _ in inside) / len(inside)
        right = sum(one for _, one in inside) / len(inside)
        error += abs(told - right) * len(inside) / len(rows)
        bins.append({"from": low, "to": high, "n": len(inside), "told": round(told, 3), "right": round(right, 3)})
    covered, sure = _coverage(rows)
    return {
        "reliability": bins,
        "calibration_error": round(error, 3),
        "coverage_at_95": covered,
        "confidence_at_95": sure,
    }


def _coverage(rows: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """The largest share of incidents, surest first, of which 95 % have the right note; and the confidence there."""
    best, hits = 0, 0
    for at, (told, right) in enumerate(rows, 1):
        hits += right
        last = at == len(rows) or rows[at][0] != told
        if last and hits / at >= _PRECISION:
            best = at
    return (_share(best, len(rows)), rows[best - 1][0]) if best else (0.0, 1.0)


def _readings(
    chosen: Sequence[VerdictCase], judged: Sequence[JudgedCase], reference: Sequence[JudgedCase], means: JudgingTools
) -> dict[str, object]:
    """How many notes were read as their authors confirmed, and what the others did to the incidents."""
    told = {pair for case in chosen for pair in zip(case.notes, case.readings, strict=True)}
    wrong = {}
    doubted = 0
    for text, wanted in sorted(told):
        note = compile_note(text, means.lexicon)
        found = note.polarity if wanted == "none" else polarity_of(note.readings)
        if found != wanted and not (wanted == "none" and found == "forbid"):  # what forbids silences nothing
            wrong[text] = {"confirmed": wanted, "read": found}
        doubted += wanted != "none" and note.polarity != found
    changed = [(one, other) for one, other in zip(judged, reference, strict=True) if one.verdict != other.verdict]
    loud = means.book.loud
    return {
        "notes": len(told),
        "reading_accuracy": _share(len(told) - len(wrong), len(told)),
        "doubted": doubted,
        "wrong_readings": wrong,
        "wrong_readings_did": {
            "changed": len(changed),
            "silenced": sum(loud(b.verdict.action) and not loud(a.verdict.action) for a, b in changed),
            "raised": sum(loud(a.verdict.action) and not loud(b.verdict.action) for a, b in changed),
        },
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def _own_set() -> Path:
    own = Path(__file__).parents[2] / "tests/eval/verdicts/test.jsonl"
    if not own.exists():
        raise ConfigError("the project's own set comes with its source code only: choose a file with --set")
    return own
