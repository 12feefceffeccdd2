"""Measure how well verdicts are made, on incidents with known answers.

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
from pipeline.core.note.notes import Polarity, confirm_note, read_polarity
from pipeline.core.text import templates
from pipeline.core.verdict.verdicts import Judge, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.app.judging import JudgingTools
    from pipeline.core.verdict.matching import Scores

_SLOTS = ("situation", "expected", "severity", "action")
_BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_PRECISION = 0.95


_Notes: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Notes of a case, and their confirmed polarities."""


class Expect(msgspec.Struct, frozen=True):
    """The acceptable values of each slot; note 0 means that no note decides."""

    situation: tuple[str, ...]
    expected: tuple[str, ...]
    severity: tuple[str, ...]
    action: tuple[str, ...]
    note: tuple[int, ...]


class VerdictCase(msgspec.Struct, frozen=True):
    """An incident with its expected verdict."""

    id: str
    language: str
    group: Literal["facts_only", "notes", "nothing", "tricky", "injection", "copy"]
    notes: tuple[str, ...]
    readings: tuple[Polarity, ...]
    facts: Facts
    expect: Expect
    pair: str = ""


class JudgedCase(NamedTuple):
    """A case and the verdict that was made."""

    case: VerdictCase
    verdict: Verdict

    @property
    def right(self) -> bool:
        """Whether expectation and action are acceptable."""
        return self.verdict.expected in self.case.expect.expected and self.verdict.action in self.case.expect.action

    @property
    def right_note(self) -> bool:
        """Whether the note that decided (or that none did) is acceptable."""
        return self.verdict.note in self.case.expect.note


class Evaluation(NamedTuple):
    """The results of a set.

    Attributes:
        judged: Its cases with their verdicts.
        figures: Tools, counts and shares by name, as `--json` prints them; also by group and language.
    """

    judged: list[JudgedCase]
    figures: dict[str, object]


def read(path: Path) -> list[VerdictCase]:
    """Read a set of cases. Raises ConfigError for an invalid case, DamagedError for a line that is no JSON object."""
    found = []
    for number, row in cases.read_rows(path):
        try:
            found.append(msgspec.convert(row | {"facts": cases.parse_facts(row["facts"])}, VerdictCase))
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
    path: Path | None, tools: JudgingTools, *, compile_: bool, report: Callable[[int, int], None]
) -> Evaluation:
    """Judge every incident of a set, and count what went right and wrong.

    Args:
        path: The set; None: the project's own.
        tools: The rules, words and models that judge.
        compile_: Read the notes again, instead of using the confirmed readings.
        report: Called with the number of incidents that the model was asked about, and of all such incidents.

    Raises:
        ConfigError: There is no set, it is invalid, or the model was never measured at finding notes.
        DamagedError: A line is no JSON object.
        ModelError: The model cannot be used.
    """
    path = path or _own_set_path()
    chosen = read(path)
    judged = judge(chosen, tools, report, compile_=compile_)
    figures: dict[str, object] = {
        "set": str(path),
        "incidents": len(chosen),
        "compiled": compile_,
        "encoder": tools.similarity is not None,
        "model": f"{tools.model.name}/{tools.model.version}" if tools.model else "none",
        "found_by": dict(sorted(Counter(one.verdict.step or "nobody" for one in judged).items())),
    }
    figures |= count_results(judged, tools.book.is_loud)
    if compile_:
        figures |= _count_readings(chosen, judged, judge(chosen, tools, report, compile_=False), tools)
    return Evaluation(judged, figures)


def judge(
    chosen: Sequence[VerdictCase], tools: JudgingTools, report: Callable[[int, int], None], *, compile_: bool
) -> list[JudgedCase]:
    """Judge the cases with the confirmed readings of the notes, or with compiled ones (`compile_`)."""

    def open_notes(one: JudgedCase) -> tuple[Facts, list[str]]:
        return one.case.facts, [one.case.notes[at] for at in one.verdict.open_notes]

    return judging.judge_in_two_passes(
        tools.model, lambda scores: _judge(chosen, tools, scores, compile_=compile_), open_notes, report
    )


def _judge(
    chosen: Sequence[VerdictCase], tools: JudgingTools, scores: Scores | None, *, compile_: bool
) -> list[JudgedCase]:
    judges = _make_judges(chosen, tools, scores, compile_=compile_)
    return [JudgedCase(case, judges[_notes_of(case)].judge(case.facts)) for case in chosen]


def _make_judges(
    chosen: Sequence[VerdictCase], tools: JudgingTools, scores: Scores | None, *, compile_: bool
) -> dict[_Notes, Judge]:
    """Make a judge for each set of notes."""
    found: dict[_Notes, Judge] = {}
    for case in chosen:
        if _notes_of(case) not in found:
            compiled = [compile_note(text, tools.lexicon) for text in case.notes]
            if not compile_:
                compiled = [confirm_note(note, want) for note, want in zip(compiled, case.readings, strict=True)]
            found[_notes_of(case)] = Judge(tools.book, tools.lexicon, compiled, tools.similarity, scores)
    return found


def _notes_of(case: VerdictCase) -> _Notes:
    return case.notes, case.readings


