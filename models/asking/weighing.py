"""Let the language model weigh which notes are about an incident: one short branch for each note; answers are cached.

An answer depends only on the model, the note, and the sight (class, tags, zone). So most incidents cost no forward:
answers are cached, and pairs that may be needed are weighed while nobody waits.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import structlog

from models.asking.prompts import ANSWERS, format_sight
from pipeline.core import files
from pipeline.core.decoding import decode
from pipeline.core.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from pathlib import Path

    from models.asking.prompts import Prompts
    from models.llm.engine import Part
    from models.llm.opening import LanguageModel
    from models.table import Weighing
    from pipeline.core.facts import Facts

log = structlog.get_logger()

FILE = "weighed.json"
NULL_SIGHTS = ("object, place: site", "?, place: ?")
"""Sights without content, whose answers are subtracted, after "Calibrate Before Use" (Zhao et al. 2021)."""
_MAX_ANSWERS = 20_000  # cached answers, about 100 bytes each
_MAX_TEXTS = 1024  # notes and sights whose tokens are cached
_MARGIN = 1.15  # safety factor, as times of forwards vary

Pair = tuple[str, str]
"""A sight and a note."""


class WeighingPlan(NamedTuple):
    """What to ask about an incident.

    Attributes:
        pairs: The pairs to ask, in order.
        notes: The notes that will be known afterwards.
        expected_s: Expected time in seconds.
    """

    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]
    expected_s: float


class _AnswersFile(msgspec.Struct, frozen=True):
    """The file of cached answers."""

    of: str
    answers: dict[str, dict[str, float]]  # by sight and note


class Weigher:
    """Weighs notes with one model.

    Attributes:
        too_long: Notes that do not fit the model's context; they are not asked again.

    Args:
        model: The model.
        prompts: The prompts.
        scale: The calibration of its answers.
        path: File of cached answers; None: they are not saved.
    """

    def __init__(self, model: LanguageModel, prompts: Prompts, scale: Weighing, path: Path | None = None) -> None:
        self._model = model
        # a plan encodes every open note several times; 200 notes took 65 ms
        self._prompts = prompts._replace(encode=functools.lru_cache(_MAX_TEXTS)(prompts.encode))
        self._scale = scale
        self._nothing = NULL_SIGHTS if scale.calibrated else ()
        self._yes, self._no = (prompts.encode(word)[0] for word in ANSWERS)
        self._path = path
        self._of = hashlib.sha256(f"{model.sha256} {prompts.fixed}".encode()).hexdigest()
        self._answers = self._load()
        self._unsaved = False
        self.too_long: set[str] = set()

    def scores(self, facts: Facts, notes: Sequence[str]) -> list[float | None]:
        """Return the log odds that each note is about an incident; None for unknown ones; see `matching.Scores`."""
        seen = sight_of(facts)
        return [self._score(seen, note) for note in notes]

    def plan(self, facts: Facts, notes: Iterable[str], within_s: float | None) -> WeighingPlan:
        """Choose what to ask about notes that are not known yet.

        Args:
            facts: The facts of the incident.
            notes: The notes, the most important first.
            within_s: Limit in seconds; None: no limit.
        """
        seen, chosen, pairs, expected = sight_of(facts), list[str](), list[Pair](), 0.0
        for note in notes:
            more = pairs + [pair for pair in self._missing_pairs(seen, note) if pair not in pairs]
            more.sort(key=lambda pair: (pair[0] == seen, pair[0]))  # so that each sight is read once for all notes
            takes = _MARGIN * sum(self._model.session.expected_s(self._parts(pair) for pair in more))
            if within_s is not None and takes > within_s:
                continue
            chosen, pairs, expected = [*chosen, note], more, takes
        return WeighingPlan(tuple(pairs), tuple(chosen), expected)

    def weigh(self, pairs: Iterable[Pair], late: Callable[[float], bool]) -> Generator[None, None, None]:
        """Ask about pairs; one forward before each yield.

        Args:
            pairs: The pairs to ask.
            late: Tells whether an answer in so many seconds would be too late; then the rest is skipped.
        """
        for pair in pairs:
            parts = self._parts(pair)
            if late(_MARGIN * self._model.session.expected_s([parts])[0]):
                return
            try:
                answer = yield from self._model.odds(parts, self._yes, self._no)
            except EngineError as error:  # a note that fills the context
                log.warning("note_not_weighed", note=pair[1][:80], reason=str(error))
                self.too_long.add(pair[1])
                continue
            self._remember(pair, answer)

    def find_missing(self, incidents: Iterable[tuple[Facts, Sequence[str]]], notes: Iterable[str] = ()) -> list[Pair]:
        """Return the pairs that are not known yet, grouped by sight.

        Args:
            incidents: Incidents with the notes that matter for each.
            notes: Further notes, for which only the sights without content are needed.
        """
        nothing = [(none, note) for none in self._nothing for note in notes]
        return self.expand_pairs([*nothing, *((sight_of(facts), note) for facts, some in incidents for note in some)])

    def expand_pairs(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Return all unknown pairs that the answers of some pairs need, grouped by sight."""
        return sorted({wanted for seen, note in pairs for wanted in self._missing_pairs(seen, note)})

    def answer(self, seen: str, note: str) -> float:
        """Return the model's answer: log odds of yes against no, calibrated if the model needs it.

        Raises:
            KeyError: The pair was not asked.
        """
        nothing = sum(self._answers[none][note] for none in self._nothing) / len(NULL_SIGHTS)
        return self._answers[seen][note] - nothing

    def save(self) -> None:
        """Save new answers, if there are any."""
        if self._path is None or not self._unsaved:
            return
        try:
            files.replace(self._path, msgspec.json.encode(_AnswersFile(self._of, self._answers)))
        except OSError as error:
            log.warning("answers_not_kept", path=str(self._path), reason=str(error))
        self._unsaved = False

    def _score(self, seen: str, note: str) -> float | None:
        if note in self.too_long or self._missing_pairs(seen, note):
            return None
        return self._scale.slope * (self.answer(seen, note) - self._scale.middle)

    def _missing_pairs(self, seen: str, note: str) -> list[Pair]:
        asked = () if note in self.too_long else (*self._nothing, seen)
        return [(one, note) for one in asked if note not in self._answers.get(one, ())]

    def _parts(self, pair: Pair) -> tuple[Part, ...]:
        return self._prompts.note(*pair)

    def _remember(self, pair: Pair, answer: float) -> None:
        seen, note = pair
        if sum(map(len, self._answers.values())) >= _MAX_ANSWERS:
            self._answers.clear()  # by then notes and places have changed many times
        self._answers.setdefault(seen, {})[note] = round(answer, 4)
        self._unsaved = True

    def _load(self) -> dict[str, dict[str, float]]:
        if self._path is None:
            return {}
        try:
            kept = decode(files.read_bounded(self._path), _AnswersFile)
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("answers_not_read", path=str(self._path), reason=str(error))
            return {}
        return dict(kept.answers) if kept.of == self._of else {}


def sight_of(facts: Facts) -> str:
    """Return the sight of an incident, which notes are weighed against."""
    return format_sight(facts.object.class_, facts.tags, facts.zone)
