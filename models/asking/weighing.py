"""Which note speaks about an incident, asked of the language model: one short branch a note, and every answer is kept.

An answer depends on the model, the note, and what was seen (class, tags, zone), and on nothing else. So most incidents
cost no forward: what was asked before is remembered, and what may be asked is weighed when nobody waits.
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
"""What has no content: what a note gets there is subtracted, after "Calibrate Before Use" (Zhao et al. 2021)."""
_MAX_ANSWERS = 20_000  # answers, about 100 bytes each
_MAX_TEXTS = 1024  # notes and sights whose tokens are kept
_MARGIN = 1.15  # a plan is to be kept, and forwards vary

Pair = tuple[str, str]
"""What was seen, and a note."""


class WeighingPlan(NamedTuple):
    """What is asked about an incident.

    Attributes:
        pairs: To be asked, in order.
        notes: That will be known then.
        expected_s: How long that will take.
    """

    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]
    expected_s: float


class _AnswersFile(msgspec.Struct, frozen=True):
    """The file of answers."""

    of: str
    answers: dict[str, dict[str, float]]  # what was seen, note


class Weigher:
    """Weighs notes with one model.

    Attributes:
        too_long: Notes that do not fit the model's context; nobody asks about them again.

    Args:
        model: The model.
        prompts: Its questions.
        scale: What its answers are worth.
        path: Where answers are kept between two lives; None: nowhere.
    """

    def __init__(self, model: LanguageModel, prompts: Prompts, scale: Weighing, path: Path | None = None) -> None:
        self._model = model
        # a plan looks at every open note several times, and reading out 200 took 65 ms of a verdict's time
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
        """Log odds that each note speaks about an incident, as far as they are known; see `matching.Scores`."""
        seen = sight_of(facts)
        return [self._score(seen, note) for note in notes]

    def plan(self, facts: Facts, notes: Iterable[str], within_s: float | None) -> WeighingPlan:
        """Choose what to ask of notes that are not known yet, the first ones first.

        Args:
            facts: Of the incident.
            notes: In the order of how much they matter.
            within_s: How long it may take; None: as long as it takes.
        """
        seen, chosen, pairs, expected = sight_of(facts), list[str](), list[Pair](), 0.0
        for note in notes:
            more = pairs + [pair for pair in self._missing(seen, note) if pair not in pairs]
            more.sort(key=lambda pair: (pair[0] == seen, pair[0]))  # what was seen is read once for all notes
            takes = _MARGIN * sum(self._model.session.expected_s(self._parts(pair) for pair in more))
            if within_s is not None and takes > within_s:
                continue
            chosen, pairs, expected = [*chosen, note], more, takes
        return WeighingPlan(tuple(pairs), tuple(chosen), expected)

    def weigh(self, pairs: Iterable[Pair], late: Callable[[float], bool]) -> Generator[None, None, None]:
        """Ask, one forward before each yield.

        Args:
            pairs: To be asked.
            late: Given the seconds that the next answer takes, whether it would come too late: then the rest is left.
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

    def missing(self, incidents: Iterable[tuple[Facts, Sequence[str]]], notes: Iterable[str] = ()) -> list[Pair]:
        """Name what is not known, what belongs to one sight together.

        Args:
            incidents: With the notes that matter for each.
            notes: More notes, of which is to be known what they get for nothing in particular.
        """
        nothing = [(none, note) for none in self._nothing for note in notes]
        return self.pairs_of([*nothing, *((sight_of(facts), note) for facts, some in incidents for note in some)])

    def pairs_of(self, pairs: Iterable[Pair]) -> list[Pair]:
        """All that has to be asked for some sights and notes, what belongs to one sight together."""
        return sorted({wanted for seen, note in pairs for wanted in self._missing(seen, note)})

    def answer(self, seen: str, note: str) -> float:
        """What the model said: log odds of yes against no, calibrated where the model needs it.

        Raises:
            KeyError: It was not asked.
        """
        nothing = sum(self._answers[none][note] for none in self._nothing) / len(NULL_SIGHTS)
        return self._answers[seen][note] - nothing

    def save(self) -> None:
        """Keep what was learnt, if anything was."""
        if self._path is None or not self._unsaved:
            return
        try:
            files.replace(self._path, msgspec.json.encode(_AnswersFile(self._of, self._answers)))
        except OSError as error:
            log.warning("answers_not_kept", path=str(self._path), reason=str(error))
        self._unsaved = False

    def _score(self, seen: str, note: str) -> float | None:
        if note in self.too_long or self._missing(seen, note):
            return None
        return self._scale.slope * (self.answer(seen, note) - self._scale.middle)

    def _missing(self, seen: str, note: str) -> list[Pair]:
        asked = () if note in self.too_long else (*self._nothing, seen)
        return [(one, note) for one in asked if note not in self._answers.get(one, ())]

    def _parts(self, pair: Pair) -> tuple[Part, ...]:
        return self._prompts.note(*pair)

    def _remember(self, pair: Pair, answer: float) -> None:
        seen, note = pair
        if sum(map(len, self._answers.values())) >= _MAX_ANSWERS:
            self._answers.clear()  # notes and places have changed many times over
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
    """What a note is weighed against."""
    return format_sight(facts.object.class_, facts.tags, facts.zone)