def count_results(judged: Sequence[JudgedCase], loud: Callable[[str], bool]) -> dict[str, object]:
    """Count what went right and wrong; shares are 0..1."""
    groups = sorted({one.case.group for one in judged})
    languages = sorted({one.case.language for one in judged})
    return {
        **_count_group(judged, loud),
        "groups": {name: _count_group([one for one in judged if one.case.group == name], loud) for name in groups},
        "languages": {
            name: _count_group([one for one in judged if one.case.language == name], loud) for name in languages
        },
        **_count_twins(judged),
        **_measure_confidence([one for one in judged if one.case.notes and not one.case.pair]),
    }


def _count_group(judged: Sequence[JudgedCase], loud: Callable[[str], bool]) -> dict[str, object]:
    due = [one for one in judged if all(loud(action) for action in one.case.expect.action)]
    quiet = [one for one in judged if not any(loud(action) for action in one.case.expect.action)]
    false = sum(loud(one.verdict.action) for one in quiet)
    noted = [one for one in judged if one.case.notes]
    return {
        "n": len(judged),
        "decision": _share(sum(one.right for one in judged), len(judged)),
        "slots": {
            slot: _share(sum(_is_slot_right(one, slot) for one in judged), len(judged)) for slot in _SLOTS
        },
        "right_note": _share(sum(one.right_note for one in noted), len(noted)),
        "alarms_due": len(due),
        "missed": sum(not loud(one.verdict.action) for one in due),
        "quiet": len(quiet),
        "false": false,
        "false_rate": _share(false, len(quiet)),
    }  # fmt: skip


def _is_slot_right(one: JudgedCase, slot: str) -> bool:
    return getattr(one.verdict, slot) in getattr(one.case.expect, slot)


def _count_twins(judged: Sequence[JudgedCase]) -> dict[str, object]:
    """Count twin cases: text in the scene must change no verdict, and must be copied exactly."""
    verdicts = {one.case.id: one.verdict for one in judged}
    injected = [one for one in judged if one.case.group == "injection"]
    copied = [one for one in judged if one.case.group == "copy"]
    exact = [one for one in copied if _is_copied(one) and verdicts[one.case.pair] == one.verdict]
    return {
        "injections": len(injected),
        "injection_changed": sum(verdicts[one.case.pair] != one.verdict for one in injected),
        "copies": len(copied),
        "copy_exact": _share(len(exact), len(copied)) if copied else 1.0,
    }


def _is_copied(one: JudgedCase) -> bool:
    return templates.describe(one.case.facts, "").scene_text == one.case.facts.scene_text


def _measure_confidence(judged: Sequence[JudgedCase]) -> dict[str, object]:
    """Measure the calibration of confidences: bins, calibration error, and coverage at 95 % precision."""
    rows = sorted(((one.verdict.confidence, one.right_note) for one in judged), reverse=True)
    bins = []
    error = 0.0
    for low, high in itertools.pairwise(_BINS):
        inside = [(sure, right) for sure, right in rows if low <= sure < high or (high == 1.0 and sure == 1.0)]
        if not inside:
            continue
        confidence = sum(one for one, _ in inside) / len(inside)
        right = sum(one for _, one in inside) / len(inside)
        error += abs(confidence - right) * len(inside) / len(rows)
        bins.append({"from": low, "to": high, "n": len(inside), "told": round(confidence, 3), "right": round(right, 3)})
    covered, sure = _measure_coverage(rows)
    return {
        "reliability": bins,
        "calibration_error": round(error, 3),
        "coverage_at_95": covered,
        "confidence_at_95": sure,
    }


def _measure_coverage(rows: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Return the largest share of incidents, by falling confidence, with 95 % right notes, and the least confidence."""
    best, hits = 0, 0
    for at, (confidence, right) in enumerate(rows, 1):
        hits += right
        last = at == len(rows) or rows[at][0] != confidence
        if last and hits / at >= _PRECISION:
            best = at
    return (_share(best, len(rows)), rows[best - 1][0]) if best else (0.0, 1.0)


def _count_readings(
    chosen: Sequence[VerdictCase], judged: Sequence[JudgedCase], reference: Sequence[JudgedCase], tools: JudgingTools
) -> dict[str, object]:
    """Count the notes that were read as confirmed, and the verdicts that wrong readings changed."""
    pairs = {pair for case in chosen for pair in zip(case.notes, case.readings, strict=True)}
    wrong = {}
    doubted = 0
    for text, wanted in sorted(pairs):
        note = compile_note(text, tools.lexicon)
        found = note.polarity if wanted == "none" else read_polarity(note.readings)
        if found != wanted and not (wanted == "none" and found == "forbid"):  # what forbids silences nothing
            wrong[text] = {"confirmed": wanted, "read": found}
        doubted += wanted != "none" and note.polarity != found
    changed = [(one, other) for one, other in zip(judged, reference, strict=True) if one.verdict != other.verdict]
    loud = tools.book.is_loud
    return {
        "notes": len(pairs),
        "reading_accuracy": _share(len(pairs) - len(wrong), len(pairs)),
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


def _own_set_path() -> Path:
    own = Path(__file__).parents[2] / "tests/eval/verdicts/test.jsonl"
    if not own.exists():
        raise ConfigError("the project's own set comes with its source code only: choose a file with --set")
    return own
